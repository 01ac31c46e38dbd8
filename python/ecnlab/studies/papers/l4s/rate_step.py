"""A link whose rate falls from 50 Mbit/s after 30 s: how long and how far a single flow's packets wait longer (l4s-tests, scenario 2)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import polars as pl

from ecnlab.stats.estimates import Estimate
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import MS, ScenarioMeasure, estimate_of_quantity
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
from ecnlab.studies.papers.l4s.network import (
    BOTTLENECK,
    CONTROL_NAMES,
    CUBIC,
    PRAGUE,
    PRAGUE_2020,
    flow_group,
    link_tree,
    required_scenario,
)
from ecnlab.studies.papers.l4s.published import REFERENCE, Sender

RATES_AFTER_MBPS = (25, 10, 5, 1)
RTTS_MS = (20, 80)
CONTROLS = (PRAGUE_2020, PRAGUE, CUBIC)
_RATE_BEFORE_MBPS, _STEP_S, _DURATION_S = 50, 30, 60
# Every packet of 1500 bytes takes 12 ms at 1 Mbit/s, so that each sample has departures.
_SAMPLE_S = 0.1
LONG_WAIT_S = 0.02
# The source's largest RTT of Prague after the step from 50 to 1 Mbit/s at 80 ms, and how long it calls the peak.
PUBLISHED_RTT_MS, PUBLISHED_LONGER_THAN_S = 4346, 30
# Its words for 50 to 25 Mbit/s at 80 ms.
PUBLISHED_PEAK_MS, PUBLISHED_PEAK_S = 100, 5

StepCase = tuple[str, int, int]
RATE_STEP_CASES: Sequence[StepCase] = [(control, rtt, rate) for rtt in RTTS_MS for rate in RATES_AFTER_MBPS for control in CONTROLS]


@cache
def rate_step_scenario(control: str, rtt_ms: int, to_mbps: int) -> RequiredScenario:
    """One flow over FQ-CoDel with its defaults, whose link has another rate after 30 s."""
    return required_scenario(
        f"{control} {rtt_ms} ms, {_RATE_BEFORE_MBPS} to {to_mbps} Mbit/s",
        [link_tree("fq_codel", _RATE_BEFORE_MBPS)],
        [flow_group("flow", Sender(control, rtt_ms))],
        _DURATION_S,
        _STEP_S,
        change=[{"at": f"{_STEP_S} s", "link": BOTTLENECK, "rate": f"{to_mbps} Mbps"}],
        record={"queue": f"{_SAMPLE_S} s"},
    )


def largest_wait(control: str, rtt_ms: int, to_mbps: int) -> ScenarioMeasure:
    """The largest sojourn time after the step, in seconds."""
    return ScenarioMeasure(rate_step_scenario(control, rtt_ms, to_mbps), _value_of_waits(max))


def time_of_long_waits(control: str, rtt_ms: int, to_mbps: int) -> ScenarioMeasure:
    """How long packets wait for more than 20 ms after the step: the tenths of a second in which one does."""
    return ScenarioMeasure(
        rate_step_scenario(control, rtt_ms, to_mbps), _value_of_waits(lambda waits: _SAMPLE_S * sum(wait > LONG_WAIT_S for wait in waits))
    )


def _value_of_waits(fold: Callable[[Sequence[float]], float]) -> Callable[[Result], list[float]]:
    return lambda result: [fold(waits) for waits in _largest_waits_after_step(result)]


def _largest_waits_after_step(result: Result) -> Iterator[list[float]]:
    """The largest sojourn time of each sample after the step, for each seed."""
    after = (pl.col("queue") == BOTTLENECK) & (pl.col("time_s") > _STEP_S) & pl.col("sojourn_max_s").is_not_nan()
    samples = result.series.queue.filter(after).select("seed", "sojourn_max_s")
    for seed in result.seeds:
        yield samples.filter(pl.col("seed") == seed)["sojourn_max_s"].to_list()


@dataclass(frozen=True)
class StepOutcomeOfLinuxHosts:
    """What a Linux 7.2 host has after the step: its largest wait, and the time in which packets wait more than 20 ms."""

    largest_wait_ms: float
    long_waits_s: float


@cache
def steps_of_linux_hosts() -> Mapping[StepCase, StepOutcomeOfLinuxHosts]:
    """The stored steps of Linux 7.2 hosts, by control, RTT and rate."""
    with (REFERENCE / "linux-7.2-rate-step.csv").open(encoding="utf-8", newline="") as file:
        return {
            (cells["control"], int(cells["rtt_ms"]), int(cells["to_mbps"])): StepOutcomeOfLinuxHosts(
                float(cells["largest_wait_ms"]), float(cells["longer_than_20_ms_s"])
            )
            for cells in csv.DictReader(file)
        }


def _draw_rate_steps_table(results: ResultsByKey) -> DrawnItemContent:
    rows: list[list[str]] = []
    data: list[tuple[NeedKey, Estimate]] = []
    runs = {rate_step_scenario(*key): result for key, result in results.items()}
    for control, rtt, rate in RATE_STEP_CASES:
        wait, long_waits = (
            estimate_of_quantity(measure(control, rtt, rate), runs.__getitem__) for measure in (largest_wait, time_of_long_waits)
        )
        hosts = steps_of_linux_hosts().get((control, rtt, rate))
        rows.append(
            [
                *(f"{rtt} ms", f"to {rate} Mbit/s", CONTROL_NAMES.get(control, control), _published_words(control, rtt, rate)),
                *(["", ""] if hosts is None else [f"{hosts.largest_wait_ms:.0f}", f"{hosts.long_waits_s:.1f}"]),
                *(format_with_interval(wait.scaled(MS.factor), 0), format_with_interval(long_waits, 1)),
            ]
        )
        data += [((control, rtt, rate, "largest_wait_s"), wait), ((control, rtt, rate, "longer_than_20_ms_s"), long_waits)]
    hosts_and_ours = [f"{whose}: {what}" for whose in ("Linux 7.2 hosts", "simulated") for what in ("wait (ms)", "longer than 20 ms (s)")]
    table = ReportTable("Waits after the step", ["RTT", "rate", "control", "published", *hosts_and_ours], rows)
    return DrawnItemContent(None, [table], estimates_frame(["control", "rtt_ms", "to_mbps", "quantity"], "value", data))


def _published_words(control: str, rtt_ms: int, to_mbps: int) -> str:
    published = {
        (PRAGUE_2020, 80, 25): f"RTT up by about {PUBLISHED_PEAK_MS} ms, for about {PUBLISHED_PEAK_S} s",
        (PRAGUE_2020, 80, 1): f"RTT {PUBLISHED_RTT_MS} ms, for more than {PUBLISHED_LONGER_THAN_S} s",
    }
    return published.get((control, rtt_ms, to_mbps), "")


RATE_STEP_ITEM = StudyItem(
    "6",
    "A step of the rate from 50 Mbit/s",
    "One flow over FQ-CoDel with its defaults. The largest wait in the queue after the step at 30 s of 60 s, and for how long packets wait "
    "more than 20 ms. The source's numbers are RTTs, which have the RTT of the path in addition. Linux 7.2 hosts are one run each, over "
    "this engine's FQ-CoDel.",
    {case: rate_step_scenario(*case) for case in RATE_STEP_CASES},
    _draw_rate_steps_table,
    kind="Table",
    part="A step of the rate",
)
