"""The figures of one result: `result.plot.queue()` and the other kinds, and all possible figures at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ecnlab.errors import ResultsError, UsageError, require_known_name
from ecnlab.plot import completions, dots, gauges, robust, series, shares, style
from ecnlab.plot.style import FigureStyle
from ecnlab.stats import precision, steady_series
from ecnlab.stats.steady_state import steady_state_of_quantity
from ecnlab.storage.filenames import safe_file_name
from ecnlab.storage.folders import parse_folder_argument
from ecnlab.storage.results import record_all_seeds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ecnlab.plot.drawn import DrawnFigure
    from ecnlab.storage.results import Result

RATE_QUANTITIES = ("throughput_bps", "goodput_bps", "goodput_first_bps")
MAX_CURVES = 10

FileStem = str
DrawFunction = Callable[[], "DrawnFigure"]


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure that a result may allow: its name, which is that of its method in `ResultPlots`, and what it shows.

    It is drawn from `table`, which must have a row if it `needs_rows`, of one seed unless it shows a mean or a sum `over_seeds`.
    """

    name: str
    shows: str
    table: str
    needs_rows: bool = False
    for_each_queue: bool = False
    over_seeds: bool = False

    def draw_functions(self, plots: ResultPlots, queues: Sequence[str]) -> list[tuple[FileStem, DrawFunction]]:
        """The functions that draw its figures of a result with these queues."""
        draw = getattr(plots, self.name)
        if self.for_each_queue:
            return [(f"{self.name}-{safe_file_name(queue)}", partial(draw, queue)) for queue in queues]
        return [(self.name, draw)]


class ResultPlots:
    """Figures of a result, each a figure of matplotlib that a notebook shows as it is.

    Each raises ResultsError if the scenario did not record what it needs, and UnknownName for a name that is not there.
    """

    def __init__(self, result: Result, chosen: FigureStyle | None = None) -> None:
        self._result = result
        self._style = chosen or FigureStyle()

    def __repr__(self) -> str:
        kinds = ", ".join(kind.name for kind in self.possible_figure_kinds())
        return f"<Plots of {self._result.name!r}: {kinds or 'nothing to draw was recorded'}>"

    def styled(self, *, width_in: float | None = None, font_size: float | None = None, titles: bool | None = None) -> ResultPlots:
        """The same figures in another style, e.g. `result.plot.styled(width_in=3.4, titles=False).queue()`.

        Raises UsageError for a width or a size that no figure can have.
        """
        return ResultPlots(self._result, self._style.with_changes(width_in=width_in, font_size=font_size, titles=titles))

    def queue(self, name: str | None = None, seed: int | None = None) -> DrawnFigure:
        """Queue length and the AQM's average against time, with a line for each band if the queue has several.

        The first queue and first seed unless named.
        """
        queue, chosen = self._queue_to_draw(name), self._result_of_seed(seed, "series_queue")
        of_queue = pl.col("queue") == queue
        with self._new_figure(f"{queue}, {_seed_or_seed_count_text(chosen)}") as (figure, axes):
            series.draw_queue(axes, chosen.series.queue.filter(of_queue), chosen.series.band.filter(of_queue))
            if len(axes.get_legend_handles_labels()[1]) > 1:  # the axis label already names a single line
                style.legend_above(axes)
        return figure

    def queue_delay(self, name: str | None = None, seed: int | None = None) -> DrawnFigure:
        """Queueing delay (sojourn time) against time, a line for each band if the queue has several.

        A line is the mean over the packets that departed since the sample before, the shading reaches up to the largest.
        The first queue and first seed unless named.
        """
        queue, chosen = self._queue_to_draw(name), self._result_of_seed(seed, "series_queue")
        of_queue = pl.col("queue") == queue
        frame = chosen.series.band.filter(of_queue)
        bands = frame["band"].unique(maintain_order=True).to_list()
        with self._new_figure(f"{queue}, {_seed_or_seed_count_text(chosen)}") as (figure, axes):
            series.draw_queue_delay(axes, frame if bands else chosen.series.queue.filter(of_queue), bands)
            style.legend_above(axes)
        return figure

    def gauge(self, names: Sequence[str] | None = None, *, queues: Sequence[str] | None = None, seed: int | None = None) -> DrawnFigure:
        """Internal variables of AQMs, such as a probability, against time: a panel for each gauge with a line for each queue.

        All gauges and the first ten queues unless named, and the first seed.
        """
        result = self._result_of_seed(seed, "series_gauge")
        shown, note = self._names_to_draw("queue", queues)
        frame = result.series.gauge.filter(pl.col("queue").is_in(shown))
        if frame.is_empty():
            raise ResultsError(
                f"{self._result.name}: no AQM of {', '.join(shown)} has a gauge besides its average, which result.plot.queue() draws; "
                "ecnlab show NAME lists an AQM's gauges"
            )
        declared = {link["name"]: gauges.declared_gauges_of_queue(link["queue"]) for link in result.header["parameters"]["link"]}
        panels = gauges.panel_for_each_gauge(frame, declared)
        if names is not None:
            _require_all_known("gauge", names, [panel.gauge for panel in panels])
            panels = [panel for name in names for panel in panels if panel.gauge == name]
        with self._style.matplotlib_rc_context():
            figure, every = style.figure_with_panels(len(panels), shape=0.2 + 0.36 * len(panels), style=self._style, sharex=True)
            if self._style.titles:
                style.set_wrapped_title(
                    every[0], f"{result.name}: {shown[0] if len(shown) == 1 else 'gauges'}, {_seed_or_seed_count_text(result)}"
                )
            for axes, panel in zip(every, panels, strict=True):
                gauges.draw_gauges(axes, frame, panel, shown)
                series.set_time_span(axes, self._run_end_s)
                if len(shown) > 1:
                    style.legend_above(axes, note)
            every[-1].set_xlabel("time (s)")
        return figure

    def rates(self, quantity: str = "goodput_bps", groups: Sequence[str] | None = None) -> DrawnFigure:
        """A rate of each group in 1 s bins: mean over seeds and its 95 % interval; the first ten groups unless named.

        `quantity`: throughput_bps, goodput_bps or goodput_first_bps.
        """
        require_known_name("rate", quantity, RATE_QUANTITIES)
        drawn_groups, note = self._names_to_draw("group", groups)
        with self._new_figure(self._seeds_text("series_rate")) as (figure, axes):
            series.draw_rates(axes, self._result.series.rate, quantity, drawn_groups)
            style.legend_above(axes, self._with_seeds_note(note, "series_rate"))
        return figure

    def window(
        self,
        quantity: str = "cwnd_packets",
        *,
        groups: Sequence[str] | None = None,
        flows: Sequence[int] | None = None,
        seed: int | None = None,
    ) -> DrawnFigure:
        """Windows against time: the mean over each group's flows and over seeds with its 95 % interval, or single `flows` of one seed.

        `quantity`: cwnd_packets, ssthresh_packets or alpha.
        """
        require_known_name("quantity of windows", quantity, series.WINDOW_QUANTITIES)
        if flows is not None:
            return self._draw_flow_windows_figure(quantity, flows, seed)
        if seed is not None:
            return self._with_result(self._result_of_seed(seed, "series_window")).window(quantity, groups=groups)
        result = self._result
        drawn_groups, note = self._names_to_draw("group", groups)
        frame = result.series.window.join(result.flows.select("seed", "flow", "group"), on=["seed", "flow"])
        with self._new_figure(f"means of each group, {self._seeds_text('series_window')}") as (figure, axes):
            series.draw_group_mean_windows(axes, frame, quantity, drawn_groups)
            style.legend_above(axes, self._with_seeds_note(note, "series_window"))
        return figure

    def marks(self, kind: str = "mark", seed: int | None = None) -> DrawnFigure:
        """A dot for each marked (`kind` "mark") or dropped ("drop") packet of one seed, lockout spells as grey bars."""
        require_known_name("kind of dots", kind, ("mark", "drop"))
        chosen = self._result_of_seed(seed, "events")
        with self._new_figure(f"{kind}s, {_seed_or_seed_count_text(chosen)}", shape=0.72) as (figure, axes):
            dots.draw_mark_or_drop_dots(axes, chosen.series.events, chosen.series.lockouts, chosen.flows, kind)
            style.legend_above(axes)
        return figure

    def distributions(self, quantity: str = "delay", names: Sequence[str] | None = None) -> DrawnFigure:
        """The cumulative distribution over all packets of all seeds, in the measured interval.

        `quantity`: "delay" (one way) or "rtt" of each group, "sojourn" of each queue, with a curve for each of its bands.
        The first ten groups or queues unless named.
        """
        require_known_name("distribution", quantity, shares.QUANTITY_LABELS)
        drawn_names, note = self._names_to_draw("queue" if quantity == "sojourn" else "group", names)
        frame = self._result.series.distributions
        with self._new_figure(self._seeds_text("distributions"), over_time=False) as (figure, axes):
            shares.draw_distributions(axes, frame, quantity, drawn_names)
            style.legend_above(axes, self._with_seeds_note(note, "distributions"))
        return figure

    def completions(self, quantity: str = "transaction_mean_s", groups: Sequence[str] | None = None) -> DrawnFigure:
        """Completion times of transactions by their size: mean over seeds and its 95 % interval; the first ten groups unless named.

        `quantity`: transaction_mean_s, transaction_p50_s, transaction_p95_s, transaction_p99_s or slowdown_mean.
        """
        require_known_name("quantity of completions", quantity, completions.QUANTITY_LABELS)
        drawn_groups, note = self._names_to_draw("group", groups)
        frame = self._result.completions
        if frame.is_empty():
            raise ResultsError(f'{self._result.name}: no transaction ended; fix: add flows that end, e.g. app = {{ kind = "exchange" }}')
        with self._new_figure(_seed_or_seed_count_text(self._result), over_time=False) as (figure, axes):
            completions.draw_completions(axes, frame, quantity, drawn_groups)
            style.legend_above(axes, note)
        return figure

    def gauges(self, names: Sequence[str] | None = None, *, queues: Sequence[str] | None = None, seed: int | None = None) -> DrawnFigure:
        """The figure `gauges`: as `gauge`."""
        return self.gauge(names, queues=queues, seed=seed)

    def throughput(self, groups: Sequence[str] | None = None) -> DrawnFigure:
        """The figure `throughput`: `rates` of throughput_bps."""
        return self.rates("throughput_bps", groups)

    def goodput(self, groups: Sequence[str] | None = None) -> DrawnFigure:
        """The figure `goodput`: `rates` of goodput_bps."""
        return self.rates("goodput_bps", groups)

    def drops(self, seed: int | None = None) -> DrawnFigure:
        """The figure `drops`: `marks` of dropped packets."""
        return self.marks("drop", seed)

    def delay(self, groups: Sequence[str] | None = None) -> DrawnFigure:
        """The figure `delay`: `distributions` of the one-way delay."""
        return self.distributions("delay", groups)

    def rtt(self, groups: Sequence[str] | None = None) -> DrawnFigure:
        """The figure `rtt`: `distributions` of the round-trip time."""
        return self.distributions("rtt", groups)

    def sojourn(self, queues: Sequence[str] | None = None) -> DrawnFigure:
        """The figure `sojourn`: `distributions` of the time in the queues."""
        return self.distributions("sojourn", queues)

    def steady(self, name: str | None = None) -> DrawnFigure:
        """Queue length against time, mean over the first five seeds that have it, with where its steady state begins by MSER-5.

        Below it the standard error that MSER-5 minimises. The first queue unless named.
        """
        queue = self._queue_to_draw(name)
        observed = steady_series.queue_length_series(self._result, queue)
        if observed is None:
            raise ResultsError(f'{self._result.name}: no seed has a series of queue {queue}; fix: set record.queue = "100 ms"')
        measure_from_s = float(self._result.header["measure_from_s"])
        from_s = steady_state_of_quantity(observed, measure_from_s).from_s
        with self._style.matplotlib_rc_context():
            figure, (above, below) = style.figure_with_panels(2, shape=0.75, style=self._style, sharex=True)
            if self._style.titles:
                style.set_wrapped_title(above, f"{self._result.name}: {queue}")
            robust.draw_transient(above, observed, from_s, measure_from_s)
            robust.draw_mser_statistic(below, observed, from_s)
            series.set_time_span(below, self._run_end_s)
            style.legend_above(above)
            style.legend_above(below)
        return figure

    def precision(self, of: Sequence[str] = (precision.DEFAULT_MEASURE,), bound: float | None = None) -> DrawnFigure:
        """Half width of the 95 % interval against the number of seeds, a line for each measure as `--of` names it; log scales.

        `bound` is drawn as a line, as a share: 0.01 for 1 %. Raises UsageError for fewer than ten seeds.
        """
        result = self._result
        if len(result.seeds) < precision.MIN_SEEDS or result.alike:
            raise UsageError(f"seeds: {len(result.seeds)} show no trend; fix: run {precision.MIN_SEEDS} or more that are not identical")
        measures = [precision.parse_measure(text, result.group_names, result.queue_names) for text in of]
        with self._new_figure(_seed_or_seed_count_text(result), over_time=False) as (figure, axes):
            robust.draw_interval_widths_by_seeds(axes, [(one.readable_name, one.values(result)) for one in measures], bound)
            style.legend_above(axes)
        return figure

    def possible_figure_kinds(self) -> list[FigureKind]:
        """The kinds of figures that the recorded tables allow."""
        recorded = (kind for kind in FIGURE_KINDS if self._result.has(kind.table))
        return [kind for kind in recorded if not kind.needs_rows or self._result_of_seed(None, kind.table).table(kind.table).height]

    def notes_on_seeds(self, figures: Sequence[str] | None = None) -> list[str]:
        """The seeds of the figures and a fix, e.g. "goodput: series of seeds 1..5 of 20; fix: ..."; none for figures of one seed or of all.

        Raises as `save_all`.
        """
        kinds_by_seeds: dict[str, list[FigureKind]] = {}
        for kind in (kind for kind in self._select_figure_kinds(figures) if kind.over_seeds):
            kinds_by_seeds.setdefault(self._result.some_seeds_text(kind.table), []).append(kind)
        return [
            f"{', '.join(kind.name for kind in kinds)}: series of {seeds}; fix: {record_all_seeds_text(kind.table for kind in kinds)}"
            for seeds, kinds in kinds_by_seeds.items()
            if seeds
        ]

    def save_all(
        self,
        folder: str | Path,
        figures: Sequence[str] | None = None,
        *,
        formats: Sequence[str] = ("svg",),
        width: float | None = None,
        font_size: float | None = None,
        titles: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[str]:
        """Write figures into `folder`: the kinds named in `figures` (see FIGURE_KINDS), else all that the recorded tables allow.

        `width` is in inches; `progress` is called with the numbers of finished and of all figures. Returns the names of the written files.
        Raises UnknownName (figures, formats), UsageError (folder, width), ResultsError (nothing recorded, or the disk refuses).
        """
        from ecnlab.plot.drawn import require_known_formats

        into = parse_folder_argument("folder", folder)
        require_known_formats(formats)
        styled = self.styled(width_in=width, font_size=font_size, titles=titles)
        kinds = self._select_figure_kinds(figures)
        drawings = [drawing for kind in kinds for drawing in kind.draw_functions(styled, self._result.queue_names)]
        for done, (stem, draw) in enumerate(drawings):
            if progress is not None:
                progress(done, len(drawings))
            draw().save(into / stem, formats)
        if progress is not None:
            progress(len(drawings), len(drawings))
        return [stem for stem, _ in drawings]

    def _select_figure_kinds(self, names: Sequence[str] | None) -> Sequence[FigureKind]:
        if names is None:
            self._require_finished_seed()
            kinds = self.possible_figure_kinds()
            if not kinds:
                raise ResultsError(f'{self._result.name}: no series was recorded for figures; fix: record one, e.g. record.queue = "10 ms"')
            return kinds
        _require_all_known("figure", names, [kind.name for kind in FIGURE_KINDS])
        return [kind for kind in FIGURE_KINDS if kind.name in names]

    def _draw_flow_windows_figure(self, quantity: str, flows: Sequence[int], seed: int | None) -> DrawnFigure:
        result = self._result_of_seed(seed, "series_window")
        _require_all_known("flow", list(map(str, flows)), map(str, result.flows["flow"]))
        with self._new_figure(_seed_or_seed_count_text(result)) as (figure, axes):
            series.draw_flow_windows(axes, result.series.window, quantity, flows)
            style.legend_above(axes)
        return figure

    def _new_figure(self, about: str, shape: float = 0.61, *, over_time: bool = True) -> AbstractContextManager[tuple[DrawnFigure, Axes]]:
        span_s = (0, self._run_end_s) if over_time else None
        return style.new_titled_figure(self._style, f"{self._result.name}: {about}", shape, span_s)

    @property
    def _run_end_s(self) -> float:
        return float(self._result.header["duration_s"])

    def _queue_to_draw(self, name: str | None) -> str:
        queues, _ = self._names_to_draw("queue", None if name is None else [name])
        return queues[0]

    def _names_to_draw(self, kind: str, names: Sequence[str] | None) -> tuple[Sequence[str], str | None]:
        """The groups or queues to draw, the first ten unless named, and a legend entry if that leaves some out."""
        known = self._result.queue_names if kind == "queue" else self._result.group_names
        if names is not None:
            _require_all_known(kind, names, known)
            return names, None
        return known[:MAX_CURVES], f"the first {MAX_CURVES} of {len(known)} {kind}s" if len(known) > MAX_CURVES else None

    def _result_of_seed(self, seed: int | None, table: str) -> Result:
        """The result of a seed, by default of the first one that has the table."""
        self._require_finished_seed()
        having = self._result.seeds_with(table)
        found = self._result.only((having or self._result.seeds)[0] if seed is None else seed)
        if having and not found.has(table):
            what = f"seed {seed} lacks the series; only {self._result.some_seeds_text(table)} {'has' if len(having) == 1 else 'have'} it"
            raise ResultsError(f"{self._result.name}: {what}; fix: draw another seed, or {record_all_seeds_text([table])}")
        return found

    def _with_result(self, result: Result) -> ResultPlots:
        return ResultPlots(result, self._style)

    def _seeds_text(self, table: str) -> str:
        """The seeds of a figure over all seeds with this table, for its title."""
        return self._result.some_seeds_text(table) or _seed_or_seed_count_text(self._result)

    def _with_seeds_note(self, note: str | None, table: str) -> str | None:
        """A note of the legend, with the seeds of the figure if these are not all and no title names them."""
        some = "" if self._style.titles else self._result.some_seeds_text(table)
        return "; ".join(filter(None, (note, some))) or None

    def _require_finished_seed(self) -> None:
        if not self._result.seeds:
            raise ResultsError(f"{self._result.name}: no seed has finished; fix: run the scenario again with the same results folder")


FIGURE_KINDS = (
    FigureKind("queue", "queue length and the AQM's average against time, a figure for each queue", "series_queue", for_each_queue=True),
    FigureKind(
        "queue_delay",
        "queueing delay against time, a figure for each queue with a line for each of its bands",
        "series_queue",
        for_each_queue=True,
    ),
    FigureKind(
        "gauges",
        "the gauges of AQMs, such as a probability, against time: a panel for each gauge",
        "series_gauge",
        needs_rows=True,
    ),
    FigureKind("throughput", "throughput of each group against time", "series_rate", over_seeds=True),
    FigureKind("goodput", "goodput of each group against time", "series_rate", over_seeds=True),
    FigureKind("window", "mean congestion window of each group's flows against time", "series_window", over_seeds=True),
    FigureKind("marks", "a dot for each marked packet, by time and flow", "events"),
    FigureKind("drops", "a dot for each dropped packet, by time and flow", "events"),
    FigureKind("delay", "distribution of each group's one-way delay", "distributions", over_seeds=True),
    FigureKind("rtt", "distribution of each group's round-trip time", "distributions", over_seeds=True),
    FigureKind("sojourn", "distribution of the time in each queue, of each band if it has several", "distributions", over_seeds=True),
    FigureKind("completions", "mean time of a transaction by its size, a line for each group", "completions", needs_rows=True),
)


def _seed_or_seed_count_text(result: Result) -> str:
    seeds = result.seeds
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _require_all_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    known_names = list(known)
    for name in names:
        require_known_name(kind, name, known_names)
