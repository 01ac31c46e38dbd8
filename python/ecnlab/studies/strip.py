"""A statement as a picture of one line: the range as a grey bar, our interval as a line with a dot, what was published as a diamond,
ns-2's as a ring. It is SVG as text, to stand within a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ecnlab.studies.claims import Weighed

_WIDTH, _HEIGHT, _MARGIN = 150, 20, 8
_MIDDLE = _HEIGHT / 2
_RANGE, _OURS, _PUBLISHED, _NS2 = "#dfe5eb", "#0b5394", "#9a3412", "#1b1f24"


def strip(weighed: Weighed) -> str:
    """The picture; empty where nothing was measured."""
    if not math.isfinite(weighed.ours.mean):
        return ""
    drawn = "".join(_marks(weighed, _Scale(weighed)))
    return f'<svg class="strip" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">{drawn}</svg>'


class _Scale:
    """Where a number stands, so that all of a statement's fit, and the end of its range too."""

    def __init__(self, weighed: Weighed) -> None:
        wanted, ours = weighed.statement.range, weighed.ours
        numbers = (ours.mean, ours.low, ours.high, wanted.low, wanted.high, weighed.statement.published, weighed.ns2)
        known = [number for number in numbers if number is not None and math.isfinite(number)]
        self._low, high = min(known), max(known)
        self._extent = high - self._low or 1.0

    def __call__(self, number: float) -> float:
        """The place of a number; an open end of a range is the end of the picture."""
        if math.isinf(number):
            return 0.0 if number < 0 else float(_WIDTH)
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * (number - self._low) / self._extent


def _marks(weighed: Weighed, at: _Scale) -> Iterator[str]:
    wanted, ours, published, ns2 = weighed.statement.range, weighed.ours, weighed.statement.published, weighed.ns2
    low, high = at(wanted.low), at(wanted.high)
    yield f'<rect x="{low:.1f}" y="2" width="{max(high - low, 1):.1f}" height="{_HEIGHT - 4}" fill="{_RANGE}"/>'
    if math.isfinite(ours.half_width):
        yield f'<path d="M{at(ours.low):.1f} {_MIDDLE:g}H{at(ours.high):.1f}" stroke="{_OURS}" stroke-width="2"/>'
    yield f'<circle cx="{at(ours.mean):.1f}" cy="{_MIDDLE:g}" r="3" fill="{_OURS}"/>'
    if published is not None:
        yield f'<path d="M{at(published):.1f} {_MIDDLE - 5:g}l4 5l-4 5l-4 -5z" fill="none" stroke="{_PUBLISHED}" stroke-width="1.5"/>'
    if ns2 is not None and math.isfinite(ns2):
        yield f'<circle cx="{at(ns2):.1f}" cy="{_MIDDLE:g}" r="4.5" fill="none" stroke="{_NS2}" stroke-width="1.2"/>'
