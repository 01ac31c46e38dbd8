"""Draws the figures of the pages on backends, hosts, shells, clusters and replay: `python tools/backend_figures.py [--folder DIR]`."""

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


def live() -> str:
    """The way of a packet between two hosts of a kernel."""
    drawing = Drawing(760, 128)
    for x, end in ((8, "sender"), (574, "receiver")):
        drawing.box(x, 22, 178, 92, _KERNEL)
        drawing.text(x + 89, 50, [end, "socket, TCP, IP", "network namespace"], bold_first=True)
    drawing.box(254, 22, 252, 92, _ENGINE)
    drawing.text(380, 50, ["router", "links, queues, AQMs, impairments", "of the engine"], bold_first=True)
    for x in (186, 506):
        drawing.arrow(x + 3, 68, x + 65, 68)
        drawing.text(x + 34, 60, ["TUN"])
    return drawing.svg()


def uml() -> str:
    """The processes of a run in user-mode Linux."""
    drawing = Drawing(760, 196)
    drawing.box(8, 24, 200, 148, _SIMULATED)
    drawing.text(108, 76, ["ecnlab run", "--backend uml", "starts a process", "for each run"], bold_first=True)
    drawing.box(322, 8, 430, 180, "white", dashed=True)
    drawing.text(537, 28, ["process of the kernel, virtual clock"])
    drawing.box(336, 40, 402, 54, _KERNEL)
    drawing.text(537, 62, ["linux", "TCP, IP, namespaces, TUN, queueing disciplines"], bold_first=True)
    drawing.box(336, 126, 402, 54, _ENGINE)
    drawing.text(537, 148, ["guest.so", "router, sockets of hosts, the engine's links and queues"], bold_first=True)
    drawing.arrow(470, 97, 470, 123)
    drawing.text(482, 114, ["system calls as function calls"], anchor="start")
    drawing.arrow(211, 98, 319, 98)
    drawing.text(265, 90, ["job, result:"])
    drawing.text(265, 118, ["files"])
    return drawing.svg()


def shell() -> str:
    """The namespaces of a shell and the links between them."""
    drawing = Drawing(760, 132)
    for x, name, lines in (
        (8, "client", ["COMMAND and its", "child processes"]),
        (582, "server", ["programs of", "--server"]),
    ):
        drawing.box(x, 8, 170, 112, _KERNEL)
        drawing.text(x + 85, 32, [name, "network namespace", "", *lines], bold_first=True)
    drawing.box(250, 8, 260, 50, _ENGINE)
    drawing.text(380, 38, ["down: link, link, ..."])
    drawing.box(250, 70, 260, 50, _ENGINE)
    drawing.text(380, 100, ["up: link.reverse, link.reverse, ..."])
    for x, to_x, y in ((579, 513, 33), (247, 181, 33), (181, 247, 95), (513, 579, 95)):
        drawing.arrow(x, y, to_x, y, both=False)
    return drawing.svg()


def cluster() -> str:
    """The machines of a cluster and the data between them."""
    drawing = Drawing(760, 132)
    for x, name, lines in (
        (8, "your machine", ["ecnlab run --cluster", "results folder"]),
        (284, "scheduler", ["dask scheduler"]),
        (560, "workers", ["dask worker: ecnlab,", "a thread for each core"]),
    ):
        drawing.box(x, 16, 192, 84, _SIMULATED if x != 284 else "white")
        drawing.text(x + 96, 50, [name, *lines], bold_first=True)
    for x in (200, 476):
        drawing.arrow(x + 3, 44, x + 81, 44, both=False)
        drawing.arrow(x + 81, 76, x + 3, 76, both=False)
    drawing.text(380, 122, ["to the right: scenario text and seed; to the left: tables of the run"])
    return drawing.svg()


def replay() -> str:
    """The parts of a run that a replay repeats, and those that it compares."""
    drawing = Drawing(760, 190)
    drawing.box(8, 24, 170, 64, _KERNEL)
    drawing.text(93, 52, ["run with --record", "on any backend"], bold_first=True)
    drawing.box(292, 8, 190, 96, "white", dashed=True)
    drawing.text(387, 34, ["record of the queue", "arrivals, requests", "of the link, decisions,", "random stream"], bold_first=True)
    drawing.box(584, 24, 168, 64, _ENGINE)
    drawing.text(668, 52, ["ecnlab replay", "the same queue again"], bold_first=True)
    drawing.arrow(181, 56, 289, 56, both=False)
    drawing.arrow(485, 56, 581, 56, both=False)
    drawing.text(533, 48, ["inputs"])
    drawing.box(292, 134, 190, 44, _SIMULATED)
    drawing.text(387, 161, ["compare each decision"])
    drawing.arrow(387, 107, 387, 131, both=False)
    drawing.arrow(668, 91, 485, 156, both=False)
    drawing.text(600, 152, ["marks, drops, departures"], anchor="start")
    return drawing.svg()


FIGURES: dict[str, Callable[[], str]] = {
    "backends.svg": backends,
    "hosts.svg": hosts,
    "live.svg": live,
    "uml.svg": uml,
    "shell.svg": shell,
    "cluster.svg": cluster,
    "replay.svg": replay,
}


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
