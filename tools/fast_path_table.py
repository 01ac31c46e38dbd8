"""The table of the fast path in docs/trust/benchmark.md: the share of packets on it, for each example and study.

`python tools/fast_path_table.py` runs the scenarios and writes the table between `<!-- fast path -->` and `<!-- end of fast path -->`; with
`--check` it compares the table and exits with 1 if it is stale. A scenario runs for at most 5 s with seed 1, since the share depends little
on the duration. For a study these are the distinct scenarios of its items in the main set-up, or some of them, evenly spaced.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from ecnlab.execution.runner import Request, run_all
from ecnlab.packaged_examples import PREFIX, examples
from ecnlab.scenarios.load import Scenario, load
from ecnlab.studies import TITLES, find_study
from ecnlab.studies.framework.plan import StudyPlan

PAGE = Path(__file__).parents[1] / "docs" / "trust" / "benchmark.md"
_SEED = 1
_MAX_DURATION_S = 5
_MAX_SCENARIOS_OF_STUDY = 24
_MARK = re.compile(r"(<!-- fast path -->\n).*?(<!-- end of fast path -->)", re.DOTALL)


def example_rows() -> list[str]:
    """The rows of examples."""
    names = [example.name for example in examples() if example.kind == "scenario"]
    shares = _fast_path_shares([load(PREFIX + name) for name in names])
    return [f"| `{name}` | {_percent(share)} |" for name, share in zip(names, shares, strict=True)]


def study_row(name: str) -> str:
    """The row of a study: the median, the least and the most of its scenarios."""
    needs = [need for item in find_study(name).items for need in item.needs.values()]
    planned = [one.scenario for one in StudyPlan(needs, [_SEED]).planned_scenarios]
    shares = _fast_path_shares(planned[:: -(-len(planned) // _MAX_SCENARIOS_OF_STUDY)])
    middle, least, most = (_percent(of(shares)) for of in (statistics.median, min, max))
    return f"| study `{name}`, {len(planned)} scenarios | {middle} ({least} to {most}) |"


def page_with_table(text: str, rows: Sequence[str]) -> str:
    """The page with these rows in its table."""
    table = "\n".join(["| scenario | packets on the fast path |", "|---|---|", *rows])
    return _MARK.sub(lambda part: f"{part[1]}\n{table}\n\n{part[2]}", text)


def _fast_path_shares(scenarios: Sequence[Scenario]) -> list[float]:
    """The share of each scenario; 0 if no packet arrived."""
    results = run_all([Request(_shortened(one), [_SEED]) for one in scenarios]).results_or_raise()
    return [result.fast_path_shares.get(_SEED, 0.0) for result in results]


def _shortened(one: Scenario) -> Scenario:
    is_short = one.duration_s <= _MAX_DURATION_S
    return one if is_short else one.changed({"duration": f"{_MAX_DURATION_S} s", "measure_from": "0 s"})


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def write_or_check_table(arguments: Sequence[str] | None = None) -> int:
    """Write the table, or compare it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args(arguments).check
    text = PAGE.read_text(encoding="utf-8")
    page = page_with_table(text, [*example_rows(), *map(study_row, TITLES)])
    if is_check:
        return int(page != text)
    PAGE.write_text(page, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(write_or_check_table())
