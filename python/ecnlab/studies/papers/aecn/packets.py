"""Figures 4.14, 4.15, 5.6-5.11 and 5.24-5.27: a dot for each marked or dropped packet, lockout periods as bars."""

from __future__ import annotations

from ecnlab.plot import dots, series, style
from ecnlab.scenarios import networks
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, RequiredScenario, ResultsByKey, StudyItem
from ecnlab.studies.papers.aecn import schemes

_RECORD_EVENTS = {"events": True}
_END_S = 100.0


def marks_or_drops_item(
    number: str, name: str, kind: str, flows: int, max_p: float, chapter: networks.ThesisNetworkParameters
) -> StudyItem:
    """The item of a scheme's marked or dropped packets."""
    word = "Marked" if kind == "mark" else "Dropped"
    need = RequiredScenario(schemes.scheme_scenario(name, flows, max_p, chapter, record=_RECORD_EVENTS), every_seed=False)
    return StudyItem(
        number=number,
        title=f"{word} packets, {name}, {flows} flows, max_p {max_p:g}",
        caption=f"{chapter.title.capitalize()} network, first seed.",
        needs={(name,): need},
        draw=lambda results: _draw_marks_or_drops_over_time(results, name, kind),
        part=schemes.REPORT_PARTS[chapter.title],
    )


def _draw_marks_or_drops_over_time(results: ResultsByKey, name: str, kind: str) -> DrawnItemContent:
    result = results[name,].only(results[name,].seeds[0])
    events, lockouts = result.series.events, result.series.lockouts
    figure, (axes,) = style.figure_with_panels(shape=0.72)
    dots.draw_mark_or_drop_dots(axes, events, lockouts, result.flows, kind)
    series.set_time_span(axes, _END_S)
    style.legend_above(axes)
    counts = [
        str(dots.count_data_events_of_kind(events, "mark")),
        str(dots.count_data_events_of_kind(events, "drop")),
        str(lockouts.height),
        str(lockouts["flow"].n_unique()),
    ]
    return DrawnItemContent(
        figure,
        [ReportTable("first seed, whole run", ["marks", "drops", "lockout spells", "flows locked out"], [counts])],
        events.filter(events["kind"] == kind),
    )
