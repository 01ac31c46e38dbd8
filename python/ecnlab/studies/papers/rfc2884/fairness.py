"""Section 4.4: the range of RED's average. Section 5.1: fairness between ECN and other flows, which RED treats equally."""

from __future__ import annotations

from collections.abc import Callable

from ecnlab.stats.estimates import Estimate, mean_with_interval
from ecnlab.studies.framework.claims import PERCENT, DisplayUnit, ScenarioMeasure
from ecnlab.studies.framework.curves import AxisSettings
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.framework.rewritings import apply_rewritings
from ecnlab.studies.papers.rfc2884 import testbed
from ecnlab.studies.papers.rfc2884.choices import (
    ADMITTED_THRESHOLDS,
    CANDIDATE_THRESHOLDS,
    MAX_FORCED_SHARE,
    STRICTEST_SETUPS,
    red_thresholds_rewriting,
)
from ecnlab.studies.papers.rfc2884.claims import SIGNAL_OF_KIND, congestion_signals_measure
from ecnlab.studies.papers.rfc2884.figures import Curves, curves_by_congestion_level, figure_of_curves
from ecnlab.studies.papers.rfc2884.published import FAIRNESS
from ecnlab.studies.papers.rfc2884.router import RedThresholds
from ecnlab.studies.papers.rfc2884.testbed import (
    CONGESTION_LEVELS,
    MAX_PS,
    SHAPER_LINK,
    TESTBED_THRESHOLDS,
    WITH_ECN,
    WITHOUT_ECN,
    competing_bulk_transfers_scenario,
    share_of_columns,
)

REGION_PART, FAIRNESS_PART = "Section 4: RED's region", "Section 5.1: fairness"
_IN_PACKETS = DisplayUnit(1, "packets", 1)
_MAX_PS = (0.02, 0.05, 0.1, 0.2)
_JAIN = "jain_goodput"

AVERAGE_QUEUE_ITEM = figure_of_curves(
    REGION_PART,
    "4.4",
    "RED's average queue against the maximum drop probability",
    f"Mean over the 20 MB transfers with Reno; RED's region is between {TESTBED_THRESHOLDS.name}.",
    curves_by_congestion_level(
        lambda load, max_p: ScenarioMeasure(competing_bulk_transfers_scenario(load, max_p), "average_mean_packets", queue=SHAPER_LINK)
    ),
    AxisSettings("max_p", "average queue", _IN_PACKETS, y_range=(0, TESTBED_THRESHOLDS.max_packets), ticks=MAX_PS),
)


def forced_drop_share(need: RequiredScenario) -> ScenarioMeasure:
    """Drops with the average above max_th, as a share of all drops at the router."""
    return share_of_columns(need, ("drops_forced",), ("drops",), [{"queue": SHAPER_LINK}])


FORCED_DROPS_ITEM = figure_of_curves(
    REGION_PART,
    "4.4.1",
    "Drops beyond RED's region",
    "Share of the drops that are forced, because the average is above max_th; 20 MB transfers with Reno.",
    curves_by_congestion_level(lambda load, max_p: forced_drop_share(competing_bulk_transfers_scenario(load, max_p))),
    AxisSettings("max_p", "forced drops", PERCENT, y_range=(0, 100), ticks=MAX_PS),
)


def _candidate_scenarios() -> dict[NeedKey, RequiredScenario]:
    """Each candidate at each level and max_p, and in the strictest set-ups at high congestion and the smallest max_p."""
    found: dict[NeedKey, RequiredScenario] = {}
    for pair in CANDIDATE_THRESHOLDS:
        rewritten = red_thresholds_rewriting(pair)
        for level, load in CONGESTION_LEVELS.items():
            for max_p in MAX_PS:
                found[pair, level, max_p] = RequiredScenario(rewritten(competing_bulk_transfers_scenario(load, max_p).scenario))
        for name, rewritings in STRICTEST_SETUPS.items():
            strictest = found[pair, "high", MAX_PS[0]].scenario
            found[pair, name, MAX_PS[0]] = RequiredScenario(apply_rewritings(rewritings, strictest))
    return found


def _forced_drop_shares(results: ResultsByKey) -> dict[NeedKey, Estimate]:
    return {
        key: mean_with_interval(list(forced_drop_share(need).values_by_seed({need: results[key]}.__getitem__).values()))
        for key, need in CANDIDATE_NEEDS.items()
    }


def has_few_forced_drops(shares: dict[NeedKey, Estimate], pair: RedThresholds) -> bool:
    """Whether the rule of `choices.py` admits a pair: few forced drops at each level and max_p."""
    return all(
        share.mean < MAX_FORCED_SHARE for (candidate, at, _), share in shares.items() if candidate == pair and at in CONGESTION_LEVELS
    )


def _candidate_thresholds_table_content(results: ResultsByKey) -> DrawnItemContent:
    shares = _forced_drop_shares(results)
    columns = [*CONGESTION_LEVELS, *STRICTEST_SETUPS]
    rows = []
    for pair in CANDIDATE_THRESHOLDS:
        largest = [
            max(share.mean for (candidate, at, _), share in shares.items() if (candidate, at) == (pair, column)) for column in columns
        ]
        is_admitted = has_few_forced_drops(shares, pair)
        rows.append(
            [
                pair.name,
                *(f"{100 * share:.2f} %" for share in largest),
                "yes" if is_admitted else "no",
                "yes" if pair in ADMITTED_THRESHOLDS else "no",
            ]
        )
    header = ["thresholds", *(f"{level} congestion" for level in CONGESTION_LEVELS), *STRICTEST_SETUPS, "rule holds", "admitted"]
    table = ReportTable("Forced drops as a share of all drops: the largest over max_p", header, rows)
    data = [((pair.name, at, max_p), share) for (pair, at, max_p), share in shares.items()]
    return DrawnItemContent(None, [table], estimates_frame(["thresholds", "setting", "max_p"], "forced_share", data))


CANDIDATE_NEEDS = _candidate_scenarios()
CANDIDATE_TABLE = StudyItem(
    kind="Table",
    number="4.4.2",
    title="Thresholds that keep RED in its region",
    caption=f"A pair is admitted if less than {100 * MAX_FORCED_SHARE:g} % of the drops are forced at each level and each max_p, 20 MB "
    "transfers with Reno. The columns of weight and delay have those admitted values, at high congestion and max_p 0.02; they choose the "
    "main pair and admit none. "
    "The admitted pairs were fixed with seeds 1 to 20.",
    needs=CANDIDATE_NEEDS,
    draw=_candidate_thresholds_table_content,
    part=REGION_PART,
)


def _fairness_table_content(results: ResultsByKey) -> DrawnItemContent:
    rows = [
        [
            f"{max_p:g}",
            *(
                cell
                for ecn in (True, False)
                for cell in (f"{FAIRNESS[ecn, max_p]:.4f}", format_with_interval(results[ecn, max_p].estimate(_JAIN)))
            ),
        ]
        for max_p in _MAX_PS
    ]
    header = ["max_p", "background with ECN: published", "ours", "background without: published", "ours"]
    data = [((WITH_ECN if ecn else WITHOUT_ECN, max_p), results[ecn, max_p].estimate(_JAIN)) for ecn, max_p in FAIRNESS]
    return DrawnItemContent(
        None, [ReportTable("Jain's index of the four flows", header, rows)], estimates_frame(["background", "max_p"], _JAIN, data)
    )


def _curves_by_kind_of_flow(measure: Callable[[RequiredScenario, str], ScenarioMeasure]) -> Curves:
    return {kind: {max_p: measure(testbed.half_ecn_flows_scenario(max_p), kind) for max_p in _MAX_PS} for kind in SIGNAL_OF_KIND}


FAIRNESS_TABLE_ITEM = StudyItem(
    kind="Table",
    number="5.1",
    title="Fairness index with ECN and non-ECN background",
    caption="Two background flows from 0 s, one flow with ECN and one without it from 20 s; goodput over the next 200 s, Reno.",
    needs={key: testbed.fairness_scenario(key[1], background_ecn=key[0]) for key in FAIRNESS},
    draw=_fairness_table_content,
    part=FAIRNESS_PART,
)
SIGNALS_ITEM = figure_of_curves(
    FAIRNESS_PART,
    "5.1.1",
    "Marks to ECN flows and drops of the others",
    "As many flows of each kind, two and two: marks or drops of a kind as a share of the packets that it sent.",
    _curves_by_kind_of_flow(
        lambda need, kind: share_of_columns(need, (SIGNAL_OF_KIND[kind],), ("sent",), testbed.group_places_of_ecn_kind(kind))
    ),
    AxisSettings("max_p", "marked or dropped", PERCENT, ticks=_MAX_PS),
)
SIGNAL_COUNTS_ITEM = figure_of_curves(
    FAIRNESS_PART,
    "5.1.2",
    "Marks and drops by number",
    "The same flows over 200 s: marks to those with ECN, drops of those without it.",
    _curves_by_kind_of_flow(congestion_signals_measure),
    AxisSettings("max_p", "marks or drops", _IN_PACKETS, ticks=_MAX_PS),
)
ITEMS = (AVERAGE_QUEUE_ITEM, FORCED_DROPS_ITEM, CANDIDATE_TABLE, FAIRNESS_TABLE_ITEM, SIGNALS_ITEM, SIGNAL_COUNTS_ITEM)
