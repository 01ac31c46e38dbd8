"""Phase effects: which measures of a scenario move when its senders have a random processing time (Floyd and Jacobson 1992).

A deterministic network may lock in phase, so that one flow has nearly all drops. Its measures then say nothing of a real network. A random
processing time of up to one packet's transmission time at each sender ends the lock, so the measures move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import catalog, scenarios
from ecnlab.analysis.compare import Difference, Sample, difference
from ecnlab.analysis.stats import CONFIDENCE, Estimate, adjusted_p_values, p_value, prediction_p_value
from ecnlab.errors import Problem, ScenarioError, UsageError
from ecnlab.runner import Request, run_all
from ecnlab.seeds import chosen_seeds
from ecnlab.sweeps.run import STORE

if TYPE_CHECKING:
    from ecnlab.results import Result
    from ecnlab.scenarios import Scenario
    from ecnlab.store import Store
    from ecnlab.workers import Workers

KEY = "processing_jitter"
ONE_PACKET = "packet"
OFF = "0 s"
SEEDS = 10
# A processing time delays packets by half a packet on average, which moves means by less than this in networks without a lock.
LEAST_SHARE = 0.05
_FEWEST_SEEDS = 2
# Seeds whose values spread less than this share of the spread with a processing time are as one run.
_ONE_RUN = 0.1
_SHOWN = 3

QUANTITIES = {
    "total": ("goodput_bps", "jain_goodput", "delay_mean_s", "rtt_mean_s", "transaction_mean_s"),
    "groups": ("goodput_bps", "delay_mean_s", "transaction_mean_s"),
    "queues": ("utilisation", "mark_rate", "drop_rate", "length_mean_packets", "sojourn_mean_s"),
}
# Shares of the packets that arrived, and what is counted.
_RATES = {"mark_rate": "marks", "drop_rate": "drops"}
# Smaller changes than these are no finding, whatever share of a small mean they are: 0.1 percentage points, half a packet, 1 µs.
LEAST_CHANGE = {
    **dict.fromkeys((*_RATES, "utilisation", "jain_goodput"), 0.001),
    "length_mean_packets": 0.5,
    "sojourn_mean_s": 1e-6,
}

Cell = tuple[str, str, str]  # table, name of the row, quantity


@dataclass(frozen=True)
class PhaseRow:
    """How one measure moves.

    Attributes
    ----------
    table, name, quantity : str
        Which measure: of the table `total`, or of a group or queue. `mark_rate` and `drop_rate` are shares of the packets that arrived.
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
    def place(self) -> str:
        """The measure in a word, such as `queues.bottleneck.utilisation`."""
        return ".".join(filter(None, [self.table, self.name, self.quantity]))


@dataclass(frozen=True, repr=False)
class PhaseEffect:
    """What a random processing time at the senders changes about a scenario.

    Attributes
    ----------
    scenario : str
        The scenario's title.
    seeds : list of int
        The seeds of both.
    is_deterministic : bool
        Whether all seeds without the processing time are identical.
    rows : list of PhaseRow
        Every measure, those that moved first.
    """

    scenario: str
    seeds: list[int]
    is_deterministic: bool
    rows: list[PhaseRow]

    @property
    def moved(self) -> list[PhaseRow]:
        """The measures that moved."""
        return [row for row in self.rows if row.moved]

    @property
    def found(self) -> bool:
        """Whether some measure moved."""
        return bool(self.moved)

    @property
    def line(self) -> str:
        """One line: which measures moved, the largest change first."""
        if not self.found:
            return "phase effect: none found"
        return f"phase effect: {len(self.moved)} of {len(self.rows)} measures move: {self.largest}"

    @property
    def largest(self) -> str:
        """The largest changes; empty where no measure moved."""
        more = len(self.moved) - _SHOWN
        return ", ".join(f"{row.place} {_percent(row)}" for row in self.moved[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

    def json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "scenario": self.scenario,
            "seeds": self.seeds,
            "deterministic": self.is_deterministic,
            "found": self.found,
            "measures": len(self.rows),
            "moved": [_row_json(row) for row in self.moved],
        }

    def __repr__(self) -> str:
        return f"<PhaseEffect of {self.scenario!r}: {self.line}>"


def phase_effect(
    scenario: Scenario | str | Path,
    seeds: int | Iterable[int] | None = None,
    *,
    base: Result | None = None,
    measures: Sequence[str] = (),
    jitter: str = ONE_PACKET,
    least_share: float = LEAST_SHARE,
    store: Store | str | Path | None = STORE,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> PhaseEffect:
    """Which measures move when senders have a random processing time.

    A measure moved if its change is significant and large enough. It is significant if the p-value, adjusted over all measures by Benjamini
    and Hochberg's procedure, is at most 5 %. It is large enough if it is at least `least_share` of the larger mean and at least
    `LEAST_CHANGE`: 0.1 percentage points of shares, half a packet of a mean queue, 1 µs of its delay.

    Values of one seed are paired. Hardly anything may be random without the processing time; all seeds are then as one run, and its mean
    has no interval. This is taken to be so where the standard deviation is below a tenth of that with a processing time. The test is then
    whether the value could be that of one more run with a processing time: a prediction interval in place of a confidence interval.

    Parameters
    ----------
    scenario : Scenario or path
        What to run with and without it.
    seeds : int or iterable of int, optional
        At least two seeds; 1 to 10 unless given, or those of `base`.
    base : Result, optional
        A result of the scenario without the processing time, which is then not run again.
    measures : sequence of str, optional
        Only these quantities, such as "goodput_bps"; by default goodput, Jain's index, utilisation, shares of marks and drops, the mean
        queue and delays.
    jitter : str
        The maximum of the processing time: "packet", or a time such as "8 ms".
    least_share : float
        The smallest change that counts.
    store, workers, threads, progress
        As for `sweep`.

    Raises
    ------
    UsageError
        There is one seed only, no such measure, or a `jitter` of 0.
    ScenarioError
        The scenario is unsound, has a processing time itself, or runs on a backend whose hosts are kernels.
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
    jitter: str = ONE_PACKET,
    least_share: float = LEAST_SHARE,
    store: Store | str | Path | None = STORE,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> list[PhaseEffect]:
    """The same for several scenarios, whose runs are done together."""
    found = [scenarios.load(one) if isinstance(one, (str, Path)) else one for one in asked]
    given = list(bases) or [None] * len(found)
    chosen = chosen_seeds(SEEDS if seeds is None else seeds)
    if len(chosen) < _FEWEST_SEEDS:
        raise UsageError(f"seeds: a phase effect is found from at least {_FEWEST_SEEDS} seeds; give more, as in --seeds {SEEDS}")
    changed = [with_processing_time(scenario, jitter) for scenario in found]
    plain = [Request(scenario, chosen) for scenario, base in zip(found, given, strict=True) if base is None]
    jittered = [Request(scenario, chosen) for scenario in changed]
    ran = run_all([*plain, *jittered], store=store, workers=workers, threads=threads, progress=progress).whole()
    without = iter(ran[: len(plain)])
    pairs = [(next(without) if base is None else base, after) for base, after in zip(given, ran[len(plain) :], strict=True)]
    return [effect_of(before, after, measures, least_share) for before, after in pairs]


def with_processing_time(scenario: Scenario, jitter: str = ONE_PACKET) -> Scenario:
    """The same scenario with a processing time of at most `jitter`.

    Raises UsageError if that is none, and ScenarioError if the scenario has one already or its backend cannot run it.
    """
    if scenario.resolved[KEY] != OFF:
        message = "the scenario has a processing time already, so there is nothing to compare with; fix: leave it out"
        raise ScenarioError([Problem(KEY, None, message)], scenario.source)
    changed = scenario.changed({KEY: jitter})
    if changed.resolved[KEY] == OFF:
        raise UsageError(
            f'jitter: {jitter!r} is no processing time, so both runs would be the same; fix: "{ONE_PACKET}", or a time above 0'
        )
    if refused := changed.refusals():
        raise ScenarioError(refused, scenario.source)
    return changed


def effect_of(without: Result, with_: Result, measures: Sequence[str] = (), least_share: float = LEAST_SHARE) -> PhaseEffect:
    """The effect that two results show, of which the second has the processing time. Raises UsageError."""
    values = [dict(_values(result, measures)) for result in (without, with_)]
    missing = set(measures) - {quantity for _, _, quantity in values[0]}
    if missing:
        columns = {column.name for table in QUANTITIES for column in catalog.table(table).columns if column.unit}
        known = ", ".join(sorted({*_RATES, *columns}))
        raise UsageError(f"measures: no measure is called {', '.join(sorted(missing))}; fix: choose from {known}")
    before, after = (
        {cell: Sample(dict(zip(result.seeds, of_cell, strict=True)), result.alike) for cell, of_cell in found.items()}
        for result, found in zip((without, with_), values, strict=True)
    )
    differences = {cell: difference(sample, after[cell]) for cell, sample in before.items() if cell in after}
    there = {cell: found for cell, found in differences.items() if not math.isnan(found.change.mean)}
    ps = [_p_value(found) for found in there.values()]
    rows = [
        _row(cell, found, p, adjusted, least_share)
        for (cell, found), p, adjusted in zip(there.items(), ps, adjusted_p_values(ps), strict=True)
    ]
    rows.sort(key=lambda row: (not row.moved, -abs(row.relative)))
    return PhaseEffect(without.name, list(with_.seeds), without.alike, rows)


def _values(result: Result, measures: Sequence[str]) -> Iterator[tuple[Cell, list[float]]]:
    """The values of every measure, one a seed."""
    for table, names in (("total", [""]), ("groups", result.group_names), ("queues", result.queue_names)):
        known = [column.name for column in catalog.table(table).columns]
        for name in names:
            chosen = {"groups": {"group": name}, "queues": {"queue": name}}.get(table, {})
            for quantity in QUANTITIES[table] if not measures else [one for one in measures if one in known or one in _RATES]:
                if quantity in known and quantity not in ("group", "queue"):
                    yield (table, name, quantity), result.values(quantity, **chosen)
                elif quantity in _RATES and table == "queues":
                    counts, arrivals = (result.values(column, **chosen) for column in (_RATES[quantity], "arrivals"))
                    rates = [count / of if of else math.nan for count, of in zip(counts, arrivals, strict=True)]
                    yield (table, name, quantity), rates


def _p_value(found: Difference) -> float:
    """The p-value of no change."""
    if found.a.sd <= _ONE_RUN * found.b.sd:
        return prediction_p_value(found.b, found.a.mean)
    return p_value(found.change, 0.0)


def _row(cell: Cell, found: Difference, p: float, adjusted: float, least_share: float) -> PhaseRow:
    table, name, quantity = cell
    larger = max(abs(found.a.mean), abs(found.b.mean))
    relative = found.change.mean / larger if larger else 0.0
    is_large = abs(relative) >= least_share and abs(found.change.mean) >= LEAST_CHANGE.get(quantity, 0.0)
    moved = adjusted <= 1 - CONFIDENCE and is_large
    return PhaseRow(table, name, quantity, found.a, found.b, found.change, p, adjusted, relative, moved)


def _row_json(row: PhaseRow) -> dict[str, Any]:
    half_width = row.change.half_width
    return {
        "measure": row.place,
        "without": row.without.mean,
        "with": row.with_.mean,
        "change": row.change.mean,
        "half_width": None if math.isnan(half_width) else half_width,
        "relative": row.relative,
        "adjusted_p": row.adjusted_p,
    }


def _percent(row: PhaseRow) -> str:
    if row.without.mean == 0:
        return "from 0"
    return f"{100 * row.change.mean / abs(row.without.mean):+.0f} %"
