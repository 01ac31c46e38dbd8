"""What the paper leaves open of Figures 5 and 6, and of Figures 9 and 10: each alternative run under both schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.analysis.stats import Estimate
from ecnlab.studies.amecn import measures
from ecnlab.studies.amecn.networks import CHOSEN, DURATION_S, RIVALS, SET, Choice, Setting, load, single
from ecnlab.studies.amecn.published import BACK_S, SCHEMES
from ecnlab.studies.model import Drawing, Item, Results, Table, estimates, with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOICES = (
    CHOSEN,
    Choice("independent draws", queue={"wait": None, "gaps": "geometric"}),
    Choice("ns-2's wait", queue={"wait": True}),
    Choice("both gentle", queue={"gentle": True}),
    Choice("neither gentle", queue={"gentle": False}),
    Choice("P1max 0.05 at first", queue={"max_p": 0.05}),
    Choice("P2max twice P1max", queue={"mid_max_p": 0.2}),
    Choice("P2max five times P1max", queue={"mid_max_p": 0.5}),
    Choice("drop-tail before the way back", both_ways=False),
    Choice("sources 6 ms away", source_delay="6 ms"),
    Choice("sources 31 ms away", source_delay="31 ms"),
    Choice("windows of long flows up to 15", long_window=15),
    Choice("windows of long flows up to 25", long_window=25),
    Choice("no limit on windows of long flows", long_window=1000),
    Choice("ns-2's defaults of 2001", tcp={"profile": "ns2-2001"}),
)
_MEASURES: Mapping[str, tuple[measures.BySeeds, float, int]] = {
    "average, 40 to 100 s (packets)": (measures.average_queue(BACK_S, DURATION_S), 1, 2),
    "use of the link (%)": (measures.utilisation, 100, 2),
    "drops of arrivals (%)": (measures.drop_rate, 100, 1),
}


SETTINGS = (
    SET,
    Setting("ns-2's wait", queue={"wait": True}),
    Setting("uniform gaps", queue={"wait": False}),
    Setting("no flows back", back=0),
    Setting("ARED drops", ecn=False),
)
_TARGETS_MS = (20, 60)


def _of(results: Results, choice: Choice, name: str, scheme: str) -> Estimate:
    measure, factor, _ = _MEASURES[name]
    result = results[choice.name, scheme]
    return result.estimate_of(measure(result)).scaled(factor)


def _cells(results: Results, choice: Choice) -> list[str]:
    return [with_interval(_of(results, choice, name, scheme), _MEASURES[name][2]) for name in _MEASURES for scheme in SCHEMES]


def _draw(results: Results) -> Drawing:
    header = ["alternative", *(f"{scheme}: {name}" for name in _MEASURES for scheme in SCHEMES)]
    table = Table("the load rises at 25 s", header, [[choice.name, *_cells(results, choice)] for choice in CHOICES])
    rows = [
        ((choice.name, scheme, name), _of(results, choice, name, scheme)) for choice in CHOICES for scheme in SCHEMES for name in _MEASURES
    ]
    return Drawing(None, [table], estimates(["alternative", "scheme", "quantity"], "mean", rows))


ALTERNATIVES = Item(
    kind="Table",
    number="A",
    title="What the paper leaves open of Figures 5 and 6",
    caption=(
        "One thing at a time differs from what was chosen: MECN as section 2.1 has it and AMECN gentle, uniform gaps between marks, "
        "P1max and P2max 0.1 at first, the queue before both directions, sources 1 ms away, windows of the long flows up to 20 packets, "
        "Reno as in ns-2 2.35. Published for the use of the link are 94.5 % under MECN and 96.3 % under AMECN."
    ),
    needs={(choice.name, scheme): load("rise", scheme, choice) for choice in CHOICES for scheme in SCHEMES},
    draw=_draw,
    part="What the paper leaves open",
)


def _draw_targets(results: Results) -> Drawing:
    found = {
        key: (result.estimate_of(measures.delay(result)).scaled(1e3), result.estimate_of(measures.utilisation(result)).scaled(100))
        for key, result in results.items()
    }
    cells = [[*key[:2], str(key[2]), with_interval(delay, 1), with_interval(used, 2)] for key, (delay, used) in found.items()]
    header = ["alternative", "scheme", "target (ms)", "delay (ms)", "link efficiency (%)"]
    rows = [
        ((*key, name), value) for key, both in found.items() for name, value in zip(("delay_ms", "efficiency_percent"), both, strict=True)
    ]
    data = estimates(["alternative", "scheme", "target_ms", "quantity"], "mean", rows)
    return Drawing(None, [Table("second half of each run", header, cells)], data)


TARGET_ALTERNATIVES = Item(
    kind="Table",
    number="B",
    title="What the paper leaves open of Figures 9 and 10",
    caption=(
        "One thing at a time differs from what was chosen: uniform gaps between AMECN's marks and ns-2's wait between ARED's, 10 flows "
        "back whose ACKs share the congested link, ARED with ECN. Both spacings stand under both schemes, so one row of each is as chosen."
    ),
    needs={
        (setting.name, scheme, target): single(scheme, target, setting)
        for setting in SETTINGS
        for scheme in RIVALS
        if setting.ecn or scheme == "ARED"
        for target in _TARGETS_MS
    },
    draw=_draw_targets,
    part="What the paper leaves open",
)
