"""Robustness of a result in one line: steady state, phase effect, seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecnlab.display.json_values import non_finite_to_none
from ecnlab.errors import Problem
from ecnlab.stats import precision, steady_series

if TYPE_CHECKING:
    from ecnlab.comparison.phase import PhaseEffect
    from ecnlab.stats.estimates import Estimate
    from ecnlab.stats.precision import MeasureSelector
    from ecnlab.stats.steady_state import SteadyState
    from ecnlab.storage.results import Result


@dataclass(frozen=True)
class Robustness:
    """How far the numbers of a result can be trusted.

    Attributes
    ----------
    steady : SteadyState or None
        Where the steady state begins; None where no series was recorded.
    phase : PhaseEffect or None
        What random processing times change; None where that was not checked.
    measure : Measure
        The measure by which the number of seeds is judged.
    estimate : Estimate
        Its mean and interval.
    is_identical : bool
        Whether all seeds are one and the same run.
    measure_from_s : float
        Where the measured interval begins.
    switched_off : str
        The settings of the scenario that switch off the series for the steady state; "" where none does.
    """

    steady: SteadyState | None
    phase: PhaseEffect | None
    measure: MeasureSelector
    estimate: Estimate
    is_identical: bool
    measure_from_s: float
    switched_off: str = ""

    def __str__(self) -> str:
        """The summary in one line."""
        return "; ".join(
            (
                self._steady_state_text(),
                self.phase.line if self.phase else "phase effect: not checked (--phase)",
                self._seeds_and_precision_text(),
            )
        )

    @property
    def warnings(self) -> list[Problem]:
        """Warnings that a user should read before the numbers."""
        steady = self.steady.warnings if self.steady else []
        if self.phase is None:
            return steady
        if not self.phase.found:
            return [*steady, *self.phase.warnings]
        count = f"{len(self.phase.moved_rows)} of {len(self.phase.rows)}"
        what = f"a random processing time at senders moves {count} measures: {self.phase.largest}"
        return [*steady, Problem("processing_jitter", None, f'{what}; fix: processing_jitter = "packet", or spread delays and starts')]

    def to_dict(self) -> dict[str, Any]:
        """The summary as a dict of JSON types."""
        steady = self.steady
        return {
            "steady_state": None
            if steady is None
            else {
                "from_s": steady.from_s,
                "seeds": steady.seeds,
                "reason": steady.reason,
                "quantities": [{name: non_finite_to_none(value) for name, value in vars(one).items()} for one in steady.quantities],
            },
            "phase_effect": None if self.phase is None else self.phase.to_dict(),
            "seeds": {
                "measure": self.measure.text,
                "n": self.estimate.n,
                "identical": self.is_identical,
                "half_width": non_finite_to_none(self.estimate.half_width),
                "relative_half_width": non_finite_to_none(
                    self.estimate.half_width / abs(self.estimate.mean) if self.estimate.mean else math.nan
                ),
            },
            "warnings": [vars(warning) for warning in self.warnings],
        }

    def _steady_state_text(self) -> str:
        if self.steady is None:
            fix = f" (fix: omit {self.switched_off}, and run into another folder with --out)" if self.switched_off else ""
            return f"steady state not checked{fix}"
        if self.steady.reason:
            return f"no steady state, as {self.steady.reason}"
        if self.steady.from_s is None:
            return "steady state not found, as the run is too short"
        text = f"steady state from {self.steady.from_s:g} s"
        is_moved = any(one.shift for one in self.steady.quantities)
        return (
            f"{text}, means from {self.measure_from_s:g} s not moved" if self.steady.from_s > self.measure_from_s and not is_moved else text
        )

    def _seeds_and_precision_text(self) -> str:
        if self.is_identical:
            return f"{self.estimate.n} seeds are identical, no interval"
        if self.estimate.n == 1:
            return "one seed, no interval"
        if not math.isfinite(self.estimate.half_width):
            return f"seeds not judged, as {self.measure.readable_name} has no value"
        return f"seeds enough for {precision.relative_half_width_text(self.measure, self.estimate)} ({self.measure.readable_name})"


def robustness_of_result(result: Result, of: str = precision.DEFAULT_MEASURE, phase: PhaseEffect | None = None) -> Robustness:
    """How far the numbers of a result can be trusted; `of` names the measure that the number of seeds is checked for.

    Raises UnknownName for a measure that the result does not have.
    """
    measure = precision.parse_measure(of, result.group_names, result.queue_names)
    steady = result.steady_state() if steady_series.has_steady_state_series(result) else None
    off = "" if steady else steady_series.switched_off_recordings_text(result)
    return Robustness(steady, phase, measure, measure.estimate(result), result.alike, result.header["measure_from_s"], off)
