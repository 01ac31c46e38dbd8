"""A quantity at the setting where it is largest or smallest: the best point of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ecnlab.studies.framework.claims import MeasuredQuantity, ResultOfNeed, ValueBySeed
from ecnlab.studies.framework.model import RequiredScenario


@dataclass(frozen=True)
class MeasureAtExtremeSetting:
    """A quantity in the setting where it is the `extreme` one.

    The means over all other seeds choose the setting of a seed. The largest of a run's own values would also be large by chance.

    Attributes
    ----------
    extreme : callable
        `max` or `min`.
    settings : sequence of Measured
        The quantity in each setting.
    below_zero : sequence of Measured, optional
        Only settings where this quantity is below zero are ranked; where it is below zero in none, the one where it is least.
    """

    extreme: Callable[[Sequence[float]], float]
    settings: Sequence[MeasuredQuantity]
    below_zero: Sequence[MeasuredQuantity] = ()

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenarios of all settings."""
        for part in (*self.settings, *self.below_zero):
            yield from part.required_scenarios()

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """The value of each seed that all settings have; NaN where the settings cannot be ranked."""
        measured, limiting = ([part.values_by_seed(runs) for part in parts] for parts in (self.settings, self.below_zero))
        seeds = [seed for seed in measured[0] if all(seed in values for values in (*measured, *limiting))]
        found = {}
        for seed in seeds:
            others = [other for other in seeds if other != seed] or [seed]
            means, limits = ([fmean(values[other] for other in others) for values in parts] for parts in (measured, limiting))
            at = self._index_of_extreme_setting(means, limits)
            found[seed] = math.nan if at is None else measured[at][seed]
        return found

    def recorded_ns2_mean(self) -> float | None:
        """ns-2's mean in the setting with the extreme of ns-2's means, if all are known."""
        means, limits = (
            [mean for part in parts if (mean := part.recorded_ns2_mean()) is not None] for parts in (self.settings, self.below_zero)
        )
        if len(means) < len(self.settings) or len(limits) < len(self.below_zero):
            return None
        at = self._index_of_extreme_setting(means, limits)
        return None if at is None else means[at]

    def _index_of_extreme_setting(self, means: Sequence[float], limits: Sequence[float]) -> int | None:
        """The index of the extreme mean among the given settings; None if a mean is NaN."""
        if any(map(math.isnan, (*means, *limits))):
            return None
        counted = [at for at, limit in enumerate(limits) if limit < 0] or ([limits.index(min(limits))] if limits else range(len(means)))
        return max(counted, key=means.__getitem__) if self.extreme is max else min(counted, key=means.__getitem__)
