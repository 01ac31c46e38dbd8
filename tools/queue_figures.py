"""Draws the pictures of the pages in docs/reference/queues: the probability of each AQM and its queue against time.

`python tools/queue_figures.py` writes the pictures. `--check` compares them with fresh ones and exits with 1 if one is stale, if a
page does not show its pictures, or if it does not have the line of TOML that its picture is drawn from.

NAME-curve.svg has the probability against its input, with the values of the page's example. NAME-queue.svg has the queue of SCENARIO with
that line as its bottleneck: one run with seed 1 and 400 samples. The SVG is written here and does not depend on a plotting library.
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from xml.sax.saxutils import escape

import ecnlab as lab

ROOT = Path(__file__).parents[1]
PAGES_FOLDER = ROOT / "docs" / "reference" / "queues"
FIGURES_FOLDER = PAGES_FOLDER / "figures"
SCENARIO = """name = "the queue under 5 flows and then 20"
duration = "20 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "10 Mbps"
delay = "10 ms"
queue = { aqm = "ecn", limit = 120, min_th = 10, max_th = 30, max_p = 0.1 }

[[flows]]
name = "first"
count = 5
to = "sink"
access = { to = "router", rate = "100 Mbps", delay = "20 ms" }
tcp = { profile = "rfc", ecn = true }

[[flows]]
name = "later"
count = 15
to = "sink"
start = "10 s"
access = { to = "router", rate = "100 Mbps", delay = "20 ms" }
tcp = { profile = "rfc", ecn = true }

[record]
queue = "50 ms"
"""

_WIDTH, _HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 34, 44
_LEGEND_X, _LETTER_WIDTH = 8, 6.3
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MAX_TICKS = 6

Points = Sequence[tuple[float, float]]
Function = Callable[[float], float]


@dataclass(frozen=True)
class Axis:
    """An axis with its label and its range from 0 on."""

    label: str
    end: float

    def ticks(self) -> list[float]:
        """Round numbers, at most _MAX_TICKS of them after 0."""
        steps = (factor * 10.0**power for power in range(-4, 5) for factor in (1, 2, 5))
        step = next(step for step in steps if self.end / step <= _MAX_TICKS)
        return [round(position * step, 6) for position in range(int(self.end / step + 1e-9) + 1)]


def chart(x: Axis, y: Axis, curves: Mapping[str, Points]) -> str:
    """An SVG of curves by their labels; a curve is interrupted where it has no value."""
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + point[0] / x.end * (right - _LEFT), floor - min(point[1] / y.end, 1.5) * (floor - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<clipPath id="c"><rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{floor - _TOP}"/></clipPath>',
    ]
    for tick in x.ticks():
        at = place((tick, 0))[0]
        parts.append(f'<path d="M{at:.1f} {_TOP}V{floor}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{at:.1f}" y="{floor + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in y.ticks():
        at = place((0, tick))[1]
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{right}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts.append(f'<path d="M{_LEFT} {_TOP}V{floor}H{right}" fill="none" stroke="#333"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x.label)}</text>')
    middle = (_TOP + floor) / 2
    parts.append(f'<text transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle">{escape(y.label)}</text>')
    legend_at: float = _LEFT + _LEGEND_X
    for (label, points), colour, dash in zip(curves.items(), _COLOURS, _DASHES, strict=False):
        look = f'stroke="{colour}" stroke-width="1.5"' + (f' stroke-dasharray="{dash}"' if dash else "")
        for is_gap, part in groupby(points, lambda point: math.isnan(point[1])):
            if not is_gap:
                path = " ".join(f"{across:.1f},{down:.1f}" for across, down in map(place, part))
                parts.append(f'<polyline clip-path="url(#c)" fill="none" {look} points="{path}"/>')
        parts.append(f'<path d="M{legend_at:.0f} 18h22" {look}/><text x="{legend_at + 27:.0f}" y="22">{escape(label)}</text>')
        legend_at += 27 + 16 + _LETTER_WIDTH * len(label)
    return "\n".join([*parts, "</svg>\n"])


def red_probability(min_th: float, max_th: float, max_p: float, *, gentle: bool = False) -> Function:
    """RED's p_b of the average, and 1 in the region where every packet is signalled."""

    def function(average: float) -> float:
        if average < min_th:
            return 0.0
        if average < max_th:
            return max_p * (average - min_th) / (max_th - min_th)
        if gentle and average < 2 * max_th:
            return max_p + (1 - max_p) * (average - max_th) / max_th
        return 1.0

    return function


def dsred_probability(min_th: float, max_th: float, gamma: float) -> Function:
    """DSRED's p_b of the average."""
    middle, width = (min_th + max_th) / 2, max_th - min_th

    def function(average: float) -> float:
        if average < min_th:
            return 0.0
        if average < middle:
            return 2 * (1 - gamma) / width * (average - min_th)
        return min(1 - gamma + 2 * gamma / width * (average - middle), 1.0)

    return function


@dataclass(frozen=True)
class CurveFigure:
    """Probabilities against one input."""

    x: Axis
    functions: Mapping[str, Function]
    y: Axis = Axis("probability", 1.0)
    points: int = 1120

    def svg(self) -> str:
        """The picture; of a straight line only the ends are kept."""
        return chart(self.x, self.y, {label: self._curve(function) for label, function in self.functions.items()})

    def _curve(self, function: Function) -> Points:
        inputs = (self.x.end * number / self.points for number in range(self.points + 1))
        return _without_inner_points([(at, function(at)) for at in inputs])


def _without_inner_points(points: Points) -> Points:
    """The points at which a curve changes its slope."""
    slopes = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(points)]
    kept = [point for point, (before, after) in zip(points[1:-1], pairwise(slopes), strict=True) if abs(after - before) > 1e-9]
    return [points[0], *kept, points[-1]]


_AVERAGE = Axis("average queue length (packets)", 70)
_RED = {"p_b": red_probability(10, 30, 0.1), "gentle = true": red_probability(10, 30, 0.1, gentle=True)}


def _red_lines(*max_p: float, gentle: bool = False) -> dict[str, Function]:
    return {f"max_p = {one:.2g}": red_probability(10, 30, one, gentle=gentle) for one in max_p}


CURVES = {
    "red": CurveFigure(_AVERAGE, _RED),
    "mark-front": CurveFigure(_AVERAGE, _RED),
    "fred": CurveFigure(
        _AVERAGE, {"flow with max(min_q, avgcq) packets or more": red_probability(30, 60, 0.02)}, Axis("probability", 0.05)
    ),
    "ared": CurveFigure(_AVERAGE, _red_lines(0.01, 0.1, 0.5, gentle=True)),
    "feng-red": CurveFigure(Axis(_AVERAGE.label, 40), _red_lines(0.1 / 3, 0.1, 0.2, 0.4)),
    "pd-red": CurveFigure(Axis(_AVERAGE.label, 40), _red_lines(0.05, 0.1, 0.2)),
    "linux-red": CurveFigure(Axis("average queue length (kB)", 120), {"p_b": red_probability(30, 90, 0.02)}, Axis("probability", 0.05)),
    "dsred": CurveFigure(
        Axis(_AVERAGE.label, 40), {"gamma = 0.96": dsred_probability(10, 30, 0.96), "gamma = 0.5": dsred_probability(10, 30, 0.5)}
    ),
    "mecn": CurveFigure(
        Axis(_AVERAGE.label, 20),
        {"p1, incipient (10)": red_probability(5, 15, 0.1), "p2, moderate (11)": red_probability(10, 15, 0.1)},
        Axis("probability", 0.2),
    ),
    "amecn": CurveFigure(
        Axis(_AVERAGE.label, 80),
        {
            "p1, max_p = 0.1": red_probability(12.5, 37.5, 0.1, gentle=True),
            "p2": red_probability(28.125, 37.5, 0.1, gentle=True),
            "p1, max_p = 0.5": red_probability(12.5, 37.5, 0.5, gentle=True),
            "p2, max_p = 0.5": red_probability(28.125, 37.5, 0.5, gentle=True),
        },
    ),
    "aecn": CurveFigure(
        Axis(_AVERAGE.label, 40),
        {
            "robust": red_probability(10, 30, 1.0),
            "average": red_probability(10, 30, 0.5),
            "fragile": red_probability(10, 30, 0.2),
        },
    ),
    "step": CurveFigure(Axis("queue length (packets)", 50), {"threshold = 20": lambda length: float(length > 20)}),
    "rem": CurveFigure(Axis("price", 3000), {"1 - phi^-price, phi = 1.001": lambda price: 1 - 1.001**-price}, points=60),
    "sred": CurveFigure(
        Axis("share of the buffer that is full", 0.6),
        {"p_sred": lambda share: 0.15 if share >= 1 / 3 else 0.15 / 4 if share >= 1 / 6 else 0.0},
        Axis("p_sred", 0.2),
    ),
    "pi2": CurveFigure(Axis("p'", 1), {"classic: p'^2": lambda p: p * p, "scalable: 2 p'": lambda p: min(2 * p, 1.0)}, points=50),
    "dualpi2": CurveFigure(Axis("p'", 0.6), {"C: p_C = p'^2": lambda p: p * p, "L, coupled: 2 p'": lambda p: min(2 * p, 1.0)}, points=60),
    "codel": CurveFigure(
        Axis("count", 50),
        {"interval / sqrt(count)": lambda count: 100 / math.sqrt(max(count, 1))},
        Axis("time to the next signal (ms)", 110),
        points=50,
    ),
}


@dataclass(frozen=True)
class QueueFigure:
    """The queue of SCENARIO at its bottleneck, with overridden keys."""

    queue: str
    settings: Mapping[str, str] = field(default_factory=dict)
    bands: Sequence[str] = ()

    @property
    def line(self) -> str:
        """The line of TOML that the page shows."""
        return f"queue = {{ {self.queue} }}"

    def result(self) -> lab.Result:
        """The run."""
        data = tomllib.loads(SCENARIO)
        data["link"][0] |= tomllib.loads(self.line)
        return lab.run(lab.scenario(data, dict(self.settings)), seeds=1)

    def svg(self) -> str:
        """The picture."""
        result, seconds = self.result(), Axis("time (s)", 20)
        if self.bands:
            frame = result.table("series_band")
            curves = {band: _series(frame.filter(frame["band"] == band).to_dicts(), "sojourn_mean_s", 1e3) for band in self.bands}
            return chart(seconds, Axis("queueing delay (ms)", _round_end(curves)), curves)
        rows = result.table("series_queue").to_dicts()
        curves = {"queue": _series(rows, "length_packets"), "RED's average": _series(rows, "average_packets")}
        curves = {label: points for label, points in curves.items() if not all(math.isnan(value) for _, value in points)}
        return chart(seconds, Axis("queue length (packets)", _round_end(curves)), curves)


def _series(rows: Iterable[Mapping[str, float]], column: str, factor: float = 1) -> Points:
    """A column against time."""
    return [(row["time_s"], factor * row[column]) for row in rows]


def _round_end(curves: Mapping[str, Points]) -> float:
    """The end of an axis that includes all curves."""
    largest = max(value for points in curves.values() for _, value in points if not math.isnan(value))
    ends = (factor * math.pow(10, power) for power in range(5) for factor in (1, 1.5, 2, 3, 4, 5, 6, 8))
    return next(end for end in ends if end >= largest)


_MECN = {f"flows.{group}.tcp.{key}": "mecn" for group in ("first", "later") for key in ("ecn_response", "ecn_echo")}
_DCTCP = {f"flows.{group}.tcp.variant": "dctcp" for group in ("first", "later")}
_L4S = {"flows.first.tcp.variant": "dctcp", "flows.first.tcp.ect_codepoint": "ect1"}
_SHAPED = 'queue = { aqm = "ecn", limit = 60, min_th = 5, max_th = 15 }'
QUEUES = {
    "droptail": QueueFigure('aqm = "droptail", limit = 120'),
    "fifo": QueueFigure('discipline = "fifo", limit = 120, aqm = { name = "red", min_th = 10, max_th = 30 }'),
    "red": QueueFigure('aqm = "ecn", limit = 120, min_th = 10, max_th = 30, max_p = 0.1'),
    "mark-front": QueueFigure('aqm = "mark-front", limit = 120, min_th = 10, max_th = 30'),
    "aecn": QueueFigure(
        'aqm = "aecn", limit = 120, min_th = 10, max_th = 30, max_p = 0.5',
        {"flows.first.access.delay": "5 ms", "flows.later.access.delay": "75 ms"},
    ),
    "blue": QueueFigure('aqm = "blue", limit = 60, freeze_time = "50 ms", threshold = 45'),
    "fred": QueueFigure('aqm = "fred", limit = 120, min_q = 4'),
    "rem": QueueFigure('aqm = "rem", limit = 100, gamma = 0.005'),
    "sred": QueueFigure('aqm = "sred", limit = 2400, full = false'),
    "mecn": QueueFigure('aqm = "mecn", limit = 40, min_th = 5, mid_th = 10, max_th = 15, w_q = 0.0027', _MECN),
    "amecn": QueueFigure('aqm = "amecn", limit = 120, target_delay = "20 ms"', _MECN),
    "ared": QueueFigure('aqm = "ared", limit = 120, min_th = 10, max_th = 30'),
    "feng-red": QueueFigure('aqm = "feng-red", limit = 120, min_th = 10, max_th = 30, max_p = 0.1'),
    "pd-red": QueueFigure('aqm = "pd-red", limit = 120, min_th = 10, max_th = 30'),
    "dsred": QueueFigure('aqm = "dsred", limit = 120, min_th = 10, max_th = 30, gamma = 0.96'),
    "linux-red": QueueFigure('aqm = "linux-red", limit = "400 KB", min = "30 KB", max = "90 KB", burst = 55, adaptive = true'),
    "codel": QueueFigure('aqm = "codel", limit = 1000, target = "5 ms", interval = "100 ms"'),
    "step": QueueFigure('aqm = "step", limit = 500, threshold = 20', _DCTCP),
    "pi": QueueFigure('aqm = "pi", limit = 120, q_ref = 30, flows = 5, rtt = "100 ms", mean_packet = "1500 B"'),
    "pi2": QueueFigure('aqm = "pi2", limit = 1000'),
    "pie": QueueFigure('aqm = "pie", limit = 1000'),
    "fq": QueueFigure('discipline = "fq", limit = 10240, quantum = "1514 B", aqm = { name = "codel", target = "5 ms" }'),
    "sfq": QueueFigure('discipline = "sfq", limit = 127'),
    "drr": QueueFigure('discipline = "drr", limit = 200, quantum = "1514 B", aqm = { name = "red", min_th = 10, max_th = 30 }'),
    "dualpi2": QueueFigure('discipline = "dualpi2", limit = 1000', _L4S, bands=("L", "C")),
    "tbf": QueueFigure(f'discipline = "tbf", rate = "5 Mbps", burst = "10 KB", {_SHAPED}'),
    "cbq": QueueFigure(f'discipline = "cbq", rate = "5 Mbps", {_SHAPED}'),
}


OVERVIEW = {"droptail": "droptail", "ecn (RED)": "red", "codel": "codel"}


def overview() -> str:
    """The queueing delay under three AQMs, for the index."""
    series = {label: QUEUES[page].result().table("series_queue").to_dicts() for label, page in OVERVIEW.items()}
    curves = {label: _series(rows, "sojourn_mean_s", 1e3) for label, rows in series.items()}
    return chart(Axis("time (s)", 20), Axis("queueing delay (ms)", 180), curves)


def fresh_files() -> dict[Path, str]:
    """All pictures by their paths."""
    pictures = {f"{name}-curve": one.svg() for name, one in CURVES.items()}
    pictures |= {f"{name}-queue": one.svg() for name, one in QUEUES.items()}
    pictures["overview"] = overview()
    return {FIGURES_FOLDER / f"{name}.svg": svg for name, svg in pictures.items()}


def problems(files: Mapping[Path, str]) -> list[str]:
    """A line for each picture that is stale and each page that does not show its pictures and their example."""
    stale = [file for file, svg in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != svg]
    found = [f"{file.relative_to(ROOT)} is stale; fix: run python tools/queue_figures.py" for file in stale]
    for name, figure in QUEUES.items():
        page = PAGES_FOLDER / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        shown = [figure.line, *(f"](figures/{file.name})" for file in files if file.stem in (f"{name}-curve", f"{name}-queue"))]
        found += [f"{page.relative_to(ROOT)} does not have {one}" for one in shown if one not in text]
    return found


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or compare them; returns the exit code."""
    files = fresh_files()
    if "--check" in arguments:
        found = problems(files)
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
        return 1 if found else 0
    FIGURES_FOLDER.mkdir(exist_ok=True)
    for file, svg in files.items():
        file.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
