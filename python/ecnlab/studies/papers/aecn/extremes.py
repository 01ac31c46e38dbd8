"""A quantity at the setting where it, or another quantity, is largest or smallest: the best point of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ecnlab.studies.framework.claims import MeasuredQuantity, ResultOfNeed, ValueBySeed
from ecnlab.studies.framework.model import RequiredScenario


@dataclass(frozen=True)
class MeasureAtExtremeSetting:
    """One quantity of `taken`, that of the setting whose quantity of `ranked` is the `extreme` one.

    The means over all other seeds choose the setting of a seed. The largest of a run's own values would also be large by chance.

    Attributes
    ----------
    extreme : callable
        `max` or `min`.
    ranked : sequence of Measured
        The quantity that chooses, in each setting.
    taken : sequence of Measured
        The quantity that is measured, in the same settings.
    below_zero : sequence of Measured, optional
        Only settings where this quantity is below zero are ranked; where it is below zero in none, the one where it is least.
    """

    extreme: Callable[[Sequence[float]], float]
    ranked: Sequence[MeasuredQuantity]
    taken: Sequence[MeasuredQuantity]
    below_zero: Sequence[MeasuredQuantity] = ()

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        """The scenarios of all settings."""
        for part in (*self.ranked, *self.taken, *self.below_zero):
            yield from part.required_scenarios()

    def values_by_seed(self, runs: ResultOfNeed) -> ValueBySeed:
        """The value of each seed that all settings have; NaN where the settings cannot be ranked."""
        ranked, taken, limiting = ([part.values_by_seed(runs) for part in parts] for parts in (self.ranked, self.taken, self.below_zero))
        seeds = [seed for seed in ranked[0] if all(seed in values for values in (*ranked, *taken, *limiting))]
        found = {}
        for seed in seeds:
            others = [other for other in seeds if other != seed] or [seed]
            means, limits = ([fmean(values[other] for other in others) for values in parts] for parts in (ranked, limiting))
            at = self._index_of_extreme_setting(means, limits)
            found[seed] = math.nan if at is None else taken[at][seed]
        return found

    def ns2_mean(self) -> float | None:
        """ns-2's mean in the setting with the extreme of ns-2's means, if all are known."""
        ranked, taken, limiting = ([part.ns2_mean() for part in parts] for parts in (self.ranked, self.taken, self.below_zero))
        means, limits = ([mean for mean in parts if mean is not None] for parts in (ranked, limiting))
        at = self._index_of_extreme_setting(means, limits) if len(means) == len(ranked) and len(limits) == len(limiting) else None
        return None if at is None else taken[at]

    def _index_of_extreme_setting(self, means: Sequence[float], limits: Sequence[float]) -> int | None:
        """The index of the extreme mean among the given settings; None if a mean is NaN."""
        if any(map(math.isnan, (*means, *limits))):
            return None
        counted = [at for at, limit in enumerate(limits) if limit < 0] or ([limits.index(min(limits))] if limits else range(len(means)))
        return max(counted, key=means.__getitem__) if self.extreme is max else min(counted, key=means.__getitem__)
