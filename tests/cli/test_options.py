import pytest

from ecnlab.cli import options
from ecnlab.errors import UsageError


@pytest.mark.parametrize(
    ("one", "several", "chosen"),
    [
        (None, None, [1, 2]),
        ("7", None, [7]),
        ("0", None, [0]),
        (None, "3", [1, 2, 3]),
        (None, "4..6", [4, 5, 6]),
        (None, "9,1", [1, 9]),
    ],
)
def test_seeds_n_are_1_to_n_and_seed_n_is_the_one(one: str | None, several: str | None, chosen: list[int]) -> None:
    assert options.chosen_seeds(one, several, "1..2") == chosen


@pytest.mark.parametrize(
    ("one", "several"), [("", None), (None, ""), (None, "0"), ("1.5", None), (None, "5..1"), ("1", "1..2"), ("-1", None)]
)
def test_what_is_no_seed_is_refused(one: str | None, several: str | None) -> None:
    with pytest.raises(UsageError):
        options.chosen_seeds(one, several, "1..2")


def test_every_change_without_a_value_is_named() -> None:
    assert options.overrides(["a.b=1", " c = x=y "]) == {"a.b": "1", "c": "x=y"}
    with pytest.raises(UsageError, match=r"'novalue'.*\n.*'=3'"):
        options.overrides(["novalue", "a=1", "=3"])
