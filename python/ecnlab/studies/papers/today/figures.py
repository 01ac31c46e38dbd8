"""The figures of the study: ECN's gain, queues against the number of flows, heterogeneous flows, and competing traffic."""

from __future__ import annotations

from collections.abc import Sequence

from ecnlab.plot import lines, style
from ecnlab.plot.style import Palette
from ecnlab.scenarios.networks import CHAPTER_4, CHAPTER_5, ThesisNetworkParameters
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.framework.panels import NeedsByCase, PanelGridStyle, measures_figure_item
from ecnlab.studies.papers.today import measures, scenarios
from ecnlab.studies.papers.today.measures import (
    DELAY,
    DROPS,
    EVENNESS,
    GOODPUT,
    GOODPUT_OF_GROUPS,
    JAIN,
    LOCKED_OUT,
    MARKS,
    MEAN_WAIT,
    P99_WAIT,
    TIMEOUTS,
)
from ecnlab.studies.papers.today.scenarios import (
    CUBIC,
    CUBIC_ECN,
    DCTCP,
    FLOW_COUNTS,
    LOSS_RECOVERIES,
    MARKING_QUEUES,
    QUEUE_BY_NAME,
    SCALABLE_QUEUES,
    WITH_ECN,
    WITHOUT_ECN,
    hosts_over_queue_scenario,
)

# Effects of ECN: axis label, measure, and whether it is a change in per cent or a difference.
_CHANGE_MEASURES = (
    ("goodput (%)", GOODPUT, measures.percent_change_of_measure),
    ("one-way delay (%)", DELAY, measures.percent_change_of_measure),
    ("Jain's index", JAIN, measures.difference_of_measure),
    ("flows locked out (% of all)", LOCKED_OUT, measures.difference_of_measure),
)
_FLOW_COUNT_AXIS = Palette(
    {"15 flows": "#0072B2", "60 flows": "#D55E00", "240 flows": "#009E73"}, {"15 flows": "o", "60 flows": "s", "240 flows": "^"}
)
_AS_IN_THESIS = "chapter 5 network, packets of 1000 bytes, buffers of 120 packets"


def _draw_ecn_gains(results: ResultsByKey) -> DrawnItemContent:
    figure, panels = style.figure_with_panels(4, 1, shape=1.1, sharex=True)
    found = [
        ((title, flows, queue), compare(measure, *(results[host, queue, flows] for host in (CUBIC_ECN, CUBIC))))
        for title, measure, compare in _CHANGE_MEASURES
        for flows in FLOW_COUNTS
        for queue in MARKING_QUEUES
    ]
    by_place = dict(found)
    for axes, (title, _, _) in zip(panels, _CHANGE_MEASURES, strict=True):
        curves = [
            lines.Curve(f"{n} flows", range(len(MARKING_QUEUES)), [by_place[title, n, queue] for queue in MARKING_QUEUES])
            for n in FLOW_COUNTS
        ]
        lines.draw_points_over_names(axes, MARKING_QUEUES, curves, y_label=title, palette=_FLOW_COUNT_AXIS)
        axes.axhline(0, color="black", linewidth=0.6)
    style.shared_legend_of_panels(figure, panels[0])
    rows = [[title, str(flows), queue, format_with_interval(one, 3)] for (title, flows, queue), one in found]
    return DrawnItemContent(
        figure,
        [ReportTable("With ECN against without", ["what changes", "flows", "queue", "change"], rows)],
        estimates_frame(["quantity", "flows", "queue"], "change", found),
    )


def _scenarios_by_flow_count(host: str, queues: Sequence[str]) -> NeedsByCase:
    return {
        (queue, flows): hosts_over_queue_scenario(host if queue != "DropTail" else CUBIC, queue, flows)
        for queue in queues
        for flows in FLOW_COUNTS
    }


def _scenarios_by_queue(
    hosts: Sequence[str], network: ThesisNetworkParameters = CHAPTER_5, flows: int = 60
) -> dict[tuple[str, float | str], RequiredScenario]:
    return {
        (host, queue): hosts_over_queue_scenario(host, queue, flows, network)
        for host in hosts
        for queue in QUEUE_BY_NAME
        if host == CUBIC or queue != "DropTail"
    }


def _draw_exchange_rates_and_times(results: ResultsByKey) -> DrawnItemContent:
    figure, panels = style.figure_with_panels(2, 1, shape=0.72, sharex=True)
    kinds = {kind: [q for q in QUEUE_BY_NAME if kind in scenarios.client_kinds_over(q)] for kind in (WITH_ECN, WITHOUT_ECN, "scalable")}
    found, names = [], list(QUEUE_BY_NAME)
    for axes, of in zip(panels, (measures.exchange_rate_measure, measures.mean_exchange_time), strict=True):
        measure = of(WITH_ECN)
        by_kind = {kind: [of(kind).estimate(results[queue,]) for queue in queues] for kind, queues in kinds.items()}
        curves = [lines.Curve(kind, [names.index(queue) for queue in kinds[kind]], points) for kind, points in by_kind.items()]
        lines.draw_points_over_names(axes, names, curves, y_label=measure.label_with_unit, palette=scenarios.HOST_PALETTE)
        found += [
            ((measure.label_with_unit, kind, q), one)
            for kind, points in by_kind.items()
            for q, one in zip(kinds[kind], points, strict=True)
        ]
    style.shared_legend_of_panels(figure, panels[0])
    rows = [[str(part) for part in place] + [format_with_interval(one, 2)] for place, one in found]
    table = ReportTable("Exchanges of 5 KB", ["quantity", "clients", "queue", "mean"], rows)
    return DrawnItemContent(figure, [table], estimates_frame(["quantity", "clients", "queue"], "mean", found))


ITEMS = [
    StudyItem(
        "1",
        "What ECN changes for CUBIC",
        f"CUBIC with ECN against CUBIC without, paired by seed, over each queue; {_AS_IN_THESIS}.",
        {
            (host, queue, flows): hosts_over_queue_scenario(host, queue, flows)
            for host in (CUBIC, CUBIC_ECN)
            for queue in MARKING_QUEUES
            for flows in FLOW_COUNTS
        },
        _draw_ecn_gains,
    ),
    measures_figure_item(
        "2",
        "Queues against the number of flows",
        f"CUBIC with ECN, at DropTail without; {_AS_IN_THESIS}. A share of the packets sent is dropped.",
        _scenarios_by_flow_count(CUBIC_ECN, list(QUEUE_BY_NAME)),
        [MEAN_WAIT, DROPS, GOODPUT, JAIN],
        PanelGridStyle("number of flows", scenarios.QUEUE_PALETTE, ticks=FLOW_COUNTS),
        also=[P99_WAIT, MARKS, EVENNESS, LOCKED_OUT, TIMEOUTS],
    ),
    measures_figure_item(
        "3",
        "Goodput of heterogeneous RTTs, chapter 5 network",
        f"60 flows, a third of them fragile (200 ms), average (100 ms) and robust (50 ms); {_AS_IN_THESIS}.",
        _scenarios_by_queue((CUBIC, CUBIC_ECN)),
        [*GOODPUT_OF_GROUPS.values(), EVENNESS],
        PanelGridStyle("queue", scenarios.HOST_PALETTE, columns=1),
        also=[JAIN, GOODPUT, MEAN_WAIT, DROPS, MARKS],
    ),
    measures_figure_item(
        "4",
        "Goodput of heterogeneous RTTs, chapter 4 network",
        "60 flows, a third of them fragile (300 ms), average (100 ms) and robust (20 ms); as in Figure 3 but for the network.",
        _scenarios_by_queue((CUBIC, CUBIC_ECN), CHAPTER_4),
        [*GOODPUT_OF_GROUPS.values(), EVENNESS],
        PanelGridStyle("queue", scenarios.HOST_PALETTE, columns=1),
        also=[JAIN, GOODPUT, MEAN_WAIT, DROPS, MARKS],
    ),
    measures_figure_item(
        "5",
        "Flows locked out, 240 flows",
        f"Share of the flows that deliver nothing new for a long spell at least once between 20 and 100 s, and timeouts; {_AS_IN_THESIS}.",
        _scenarios_by_queue((CUBIC, CUBIC_ECN), flows=240),
        [LOCKED_OUT, TIMEOUTS],
        PanelGridStyle("queue", scenarios.HOST_PALETTE, columns=1),
        also=[JAIN, DROPS, MARKS],
    ),
    StudyItem(
        "6",
        "Exchanges of 5 KB",
        "Ten clients with ECN and ten without, each over one connection after the other, beside 30 long flows of CUBIC with ECN, at "
        "DropTail all without: exchanges that a client ends in a second, and what one takes. Behind DualPI2 ten more clients use DCTCP "
        f"in its low-latency queue. Empty round trip 100 ms; {_AS_IN_THESIS}.",
        {(queue,): scenarios.exchange_clients_scenario(queue) for queue in QUEUE_BY_NAME},
        _draw_exchange_rates_and_times,
    ),
    measures_figure_item(
        "7",
        "Beside unresponsive datagrams",
        "60 flows of CUBIC beside ten sources of datagrams, on and off for 2.5 s in the mean, that offer 30 % of the link; each source "
        f"offers about twice the share of a flow; {_AS_IN_THESIS}.",
        {
            (host, queue): scenarios.datagram_cross_traffic_scenario(host, queue)
            for host in (CUBIC, CUBIC_ECN)
            for queue in QUEUE_BY_NAME
            if host == CUBIC or queue != "DropTail"
        },
        [measures.LONG_GOODPUT, measures.DATAGRAMS],
        PanelGridStyle("queue", scenarios.HOST_PALETTE, columns=1),
        also=[MEAN_WAIT, JAIN, DROPS, MARKS],
    ),
    measures_figure_item(
        "8",
        "DCTCP over the queues that are made for it",
        "Against the number of flows: its own step at 20 packets, FQ-CoDel with CE at 1 ms, "
        f"and DualPI2's low-latency queue; {_AS_IN_THESIS}.",
        _scenarios_by_flow_count(DCTCP, list(SCALABLE_QUEUES)),
        [MEAN_WAIT, DROPS, GOODPUT, JAIN],
        PanelGridStyle("number of flows", scenarios.QUEUE_PALETTE, ticks=FLOW_COUNTS),
        also=[P99_WAIT, MARKS, EVENNESS, LOCKED_OUT, *GOODPUT_OF_GROUPS.values()],
    ),
    measures_figure_item(
        "9",
        "ECN's gain in goodput by loss recovery",
        f"60 flows over RED with Reno's window and the loss recovery of 1990, 1999, 2003 and 2021; {_AS_IN_THESIS}.",
        {(word, name): hosts_over_queue_scenario(f"{name} {word}", "RED") for word in (WITHOUT_ECN, WITH_ECN) for name in LOSS_RECOVERIES},
        [GOODPUT, TIMEOUTS],
        PanelGridStyle("recovery", scenarios.HOST_PALETTE),
        also=[JAIN, MEAN_WAIT, DROPS, MARKS],
    ),
]
