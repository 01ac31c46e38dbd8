"""Writes pictures and tables of the pages in docs/explorables: `python tools/explorables.py [--check]`.

The scenarios are those of the laboratory in the browser, in web/explorables.js. Each page has a picture of its scenario before a slider
moves, figures/NAME.svg, and a table of means over SEEDS seeds between `<!-- results of NAME -->` and `<!-- end of results -->`.
`--check` exits with 1 if a picture or a table is stale.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ecnlab as lab
from ecnlab.stats.estimates import mean_with_interval
from queue_figures import Axis, chart

ROOT = Path(__file__).parents[1]
DEFINITIONS = ROOT / "web" / "explorables.js"
PAGES_FOLDER = ROOT / "docs" / "explorables"
SEEDS = 5
# Samples of a curve in a picture.
SAMPLES = 300

Results = dict[str, lab.Result]
Curves = dict[str, list[tuple[float, float]]]


def definitions() -> dict[str, dict[str, Any]]:
    """The explorables by name: the object in web/explorables.js, which is JSON."""
    text = DEFINITIONS.read_text(encoding="utf-8")
    body = text[text.index("Lab.EXPLORABLES = ") + len("Lab.EXPLORABLES = ") :].rstrip().removesuffix(";")
    made: dict[str, dict[str, Any]] = json.loads(body)
    return made


def scenarios(definition: dict[str, Any]) -> dict[str, lab.Scenario]:
    """The scenarios of the sides A and B as the laboratory opens them."""
    made = {}
    for side in ("A", "B"):
        if definition[side] is None:
            continue
        tree = tomllib.loads(definition["scenario"])
        for path, value in definition[side].items():
            *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
            table: Any = tree
            for key in keys:
                table = table[key]
            table[last] = value
        tree["record"] = {"queue": "100 ms", "rates": True, "transfers": True}
        made[side] = lab.scenario(tree)
    return made


@dataclass(frozen=True)
class Measure:
    """A row of a table: a column of a table of results, for one group or band or for all."""

    label: str
    table: str
    column: str
    factor: float = 1.0
    of: tuple[str, str] | None = None
    # The number of flows of a group, to divide by.
    per: str | None = None

    def cell(self, result: lab.Result) -> str:
        """Mean and half width over the seeds, or a dash if the side does not have the row."""
        frame: pl.DataFrame = getattr(result, self.table)
        if self.of is not None:
            frame = frame.filter(pl.col(self.of[0]) == self.of[1])
        if frame.is_empty():
            return "–"
        values = [row[self.column] / (row[self.per] if self.per else 1) * self.factor for row in frame.sort("seed").iter_rows(named=True)]
        estimate = mean_with_interval(values)
        return f"{_rounded(estimate.mean)} ± {_rounded(estimate.half_width, 2)}"


def _rounded(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


@dataclass(frozen=True)
class Page:
    """What the page of an explorable shows."""

    x_label: str
    y_label: str
    curves: Callable[[Results], Curves]
    measures: Sequence[Measure]


def series(result: lab.Result, name: str, column: str, factor: float = 1.0, of: tuple[str, str] | None = None) -> list[tuple[float, float]]:
    """A column of a series of the first seed against time."""
    frame: pl.DataFrame = getattr(result.series, name)
    frame = frame.filter(pl.col("seed") == pl.col("seed").min())
    if of is not None:
        frame = frame.filter(pl.col(of[0]) == of[1])
    frame = frame.gather_every(max(1, frame.height // SAMPLES))
    return [(time, value * factor) for time, value in frame.select("time_s", column).iter_rows()]


def durations(result: lab.Result) -> list[tuple[float, float]]:
    """The share of the transactions of all seeds that took at most a time."""
    values = sorted(result.series.transfers["duration_s"].to_list())
    step = max(1, len(values) // SAMPLES)
    return [(values[index], (index + 1) / len(values)) for index in range(0, len(values), step)]


def _goodput_of_a_flow(result: lab.Result, group: str) -> list[tuple[float, float]]:
    flows = int(result.groups.filter(pl.col("group") == group)["flows"][0])
    return series(result, "rate", "goodput_bps", 1e-6 / flows, ("group", group))


_QUEUE = (
    Measure("mean queue length (packets)", "queues", "length_mean_packets"),
    Measure("sojourn time, mean (ms)", "queues", "sojourn_mean_s", 1e3),
    Measure("sojourn time, 95th percentile (ms)", "queues", "sojourn_p95_s", 1e3),
    Measure("utilisation (%)", "queues", "utilisation", 100),
)
_SIGNALS = (Measure("marks (packets)", "queues", "marks"), Measure("drops (packets)", "queues", "drops"))


def _of_group(group: str, *labels_and_columns: tuple[str, str, float]) -> Iterator[Measure]:
    for label, column, factor in labels_and_columns:
        per = "flows" if column == "goodput_bps" else None
        yield Measure(f"{group}: {label}", "groups", column, factor, ("group", group), per)


_GOODPUT = ("goodput of a flow (Mbit/s)", "goodput_bps", 1e-6)
_DELAY = ("one-way delay, 95th percentile (ms)", "delay_p95_s", 1e3)

PAGES = {
    "red-thresholds": Page(
        "time (s)",
        "packets",
        lambda of: {
            "length": series(of["A"], "queue", "length_packets"),
            "average of the AQM": series(of["A"], "queue", "average_packets"),
        },
        [*_QUEUE, *_SIGNALS],
    ),
    "why-ecn": Page(
        "duration of a short transfer (s)",
        "share that took at most this time",
        lambda of: {"A: drops": durations(of["A"]), "B: marks": durations(of["B"])},
        [
            *_SIGNALS,
            *_of_group(
                "short",
                ("drops (packets)", "drops", 1),
                ("duration of a transaction, mean (ms)", "transaction_mean_s", 1e3),
                ("duration of a transaction, 95th percentile (ms)", "transaction_p95_s", 1e3),
                ("duration of a transaction, 99th percentile (ms)", "transaction_p99_s", 1e3),
            ),
            *_of_group("bulk", _GOODPUT),
        ],
    ),
    "heterogeneous-rtts": Page(
        "time (s)",
        "goodput of a flow (Mbit/s)",
        lambda of: {f"{side}: {group}": _goodput_of_a_flow(of[side], group) for side in ("A", "B") for group in ("near", "far")},
        [
            Measure("Jain's index of goodput", "total", "jain_goodput"),
            *_of_group("near", _GOODPUT, ("marks (packets)", "marks", 1)),
            *_of_group("far", _GOODPUT, ("marks (packets)", "marks", 1)),
            _QUEUE[0],
            _QUEUE[3],
        ],
    ),
    "bufferbloat": Page(
        "time (s)",
        "sojourn time (ms)",
        lambda of: {
            f"{side}: {name}": series(of[side], "queue", "sojourn_mean_s", 1e3) for side, name in (("A", "drop-tail"), ("B", "CoDel"))
        },
        [*_QUEUE, *_SIGNALS, Measure("throughput (Mbit/s)", "total", "throughput_bps", 1e-6)],
    ),
    "low-latency": Page(
        "time (s)",
        "sojourn time (ms)",
        lambda of: (
            {f"A: band {band}": series(of["A"], "band", "sojourn_mean_s", 1e3, ("band", band)) for band in ("C", "L")}
            | {"B: a queue for each flow": series(of["B"], "queue", "sojourn_mean_s", 1e3)}
        ),
        [
            Measure("band L: sojourn time, mean (ms)", "bands", "sojourn_mean_s", 1e3, ("band", "L")),
            Measure("band C: sojourn time, mean (ms)", "bands", "sojourn_mean_s", 1e3, ("band", "C")),
            Measure("sojourn time, mean (ms)", "queues", "sojourn_mean_s", 1e3),
            *_of_group("scalable", _GOODPUT, _DELAY),
            *_of_group("classic", _GOODPUT, _DELAY),
            Measure("throughput (Mbit/s)", "total", "throughput_bps", 1e-6),
        ],
    ),
    "l4s": Page(
        "time (s)",
        "goodput of a flow (Mbit/s)",
        lambda of: {f"{side}: {group}": _goodput_of_a_flow(of[side], group) for side in ("A", "B") for group in ("prague", "cubic")},
        [
            Measure("Jain's index of goodput", "total", "jain_goodput"),
            *_of_group("prague", _GOODPUT, _DELAY, ("marks (packets)", "marks", 1)),
            *_of_group("cubic", _GOODPUT, _DELAY, ("marks (packets)", "marks", 1)),
            Measure("band L: sojourn time, mean (ms)", "bands", "sojourn_mean_s", 1e3, ("band", "L")),
            Measure("band C: sojourn time, mean (ms)", "bands", "sojourn_mean_s", 1e3, ("band", "C")),
            Measure("throughput (Mbit/s)", "total", "throughput_bps", 1e-6),
        ],
    ),
}


def picture(page: Page, results: Results) -> str:
    """The SVG of a page's curves."""
    curves = page.curves(results)
    x_end = max(x for points in curves.values() for x, _ in points)
    y_end = max(y for points in curves.values() for _, y in points if y == y)
    return chart(Axis(page.x_label, x_end), Axis(page.y_label, y_end * 1.05), curves)


def table(page: Page, results: Results) -> str:
    """The table of a page's measures."""
    head = ["measure", *results]
    rows = [[measure.label, *(measure.cell(result) for result in results.values())] for measure in page.measures]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_table(text: str, name: str, made: str) -> str:
    """A page with its table."""
    place = re.compile(rf"(<!-- results of {name} -->\n).*?(<!-- end of results -->)", re.DOTALL)
    if not place.search(text):
        raise SystemExit(
            f"docs/explorables/{name}.md: <!-- results of {name} --> is missing; fix: add it, and <!-- end of results --> after it"
        )
    return place.sub(lambda found: f"{found[1]}\n{made}\n{found[2]}", text)


def fresh_files(names: Sequence[str] = tuple(PAGES)) -> dict[Path, str]:
    """The files of the pages with their text."""
    files = {}
    for name in names:
        results = {side: lab.run(scenario, seeds=SEEDS) for side, scenario in scenarios(definitions()[name]).items()}
        files[PAGES_FOLDER / "figures" / f"{name}.svg"] = picture(PAGES[name], results)
        page = PAGES_FOLDER / f"{name}.md"
        files[page] = with_table(page.read_text(encoding="utf-8"), name, table(PAGES[name], results))
    return files


def main(arguments: Sequence[str]) -> int:
    """Write or check the files; returns the exit code."""
    files = fresh_files()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale; fix: run python tools/explorables.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
