"""Several congested routers: section 6.2 (7)."""

from __future__ import annotations

from ecnlab.studies.framework.claims import DIMENSIONLESS, MBPS, PERCENT
from ecnlab.studies.framework.panels import PanelGridStyle, PanelMeasure, measures_figure_item, quotient_of_values, result_column_getter
from ecnlab.studies.papers.aecn.beyond import scenarios
from ecnlab.studies.papers.aecn.beyond.measures import (
    DROPS,
    GOODPUT,
    JAIN,
    KBPS_A_FLOW,
    MARKS,
    REPORT_PART,
    mean_goodput_per_flow,
    scenario_on_several_routers,
)

SCHEMES = ("RED", "ECN", "AECN", "ARED", "AMECN")
SEVERAL_ROUTERS = "three routers"
_LONG_GROUP, _CROSS_GROUPS = [scenarios.LONG_GROUP], scenarios.cross_group_names()

LONG_FLOW_SHARE = PanelMeasure(
    "long over cross flow",
    "long_over_cross",
    quotient_of_values(mean_goodput_per_flow(_LONG_GROUP), mean_goodput_per_flow(_CROSS_GROUPS)),
    DIMENSIONLESS,
)
LONG_GOODPUT = PanelMeasure(
    "goodput of long flows", "long_goodput_first", result_column_getter("goodput_first_bps", group=scenarios.LONG_GROUP), MBPS
)
_GOODPUT_PER_LONG_FLOW = PanelMeasure("a long flow", "long_flow", mean_goodput_per_flow(_LONG_GROUP), KBPS_A_FLOW)
_GOODPUT_PER_CROSS_FLOW = PanelMeasure("a cross flow", "cross_flow", mean_goodput_per_flow(_CROSS_GROUPS), KBPS_A_FLOW)
_LINK_UTILISATION = PanelMeasure("first link used", "utilisation", result_column_getter("utilisation", queue="hop 1"), PERCENT)

ITEMS = [
    measures_figure_item(
        "B6",
        "Three congested routers in a row",
        "20 flows over three of the thesis' bottlenecks and 20 more over each of them, base max_p 0.5; Adaptive RED and AMECN with a "
        "target of 16 ms. The long flows have an empty round trip of 130 ms, the others of 50 ms. Goodput counts each flow once, however "
        "many links it crosses.",
        {(scheme, SEVERAL_ROUTERS): scenario_on_several_routers(scheme) for scheme in SCHEMES},
        [LONG_FLOW_SHARE, LONG_GOODPUT, GOODPUT],
        PanelGridStyle("network", scenarios.SCHEME_PALETTE, columns=3),
        also=[_GOODPUT_PER_LONG_FLOW, _GOODPUT_PER_CROSS_FLOW, JAIN, _LINK_UTILISATION, DROPS, MARKS],
        part=REPORT_PART,
    ),
]
