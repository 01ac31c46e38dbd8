"""A figure that keeps its style, shows itself in a notebook, and is written as SVG, PDF and PNG.

Equal figures give equal bytes: no date is written, and the type is one that comes with matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from ecnlab.errors import ResultsError, UnknownName
from ecnlab.storage.atomic import write_atomically

if TYPE_CHECKING:
    from ecnlab.plot.style import FigureStyle

# Metadata removed from each format: the time of writing.
_FILE_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
FORMATS = tuple(_FILE_METADATA)

_DPI = 200
_NOTEBOOK_DPI = 100

# How much higher a figure becomes at a time in which words leave no room for the axes, and up to which height in inches.
_HEIGHT_STEP, _MAX_HEIGHT_IN = 1.25, 60.0


# How much longer than its axes are high a label may be: some of it may stand beside the ticks' labels below.
_LABEL_SHARE_OF_AXES, _MIN_LABEL_LETTERS = 1.1, 8


class DrawnFigure(Figure):
    """A figure of matplotlib in a style; a notebook shows it without `%matplotlib inline`."""

    def __init__(self, style: FigureStyle, shape: float) -> None:
        super().__init__(figsize=(style.width_in, style.width_in * shape), layout="constrained")
        self.style = style

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """What a notebook shows: twice as many dots as it has room for, so that it is sharp on any screen."""
        image = self._render_at_dpi(2 * _NOTEBOOK_DPI, ("png",))["png"]
        width, height = self.get_size_inches()
        return image, {"width": round(width * _NOTEBOOK_DPI), "height": round(height * _NOTEBOOK_DPI)}

    def render(self, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
        """The figure in each format. Its axes are laid out once, for all of them."""
        return self._render_at_dpi(_DPI, require_known_formats(formats))

    def _render_at_dpi(self, dpi: int, formats: Sequence[str]) -> dict[str, bytes]:
        with self.style.apply_to_matplotlib(), self._hold_axes_layout():
            return {kind: self._encode_as(kind, dpi) for kind in formats}

    @contextmanager
    def _hold_axes_layout(self) -> Iterator[None]:
        """The axes at their places with their ticks held: left free, they would choose others there, whose labels need other room."""
        engine = self.get_layout_engine()
        self._wrap_long_y_labels()
        while not self._labels_leave_room() and self.get_figheight() < _MAX_HEIGHT_IN:
            self.set_figheight(_HEIGHT_STEP * self.get_figheight())
        chosen = [(axis, axis.get_major_locator()) for axes in self.axes for axis in (axes.xaxis, axes.yaxis)]
        for axis, _ in chosen:
            axis.set_major_locator(FixedLocator(list(axis.get_majorticklocs())))
        self._labels_leave_room()
        self.set_layout_engine(None)
        try:
            yield
        finally:
            self.set_layout_engine(engine)
            for axis, locator in chosen:
                axis.set_major_locator(locator)

    def _wrap_long_y_labels(self) -> None:
        """Wrap labels of y axes that are longer than their axes are high: those of a low figure would leave it."""
        self._labels_leave_room()
        for axes in self.axes:
            label, room = axes.yaxis.label, _LABEL_SHARE_OF_AXES * axes.get_window_extent().height
            length = label.get_window_extent().height
            if length > room > 0:
                words = " ".join(label.get_text().split("\n"))
                letters = max(_MIN_LABEL_LETTERS, int(len(words) * room / length))
                label.set_text("\n".join(wrap(words, letters, break_long_words=False, break_on_hyphens=False)))

    def _labels_leave_room(self) -> bool:
        """Lay the axes out; whether their words leave them any room."""
        engine = self.get_layout_engine()
        with catch_warnings():
            filterwarnings("error", "constrained_layout not applied", UserWarning)
            try:
                if engine is not None:
                    engine.execute(self)
            except UserWarning:
                return False
        return True

    def save(self, stem: Path, formats: Sequence[str] = FORMATS) -> None:
        """Write stem.svg and so on. Raises ResultsError if the disk refuses."""
        write_figure_files(stem, self.render(formats))

    def _encode_as(self, kind: str, dpi: int) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format=kind, dpi=dpi, metadata=_FILE_METADATA[kind])
        return buffer.getvalue()


def require_known_formats(formats: Sequence[str]) -> Sequence[str]:
    """The formats as they are. Raises UnknownName for one that figures cannot be written in."""
    for kind in formats:
        if kind not in FORMATS:
            raise UnknownName("format of figures", kind, FORMATS)
    return formats


def write_figure_files(stem: Path, contents: dict[str, bytes]) -> None:
    """Write `contents`, by their endings, beside each other, each file whole. Raises ResultsError if the disk refuses."""
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for ending, content in contents.items():
            write_atomically(stem.with_name(f"{stem.name}.{ending}"), content)
    except OSError as error:
        raise ResultsError(f"cannot write the figure {stem}: {error.strerror or error}") from None
