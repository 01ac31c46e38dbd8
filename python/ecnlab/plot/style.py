"""Style of all figures: size, font, colours, title and legend.

Users' words come into a figure as `escaped` gives them: TeX's signs, a leading underscore and letters that the type does not have
are nothing but letters there. A legend stands above the axes in as many columns as fit, a title above the legend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from ecnlab.errors import UsageError
from ecnlab.storage.filenames import escape_unprintable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

    from ecnlab.plot.drawn import DrawnFigure

# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":"]
MARK_COLOUR, DROP_COLOUR, LOCKOUT_COLOUR = "#0072B2", "#D55E00", "#BBBBBB"

_FONT_FAMILY = "DejaVu Sans"
_POINTS_PER_INCH = 72
_MIN_WIDTH_IN, _MAX_WIDTH_IN = 1.5, 40.0
_MIN_FONT_POINTS, _MAX_FONT_POINTS = 4.0, 40.0
# Maximum widths as shares of the figure's width: a title, a legend, a label beside its line or marker, the legend of several panels.
_TITLE_SHARE, _LEGEND_SHARE, _LABEL_SHARE, _PANELS_SHARE = 0.86, 0.86, 0.7, 0.98
_MIN_LINE_LETTERS = 8
# Share of the axes' width. Axes get a little narrower when a changed height makes matplotlib choose ticks with longer labels.
_SHARE_FOR_LEGEND = 0.97
# In units of the font size: an average letter's width, a title line, a legend of one line, and the gap below a title.
_LETTER_WIDTH, _TITLE_LINE, _LEGEND_LINE, _TITLE_GAP = 0.6, 1.4, 2.0, 0.7

# Prefixes of the matplotlib settings that change the appearance of a figure.
_LINE_LOOKS = (
    "axes.",
    "errorbar.",
    "figure.",
    "font.",
    "grid.",
    "legend.",
    "lines.",
    "mathtext.",
    "markers.",
    "patch.",
    "path.",
    "pdf.",
    "savefig.",
    "scatter.",
    "svg.",
    "text.",
    "xtick.",
    "ytick.",
)

_RC_PARAMS: Any = {
    # Ticks have no offset and no power of ten beside the axis, which a legend covers and a reader overlooks.
    "axes.formatter.limits": (-9, 12),
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "errorbar.capsize": 3,
    "font.family": _FONT_FAMILY,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "legend.title_fontsize": "medium",
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    # TrueType: journals require it, and its text can be selected.
    "pdf.fonttype": 42,
    "svg.hashsalt": "ecnlab",
    "text.usetex": False,
}


def _out_of_range_problem(what: str, value: float, low: float, high: float, unit: str) -> list[str]:
    return [] if low <= value <= high else [f"a {what} must be between {low:g} and {high:g} {unit}, not {value:g}"]


@dataclass(frozen=True)
class FigureStyle:
    """How figures are drawn.

    Attributes
    ----------
    width_in : float
        Width of a figure in inches, from 1.5 to 40; a column of a paper has 3.3 to 3.5.
    font_size : float
        Size of all text in points, from 4 to 40.
    titles : bool
        Whether a figure says above its axes what it shows; a paper says that in its caption.
    """

    width_in: float = 6.4
    font_size: float = 9.0
    titles: bool = True

    def __post_init__(self) -> None:
        problems = [
            *_out_of_range_problem("width of a figure", self.width_in, _MIN_WIDTH_IN, _MAX_WIDTH_IN, "in (3.81 and 101.6 cm)"),
            *_out_of_range_problem("font size", self.font_size, _MIN_FONT_POINTS, _MAX_FONT_POINTS, "pt"),
        ]
        if problems:
            raise UsageError("\n".join(problems))

    def with_changes(self, **changes: float | None) -> FigureStyle:
        """This style with other values, unless they are None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]

    @contextmanager
    def matplotlib_rc_context(self) -> Iterator[None]:
        """Context manager that draws in this style and ignores the user's matplotlib settings."""
        from matplotlib import rc_context

        with rc_context(_matplotlib_default_rc_params() | _RC_PARAMS | {"font.size": self.font_size}):
            yield


PLAIN = FigureStyle(titles=False)


@dataclass(frozen=True)
class Palette:
    """Colours, markers and dashes by name, so that a scheme looks the same in all figures.

    Other names take colour and marker by position, and a line without dashes.
    """

    colours: Mapping[str, str] = field(default_factory=dict)
    markers: Mapping[str, str] = field(default_factory=dict)
    dashes: Mapping[str, str] = field(default_factory=dict)

    def colour(self, name: str, position: int) -> str:
        """The colour of a name."""
        return self.colours.get(name) or COLOURS[position % len(COLOURS)]

    def marker_of_name(self, name: str, position: int) -> str:
        """The marker of a name."""
        return self.markers.get(name) or MARKERS[position % len(MARKERS)]

    def dash_of_name(self, name: str) -> str:
        """The dashes of a name's line."""
        return self.dashes.get(name, "-")


PALETTE_BY_POSITION = Palette()

_BLANK_HANDLE = ("", None)


@dataclass(frozen=True)
class LegendGroup:
    """Entries of a legend: each a label and the artist that it is for, under a heading if there are several such groups."""

    entries: Sequence[tuple[str, Any]]
    heading: str = ""

    @staticmethod
    def of_curves(axes: Axes) -> LegendGroup:
        """An entry for each labelled curve of these axes."""
        handles, labels = axes.get_legend_handles_labels()
        return LegendGroup(tuple(zip(labels, handles, strict=True)))

    def split_into_rows(self, across: int) -> list[list[tuple[str, Any]]]:
        """The entries in rows of `across`; the heading, if any, is put in front of the first."""
        found = []
        for begin in range(0, len(self.entries), across):
            row = list(self.entries[begin : begin + across])
            front = [(self.heading if begin == 0 else "", None)] if self.heading else []
            found.append([*front, *row, *[_BLANK_HANDLE] * (across - len(row))])
        return found


def figure_with_panels(
    rows: int = 1, columns: int = 1, *, shape: float = 0.61, style: FigureStyle = PLAIN, **options: Any
) -> tuple[DrawnFigure, list[Axes]]:
    """A new figure and its axes, row by row. `shape` is the height of the whole figure over its width."""
    from ecnlab.plot.drawn import DrawnFigure

    with style.matplotlib_rc_context():
        figure = DrawnFigure(style, shape)
        axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def figure_with_panel_count(count: int, columns: int, **options: Any) -> tuple[DrawnFigure, list[Axes]]:
    """A new figure with this many panels in rows of `columns`; what is left of the last row is empty."""
    figure, axes = figure_with_panels(-(-count // columns), columns, **options)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


@contextmanager
def new_titled_figure(
    style: FigureStyle, title: str, shape: float = 0.61, span_s: tuple[float, float] | None = None
) -> Iterator[tuple[DrawnFigure, Axes]]:
    """A new figure to draw into, with its axes and, unless the style has none, its title; `span_s` is that of a time axis."""
    with style.matplotlib_rc_context():
        figure, (axes,) = figure_with_panels(shape=shape, style=style)
        if style.titles:
            set_wrapped_title(axes, title)
        if span_s:
            axes.set_xlim(span_s)
        yield figure, axes


def escape_and_wrap_to_letters(text: str, letters: int = 60) -> str:
    r"""A user's name as text of a figure: `$` starts no formula, a leading `_` hides no curve; lines have at most `letters` letters.

    A letter that the type does not have, which would be an empty box like any other, stands as its escape, e.g. `\u4e2d`.
    """
    lines = wrap(_escape_missing_glyphs(escape_unprintable(text)), letters) or [""]
    shown = "\n".join(lines).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") or not shown else shown


def escape_and_wrap_label(axes: Axes, text: str, beside: int = 1) -> str:
    """A user's name as a label in these axes, one of `beside` side by side, wrapped to fit into the figure."""
    return escape_and_wrap_to_letters(text, _max_letters_in_width(axes, _LABEL_SHARE / beside))


def set_wrapped_title(axes: Axes, text: str) -> None:
    """A title above the axes, wrapped. Call it before `legend_above`."""
    letters = _max_letters_in_width(axes, _TITLE_SHARE)
    while (
        _is_wider_than_figure_share(axes.set_title(escape_and_wrap_to_letters(text, letters), loc="left"), _TITLE_SHARE)
        and letters > _MIN_LINE_LETTERS
    ):
        letters -= letters // 8
    _make_room_above_axes(axes, _TITLE_LINE * (axes.get_title(loc="left").count("\n")))


def _max_letters_in_width(axes: Axes, share: float) -> int:
    """Number of average letters that fit into a share of the figure's width."""
    return max(_MIN_LINE_LETTERS, int(share * figure_of(axes).get_figwidth() * _POINTS_PER_INCH / (_LETTER_WIDTH * _rc_font_size())))


def legend_above(axes: Axes, note: str | None = None) -> None:
    """A legend above the axes, clear of the data, in as many columns as fit; the title is above it, a note on its first line.

    The legend is never wider than the axes, which so keep their width; a label that is too long even alone is wrapped. The height that the
    legend needs beyond one line is added to the figure's.
    """
    group = LegendGroup.of_curves(axes)
    if group.entries:
        legend_of_entry_groups(axes, [group], note)


def legend_from_first_panel(figure: DrawnFigure, axes: Axes, groups: Sequence[LegendGroup] | None, title: str | None, note: str) -> None:
    """One legend above panels with the same entries, made from the first panel; a title is on its first line.

    Without `groups` it has an entry for each curve of `axes`. The height that it needs is added to the figure's.
    """
    if groups is None:
        group = LegendGroup.of_curves(axes)
        groups = [group] if len(group.entries) > 1 else []
    shown = escape_and_wrap_to_letters(title or note, _max_letters_in_width(axes, _LEGEND_SHARE)) if title or (note and groups) else None

    def draw_axes_legend(entries: Sequence[tuple[str, Any]], columns: int) -> Legend:
        return figure.legend(
            *_split_into_handles_and_labels(entries), loc="outside upper left", ncols=columns, title=shown, alignment="left"
        )

    if not groups:
        if shown:
            _make_room_above_axes(axes, _TITLE_LINE)
            draw_axes_legend([], 1)
        return
    legend = _lowest_fitting_legend(groups, draw_axes_legend, _PANELS_SHARE * figure.bbox.width)
    _make_room_above_axes(axes, legend.get_window_extent().height / figure.dpi * _POINTS_PER_INCH / _rc_font_size())


def share_labels_remove_unused_panels(figure: DrawnFigure, every: Sequence[Axes], used: int, across: int) -> None:
    """Show axis labels once for panels that share their axes, and remove unused panels."""
    figure.supxlabel(every[0].get_xlabel(), fontsize="medium")
    figure.supylabel(every[0].get_ylabel(), fontsize="medium")
    for at, axes in enumerate(every):
        axes.set_xlabel("")
        axes.set_ylabel("")
        if at + across >= used:  # no panel below it
            axes.tick_params(labelbottom=True)
        if at >= used:
            axes.remove()


def set_log_y_with_plain_ticks(axes: Axes) -> None:
    """A logarithmic y axis whose ticks are plain numbers, 0.2 rather than a power of ten with a factor."""
    from matplotlib.ticker import LogFormatter

    class PlainNumberLogFormatter(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PlainNumberLogFormatter())
    axes.yaxis.set_minor_formatter(PlainNumberLogFormatter(labelOnlyBase=False))


def legend_of_entry_groups(axes: Axes, groups: Sequence[LegendGroup], note: str | None = None) -> None:
    """A legend above the axes with several groups of entries, each under its heading, such as one for colours and one for markers."""
    max_width = _laid_out_axes_width_dots(axes)
    shown = None if note is None else escape_and_wrap_to_letters(note, _max_letters_in_width(axes, _LEGEND_SHARE))

    def draw_figure_legend(entries: Sequence[tuple[str, Any]], columns: int) -> Legend:
        place: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "borderpad": 0.2}
        return axes.legend(*_split_into_handles_and_labels(entries), ncols=columns, title=shown, alignment="left", **place)

    legend = _lowest_fitting_legend(groups, draw_figure_legend, max_width)
    height = legend.get_window_extent().height / figure_of(axes).dpi * _POINTS_PER_INCH / _rc_font_size()
    _make_room_above_axes(axes, height - _LEGEND_LINE)
    if axes.get_title(loc="left"):
        axes.set_title(axes.get_title(loc="left"), loc="left", pad=(height + _TITLE_GAP) * _rc_font_size())


def _lowest_fitting_legend(groups: Sequence[LegendGroup], draw: Callable[[Sequence[tuple[str, Any]], int], Legend], room: float) -> Legend:
    """The lowest legend that fits into `room` dots of width; where one column is too wide, its labels are wrapped."""
    arrangements = sorted(_legend_arrangements(groups), key=lambda arranged: (-(-len(arranged[0]) // arranged[1]), arranged[1]))
    legend = None
    for entries, columns in arrangements:
        if legend is not None:
            legend.remove()
        legend = draw(entries, columns)
        if legend.get_window_extent().width <= room:
            return legend
    entries, columns = arrangements[-1]
    letters = max(len(line) for word, _ in entries for line in word.split("\n"))
    assert legend is not None, "one column is always an arrangement"
    while legend.get_window_extent().width > room and letters > _MIN_LINE_LETTERS:
        letters -= max(1, letters // 8)
        legend.remove()
        legend = draw([(_rewrap_escaped_label(word, letters), handle) for word, handle in entries], columns)
    return legend


def _legend_arrangements(groups: Sequence[LegendGroup]) -> Iterator[tuple[list[tuple[str, Any]], int]]:
    """Candidate arrangements as entries column by column with the number of columns: groups below each other, or side by side."""
    longest = max(len(group.entries) for group in groups)
    for across in range(1, longest + 1):
        if len(groups) == 1:
            yield list(groups[0].entries), across
            continue
        rows = [row for group in groups for row in group.split_into_rows(across)]
        columns = len(rows[0])
        yield [rows[at][column] for column in range(columns) for at in range(len(rows))], columns
    if len(groups) > 1:
        stacks = [[(group.heading, None), *group.entries] for group in groups]
        yield [(*stack, *[_BLANK_HANDLE] * longest)[at] for stack in stacks for at in range(longest + 1)], len(stacks)


def _split_into_handles_and_labels(entries: Sequence[tuple[str, Any]]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], linestyle="none") if handle is None else handle for _, handle in entries], [word for word, _ in entries]


def _rewrap_escaped_label(word: str, letters: int) -> str:
    """A label from `escape_and_wrap_to_letters`, rewrapped to lines of at most `letters` letters."""
    shown = "\n".join(wrap(word.replace(r"\$", "$"), letters) or [""]).replace("$", r"\$")
    return f" {shown}" if word.startswith(" ") else shown


def _laid_out_axes_width_dots(axes: Axes) -> float:
    """The width in dots that the layout gives to the axes while they have no legend."""
    figure = figure_of(axes)
    engine = figure.get_layout_engine()
    if engine is not None:
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # too low for its labels now; the figure grows when it is written
            engine.execute(figure)
    return _SHARE_FOR_LEGEND * float(axes.get_window_extent().width)


def shared_legend_of_panels(figure: DrawnFigure, *axes: Axes) -> None:
    """One legend above these panels, each label once, in as many columns as fit.

    The figure grows by the height of the legend beyond one line.
    """
    entries = {word: handle for axis in axes for handle, word in zip(*axis.get_legend_handles_labels(), strict=True)}
    columns = len(entries)
    legend = _add_figure_legend(figure, entries, columns)
    while columns > 1 and _is_wider_than_figure_share(legend, _PANELS_SHARE):
        legend.remove()
        columns -= 1
        legend = _add_figure_legend(figure, entries, columns)
    lines = -(-len(entries) // columns) if entries else 0
    _make_room_above_axes(axes[0], _TITLE_LINE * (lines - 1))


def _add_figure_legend(figure: DrawnFigure, entries: Mapping[str, Any], columns: int) -> Legend:
    return figure.legend(list(entries.values()), list(entries), loc="outside upper left", ncols=max(1, columns))


def _is_wider_than_figure_share(artist: Artist, share: float) -> bool:
    figure = artist.get_figure(root=True)
    return figure is not None and artist.get_window_extent().width > share * figure.bbox.width


def _make_room_above_axes(axes: Axes, font_sizes: float) -> None:
    figure = figure_of(axes)
    figure.set_figheight(figure.get_figheight() + max(0.0, font_sizes) * _rc_font_size() / _POINTS_PER_INCH)


def _rc_font_size() -> float:
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def _escape_missing_glyphs(text: str) -> str:
    if text.isascii():
        return text
    known = _characters_of_font()
    return "".join(letter if ord(letter) in known else letter.encode("unicode_escape").decode() for letter in text)


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are in."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes are drawn in a figure"
    return figure


@cache
def _matplotlib_default_rc_params() -> dict[str, Any]:
    """Matplotlib's default settings of appearance, which replace the user's."""
    from matplotlib import rcParamsDefault

    return {key: value for key, value in rcParamsDefault.items() if key.startswith(_LINE_LOOKS)}


@cache
def _characters_of_font() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(_FONT_FAMILY)).get_charmap())
