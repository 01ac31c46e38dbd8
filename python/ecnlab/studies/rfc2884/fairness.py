"""Section 4.4: where RED's average stays. Section 5.1: fairness between the kinds of flows, and RED's blindness to them."""

from __future__ import annotations

from ecnlab.analysis.stats import Estimate, estimate
from ecnlab.studies.claims import PERCENT, Of, Shown
from ecnlab.studies.curves import Panel, Scales, figure
from ecnlab.studies.model import Drawing, Item, Key, Need, Results, Table, estimates, with_interval
from ecnlab.studies.rfc2884 import testbed
from ecnlab.studies.rfc2884.choices import ADMITTED, CANDIDATES, MAX_FORCED_SHARE, STRICTEST, with_all, with_thresholds
from ecnlab.studies.rfc2884.claims import signals
from ecnlab.studies.rfc2884.published import FAIRNESS
from ecnlab.studies.rfc2884.router import Thresholds
from ecnlab.studies.rfc2884.testbed import LOADS, MAX_PS, SHAPER, THRESHOLDS, WITH, WITHOUT, bulk, share

REGION, FAIR = "Section 4: RED's region", "Section 5.1: fairness"
_PACKETS = Shown(1, "packets", 1)
_MAX_PS = (0.02, 0.05, 0.1, 0.2)
_JAIN = "jain_goodput"

AVERAGE = figure(
    "4.4",
    "RED's average queue against the maximum drop probability",
    f"Mean over the 20 MB transfers with Reno; RED's region is between {THRESHOLDS.name}.",
    [
        Panel(
            "",
            {
                f"{level} congestion": {max_p: Of(bulk(load, max_p), "average_mean_packets", queue=SHAPER) for max_p in MAX_PS}
                for level, load in LOADS.items()
            },
        )
    ],
    Scales("max_p", "average queue", _PACKETS, y_range=(0, THRESHOLDS.max_packets), ticks=MAX_PS),
    part=REGION,
    palette=testbed.PALETTE,
)


def forced(need: Need) -> Of:
    """Drops because the average had passed max_th, as a share of all drops at the router."""
    return share(need, ("drops_forced",), ("drops",), [{"queue": SHAPER}])


FORCED = figure(
    "4.4.1",
    "Drops beyond RED's region",
    "Share of the drops that are forced, because the average is above max_th; 20 MB transfers with Reno.",
    [
        Panel(
            "",
            {f"{level} congestion": {max_p: forced(bulk(load, max_p)) for max_p in MAX_PS} for level, load in LOADS.items()},
        )
    ],
    Scales("max_p", "forced drops", PERCENT, y_range=(0, 100), ticks=MAX_PS),
    part=REGION,
    palette=testbed.PALETTE,
)


def _candidate_needs() -> dict[Key, Need]:
    """Each candidate at each level and max_p, and in the strictest set-ups at high congestion and the smallest max_p."""
    found: dict[Key, Need] = {}
    for pair in CANDIDATES:
        rewritten = with_thresholds(pair)
        for level, load in LOADS.items():
            for max_p in MAX_PS:
                found[pair, level, max_p] = Need(rewritten(bulk(load, max_p).scenario))
        for name, rewritings in STRICTEST.items():
            found[pair, name, MAX_PS[0]] = Need(with_all(rewritings, rewritten(bulk(LOADS["high"], MAX_PS[0]).scenario)))
    return found


def _forced_shares(results: Results) -> dict[Key, Estimate]:
    return {key: estimate(list(forced(need).values(lambda _, key=key: results[key]).values())) for key, need in CANDIDATE_NEEDS.items()}  # type: ignore[misc]


def is_within_region(shares: dict[Key, Estimate], pair: Thresholds) -> bool:
    """Whether the rule of `choices.py` admits a pair: few forced drops at each level and max_p."""
    return all(share.mean < MAX_FORCED_SHARE for (candidate, at, _), share in shares.items() if candidate == pair and at in LOADS)


def _draw_candidates(results: Results) -> Drawing:
    shares = _forced_shares(results)
    columns = [*LOADS, *STRICTEST]
    rows = []
    for pair in CANDIDATES:
        largest = [
            max(share.mean for (candidate, at, _), share in shares.items() if (candidate, at) == (pair, column)) for column in columns
        ]
        held = is_within_region(shares, pair)
        rows.append(
            [pair.name, *(f"{100 * share:.2f} %" for share in largest), "yes" if held else "no", "yes" if pair in ADMITTED else "no"]
        )
    header = ["thresholds", *(f"{level} congestion" for level in LOADS), *STRICTEST, "rule holds", "admitted"]
    table = Table("Forced drops as a share of all drops: the largest over max_p", header, rows)
    data = [((pair.name, at, max_p), share) for (pair, at, max_p), share in shares.items()]
    return Drawing(None, [table], estimates(["thresholds", "setting", "max_p"], "forced_share", data))


CANDIDATE_NEEDS = _candidate_needs()
CANDIDATE_TABLE = Item(
    kind="Table",
    number="4.4.2",
    title="Thresholds that keep RED in its region",
    caption=f"A pair is admitted if less than {100 * MAX_FORCED_SHARE:g} % of the drops are forced at each level and each max_p, 20 MB "
    "transfers with Reno. The columns of weight and delay have those admitted values, at high congestion and max_p 0.02; they choose the "
    "main pair and admit none. "
    "The admitted pairs were fixed with seeds 1 to 20.",
    needs=CANDIDATE_NEEDS,
    draw=_draw_candidates,
    part=REGION,
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
    "As many flows of each kind, two and two: marks or drops of a kind as a share of the packets that it sent.",
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
ITEMS = (AVERAGE, FORCED, CANDIDATE_TABLE, TABLE, SIGNALS, COUNTS)
