import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecnlab.errors import UsageError
from ecnlab.seeds import LIMIT, checked_seeds, parse_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", [7]), ("1..4", [1, 2, 3, 4]), ("9,1,4", [1, 4, 9]), ("1..3,2,8", [1, 2, 3, 8]), ("0", [0])],
)
def test_seeds_are_read(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1-4", "1..", "1.5", "4..1", "-1", "1,,2", str(LIMIT), "0..99999999999"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)


@given(st.sets(st.integers(0, LIMIT - 1), min_size=1, max_size=20))
def test_any_list_of_seeds_is_read_back_ascending(seeds: set[int]) -> None:
    assert parse_seeds(",".join(map(str, seeds))) == sorted(seeds)


def test_no_seed_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="no seed"):
        checked_seeds([])
