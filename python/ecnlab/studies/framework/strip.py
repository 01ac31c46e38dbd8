"""A statement as a picture of one line: the range as a grey bar, our interval as a line with a dot, what was published as a diamond,
ns-2's as a ring. It is SVG as text, to stand within a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ecnlab.studies.framework.claims import StatementEstimate

_STRIP_WIDTH, _STRIP_HEIGHT, _STRIP_MARGIN = 150, 20, 8
_STRIP_MIDDLE = _STRIP_HEIGHT / 2
_RANGE_COLOUR, _OUR_COLOUR, _PUBLISHED_COLOUR, _NS2_COLOUR = "#dfe5eb", "#0b5394", "#9a3412", "#1b1f24"


def statement_interval_svg(weighed: StatementEstimate) -> str:
    """The picture; empty where nothing was measured."""
    if not math.isfinite(weighed.ours.mean):
        return ""
    drawn = "".join(_interval_svg_elements(weighed, _IntervalSvgScale(weighed)))
    size = f'width="{_STRIP_WIDTH}" height="{_STRIP_HEIGHT}" viewBox="0 0 {_STRIP_WIDTH} {_STRIP_HEIGHT}"'
    return f'<svg class="strip" {size} aria-hidden="true">{drawn}</svg>'


class _IntervalSvgScale:
    """Position of a number on an axis that fits all numbers of a statement and the end of its range."""

    def __init__(self, weighed: StatementEstimate) -> None:
        wanted, ours = weighed.statement.range, weighed.ours
        numbers = (ours.mean, ours.low, ours.high, wanted.low, wanted.high, weighed.statement.published, weighed.ns2)
        known = [number for number in numbers if number is not None and math.isfinite(number)]
        self._low, high = min(known), max(known)
        self._extent = high - self._low or 1.0

    def __call__(self, number: float) -> float:
        """The x coordinate of a number; an open end of a range is at the edge of the picture."""
        if math.isinf(number):
            return 0.0 if number < 0 else float(_STRIP_WIDTH)
        return _STRIP_MARGIN + (_STRIP_WIDTH - 2 * _STRIP_MARGIN) * (number - self._low) / self._extent


def _interval_svg_elements(weighed: StatementEstimate, at: _IntervalSvgScale) -> Iterator[str]:
    wanted, ours, published, ns2 = weighed.statement.range, weighed.ours, weighed.statement.published, weighed.ns2
    low, high = at(wanted.low), at(wanted.high)
    yield f'<rect x="{low:.1f}" y="2" width="{max(high - low, 1):.1f}" height="{_STRIP_HEIGHT - 4}" fill="{_RANGE_COLOUR}"/>'
    if math.isfinite(ours.half_width):
        yield f'<path d="M{at(ours.low):.1f} {_STRIP_MIDDLE:g}H{at(ours.high):.1f}" stroke="{_OUR_COLOUR}" stroke-width="2"/>'
    yield f'<circle cx="{at(ours.mean):.1f}" cy="{_STRIP_MIDDLE:g}" r="3" fill="{_OUR_COLOUR}"/>'
    if published is not None:
        diamond = f"M{at(published):.1f} {_STRIP_MIDDLE - 5:g}l4 5l-4 5l-4 -5z"
        yield f'<path d="{diamond}" fill="none" stroke="{_PUBLISHED_COLOUR}" stroke-width="1.5"/>'
    if ns2 is not None and math.isfinite(ns2):
        yield f'<circle cx="{at(ns2):.1f}" cy="{_STRIP_MIDDLE:g}" r="4.5" fill="none" stroke="{_NS2_COLOUR}" stroke-width="1.2"/>'
