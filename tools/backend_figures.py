"""Draws the figures of docs/explanation/backends.md and hosts.md: `python tools/backend_figures.py [--folder DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

FIGURES_FOLDER = Path(__file__).parents[1] / "docs" / "figures"

_SIMULATED, _KERNEL, _ENGINE = "#e8eef7", "#fbe9d7", "#dff0e0"


class Drawing:
    """Boxes, arrows and labels in SVG, on a white background."""

    def __init__(self, width: int, height: int) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="sans-serif" font-size="13" fill="#222">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def box(self, x: int, y: int, width: int, height: int, fill: str, *, dashed: bool = False) -> None:
        """A box with round corners."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{fill}" stroke="#777"{dash}/>')

    def text(self, x: float, y: float, lines: Sequence[str], *, anchor: str = "middle", bold_first: bool = False) -> None:
        """Lines of text below each other, the first with its base at `y`."""
        for row, line in enumerate(lines):
            weight = ' font-weight="bold"' if bold_first and row == 0 else ""
            self._parts.append(f'<text x="{x:g}" y="{y + 17 * row:g}" text-anchor="{anchor}"{weight}>{escape(line)}</text>')

    def arrow(self, x: float, y: float, to_x: float, to_y: float, *, both: bool = True, dashed: bool = False) -> None:
        """A line with an arrowhead at its end; with `both` also at its start, for a link that packets and ACKs cross."""
        start = ' marker-start="url(#tip)"' if both else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        ends = f'{start} marker-end="url(#tip)"'
        self._parts.append(f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="#444" stroke-width="1.5"{dash}{ends}/>')

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1) -> None:
        """A line without arrowheads."""
        self._parts.append(f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}" stroke-width="{width:g}"/>')

    def svg(self) -> str:
        """The SVG document."""
        return "\n".join([*self._parts, "</svg>", ""])


def backends() -> str:
    """The hosts, the network and the clock of each backend."""
    drawing = Drawing(760, 376)
    rows = [
        ("sim", _SIMULATED, ["TCP model"], "one process", "virtual time"),
        ("live", _KERNEL, ["Linux TCP", "network namespace"], "the kernel of this machine", "real time"),
        ("uml", _KERNEL, ["Linux TCP", "network namespace"], "a kernel as a process: user-mode Linux", "virtual time"),
    ]
    for row, (name, fill, host, where, clock) in enumerate(rows):
        top = 6 + 124 * row
        drawing.box(86, top, 664, 112, "white", dashed=True)
        drawing.text(10, top + 58, [name], anchor="start", bold_first=True)
        drawing.text(418, top + 18, [f"{where}, {clock}"])
        for x in (102, 584):
            drawing.box(x, top + 32, 150, 64, fill)
            drawing.text(x + 75, top + 68 if len(host) == 1 else top + 59, host)
        drawing.box(313, top + 32, 210, 64, _ENGINE)
        drawing.text(418, top + 59, ["ecnlab's engine", "links, queues, AQMs"])
        for x in (252, 523):
            drawing.arrow(x + 3, top + 64, x + 58, top + 64)
            if host[1:]:
                drawing.text(x + 31, top + 56, ["TUN"])
    return drawing.svg()


def hosts() -> str:
    """The two hosts of a group, the parts of a scenario that each setting comes from, and the places of the measurements."""
    drawing = Drawing(760, 300)
    for x, host, role, settings in (
        (8, "opening host", "connect, send", ["sysctls", "socket options", "route attributes"]),
        (552, "answering host", "accept, recv", ["sysctls", "socket options", "route attributes"]),
    ):
        drawing.box(x, 8, 200, 190, _KERNEL)
        drawing.text(x + 100, 30, [host, "network namespace"], bold_first=True)
        drawing.box(x + 14, 62, 172, 46, "white")
        drawing.text(x + 100, 81, ["socket of each flow", role])
        drawing.text(x + 100, 134, ["set by ecnlab:", *settings[:1], " · ".join(settings[1:])])
    drawing.box(280, 8, 200, 190, _ENGINE)
    drawing.text(380, 30, ["router: the engine", "links, queues, AQMs,", "impairments"], bold_first=True)
    drawing.text(380, 104, ["marks the ECN field", "of real IP packets"])
    for x in (208, 480):
        drawing.arrow(x + 3, 150, x + 69, 150)
        drawing.text(x + 36, 142, ["TUN"])
    for x, lines in (
        (108, ["cwnd, ssthresh, timeouts,", "reductions: TCP_INFO"]),
        (380, ["throughput, delay, marks, drops:", "counted by the engine;", "RTT: TCP timestamps at the TUN"]),
        (652, ["goodput, lockouts:", "bytes that recv returned"]),
    ):
        drawing.text(x, 230, ["measured here:", *lines], bold_first=True)
    return drawing.svg()


FIGURES: dict[str, Callable[[], str]] = {"backends.svg": backends, "hosts.svg": hosts}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the figures into a folder; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FIGURES_FOLDER)
    folder = parser.parse_args(arguments).folder
    for name, figure in FIGURES.items():
        (folder / name).write_text(figure(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
