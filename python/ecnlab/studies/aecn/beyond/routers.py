"""Several congested routers: section 6.2 (7)."""

from __future__ import annotations

from ecnlab.studies.aecn.beyond import scenarios
from ecnlab.studies.aecn.beyond.measures import DROPS, GOODPUT, JAIN, KBPS_A_FLOW, MARKS, PART, a_flow, over, routers
from ecnlab.studies.claims import MBPS, PERCENT, PLAIN
from ecnlab.studies.panels import Look, Measure, column, item

SCHEMES = ("RED", "ECN", "AECN", "ARED", "AMECN")
CASE = "three routers"
_LONG, _CROSS = [scenarios.LONG], scenarios.crossing()

SHARE = Measure("long over cross flow", "long_over_cross", over(a_flow(_LONG), a_flow(_CROSS)), PLAIN)
LONG_GOODPUT = Measure("goodput of long flows", "long_goodput_first", column("goodput_first_bps", group=scenarios.LONG), MBPS)
_LONG_FLOW = Measure("a long flow", "long_flow", a_flow(_LONG), KBPS_A_FLOW)
_CROSS_FLOW = Measure("a cross flow", "cross_flow", a_flow(_CROSS), KBPS_A_FLOW)
_USE = Measure("first link used", "utilisation", column("utilisation", queue="hop 1"), PERCENT)

ROUTERS = item(
    "B6",
    "Three congested routers in a row",
    "20 flows over three of the thesis' bottlenecks and 20 more over each of them, base max_p 0.5; Adaptive RED and AMECN with a "
    "target of 16 ms. The long flows have an empty round trip of 130 ms, the others of 50 ms. Goodput counts each flow once, however "
    "many links it crosses.",
    {(scheme, CASE): routers(scheme) for scheme in SCHEMES},
    [SHARE, LONG_GOODPUT, GOODPUT],
    Look("network", scenarios.LOOKS, columns=3),
    also=[_LONG_FLOW, _CROSS_FLOW, JAIN, _USE, DROPS, MARKS],
    part=PART,
)
