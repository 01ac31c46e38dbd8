import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecnlab
from ecnlab import _core
from ecnlab.aqm import Arrival, Verdict
from ecnlab.errors import UsageError
from ecnlab.execution import runner
from ecnlab.scenarios.load import _override_values_as_toml
from ecnlab.scenarios.seeds import SEED_LIMIT, parse_seed_to_list, parse_seeds, seeds_as_text, seeds_from_arguments, sorted_valid_seeds
from own_aqms import Passes, scenario_with


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", [1, 2, 3]), ("1..4", [1, 2, 3, 4]), ("9,1,4", [1, 4, 9]), ("1..3,2,8", [1, 2, 3, 8]), ("0..0", [0])],
)
def test_seeds_are_read(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "a", "1-4", "1..", "1.5", "4..1", "-1", "1,,2", str(SEED_LIMIT), "0..99999999999", "9" * 5000])
def test_an_invalid_seed_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["0", "2000000"])
def test_a_last_seed_out_of_range_is_refused_with_text_for_the_command(text: str) -> None:
    fix = f'fix: write a number from 1 to 1000000, or "{text}..{text}" for the one seed {text}'
    with pytest.raises(UsageError, match=f"^{re.escape(f'seeds {text!r}: must be the number of seeds; {fix}')}$"):
        parse_seeds(text)
    assert parse_seeds(f"{text}..{text}") == [int(text)]


@pytest.mark.parametrize(("number", "is_seed"), [(-1, False), (0, True), (2_000_000, True), (SEED_LIMIT, False)])
def test_the_fix_for_a_number_of_seeds_out_of_range_is_itself_allowed(number: int, is_seed: bool) -> None:
    with pytest.raises(UsageError, match="must be from 1 to 1000000") as raised:
        seeds_from_arguments(number)
    assert (f"give seed={number}" in str(raised.value)) == is_seed
    if is_seed:
        assert seeds_from_arguments(seed=number) == [number]


@given(st.sets(st.integers(0, SEED_LIMIT - 1), min_size=2, max_size=20))
def test_any_list_of_seeds_is_read_back_ascending(seeds: set[int]) -> None:
    assert parse_seeds(",".join(map(str, seeds))) == sorted(seeds)


@given(st.sets(st.integers(0, 40), min_size=2, max_size=20))
def test_listed_seeds_are_read_back(seeds: set[int]) -> None:
    assert parse_seeds(seeds_as_text(seeds)) == sorted(seeds)


def test_seeds_in_a_row_are_listed_by_their_ends() -> None:
    assert seeds_as_text([3, 1, 2, 7, 8, 12]) == "1..3,7,8,12"


def test_no_seed_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one seed"):
        sorted_valid_seeds([])


@pytest.mark.parametrize(
    ("seeds", "seed", "expected"),
    [
        (None, None, [1]),
        (3, None, [1, 2, 3]),
        (np.int64(2), None, [1, 2]),
        (np.arange(3), None, [0, 1, 2]),
        (None, 7, [7]),
        (None, 0, [0]),
        ([4, 1, 4], None, [1, 4]),
        (range(2, 4), None, [2, 3]),
    ],
)
def test_a_number_of_seeds_counts_from_one_and_a_seed_is_the_one(seeds: Any, seed: Any, expected: list[int]) -> None:
    assert seeds_from_arguments(seeds, seed) == expected


def test_a_seed_and_seeds_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        seeds_from_arguments(3, 3)


@pytest.mark.parametrize("seeds", [1.5, float("nan"), True, "1..3", object(), [1, "a"], [1, 2.0], [None], 0, -1, 10**7])
def test_seeds_of_another_kind_are_reported_with_the_argument(seeds: Any) -> None:
    with pytest.raises(UsageError, match=r"^seeds: "):
        seeds_from_arguments(seeds)


@pytest.mark.parametrize("seed", [1.0, True, "1", [1]])
def test_a_seed_of_another_kind_is_reported_with_the_argument(seed: Any) -> None:
    with pytest.raises(UsageError, match=r"^seed: "):
        seeds_from_arguments(seed=seed)


@pytest.mark.parametrize("text", ["", "a", "1..3", "-1", "1.0", str(SEED_LIMIT), "9" * 5000])
def test_what_is_not_the_one_seed_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seed_to_list(text)


def test_the_one_seed_is_read() -> None:
    assert parse_seed_to_list("20") == [20]


# By version of the seed rules: the seeds, the first draws of the queue's stream under some of them, and overrides as text.
_DERIVED: dict[int, Any] = {
    1: {
        "seeds": [[1, 2, 3], [1, 2, 3, 7], [4], [1]],
        "draws": {
            1: [0.8213921585237784, 0.8760351704340709, 0.4046735245957881],
            2: [0.4576005901065895, 0.5262872208067161, 0.7001223089986239],
            SEED_LIMIT - 1: [0.029535175107951228, 0.6911340722232113, 0.3250132809387757],
        },
        "overrides": {"a": "1", "b": "0.1", "c": "true", "d": "20 Mbps", "e": '[1, "2 s"]', "f": '{ "x" = 1 }'},
    }
}


def _first_draws(seed: int) -> list[float]:
    """Random draws of the first arrivals at the queue, in a run from Python."""
    drawn: list[float] = []

    class Drawing(Passes):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            if len(drawn) < 3:
                drawn.append(self.random())
            return ecnlab.PASS

    ecnlab.run(scenario_with(Drawing, duration="2 s"), [seed], threads=1)
    return drawn


def test_a_change_of_the_rules_of_derivation_changes_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is part of every key: a changed rule increments it in crates/scenario, and adds its draws here."""
    asked: list[list[int]] = []

    def record_requested_seeds(tasks: Any, *_: Any) -> Any:
        asked.append([task.job.seed for task in tasks])
        return []

    draws = {seed: _first_draws(seed) for seed in (1, 2, SEED_LIMIT - 1)}
    monkeypatch.setattr(runner, "_order_tasks_for_concurrent_writers", record_requested_seeds)
    made = scenario_with(Passes)
    for chosen in ({"seeds": 3}, {"seeds": parse_seeds("1..3,7")}, {"seed": 4}, {}):
        ecnlab.run(made, **chosen)  # type: ignore[arg-type]
    overrides = _override_values_as_toml({"a": 1, "b": 0.1, "c": True, "d": "20 Mbps", "e": [1, "2 s"], "f": {"x": 1}})
    assert _DERIVED[_core.DERIVATION] == {"seeds": asked, "draws": draws, "overrides": overrides}
