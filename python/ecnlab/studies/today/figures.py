"""The figures of the study: what ECN gains, how queues stand with the number of flows, among unlike flows, and beside other traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ecnlab.analysis.stats import Estimate
from ecnlab.networks import CHAPTER_4, CHAPTER_5, Thesis
from ecnlab.plots import lines, style
from ecnlab.plots.style import Palette
from ecnlab.studies.model import Drawing, Item, Need, Results, Table, estimates, with_interval
from ecnlab.studies.panels import Look, Measure, Needs, item
from ecnlab.studies.today import measures, scenarios
from ecnlab.studies.today.measures import DELAY, DROPS, EVENNESS, GOODPUT, JAIN, LOCKED_OUT, MARKS, OF_GROUPS, TAIL, TIMEOUTS, WAIT
from ecnlab.studies.today.scenarios import (
    CUBIC,
    CUBIC_ECN,
    DCTCP,
    FLOWS,
    MARKING,
    QUEUES,
    RECOVERIES,
    SCALABLE,
    WITH_ECN,
    WITHOUT_ECN,
    need,
)

# What ECN changes: what the axis calls it, the measure, and whether it is a change in per cent or a gap.
_CHANGES: Sequence[tuple[str, Measure, Callable[..., Estimate]]] = (
    ("goodput (%)", GOODPUT, measures.change),
    ("one-way delay (%)", DELAY, measures.change),
    ("Jain's index", JAIN, measures.gap),
    ("flows locked out (% of all)", LOCKED_OUT, measures.gap),
)
_BY_FLOWS = Palette(
    {"15 flows": "#0072B2", "60 flows": "#D55E00", "240 flows": "#009E73"}, {"15 flows": "o", "60 flows": "s", "240 flows": "^"}
)
_AS_IN_THESIS = "chapter 5 network, packets of 1000 bytes, buffers of 120 packets"


def _draw_gains(results: Results) -> Drawing:
    figure, panels = style.panels(4, 1, shape=1.1, sharex=True)
    found = [
        ((title, flows, queue), _gain(results, measure, compare, queue, flows))
        for title, measure, compare in _CHANGES
        for flows in FLOWS
        for queue in MARKING
    ]
    by_place = dict(found)
    for axes, (title, _, _) in zip(panels, _CHANGES, strict=True):
        curves = [lines.Curve(f"{n} flows", range(len(MARKING)), [by_place[title, n, queue] for queue in MARKING]) for n in FLOWS]
        lines.draw_over_names(axes, MARKING, curves, y_label=title, palette=_BY_FLOWS)
        axes.axhline(0, color="black", linewidth=0.6)
    style.legend_of_panels(figure, panels[0])
    rows = [[title, str(flows), queue, with_interval(one, 3)] for (title, flows, queue), one in found]
    return Drawing(
        figure,
        [Table("With ECN against without", ["what changes", "flows", "queue", "change"], rows)],
        estimates(["quantity", "flows", "queue"], "change", found),
    )


def _gain(results: Results, measure: Measure, compare: Callable[..., Estimate], queue: str, flows: int) -> Estimate:
    return compare(measure, results[CUBIC_ECN, queue, flows], results[CUBIC, queue, flows])


GAINS = Item(
    "1",
    "What ECN changes for CUBIC",
    f"CUBIC with ECN against CUBIC without, paired by seed, over each queue; {_AS_IN_THESIS}.",
    {(host, queue, flows): need(host, queue, flows) for host in (CUBIC, CUBIC_ECN) for queue in MARKING for flows in FLOWS},
    _draw_gains,
)


def _against_flows(host: str, queues: Sequence[str]) -> Needs:
    return {(queue, flows): need(host if queue != "DropTail" else CUBIC, queue, flows) for queue in queues for flows in FLOWS}


def _over_queues(hosts: Sequence[str], network: Thesis = CHAPTER_5, flows: int = 60) -> dict[tuple[str, float | str], Need]:
    return {(host, queue): need(host, queue, flows, network) for host in hosts for queue in QUEUES if host == CUBIC or queue != "DropTail"}


GROWTH = item(
    "2",
    "Queues against the number of flows",
    f"CUBIC with ECN, at DropTail without; {_AS_IN_THESIS}. A share of the packets sent is dropped.",
    _against_flows(CUBIC_ECN, list(QUEUES)),
    [WAIT, DROPS, GOODPUT, JAIN],
    Look("number of flows", scenarios.OF_QUEUES, ticks=FLOWS),
    also=[TAIL, MARKS, EVENNESS, LOCKED_OUT, TIMEOUTS],
)
UNLIKE = item(
    "3",
    "Goodput of unlike round-trip times, chapter 5 network",
    f"60 flows, a third of them fragile (200 ms), average (100 ms) and robust (50 ms); {_AS_IN_THESIS}.",
    _over_queues((CUBIC, CUBIC_ECN)),
    [*OF_GROUPS.values(), EVENNESS],
    Look("queue", scenarios.OF_HOSTS, columns=1),
    also=[JAIN, GOODPUT, WAIT, DROPS, MARKS],
)
WIDER = item(
    "4",
    "Goodput of unlike round-trip times, chapter 4 network",
    "60 flows, a third of them fragile (300 ms), average (100 ms) and robust (20 ms); as in Figure 3 but for the network.",
    _over_queues((CUBIC, CUBIC_ECN), CHAPTER_4),
    [*OF_GROUPS.values(), EVENNESS],
    Look("queue", scenarios.OF_HOSTS, columns=1),
    also=[JAIN, GOODPUT, WAIT, DROPS, MARKS],
)
LOCKOUT = item(
    "5",
    "Flows locked out, 240 flows",
    f"Share of the flows that deliver nothing new for a long spell at least once between 20 and 100 s, and timeouts; {_AS_IN_THESIS}.",
    _over_queues((CUBIC, CUBIC_ECN), flows=240),
    [LOCKED_OUT, TIMEOUTS],
    Look("queue", scenarios.OF_HOSTS, columns=1),
    also=[JAIN, DROPS, MARKS],
)


def _draw_exchanges(results: Results) -> Drawing:
    figure, panels = style.panels(2, 1, shape=0.72, sharex=True)
    kinds = {kind: [q for q in QUEUES if kind in scenarios.clients_at(q)] for kind in (WITH_ECN, WITHOUT_ECN, "scalable")}
    found, names = [], list(QUEUES)
    for axes, of in zip(panels, (measures.exchanges, measures.mean_time), strict=True):
        measure = of(WITH_ECN)
        by_kind = {kind: [of(kind).estimate(results[queue,]) for queue in queues] for kind, queues in kinds.items()}
        curves = [lines.Curve(kind, [names.index(queue) for queue in kinds[kind]], points) for kind, points in by_kind.items()]
        lines.draw_over_names(axes, names, curves, y_label=measure.heading, palette=scenarios.OF_HOSTS)
        found += [((measure.heading, kind, q), one) for kind, points in by_kind.items() for q, one in zip(kinds[kind], points, strict=True)]
    style.legend_of_panels(figure, panels[0])
    rows = [[str(part) for part in place] + [with_interval(one, 2)] for place, one in found]
    table = Table("Exchanges of 5 KB", ["quantity", "clients", "queue", "mean"], rows)
    return Drawing(figure, [table], estimates(["quantity", "clients", "queue"], "mean", found))


SHORT = Item(
    "6",
    "Exchanges of 5 KB",
    "Ten clients with ECN and ten without, each over one connection after the other, beside 30 long flows of CUBIC with ECN, at "
    "DropTail all without: exchanges that a client ends in a second, and what one takes. Behind DualPI2 ten more clients use DCTCP "
    f"in its low-latency queue. Empty round trip 100 ms; {_AS_IN_THESIS}.",
    {(queue,): scenarios.exchanges(queue) for queue in QUEUES},
    _draw_exchanges,
)
BESIDE = item(
    "7",
    "Beside datagrams that answer to nothing",
    "60 flows of CUBIC beside ten sources of datagrams, on and off for 2.5 s in the mean, that offer 30 % of the link; each source "
    f"offers about twice the share of a flow; {_AS_IN_THESIS}.",
    {
        (host, queue): scenarios.datagrams(host, queue)
        for host in (CUBIC, CUBIC_ECN)
        for queue in QUEUES
        if host == CUBIC or queue != "DropTail"
    },
    [measures.LONG_GOODPUT, measures.DATAGRAMS],
    Look("queue", scenarios.OF_HOSTS, columns=1),
    also=[WAIT, JAIN, DROPS, MARKS],
)
DATA_CENTRE = item(
    "8",
    "DCTCP over the queues that are made for it",
    f"Against the number of flows: its own step at 20 packets, FQ-CoDel with CE at 1 ms, and DualPI2's low-latency queue; {_AS_IN_THESIS}.",
    _against_flows(DCTCP, list(SCALABLE)),
    [WAIT, DROPS, GOODPUT, JAIN],
    Look("number of flows", scenarios.OF_QUEUES, ticks=FLOWS),
    also=[TAIL, MARKS, EVENNESS, LOCKED_OUT, *OF_GROUPS.values()],
)
RECOVERY = item(
    "9",
    "What loss recovery leaves ECN to gain",
    f"60 flows over RED with Reno's window and the loss recovery of 1990, 1999, 2003 and 2021; {_AS_IN_THESIS}.",
    {(word, name): need(f"{name} {word}", "RED") for word in (WITHOUT_ECN, WITH_ECN) for name in RECOVERIES},
    [GOODPUT, TIMEOUTS],
    Look("recovery", scenarios.OF_HOSTS),
    also=[JAIN, WAIT, DROPS, MARKS],
)
ITEMS = [GAINS, GROWTH, UNLIKE, WIDER, LOCKOUT, SHORT, BESIDE, DATA_CENTRE, RECOVERY]
