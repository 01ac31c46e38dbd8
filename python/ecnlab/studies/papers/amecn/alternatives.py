"""Alternatives for open parameters of Figures 5 and 6, and of Figures 9 and 10, each run with both schemes."""

from __future__ import annotations

from dataclasses import replace

from ecnlab.studies.framework.claims import PACKETS
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, ResultsByKey, StudyItem, estimates_frame
from ecnlab.studies.framework.panels import PanelMeasure, estimate_cell
from ecnlab.studies.papers.amecn import measures
from ecnlab.studies.papers.amecn.networks import (
    CHOSEN_CHOICE,
    CHOSEN_SETTING,
    COMPARED_SCHEMES,
    DURATION_S,
    OpenParameterChoice,
    TargetDelayOpenParameters,
    changing_load_scenario,
    single_link_scenario,
)
from ecnlab.studies.papers.amecn.published import LOAD_BACK_S, SCHEMES

ALTERNATIVE_CHOICES = (
    CHOSEN_CHOICE,
    OpenParameterChoice("independent draws", queue={"wait": None, "gaps": "geometric"}),
    OpenParameterChoice("ns-2's wait", queue={"wait": True}),
    OpenParameterChoice("both gentle", queue={"gentle": True}),
    OpenParameterChoice("neither gentle", queue={"gentle": False}),
    OpenParameterChoice("P1max 0.05 at first", queue={"max_p": 0.05}),
    OpenParameterChoice("P2max twice P1max", queue={"mid_max_p": 0.2}),
    OpenParameterChoice("P2max five times P1max", queue={"mid_max_p": 0.5}),
    OpenParameterChoice("drop-tail before the way back", both_ways=False),
    OpenParameterChoice("sources 6 ms away", source_delay="6 ms"),
    OpenParameterChoice("sources 31 ms away", source_delay="31 ms"),
    OpenParameterChoice("windows of long flows up to 15", long_window=15),
    OpenParameterChoice("windows of long flows up to 25", long_window=25),
    OpenParameterChoice("no limit on windows of long flows", long_window=1000),
    OpenParameterChoice("ns-2's defaults of 2001", tcp={"profile": "ns2-2001"}),
)
_ALTERNATIVE_MEASURES = (
    PanelMeasure(
        "average, 40 to 100 s (packets)",
        "average",
        measures.average_queue_over_span(LOAD_BACK_S, DURATION_S),
        PACKETS,
    ),
    replace(measures.UTILISATION, label="use of the link (%)"),
    replace(measures.DROP_RATE, label="drops of arrivals (%)"),
)


ALTERNATIVE_SETTINGS = (
    CHOSEN_SETTING,
    TargetDelayOpenParameters("ns-2's wait", queue={"wait": True}),
    TargetDelayOpenParameters("uniform gaps", queue={"wait": False}),
    TargetDelayOpenParameters("no flows back", back=0),
    TargetDelayOpenParameters("ARED drops", ecn=False),
)
_TARGETS_MS = (20, 60)


def _draw_load_rise_alternatives_table(results: ResultsByKey) -> DrawnItemContent:
    header = ["alternative", *(f"{scheme}: {measure.label}" for measure in _ALTERNATIVE_MEASURES for scheme in SCHEMES)]
    cells = [
        [
            choice.name,
            *(estimate_cell(measure, results[choice.name, scheme]) for measure in _ALTERNATIVE_MEASURES for scheme in SCHEMES),
        ]
        for choice in ALTERNATIVE_CHOICES
    ]
    rows = [((*key, measure.label), measure.estimate(result)) for key, result in results.items() for measure in _ALTERNATIVE_MEASURES]
    data = estimates_frame(["alternative", "scheme", "quantity"], "mean", rows)
    return DrawnItemContent(None, [ReportTable("the load rises at 25 s", header, cells)], data)


ALTERNATIVES_ITEM = StudyItem(
    kind="Table",
    number="A",
    title="What the paper leaves open of Figures 5 and 6",
    caption=(
        "One thing at a time differs from what was chosen: MECN as section 2.1 has it and AMECN gentle, uniform gaps between marks, "
        "P1max and P2max 0.1 at first, the queue before both directions, sources 1 ms away, windows of the long flows up to 20 packets, "
        "Reno as in ns-2 2.35. Published for the use of the link are 94.5 % under MECN and 96.3 % under AMECN."
    ),
    needs={(choice.name, scheme): changing_load_scenario("rise", scheme, choice) for choice in ALTERNATIVE_CHOICES for scheme in SCHEMES},
    draw=_draw_load_rise_alternatives_table,
    part="What the paper leaves open",
)


def _draw_target_alternatives_table(results: ResultsByKey) -> DrawnItemContent:
    quantities = {"delay_ms": measures.WAIT_MS, "efficiency_percent": measures.UTILISATION}
    cells = [[*map(str, key), *(estimate_cell(measure, result) for measure in quantities.values())] for key, result in results.items()]
    header = ["alternative", "scheme", "target (ms)", *(measure.label_with_unit for measure in quantities.values())]
    rows = [((*key, name), measure.estimate(result)) for key, result in results.items() for name, measure in quantities.items()]
    data = estimates_frame(["alternative", "scheme", "target_ms", "quantity"], "mean", rows)
    return DrawnItemContent(None, [ReportTable("second half of each run", header, cells)], data)


TARGET_ALTERNATIVES_ITEM = StudyItem(
    kind="Table",
    number="B",
    title="What the paper leaves open of Figures 9 and 10",
    caption=(
        "One thing at a time differs from what was chosen: uniform gaps between AMECN's marks and ns-2's wait between ARED's, 10 flows "
        "back whose ACKs share the congested link, ARED with ECN. Both spacings stand under both schemes, so one row of each is as chosen."
    ),
    needs={
        (setting.name, scheme, target): single_link_scenario(scheme, target, setting)
        for setting in ALTERNATIVE_SETTINGS
        for scheme in COMPARED_SCHEMES
        if setting.ecn or scheme == "ARED"
        for target in _TARGETS_MS
    },
    draw=_draw_target_alternatives_table,
    part="What the paper leaves open",
)
