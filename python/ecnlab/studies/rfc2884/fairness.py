"""Section 4.4: where RED's average stays. Section 5.1: fairness between the kinds of flows, and RED's blindness to them."""

from __future__ import annotations

from ecnlab.studies.claims import PERCENT, Of, Shown
from ecnlab.studies.curves import Panel, Scales, figure
from ecnlab.studies.model import Drawing, Item, Results, Table, estimates, with_interval
from ecnlab.studies.rfc2884 import testbed
from ecnlab.studies.rfc2884.claims import signals
from ecnlab.studies.rfc2884.published import FAIRNESS
from ecnlab.studies.rfc2884.testbed import LOADS, MAX_PS, RED, SHAPER, WITH, WITHOUT, bulk, share

REGION, FAIR = "Section 4: RED's region", "Section 5.1: fairness"
_PACKETS = Shown(1, "packets", 1)
_MAX_PS = (0.02, 0.05, 0.1, 0.2)
_JAIN = "jain_goodput"

AVERAGE = figure(
    "4.4",
    "RED's average queue against the maximum drop probability",
    f"Mean over the 20 MB transfers with Reno; RED's region is from min_th {RED['min_th']} to max_th {RED['max_th']} packets.",
    [
        Panel(
            "",
            {
                f"{level} congestion": {max_p: Of(bulk(load, max_p), "average_mean_packets", queue=SHAPER) for max_p in MAX_PS}
                for level, load in LOADS.items()
            },
        )
    ],
    Scales("max_p", "average queue", _PACKETS, y_range=(0, 30), ticks=MAX_PS),
    part=REGION,
    palette=testbed.PALETTE,
)
FORCED = figure(
    "4.4.1",
    "Drops beyond RED's region",
    "Share of the dropped packets that were dropped because the average had passed max_th, 20 MB transfers with Reno. "
    "Where it is large, RED is a tail-drop queue, and ECN cannot help.",
    [
        Panel(
            "",
            {
                f"{level} congestion": {
                    max_p: share(bulk(load, max_p), ("drops_forced",), ("drops",), [{"queue": SHAPER}]) for max_p in MAX_PS
                }
                for level, load in LOADS.items()
            },
        )
    ],
    Scales("max_p", "forced drops", PERCENT, y_range=(0, 100), ticks=MAX_PS),
    part=REGION,
    palette=testbed.PALETTE,
)


def _draw(results: Results) -> Drawing:
    rows = [
        [
            f"{max_p:g}",
            *(
                cell
                for ecn in (True, False)
                for cell in (f"{FAIRNESS[ecn, max_p]:.4f}", with_interval(results[ecn, max_p].estimate(_JAIN)))
            ),
        ]
        for max_p in _MAX_PS
    ]
    header = ["max_p", "background with ECN: published", "ours", "background without: published", "ours"]
    data = [((WITH if ecn else WITHOUT, max_p), results[ecn, max_p].estimate(_JAIN)) for ecn, max_p in FAIRNESS]
    return Drawing(None, [Table("Jain's index of the four flows", header, rows)], estimates(["background", "max_p"], _JAIN, data))


TABLE = Item(
    kind="Table",
    number="5.1",
    title="Fairness index with ECN and non-ECN background",
    caption="Two background flows from 0 s, one flow with ECN and one without it from 20 s; goodput over the next 200 s, Reno.",
    needs={key: testbed.fairness(key[1], background_ecn=key[0]) for key in FAIRNESS},
    draw=_draw,
    part=FAIR,
)
SIGNALS = figure(
    "5.1.1",
    "Marks to ECN flows and drops of the others",
    "As many flows of each kind, two and two: signals of RED to a kind as a share of the packets that it sent.",
    [
        Panel(
            "",
            {
                WITH: {max_p: share(testbed.halves(max_p), ("marks",), ("sent",), testbed.kind(WITH)) for max_p in _MAX_PS},
                WITHOUT: {max_p: share(testbed.halves(max_p), ("drops",), ("sent",), testbed.kind(WITHOUT)) for max_p in _MAX_PS},
            },
        ),
    ],
    Scales("max_p", "marked or dropped", PERCENT, ticks=_MAX_PS),
    part=FAIR,
    palette=testbed.PALETTE,
)
COUNTS = figure(
    "5.1.2",
    "Marks and drops by number",
    "The same flows over 200 s: marks to those with ECN, drops of those without it.",
    [
        Panel(
            "",
            {name: {max_p: signals(testbed.halves(max_p), name) for max_p in _MAX_PS} for name in (WITH, WITHOUT)},
        )
    ],
    Scales("max_p", "marks or drops", _PACKETS, ticks=_MAX_PS),
    part=FAIR,
    palette=testbed.PALETTE,
)
ITEMS = (AVERAGE, FORCED, TABLE, SIGNALS, COUNTS)
