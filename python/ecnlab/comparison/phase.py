"""Phase effects: which measures of a scenario move when its senders have a random processing time (Floyd and Jacobson 1992).

In a deterministic network flows may lock in phase, so that one flow has nearly all drops, which no real network shows. A random
processing time of up to one packet's transmission time at each sender breaks the lock, so the measures move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab.errors import Problem, ScenarioError, UsageError
from ecnlab.execution.runner import Request, run_all
from ecnlab.scenarios import catalog
from ecnlab.scenarios.load import load
from ecnlab.scenarios.seeds import seeds_from_arguments
from ecnlab.stats.differences import QuantityDifference, SampleBySeed, difference_of_samples
from ecnlab.stats.estimates import CONFIDENCE, Estimate, fdr_adjusted_p_values, p_value, prediction_p_value, sign_flip_p_value
from ecnlab.storage.results import Result, rows_of_measures
from ecnlab.sweeps.run import STORE_FOLDER

if TYPE_CHECKING:
    from ecnlab.execution.workers import Workers
    from ecnlab.scenarios.load import Scenario
    from ecnlab.storage.store import Store

PROCESSING_TIME_KEY = "processing_jitter"
ONE_PACKET_JITTER = "packet"
NO_JITTER = "0 s"
DEFAULT_SEEDS = 10
# A processing time delays packets by half a packet on average, which moves means by less than this in networks without a lock.
MIN_RELATIVE_CHANGE = 0.05
_MIN_SEEDS_FOR_TEST = 2
# With fewer, the change of a known phase lock is hardly ever significant.
MIN_SEEDS = 5
# Seeds are treated as one run if their standard deviation is below this share of that with a processing time.
_ONE_RUN_SHARE = 0.1
_MAX_SHOWN_ROWS = 3

QUANTITIES = {
    "total": ("goodput_bps", "jain_goodput", "delay_mean_s", "rtt_mean_s", "transaction_mean_s"),
    "groups": ("goodput_bps", "delay_mean_s", "transaction_mean_s"),
    "queues": ("utilisation", "mark_rate", "drop_rate", "length_mean_packets", "sojourn_mean_s"),
}
# Shares of arrived packets, with the counter of each.
_RATE_QUANTITIES = {"mark_rate": "marks", "drop_rate": "drops"}
# Changes below these are not reported, even if large relative to the mean: 0.1 percentage points, half a packet, 1 µs.
MIN_ABSOLUTE_CHANGE = {
    **dict.fromkeys((*_RATE_QUANTITIES, "utilisation", "jain_goodput"), 0.001),
    "length_mean_packets": 0.5,
    "sojourn_mean_s": 1e-6,
}

MeasureKey = tuple[str, str, str]  # table, name of the row, quantity


@dataclass(frozen=True)
class PhaseEffectRow:
    """The change of one measure.

    Attributes
    ----------
    table, name, quantity : str
        The measure: of the table `total`, or of a group or queue. `mark_rate` and `drop_rate` are shares of arrived packets.
    without, with_ : Estimate
        The means without and with the processing time.
    change : Estimate
        The mean of the change with its interval, paired by seed.
    p, adjusted_p : float
        The p-value of no change, and the same adjusted for all measures of the scenario (Benjamini and Hochberg 1995).
    relative : float
        The change as a share of the larger of both means.
    moved : bool
        Whether the measure moved by more than its interval, and by enough.
    """

    table: str
    name: str
    quantity: str
    without: Estimate
    with_: Estimate
    change: Estimate
    p: float
    adjusted_p: float
    relative: float
    moved: bool

    @property
    def dotted_measure_name(self) -> str:
        """The path of the measure, such as `queues.bottleneck.utilisation`."""
        return ".".join(filter(None, [self.table, self.name, self.quantity]))


@dataclass(frozen=True, repr=False)
class PhaseEffect:
    """Changes of a scenario's measures by a random processing time at the senders.

    Attributes
    ----------
    scenario : str
        The scenario's title.
    seeds : list of int
        The seeds of both.
    is_deterministic : bool
        Whether all seeds without the processing time are identical.
    rows : list of PhaseEffectRow
        Every measure, those that moved first.
    """

    scenario: str
    seeds: list[int]
    is_deterministic: bool
    rows: list[PhaseEffectRow]

    @property
    def moved_rows(self) -> list[PhaseEffectRow]:
        """The measures that moved."""
        return [row for row in self.rows if row.moved]

    @property
    def found(self) -> bool:
        """Whether some measure moved."""
        return bool(self.moved_rows)

    @property
    def line(self) -> str:
        """One line: which measures moved, the largest change first."""
        if not self.found:
            return "phase effect: none found"
        return f"phase effect: {len(self.moved_rows)} of {len(self.rows)} measures move: {self.largest}"

    @property
    def largest(self) -> str:
        """The largest changes; empty if no measure moved."""
        more = len(self.moved_rows) - _MAX_SHOWN_ROWS
        return ", ".join(f"{row.dotted_measure_name} {_format_relative_change(row)}" for row in self.moved_rows[:_MAX_SHOWN_ROWS]) + (
            f" and {more} more" if more > 0 else ""
        )

    @property
    def warnings(self) -> list[Problem]:
        """A warning if nothing was found over fewer than `MIN_SEEDS` seeds."""
        if self.found or len(self.seeds) >= MIN_SEEDS:
            return []
        what = f"{len(self.seeds)} seeds are too few to find a phase effect: its change would rarely be significant"
        return [Problem("seeds", None, f"{what}; fix: give at least {MIN_SEEDS}, as in --seeds {MIN_SEEDS}")]

    def json(self) -> dict[str, Any]:
        """Old name of `to_dict`, until the next release."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The effect as plain values."""
        return {
            "scenario": self.scenario,
            "seeds": self.seeds,
            "deterministic": self.is_deterministic,
            "found": self.found,
            "measures": len(self.rows),
            "moved": [_phase_effect_row_to_dict(row) for row in self.moved_rows],
        }

    def __repr__(self) -> str:
        return f"<PhaseEffect of {self.scenario!r}: {self.line}>"


def phase_effect(
    scenario: Scenario | str | Path,
    seeds: int | Iterable[int] | None = None,
    *,
    base: Result | None = None,
    measures: Sequence[str] = (),
    jitter: str = ONE_PACKET_JITTER,
    least_share: float = MIN_RELATIVE_CHANGE,
    store: Store | str | Path | None = STORE_FOLDER,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> PhaseEffect:
    """Which measures move when senders have a random processing time.

    A measure moved if its change is significant and large enough. It is significant if the p-value, adjusted over all measures by Benjamini
    and Hochberg's procedure, is at most 5 %. It is large enough if it is at least `least_share` of the larger mean and at least
    `MIN_ABSOLUTE_CHANGE`: 0.1 percentage points of shares, half a packet of a mean queue, 1 µs of its delay.

    Values are paired by seed. If hardly anything is random without the processing time, its seeds are one run without a confidence
    interval. This is assumed if the standard deviation is below a tenth of that with a processing time. The test is then a prediction
    interval: whether the value could be that of one more run with a processing time.

    Parameters
    ----------
    scenario : Scenario or path
        The scenario to run with and without it.
    seeds : int or iterable of int, optional
        At least two seeds; 1 to 10 unless given, or those of `base`.
    base : Result, optional
        A result without the processing time, which is not run again.
    measures : sequence of str, optional
        Quantities such as "goodput_bps"; by default goodput, Jain's index, utilisation, shares of marks and drops, mean queue and delays.
    jitter : str
        The maximum of the processing time: "packet", or a time such as "8 ms".
    least_share : float
        The smallest change that is reported, as a share of the larger mean.
    store, workers, threads, progress
        As for `sweep`.

    Raises
    ------
    UsageError
        Fewer than two seeds, an unknown measure, or a `jitter` of 0.
    ScenarioError
        The scenario is invalid, already has a processing time, or runs on a backend with real hosts.
    """
    return phase_effects(
        [scenario],
        seeds if base is None or seeds is not None else base.seeds,
        bases=[base],
        measures=measures,
        jitter=jitter,
        least_share=least_share,
        store=store,
        workers=workers,
        threads=threads,
        progress=progress,
    )[0]


def phase_effects(
    asked: Sequence[Scenario | str | Path],
    seeds: int | Iterable[int] | None = None,
    *,
    bases: Sequence[Result | None] = (),
    measures: Sequence[str] = (),
    jitter: str = ONE_PACKET_JITTER,
    least_share: float = MIN_RELATIVE_CHANGE,
    store: Store | str | Path | None = STORE_FOLDER,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> list[PhaseEffect]:
    """As `phase_effect` for several scenarios, whose runs are executed together."""
    found = [load(one) if isinstance(one, (str, Path)) else one for one in asked]
    given = list(bases) or [None] * len(found)
    chosen = seeds_from_arguments(DEFAULT_SEEDS if seeds is None else seeds)
    if len(chosen) < _MIN_SEEDS_FOR_TEST:
        raise UsageError(
            f"seeds: a phase effect is found from at least {_MIN_SEEDS_FOR_TEST} seeds; give more, as in --seeds {DEFAULT_SEEDS}"
        )
    changed = [with_processing_time(scenario, jitter) for scenario in found]
    plain = [Request(scenario, chosen) for scenario, base in zip(found, given, strict=True) if base is None]
    jittered = [Request(scenario, chosen) for scenario in changed]
    ran = run_all([*plain, *jittered], store=store, workers=workers, threads=threads, progress=progress).results_or_raise()
    without = iter(ran[: len(plain)])
    pairs = [(next(without) if base is None else base, after) for base, after in zip(given, ran[len(plain) :], strict=True)]
    return [phase_effect_of_results(before, after, measures, least_share) for before, after in pairs]


def with_processing_time(scenario: Scenario, jitter: str = ONE_PACKET_JITTER) -> Scenario:
    """The same scenario with a processing time of at most `jitter`.

    Raises UsageError if it is 0, and ScenarioError if the scenario already has one or its backend does not support it.
    """
    if scenario.resolved[PROCESSING_TIME_KEY] != NO_JITTER:
        message = "the scenario sets a processing time, so both runs would be the same; fix: omit it"
        raise ScenarioError([Problem(PROCESSING_TIME_KEY, None, message)], scenario.source)
    changed = scenario.changed({PROCESSING_TIME_KEY: jitter})
    if changed.resolved[PROCESSING_TIME_KEY] == NO_JITTER:
        raise UsageError(
            f'jitter: {jitter!r} is not a processing time, so both runs would be the same; fix: "{ONE_PACKET_JITTER}", or a time above 0'
        )
    if refused := changed.refusals():
        raise ScenarioError(refused, scenario.source)
    return changed


def phase_effect_of_results(
    without: Result, with_: Result, measures: Sequence[str] = (), least_share: float = MIN_RELATIVE_CHANGE
) -> PhaseEffect:
    """The effect from two results, the second of which has the processing time. Raises UsageError."""
    values = [dict(_measure_values(result, measures)) for result in (without, with_)]
    missing = set(measures) - {quantity for _, _, quantity in values[0]}
    if missing:
        columns = {column.name for table in QUANTITIES for column in catalog.table(table).columns if column.unit}
        known = ", ".join(sorted({*_RATE_QUANTITIES, *columns}))
        raise UsageError(f"measures: unknown {', '.join(sorted(missing))}; fix: use one of {known}")
    before, after = (
        {cell: SampleBySeed(dict(zip(result.seeds, of_cell, strict=True)), result.alike) for cell, of_cell in found.items()}
        for result, found in zip((without, with_), values, strict=True)
    )
    differences = {cell: difference_of_samples(sample, after[cell]) for cell, sample in before.items() if cell in after}
    there = {cell: found for cell, found in differences.items() if not math.isnan(found.change.mean)}
    ps = [_p_value_of_no_change(found) for found in there.values()]
    rows = [
        _phase_effect_row(cell, found, p, adjusted, least_share)
        for (cell, found), p, adjusted in zip(there.items(), ps, fdr_adjusted_p_values(ps), strict=True)
    ]
    rows.sort(key=lambda row: (not row.moved, -abs(row.relative)))
    return PhaseEffect(without.name, list(with_.seeds), without.alike, rows)


def _measure_values(result: Result, measures: Sequence[str]) -> Iterator[tuple[MeasureKey, list[float]]]:
    """Yield the values of every measure, one per seed."""
    for table, row in rows_of_measures(result):
        if table not in QUANTITIES:
            continue
        known = [column.name for column in catalog.table(table).columns if column.name not in row]
        for quantity in measures or QUANTITIES[table]:
            cell = table, "".join(row.values()), quantity
            if quantity in known:
                yield cell, result.values(quantity, **row)
            elif quantity in _RATE_QUANTITIES and table == "queues":
                counts, arrivals = (result.values(column, **row) for column in (_RATE_QUANTITIES[quantity], "arrivals"))
                yield cell, [count / of if of else math.nan for count, of in zip(counts, arrivals, strict=True)]


def _p_value_of_no_change(found: QuantityDifference) -> float:
    """The p-value of no change."""
    if found.change.half_width == 0:  # Student's t does not apply to values without spread
        return sign_flip_p_value(found.change)
    if found.a.sd <= _ONE_RUN_SHARE * found.b.sd:
        return prediction_p_value(found.b, found.a.mean)
    return p_value(found.change, 0.0)


def _phase_effect_row(cell: MeasureKey, found: QuantityDifference, p: float, adjusted: float, least_share: float) -> PhaseEffectRow:
    table, name, quantity = cell
    larger = max(abs(found.a.mean), abs(found.b.mean))
    relative = found.change.mean / larger if larger else 0.0
    is_large = abs(relative) >= least_share and abs(found.change.mean) >= MIN_ABSOLUTE_CHANGE.get(quantity, 0.0)
    moved = adjusted <= 1 - CONFIDENCE and is_large
    return PhaseEffectRow(table, name, quantity, found.a, found.b, found.change, p, adjusted, relative, moved)


def _phase_effect_row_to_dict(row: PhaseEffectRow) -> dict[str, Any]:
    half_width = row.change.half_width
    return {
        "measure": row.dotted_measure_name,
        "without": row.without.mean,
        "with": row.with_.mean,
        "change": row.change.mean,
        "half_width": None if math.isnan(half_width) else half_width,
        "relative": row.relative,
        "adjusted_p": row.adjusted_p,
    }


def _format_relative_change(row: PhaseEffectRow) -> str:
    if row.without.mean == 0:
        return "from 0"
    return f"{100 * row.change.mean / abs(row.without.mean):+.0f} %"
