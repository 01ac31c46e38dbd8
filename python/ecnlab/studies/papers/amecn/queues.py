"""Figures 5 to 8: the average and the instantaneous queue against time, MECN and AMECN, while the load rises and while it falls."""

from __future__ import annotations

from functools import partial
from itertools import product

from ecnlab.plot import series, style
from ecnlab.scenarios.networks import BOTTLENECK
from ecnlab.storage.results import Result
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, ResultsByKey, StudyItem, format_with_interval
from ecnlab.studies.framework.panels import estimate_cell
from ecnlab.studies.papers.amecn import measures
from ecnlab.studies.papers.amecn.networks import DURATION_S, changing_load_scenario
from ecnlab.studies.papers.amecn.published import CHANGE_S, LOAD_BACK_S, LOAD_NAMES, SCHEMES, TARGET_RANGE, UTILISATION_PERCENT

_BUFFER_PACKETS = 40
_LOAD_TEXTS = {"rise": "20 more flows from 25 s on", "fall": "20 more flows until 25 s"}
_SPANS_S = ((10.0, CHANGE_S), (CHANGE_S, LOAD_BACK_S), (LOAD_BACK_S, 50.0), (50.0, DURATION_S))


def _draw_average_queue(results: ResultsByKey, kind: str, scheme: str) -> DrawnItemContent:
    (result,) = results.values()
    frame = result.only(result.seeds[0]).series.queue
    frame = frame.filter(frame["queue"] == BOTTLENECK)
    figure, (axes,) = style.figure_with_panels()
    axes.axhspan(*TARGET_RANGE, color=style.LOCKOUT_COLOUR, alpha=0.5, linewidth=0, label="9 to 12 packets")
    series.draw_queue(axes, frame)
    series.set_time_span(axes, DURATION_S)
    axes.set_ylim(0, _BUFFER_PACKETS)
    style.legend_above(axes)
    return DrawnItemContent(figure, [_average_queue_by_span_table(result, kind, scheme)], frame)


def _average_queue_by_span_table(result: Result, kind: str, scheme: str) -> ReportTable:
    spans = [format_with_interval(result.estimate_of(measures.average_queue_over_span(*span)(result)), 2) for span in _SPANS_S]
    header = [f"{start:g} to {end:g} s" for start, end in _SPANS_S]
    return ReportTable(
        "average queue (packets) over spans of time, use of the link (%), and drops of arrivals (%), over the seeds",
        [*header, "published use", "use of the link", "drops"],
        [
            [
                *spans,
                f"{UTILISATION_PERCENT[kind, scheme]:g}",
                estimate_cell(measures.UTILISATION, result),
                estimate_cell(measures.DROP_RATE, result),
            ]
        ],
    )


ITEMS = [
    StudyItem(
        number=str(5 + at),
        title=f"{scheme}'s queue, {_LOAD_TEXTS[kind]}",
        caption="The queue and its average every 100 ms of the first seed; the range in which the paper has AMECN's average is grey.",
        needs={(kind, scheme): changing_load_scenario(kind, scheme)},
        draw=partial(_draw_average_queue, kind=kind, scheme=scheme),
        part="Load that changes",
    )
    for at, (kind, scheme) in enumerate(product(LOAD_NAMES, SCHEMES))
]
