from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecnlab.diagram.layout import fit_stacked_box_middles, place_boxes
from ecnlab.diagram.network import NetworkBox, node_layers


def test_a_chain_stands_from_left_to_right_and_a_link_that_closes_a_circle_does_not_matter() -> None:
    assert node_layers([("b", "c"), ("a", "b"), ("c", "d"), ("b", "d")]) == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert node_layers([("a", "b"), ("b", "c"), ("c", "a")]) == {"a": 0, "b": 1, "c": 2}


def test_a_long_chain_is_no_deep_recursion() -> None:
    chain = [(f"n{at}", f"n{at + 1}") for at in range(5000)]
    assert node_layers(chain)["n5000"] == 5000


def test_labels_are_at_their_positions_and_share_the_shift_if_they_overlap() -> None:
    assert fit_stacked_box_middles([10, 10], [0, 50], [1, 1]) == [0, 50]
    assert fit_stacked_box_middles([10, 10], [20, 20], [1, 1]) == [15, 25]
    assert fit_stacked_box_middles([10, 10], [20, 20], [9, 1]) == [19, 29]
    assert fit_stacked_box_middles([10, 20, 10], [0, 0, 0], [1, 1, 1]) == [-15, 0, 15]


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(-500, 500), st.floats(0.05, 1)), min_size=1, max_size=20))
def test_stacked_boxes_never_overlap_and_keep_their_order(boxes: list[tuple[float, float, float]]) -> None:
    heights, wanted, weights = zip(*boxes, strict=True)
    middles = fit_stacked_box_middles(heights, wanted, weights)
    for (upper, height), (lower, next_height) in pairwise(zip(middles, heights, strict=True)):
        assert lower - upper >= (height + next_height) / 2 - 1e-6


@pytest.mark.parametrize("joined", [[], [(0, 1)], [(0, 2), (1, 2)]])
def test_boxes_of_one_column_stand_one_below_the_other(joined: list[tuple[int, int]]) -> None:
    boxes = [NetworkBox("node", 0, ["a"]), NetworkBox("node", 0, ["a longer one"]), NetworkBox("node", 1, ["b"])]
    upper, lower, right = place_boxes(boxes, joined)
    assert upper.x == lower.x
    assert upper.right == lower.right < right.left
    assert abs(upper.y - lower.y) >= boxes[0].height
