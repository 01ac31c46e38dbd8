import ecnlab
from ecnlab.studies.papers.aecn import drop_periods


def test_seconds_that_are_near_one_another_are_one_period() -> None:
    assert drop_periods.drop_period_lengths_s([67, 50, 51, 78, 52, 68]) == [3, 2, 1]
    assert drop_periods.drop_period_lengths_s([49, 51, 66, 68, 77, 79]) == [3, 3, 3]
    assert drop_periods.drop_period_lengths_s([20, 25, 31]) == [6, 1]
    assert drop_periods.drop_period_lengths_s([20]) == [1]
    assert drop_periods.drop_period_lengths_s([]) == []


def test_periods_are_counted_seed_by_seed_in_the_measured_time() -> None:
    seeds = [1, 2, 3]
    result = ecnlab.run(ecnlab.scenario(drop_periods.ECN_60_FLOWS.scenario), seeds=seeds)
    numbers, longest, drops = (
        drop_periods.number_of_drop_periods(result),
        drop_periods.longest_drop_period_s(result),
        result.values("drops"),
    )
    assert len(numbers) == len(longest) == len(seeds)
    for number, length, dropped in zip(numbers, longest, drops, strict=True):
        assert (number > 0) == (length > 0) == (dropped > 0)
        assert number <= dropped
