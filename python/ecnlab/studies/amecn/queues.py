"""Figures 5 to 8: the average and the instantaneous queue against time, MECN and AMECN, while the load rises and while it falls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ecnlab.networks import BOTTLENECK
from ecnlab.plots import series, style
from ecnlab.studies.amecn import measures
from ecnlab.studies.amecn.networks import DURATION_S, load
from ecnlab.studies.amecn.published import BACK_S, CHANGE_S, LOADS, SCHEMES, TARGET_RANGE, UTILISATION_PERCENT
from ecnlab.studies.model import Drawing, Item, Results, Table, with_interval

if TYPE_CHECKING:
    from ecnlab.results import Result

_BUFFER = 40
_WORDS = {"rise": "20 more flows from 25 s on", "fall": "20 more flows until 25 s"}
_SPANS_S = ((10.0, CHANGE_S), (CHANGE_S, BACK_S), (BACK_S, 50.0), (50.0, DURATION_S))


def _draw(results: Results, kind: str, scheme: str) -> Drawing:
    (result,) = results.values()
    frame = result.only(result.seeds[0]).series.queue
    frame = frame.filter(frame["queue"] == BOTTLENECK)
    figure, (axes,) = style.panels()
    axes.axhspan(*TARGET_RANGE, color=style.LOCKOUT, alpha=0.5, linewidth=0, label="9 to 12 packets")
    series.draw_queue(axes, frame)
    series.span(axes, DURATION_S)
    axes.set_ylim(0, _BUFFER)
    style.legend_above(axes)
    return Drawing(figure, [_table(result, kind, scheme)], frame)


def _table(result: Result, kind: str, scheme: str) -> Table:
    spans = [with_interval(result.estimate_of(measures.average_queue(*span)(result)), 2) for span in _SPANS_S]
    used = with_interval(result.estimate_of(measures.utilisation(result)).scaled(100), 2)
    dropped = with_interval(result.estimate_of(measures.drop_rate(result)).scaled(100), 1)
    header = [f"{start:g} to {end:g} s" for start, end in _SPANS_S]
    return Table(
        "average queue (packets) over spans of time, use of the link (%), and drops of arrivals (%), over the seeds",
        [*header, "published use", "use of the link", "drops"],
        [[*spans, f"{UTILISATION_PERCENT[kind, scheme]:g}", used, dropped]],
    )


def _item(number: str, kind: str, scheme: str) -> Item:
    return Item(
        number=number,
        title=f"{scheme}'s queue, {_WORDS[kind]}",
        caption="The queue and its average every 100 ms of the first seed; the range in which the paper has AMECN's average is grey.",
        needs={(kind, scheme): load(kind, scheme)},
        draw=partial(_draw, kind=kind, scheme=scheme),
        part="Load that changes",
    )


ITEMS = [_item(str(5 + at), *case) for at, case in enumerate((kind, scheme) for kind in LOADS for scheme in SCHEMES)]
