"""Claims on steps of the rate."""

from __future__ import annotations

from collections.abc import Iterator

from ecnlab.studies.framework.claims import (
    MS,
    PERCENT,
    SECONDS,
    Claim,
    ClaimStatement,
    CombinedMeasure,
    MeasureDifference,
    claimed_about,
    claimed_above,
    claimed_at_least,
    claimed_between,
)
from ecnlab.studies.papers.l4s import rate_step
from ecnlab.studies.papers.l4s.network import CUBIC, PRAGUE_2020, relative_difference_from_reference
from ecnlab.studies.papers.l4s.tables import TOLERANCE, WITHIN_TOLERANCE


def _long_waits_over_cubic_statements() -> Iterator[ClaimStatement]:
    for rtt in rate_step.RTTS_MS:
        for rate in rate_step.RATES_AFTER_MBPS:
            prague, cubic = (rate_step.time_of_long_waits(control, rtt, rate) for control in (PRAGUE_2020, CUBIC))
            yield ClaimStatement(
                f"waits above 20 ms, Prague of 2020 minus CUBIC, {rtt} ms, to {rate} Mbit/s",
                MeasureDifference(prague, cubic),
                claimed_above(0),
                SECONDS,
            )


def _largest_wait_of_hosts_statements() -> Iterator[ClaimStatement]:
    for (control, rtt, rate), hosts in rate_step.steps_of_linux_hosts().items():
        yield ClaimStatement(
            f"largest wait over that of a Linux 7.2 host, {control}, {rtt} ms, to {rate} Mbit/s",
            relative_difference_from_reference(rate_step.largest_wait(control, rtt, rate), hosts.largest_wait_ms / 1e3),
            WITHIN_TOLERANCE,
            PERCENT,
        )


RATE_STEP_CLAIMS = [
    Claim(
        "L15",
        "After a step from 50 to 1 Mbit/s at 80 ms the Prague of 2020 has an RTT of about 4.3 s, and long waits to the end of the run.",
        ["Table 6"],
        [
            ClaimStatement(
                "largest wait and the RTT of the path",
                CombinedMeasure(lambda values: values[0] + 0.08, [rate_step.largest_wait(PRAGUE_2020, 80, 1)]),
                claimed_between(
                    round(rate_step.PUBLISHED_RTT_MS * (1 - TOLERANCE), 1), round(rate_step.PUBLISHED_RTT_MS * (1 + TOLERANCE), 1)
                ),
                MS,
                published=rate_step.PUBLISHED_RTT_MS,
            ),
            ClaimStatement(
                "waits above 20 ms in the 30 s after the step",
                rate_step.time_of_long_waits(PRAGUE_2020, 80, 1),
                claimed_at_least(29.5),
                SECONDS,
                published=rate_step.PUBLISHED_LONGER_THAN_S,
            ),
        ],
        reading="the published RTT within 10 %; published are more than 30 s, of which a run has 30 s after the step",
    ),
    Claim(
        "L16",
        "After a step from 50 to 25 Mbit/s at 80 ms the Prague of 2020 waits about 100 ms longer, for about 5 s.",
        ["Table 6"],
        [
            ClaimStatement(
                "largest wait",
                rate_step.largest_wait(PRAGUE_2020, 80, 25),
                claimed_about(rate_step.PUBLISHED_PEAK_MS),
                MS,
                published=rate_step.PUBLISHED_PEAK_MS,
            ),
            ClaimStatement(
                "waits above 20 ms",
                rate_step.time_of_long_waits(PRAGUE_2020, 80, 25),
                claimed_about(rate_step.PUBLISHED_PEAK_S),
                SECONDS,
                published=rate_step.PUBLISHED_PEAK_S,
            ),
        ],
        reading="about: half of the published number to one and a half of it.",
    ),
    Claim(
        "L17",
        "After a step of the rate the long waits of the Prague of 2020 last longer than CUBIC's.",
        ["Table 6"],
        list(_long_waits_over_cubic_statements()),
        reading="l4s-tests, key finding 7: L4S flows respond too little to CoDel's marks",
        why=(
            "The exception is the step to 1 Mbit/s at 20 ms. Such a path holds less than two packets, the least window of CUBIC, "
            "whose queue stays above 20 ms to the end."
        ),
    ),
    Claim(
        "L18",
        "The largest wait after a step is that of Linux 7.2 hosts within 10 %.",
        ["Table 6"],
        list(_largest_wait_of_hosts_statements()),
        why=(
            "Prague's waits agree within 4 %. CUBIC of 80 ms waits 9 to 15 % less. It is a phase effect: with a random processing "
            "time all 16 waits agree."
        ),
    ),
]
