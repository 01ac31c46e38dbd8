import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ecnlab.studies.framework.claims import ValueBySeed
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.aecn.extremes import MeasureAtExtremeSetting


@dataclass(frozen=True)
class Known:
    """A quantity with given values."""

    found: Mapping[int, float]
    known: float | None = None

    def required_scenarios(self) -> Iterator[RequiredScenario]:
        yield from ()

    def values_by_seed(self, _runs: Any) -> ValueBySeed:
        return self.found

    def recorded_ns2_mean(self) -> float | None:
        return self.known


def _runs(_need: RequiredScenario) -> Any:
    raise AssertionError("nothing is run")


def test_the_other_seeds_choose_the_setting() -> None:
    # Seed 1 alone is larger in the second setting.
    settings = [Known({1: 1.0, 2: 5.0, 3: 6.0}), Known({1: 9.0, 2: 2.0, 3: 1.0})]
    assert MeasureAtExtremeSetting(max, settings).values_by_seed(_runs) == {1: 1.0, 2: 2.0, 3: 1.0}


def test_only_settings_below_zero_are_ranked() -> None:
    goodput = [Known({1: 1.0, 2: 1.0}, 1.0), Known({1: 5.0, 2: 6.0}, 5.0), Known({1: 7.0, 2: 8.0}, 7.0)]
    throughput = [Known({1: 2.0, 2: 2.0}, 2.0), Known({1: -1.0, 2: -1.0}, -1.0), Known({1: -3.0, 2: -3.0}, -3.0)]
    least = MeasureAtExtremeSetting(min, goodput, below_zero=throughput)
    assert least.values_by_seed(_runs) == {1: 5.0, 2: 6.0}
    assert least.recorded_ns2_mean() == pytest.approx(5)
    nowhere = MeasureAtExtremeSetting(min, goodput, below_zero=[Known({1: 2.0, 2: 2.0}), Known({1: 0.5, 2: 0.5}), Known({1: 3.0, 2: 3.0})])
    assert nowhere.values_by_seed(_runs) == {1: 5.0, 2: 6.0}


def test_one_seed_chooses_for_itself() -> None:
    settings = [Known({1: 1.0}), Known({1: 2.0})]
    assert MeasureAtExtremeSetting(max, settings).values_by_seed(_runs) == {1: 2.0}


def test_only_seeds_that_all_settings_have_count() -> None:
    settings = [Known({1: 1.0, 2: 1.0, 3: 1.0}), Known({2: 2.0, 3: 2.0})]
    assert MeasureAtExtremeSetting(max, settings).values_by_seed(_runs) == {2: 2.0, 3: 2.0}


def test_a_setting_without_a_number_leaves_none() -> None:
    settings = [Known({1: math.nan, 2: 1.0}), Known({1: 2.0, 2: 2.0})]
    assert math.isnan(MeasureAtExtremeSetting(max, settings).values_by_seed(_runs)[2])


def test_ns2_s_means_choose_its_setting() -> None:
    known = [Known({}, 1.0), Known({}, 2.0)]
    assert MeasureAtExtremeSetting(max, known).recorded_ns2_mean() == pytest.approx(2)
    assert MeasureAtExtremeSetting(max, [*known, Known({})]).recorded_ns2_mean() is None
