"""How every figure looks, and how it is saved."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ecnlab.errors import ResultsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 3.9

# Okabe and Ito's palette: told apart without colour vision.
SCHEMES = {
    "RED": "#D55E00",
    "ECN": "#0072B2",
    "ECNM": "#56B4E9",
    "AECN": "#009E73",
    "AECN, alpha 1": "#CC79A7",
}
GROUPS = {"fragile": "#D55E00", "average": "#0072B2", "robust": "#009E73"}
SPARE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = {"RED": "o", "ECN": "s", "ECNM": "D", "AECN": "^", "AECN, alpha 1": "v"}
MARK, DROP, LOCKOUT = "#0072B2", "#D55E00", "#BBBBBB"

_RC: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "errorbar.capsize": 3,
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "svg.hashsalt": "ecnlab",
}


Drawn = TypeVar("Drawn")
Given = ParamSpec("Given")


def styled(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """Have a function draw in this style, whatever style the user has set."""

    @wraps(draw)
    def drawing(*arguments: Given.args, **options: Given.kwargs) -> Drawn:
        from matplotlib import rc_context

        with rc_context(_RC):
            return draw(*arguments, **options)

    return drawing


@styled
def panels(rows: int = 1, columns: int = 1, *, height: float = HEIGHT, **options: Any) -> tuple[Figure, list[Axes]]:
    """A new figure and its axes, row by row. `height` (inches) is that of the whole figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def colour(name: str, position: int = 0) -> str:
    """The colour of a scheme or flow group; others take theirs by position."""
    return SCHEMES.get(name) or GROUPS.get(name) or SPARE[position % len(SPARE)]


def legend_above(axes: Axes) -> None:
    """A legend in one row above the axes, clear of the data."""
    columns = len(axes.get_legend_handles_labels()[0])
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.2)


def svg(figure: Figure) -> bytes:
    """The figure as SVG; equal figures give equal bytes."""
    return _rendered(figure, "svg", metadata={"Date": None})


def save(figure: Figure, stem: Path) -> None:
    """Write stem.svg and stem.png. Raises ResultsError if the disk refuses."""
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_name(stem.name + ".svg").write_bytes(svg(figure))
        stem.with_name(stem.name + ".png").write_bytes(_rendered(figure, "png"))
    except OSError as error:
        raise ResultsError(f"cannot write the figure {stem}: {error.strerror or error}") from None


@styled
def _rendered(figure: Figure, kind: str, **options: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, dpi=160, **options)
    return buffer.getvalue()
