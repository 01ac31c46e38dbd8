"""Draws the pictures of pages in docs/reference: networks, a link, a sender's window, traffic, the measured interval and a trace.

`python tools/reference_figures.py` writes them; with `--check` it compares them with fresh ones and exits with 1 if one is stale.
Windows, traffic and the interval are from runs with seed 1, the graph of a trace is from tests/traces, and the first network is that of
the example in docs/reference/scenario.md. The response functions are the rows of docs/trust/formulas.md. docs/how-to shows ns2-script.svg.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import ecnlab as lab
from backend_figures import Drawing
from ecnlab import diagram
from queue_figures import Axis, Points, chart

ROOT = Path(__file__).parents[1]
FIGURES_FOLDER = ROOT / "docs" / "reference" / "figures"
_TRACE = ROOT / "tests" / "traces" / "small.tr.gz"
_NAN = float("nan")
_PATH, _QUEUE, _WIRE = "#fbe9d7", "#dff0e0", "#e8eef7"

_ONE_FLOW = """name = "one flow and one event"
duration = "6 s"

[[link]]
name = "path"
from = "a"
to = "b"
rate = "100 Mbps"
delay = "50 ms"
queue = { aqm = "droptail", limit = 10000 }
impair = [{ kind = "script", times = ["3 s"], action = "mark" }]

[[flows]]
name = "flow"
from = "a"
to = "b"
tcp = { profile = "linux", congestion_control = "reno", ecn = true, max_rwnd = 40 }

[record]
window = "10 ms"
"""
_TRAFFIC = """name = "traffic"
duration = "20 s"

[[link]]
name = "path"
from = "a"
to = "b"
rate = "10 Mbps"
delay = "10 ms"
queue = { aqm = "droptail", limit = 1000 }

[[flows]]
name = "flow"
from = "a"
to = "b"

[record]
arrivals = true
"""
_INTERVAL = """name = "the measured interval"
duration = "40 s"
measure_from = "10 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "10 Mbps"
delay = "10 ms"
queue = { aqm = "ecn", limit = 120, min_th = 10, max_th = 30, max_p = 0.1 }

[[flows]]
name = "near"
count = 4
to = "sink"
access = { to = "router", rate = "100 Mbps", delay = "5 ms" }
tcp = { profile = "rfc", ecn = true }
start = ["0 s", "0.5 s"]

[[flows]]
name = "far"
count = 4
to = "sink"
access = { to = "router", rate = "100 Mbps", delay = "45 ms" }
tcp = { profile = "rfc", ecn = true }
start = ["0 s", "0.5 s"]

[record]
rates = true
"""


_ACCESS_AND_EXIT = """name = "access and exit"
duration = "10 s"

[[link]]
name = "bottleneck"
from = "left"
to = "right"
rate = "10 Mbps"
delay = "10 ms"
queue = { aqm = "ecn", limit = 120 }

[[flows]]
name = "near"
count = 20
access = { to = "left", rate = "10 Mbps", delay = "5 ms" }
exit = { from = "right", rate = "10 Mbps", delay = "4 ms" }
tcp = { profile = "linux", ecn = true }

[[flows]]
name = "far"
count = 20
access = { to = "left", rate = "10 Mbps", delay = "normal 40 ms, deviation 10 ms" }
exit = { from = "right", rate = "10 Mbps", delay = "4 ms" }
tcp = { profile = "linux", ecn = true }
"""


def two_bottlenecks() -> str:
    """The network of the example in docs/reference/scenario.md."""
    page = (FIGURES_FOLDER.parent / "scenario.md").read_text(encoding="utf-8")
    return diagram.network_svg(lab.scenario(tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])))


def ns2_script() -> str:
    """The network of the ns-2 script in docs/how-to/from-ns2-ns3-tc.md, from the scenario file below it."""
    page = (ROOT / "docs" / "how-to" / "from-ns2-ns3-tc.md").read_text(encoding="utf-8")
    return diagram.network_svg(lab.scenario(tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])))


def access_and_exit() -> str:
    """Two groups with private links on both sides of a bottleneck."""
    return diagram.network_svg(lab.scenario(tomllib.loads(_ACCESS_AND_EXIT)))


def _run(text: str, changes: Mapping[str, Any] | None = None) -> lab.Result:
    return lab.run(lab.scenario(tomllib.loads(text), dict(changes or {})), seeds=1)


def link() -> str:
    """The parts of a link in the order in which a packet meets them."""
    drawing = Drawing(780, 150)
    parts = [
        (128, _PATH, ["ecn", "loss_every", "loss"], "keys of the link"),
        (128, _PATH, ["impair", "each part in", "its order"], "list of impairments"),
        (150, _QUEUE, ["queue", "discipline, AQM,", "buffer (limit)"], "measured"),
        (104, _WIRE, ["rate", "or", "deliveries"], "transmission"),
        (92, _WIRE, ["delay", "", ""], "propagation"),
    ]
    x = 48
    drawing.text(8, 70, ["from"], anchor="start")
    for width, fill, lines, below in parts:
        drawing.box(x, 24, width, 86, fill)
        drawing.text(x + width // 2, 54, [line for line in lines if line], bold_first=True)
        drawing.text(x + width // 2, 132, [below])
        x += width + 20
    drawing.text(x + 2, 70, ["to"], anchor="start")
    return drawing.svg()


def window() -> str:
    """The congestion window of one Reno flow around a loss or a mark, by kinds of response."""
    settings = {
        "loss": {"link.path.impair.0.action": "drop"},
        'mark, ecn_response = "halve"': {},
        'mark, ecn_response = "abe"': {"flows.flow.tcp.ecn_response": "abe"},
    }
    return chart(Axis("time (s)", 3), Axis("congestion window (packets)", 50), {label: _window(one) for label, one in settings.items()})


def _window(changes: Mapping[str, Any]) -> Points:
    rows = _run(_ONE_FLOW, changes).table("series_window").to_dicts()
    return [(row["time_s"] - 2.5, row["cwnd_packets"]) for row in rows if 2.5 <= row["time_s"] <= 5.5]


APPLICATIONS: Mapping[str, tuple[str, Mapping[str, Any] | str]] = {
    "cbr": ("udp", {"kind": "cbr", "rate": "64 kbps"}),
    "poisson": ("udp", {"kind": "poisson", "rate": "64 kbps"}),
    "onoff": ("udp", {"kind": "onoff", "rate": "128 kbps", "on": "exponential 1 s", "off": "exponential 1.35 s"}),
    "telnet": ("tcp", {"kind": "telnet"}),
    "exchange": ("tcp", {"kind": "exchange", "response": "20 KB", "think": "exponential 1 s"}),
    "transactions": ("tcp", {"kind": "transactions", "bytes": "30 KB"}),
    "web": ("tcp", {"kind": "web"}),
    "video": ("tcp", {"kind": "video", "segment": "2 s", "buffer": "8 s", "reservoir": "2 s", "cushion": "5 s"}),
    "arrivals": ("tcp", {"kind": "arrivals", "flows_per_second": 2}),
}


def traffic() -> str:
    """The times of packet arrivals at a link, one row per application."""
    width, left, right, row_height = 640, 92, 626, 30
    floor = 12 + row_height * len(APPLICATIONS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {floor + 40}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{floor + 40}" fill="#fff"/>',
    ]
    for second in range(0, 21, 5):
        at = left + (right - left) * second / 20
        parts.append(
            f'<path d="M{at:.1f} 8V{floor}" stroke="#e4e4e4"/><text x="{at:.1f}" y="{floor + 16}" text-anchor="middle">{second}</text>'
        )
    for row, (name, (protocol, app)) in enumerate(APPLICATIONS.items()):
        base = 12 + row_height * (row + 1) - 8
        columns = sorted({round(left + (right - left) * time / 20, 1) for time in _packet_times(protocol, app)})
        path = "".join(f"M{column:g} {base}v-16" for column in columns)
        parts.append(f'<text x="{left - 8}" y="{base - 3}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<path d="{path}" stroke="#0072b2" stroke-width="0.8"/>')
    parts.append(f'<text x="{(left + right) / 2:.0f}" y="{floor + 34}" text-anchor="middle">time (s)</text>')
    return "\n".join([*parts, "</svg>\n"])


def _packet_times(protocol: str, app: Mapping[str, Any] | str) -> Sequence[float]:
    data = tomllib.loads(_TRAFFIC)
    data["flows"][0] |= {"app": app, protocol: {"profile": "linux"} if protocol == "tcp" else {}}
    events = lab.run(lab.scenario(data), seeds=1).table("arrivals")
    chosen = events.filter((events["event"] == "arrival") & (events["queue"] == "path"))
    return [time / 1e12 for time in chosen["time_ps"]]


def interval() -> str:
    """The goodput of two groups against time, with the measured interval shaded."""
    result = _run(_INTERVAL)
    frame = result.table("series_rate")
    curves = {}
    for group in ("near", "far"):
        rows = frame.filter(frame["group"] == group).to_dicts()
        curves[group] = [(row["time_s"] + 0.5, row["goodput_bps"] / 1e6) for row in rows]
        mean = result.groups.filter(result.groups["group"] == group)["goodput_bps"][0] / 1e6
        curves[f"{group}: goodput_bps"] = [(10, mean), (40, mean)]
    svg = chart(Axis("time (s)", 40), Axis("goodput (Mbit/s)", 10), curves)
    shade = '<rect x="180" y="34" width="366" height="222" fill="#fff4d6"/><text x="188" y="50">measured interval</text>'
    return svg.replace("<clipPath", f"{shade}\n<clipPath", 1)


def sequence() -> str:
    """The time-sequence graph of a flow of an ns-2 trace: a burst of drops, and the retransmissions that repair it."""
    end, half_width = 0.7, 0.003
    rows = [row for row in lab.trace(str(_TRACE), sequence=[0]).sequence.to_dicts() if row["time_s"] <= end]
    curves: dict[str, Points] = {}
    for kind in ("data", "retransmission", "ack", "drop"):
        points = [(row["time_s"], row["from"], row["to"]) for row in rows if row["kind"] == kind]
        curves[kind] = [
            corner
            for time, first, behind in points
            for corner in ([(time, behind)] if kind == "ack" else _cross(time, (first + behind) / 2, half_width, 0.5))
        ]
    return chart(Axis("time (s)", end), Axis("packet", 80), curves)


def _cross(x: float, y: float, half_width: float, half_height: float) -> Points:
    return [(x - half_width, y), (x + half_width, y), (x, _NAN), (x, y - half_height), (x, y + half_height), (x, _NAN)]


def response() -> str:
    """The windows of Reno and CUBIC over the probability of periodic losses: formulas, and the rows of docs/trust/formulas.md."""
    page = (ROOT / "docs" / "trust" / "formulas.md").read_text(encoding="utf-8")
    curves: dict[str, Points] = {}
    for name in ("Reno", "CUBIC"):
        rows = re.findall(
            rf"^\| {name}'s response \| periodic, p = ([\d.e-]+) \| ([\d.]+) packets \|[^|]*\| ([\d.]+) \|", page, re.MULTILINE
        )
        points = [(-math.log10(float(p)), math.log10(float(predicted)), math.log10(float(found))) for p, predicted, found in rows]
        curves[f"{name}'s formula"] = [(x, predicted) for x, predicted, _ in points]
        curves[f"{name}, runs"] = [corner for x, _, found in points for corner in _cross(x, found, 0.06, 0.06)]
    return chart(Axis("-log10(p)", 7), Axis("log10(window in packets)", 4), curves)


FIGURES: dict[str, Callable[[], str]] = {
    "two-bottlenecks.svg": two_bottlenecks,
    "ns2-script.svg": ns2_script,
    "access-exit.svg": access_and_exit,
    "link.svg": link,
    "window.svg": window,
    "traffic.svg": traffic,
    "interval.svg": interval,
    "sequence.svg": sequence,
    "response.svg": response,
}


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or compare them; returns the exit code."""
    fresh = {FIGURES_FOLDER / name: figure() for name, figure in FIGURES.items()}
    if "--check" in arguments:
        stale = [file for file, svg in fresh.items() if not file.is_file() or file.read_text(encoding="utf-8") != svg]
        for file in stale:
            print(f"{file.relative_to(ROOT)} is stale; fix: run python tools/reference_figures.py", file=sys.stderr)
        return 1 if stale else 0
    FIGURES_FOLDER.mkdir(exist_ok=True)
    for file, svg in fresh.items():
        file.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
