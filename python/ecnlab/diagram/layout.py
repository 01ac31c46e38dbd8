"""Layout of a diagram: boxes in columns, close to the boxes that they are connected to.

It is the layered drawing of Sugiyama, Tagawa and Toda (1981) in its simplest form: the order in a column follows the mean places of the
neighbours, and then each box moves as near to them as its own neighbours in the column let it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ecnlab.diagram.network import NetworkBox

BOX_GAP, COLUMN_GAP = 14.0, 36.0
_ORDERING_SWEEPS = 12
_WEIGHT_OF_HOSTS = 0.05


@dataclass(frozen=True)
class BoxPosition:
    """The middle of a box, and the left and the right end of its column: lines bend only in the gaps between columns."""

    x: float
    y: float
    left: float
    right: float


def place_boxes(boxes: Sequence[NetworkBox], lines: Sequence[tuple[int, int]]) -> list[BoxPosition]:
    """Positions of all boxes; the top left corner of the diagram is (0, 0)."""
    beside: dict[int, list[int]] = defaultdict(list)
    for first, second in lines:
        beside[first].append(second)
        beside[second].append(first)
    columns: dict[int, list[int]] = defaultdict(list)
    for number, box in enumerate(boxes):
        columns[box.column].append(number)
    heights = _vertical_positions(boxes, [columns[column] for column in sorted(columns)], beside)
    across = _column_left_and_right_ends(boxes, columns)
    return [BoxPosition(sum(across[box.column]) / 2, heights[number], *across[box.column]) for number, box in enumerate(boxes)]


def _column_left_and_right_ends(boxes: Sequence[NetworkBox], columns: dict[int, list[int]]) -> dict[int, tuple[float, float]]:
    """The left and the right end of each column."""
    found, left = {}, 0.0
    for column in sorted(columns):
        width = max(boxes[number].width for number in columns[column])
        found[column] = (left, left + width)
        left += width + COLUMN_GAP
    return found


def _vertical_positions(boxes: Sequence[NetworkBox], columns: Sequence[list[int]], beside: dict[int, list[int]]) -> list[float]:
    """The y coordinate of the middle of each box."""
    middle = [0.0] * len(boxes)
    for sweep in range(_ORDERING_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wanted = {number: _preferred_vertical_position(number, boxes, beside[number], middle) for number in column}
            if 0 < sweep < _ORDERING_SWEEPS - 2:
                column.sort(key=wanted.__getitem__)
            heights = [boxes[number].height + BOX_GAP for number in column]
            places = fit_stacked_box_middles(
                heights, [wanted[number] for number in column], [_box_weight_by_kind(boxes[number]) for number in column]
            )
            for number, down in zip(column, places, strict=True):
                middle[number] = down
    top = min(middle[number] - box.height / 2 for number, box in enumerate(boxes))
    return [down - top for down in middle]


def fit_stacked_box_middles(heights: Sequence[float], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The middles of stacked boxes in their order, by weighted least squares as close as possible to the wanted positions.

    With the boxes packed from one start line, each box prefers a start line at its wanted position less its offset. Isotonic regression
    of these start lines keeps rising ones and averages falling ones.
    """
    offsets = [before + height / 2 for before, height in zip(accumulate(heights, initial=0.0), heights, strict=False)]
    blocks: list[tuple[float, float, int]] = []
    for down, offset, weight in zip(wanted, offsets, weights, strict=True):
        total, load, count = weight * (down - offset), weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / load:
            above, heavy, many = blocks.pop()
            total, load, count = total + above, load + heavy, count + many
        blocks.append((total, load, count))
    lines = [total / load for total, load, count in blocks for _ in range(count)]
    return [line + offset for line, offset in zip(lines, offsets, strict=True)]


def _preferred_vertical_position(number: int, boxes: Sequence[NetworkBox], beside: Sequence[int], middle: Sequence[float]) -> float:
    """The weighted mean position of a box's neighbours; hosts have a small weight, so that links are drawn in a row."""
    weights = [_box_weight_by_kind(boxes[other]) for other in beside]
    sum_ = sum(weight * middle[other] for weight, other in zip(weights, beside, strict=True))
    return sum_ / sum(weights) if weights else middle[number]


def _box_weight_by_kind(box: NetworkBox) -> float:
    return _WEIGHT_OF_HOSTS if box.kind == "hosts" else 1.0
