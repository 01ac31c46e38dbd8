"""A figure that keeps its style, shows itself in a notebook, and is written as SVG, PDF and PNG.

Equal figures give equal bytes: no date is written, and the type is one that comes with matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING
from warnings import catch_warnings, filterwarnings

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from ecnlab.errors import ResultsError, require_known_name, require_nonempty_path
from ecnlab.storage.atomic import write_atomically

if TYPE_CHECKING:
    from ecnlab.plot.style import FigureStyle

# Metadata removed from each format: the time of writing.
_FILE_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
FORMATS = tuple(_FILE_METADATA)

_DPI = 200
_NOTEBOOK_DPI = 100

# Step by which a figure grows while its labels leave no height for the axes, and its maximum height in inches.
_HEIGHT_STEP, _MAX_HEIGHT_IN = 1.25, 60.0


# Longest y label as a multiple of the axes' height: its end may reach beside the tick labels below.
_LABEL_SHARE_OF_AXES, _MIN_LABEL_LETTERS = 1.1, 8


class DrawnFigure(Figure):
    """A matplotlib figure in a style; a notebook shows it without `%matplotlib inline`."""

    def __init__(self, style: FigureStyle, shape: float) -> None:
        super().__init__(figsize=(style.width_in, style.width_in * shape), layout="constrained")
        self.style = style

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """PNG for a notebook, at twice the displayed resolution, so that it is sharp on any screen."""
        image = self._render_at_dpi(2 * _NOTEBOOK_DPI, ("png",))["png"]
        width, height = self.get_size_inches()
        return image, {"width": round(width * _NOTEBOOK_DPI), "height": round(height * _NOTEBOOK_DPI)}

    def render(self, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
        """The figure in each format. Its axes are laid out once for all formats."""
        return self._render_at_dpi(_DPI, require_known_formats(formats))

    def _render_at_dpi(self, dpi: int, formats: Sequence[str]) -> dict[str, bytes]:
        with self.style.matplotlib_rc_context(), self._hold_axes_layout():
            return {kind: self._encoded_image(kind, dpi) for kind in formats}

    @contextmanager
    def _hold_axes_layout(self) -> Iterator[None]:
        """Fix the positions and ticks of the axes: a second layout would choose other ticks, whose labels have another size."""
        engine = self.get_layout_engine()
        self._wrap_long_y_labels()
        while not self._try_axes_layout() and self.get_figheight() < _MAX_HEIGHT_IN:
            self.set_figheight(_HEIGHT_STEP * self.get_figheight())
        locator_by_axis = [(axis, axis.get_major_locator()) for axes in self.axes for axis in (axes.xaxis, axes.yaxis)]
        for axis, _ in locator_by_axis:
            axis.set_major_locator(FixedLocator(list(axis.get_majorticklocs())))
        self._try_axes_layout()
        self.set_layout_engine(None)
        try:
            yield
        finally:
            self.set_layout_engine(engine)
            for axis, locator in locator_by_axis:
                axis.set_major_locator(locator)

    def _wrap_long_y_labels(self) -> None:
        """Wrap y labels that are longer than their axes are high: in a low figure they would be cut off."""
        self._try_axes_layout()
        for axes in self.axes:
            label, max_length = axes.yaxis.label, _LABEL_SHARE_OF_AXES * axes.get_window_extent().height
            length = label.get_window_extent().height
            if length > max_length > 0:
                words = " ".join(label.get_text().split("\n"))
                letters = max(_MIN_LABEL_LETTERS, int(len(words) * max_length / length))
                label.set_text("\n".join(wrap(words, letters, break_long_words=False, break_on_hyphens=False)))

    def _try_axes_layout(self) -> bool:
        """Lay out the axes; whether their labels leave them any area."""
        engine = self.get_layout_engine()
        with catch_warnings():
            filterwarnings("error", "constrained_layout not applied", UserWarning)
            try:
                if engine is not None:
                    engine.execute(self)
            except UserWarning:
                return False
        return True

    def save(self, stem: str | Path, formats: Sequence[str] = FORMATS) -> None:
        """Write stem.svg and so on. Raises UsageError if `stem` is empty, and ResultsError if a file cannot be written."""
        require_nonempty_path("stem", stem)
        write_figure_files(Path(stem), self.render(formats))

    def _encoded_image(self, kind: str, dpi: int) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format=kind, dpi=dpi, metadata=_FILE_METADATA[kind])
        return buffer.getvalue()


def require_known_formats(formats: Sequence[str]) -> Sequence[str]:
    """The formats, unchanged. Raises UnknownName for an unsupported format."""
    for kind in formats:
        require_known_name("format of figures", kind, FORMATS)
    return formats


def write_figure_files(stem: Path, contents: dict[str, bytes]) -> None:
    """Write `contents` (extension to bytes) as files of one stem, each atomically. Raises ResultsError if a file cannot be written."""
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for ending, content in contents.items():
            write_atomically(stem.with_name(f"{stem.name}.{ending}"), content)
    except OSError as error:
        raise ResultsError(f"cannot write the figure {stem}: {error.strerror or error}; fix: choose another folder (--out DIR)") from None
