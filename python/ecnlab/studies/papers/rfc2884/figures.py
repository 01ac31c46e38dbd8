"""The figures of this study: curves in one panel, with the testbed's palette."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ecnlab.studies.framework.claims import MeasuredQuantity
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, CurvePoints, curve_figure
from ecnlab.studies.framework.model import StudyItem
from ecnlab.studies.papers.rfc2884.testbed import CONGESTION_LEVELS, MAX_PS, PALETTE

Curves = Mapping[str, CurvePoints]


def figure_of_curves(
    part: str,
    number: str,
    title: str,
    caption: str,
    curves: Curves,
    scales: AxisSettings,
    published: Mapping[str, Mapping[float, float]] | None = None,
) -> StudyItem:
    """The item of a figure."""
    return curve_figure(number, title, caption, [CurvePanel("", curves, published or {})], scales, part=part, palette=PALETTE)


def curves_by_congestion_level(measure: Callable[[int, float], MeasuredQuantity], xs: Sequence[float] = MAX_PS) -> Curves:
    """A curve for each level of congestion; `measure` has the number of congesting flows and a value along the axis."""
    return {f"{level} congestion": {x: measure(load, x) for x in xs} for level, load in CONGESTION_LEVELS.items()}
