"""Claims on the runs of the L4S team."""

from __future__ import annotations

from collections.abc import Iterator

from ecnlab.studies.framework.claims import (
    PERCENT,
    Claim,
    ClaimStatement,
    CombinedMeasure,
    MeasureRatio,
    claimed_about,
    ratio_or_nan,
)
from ecnlab.studies.papers.l4s.network import CONTROL_NAMES, CUBIC, PRAGUE, PRAGUE_2020, PRAGUES, relative_difference_from_reference
from ecnlab.studies.papers.l4s.step import RATIO
from ecnlab.studies.papers.l4s.tables import WITHIN_TOLERANCE
from ecnlab.studies.papers.l4s.team import goodput_measures_of_run, team_runs

_FOUR_RTTS = {
    CUBIC: "Cubic0d5_Cubic1_Cubic10_Cubic30 400",
    PRAGUE: "Prague0d5_Prague1_Prague10_Prague30 400",
}
_GROWTH = (
    "The published flows of Prague left slow start early and then grow by a packet per RTT. At 100 Mbit/s with 80 ms and at 500 Mbit/s "
    "with 40 and 80 ms the mean of the second half exceeds that of the first by 34, 142 and 33 Mbit/s. One mark in slow start, at 0.4, "
    "0.28 and 0.56 s, gives 36, 144 and 36 Mbit/s here. Without it Prague has the link, or the receive window, from the first second on. "
    "The cause of the early marks is unknown."
)
_BESIDE_CUBIC = {"Prague_Cubic 100 20": (0, 1), "Cubic_Prague 100 20": (1, 0)}


def _single_flow_difference_statements(prague: str, *controls: str) -> Iterator[ClaimStatement]:
    """The difference of each single flow's goodput from its published rate."""
    for run in team_runs().values():
        flow = run.flows[0]
        if not run.is_alone or flow.sender.control not in controls:
            continue
        (goodput,) = goodput_measures_of_run(run.name, prague)
        sender = flow.sender.with_control_instead_of(PRAGUE, prague)
        yield ClaimStatement(
            f"{sender.label}, {run.rate_mbps} Mbit/s, published {flow.mbps:.1f}",
            relative_difference_from_reference(goodput, flow.mbps * 1e6),
            WITHIN_TOLERANCE,
            PERCENT,
        )


def _largest_over_smallest_statement(control: str, prague: str) -> ClaimStatement:
    """The largest over the smallest rate of the four RTTs, about as published."""
    run = team_runs()[_FOUR_RTTS[control]]
    rates = [flow.mbps for flow in run.flows]
    published = round(max(rates) / min(rates), 2)
    return ClaimStatement(
        f"largest over smallest goodput of four RTTs, {CONTROL_NAMES[prague] if control == PRAGUE else control}",
        CombinedMeasure(lambda values: ratio_or_nan(max(values), min(values)), goodput_measures_of_run(run.name, prague)),
        claimed_about(published),
        RATIO,
        published=published,
    )


def _prague_over_cubic_statements() -> Iterator[ClaimStatement]:
    """Prague's goodput over CUBIC's, over DualPI2 and over CoDel in one queue."""
    for name, (first, second) in _BESIDE_CUBIC.items():
        run = team_runs()[name]
        rates = [flow.mbps for flow in run.flows]
        published = round(rates[first] / rates[second], 2)
        for prague in PRAGUES:
            goodputs = goodput_measures_of_run(name, prague)
            yield ClaimStatement(
                f"{CONTROL_NAMES[prague]} over CUBIC, {run.queue}",
                MeasureRatio(goodputs[first], goodputs[second]),
                claimed_about(published),
                RATIO,
                published=published,
            )


TEAM_CLAIMS = [
    Claim(
        "L22",
        "A single flow of CUBIC, DCTCP or the Prague of 2020 has the rate that the L4S team published within 10 %.",
        ["Table 7"],
        list(_single_flow_difference_statements(PRAGUE_2020, CUBIC, "dctcp", PRAGUE)),
        why=(
            f"The twelve flows of CUBIC and nine of twelve of Prague agree. {_GROWTH} DCTCP has 95.6 Mbit/s instead of 51.8, and 93.8 with "
            "bundles of segmentation offload; the cause of the published rate is unknown."
        ),
    ),
    Claim(
        "L23",
        "A single flow of Prague 0.7 has the rate that the L4S team published for its Prague within 10 %.",
        ["Table 7"],
        list(_single_flow_difference_statements(PRAGUE, PRAGUE)),
        why=f"Nine of twelve flows agree, as those of the Prague of 2020 do (L22). {_GROWTH}",
    ),
    Claim(
        "L24",
        "Four flows with RTTs from 0.5 to 30 ms differ about as much as published, for CUBIC and for Prague 0.7.",
        ["Table 7"],
        [_largest_over_smallest_statement(control, PRAGUE) for control in _FOUR_RTTS],
        reading=(
            "about: half of the published ratio of the largest to the smallest rate to one and a half of it. Prague 0.7, since the "
            "published Prague has RTT independence: its four rates differ by a factor of 1.2."
        ),
    ),
    Claim(
        "L25",
        "At 100 Mbit/s and 20 ms Prague's goodput over CUBIC's is about as published, over DualPI2 and over CoDel in one queue.",
        ["Table 7"],
        list(_prague_over_cubic_statements()),
        reading="about: half of the published ratio to one and a half of it; both Pragues.",
    ),
]
