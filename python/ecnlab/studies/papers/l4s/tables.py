"""Tables of all rows: published rates, those of Linux 7.2 hosts, and simulated ones with their intervals; and a figure of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from ecnlab.plot import style
from ecnlab.plot.style import Palette
from ecnlab.stats.estimates import Estimate
from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import MBPS, claimed_between, estimate_of_quantity
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    NeedKey,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
    numbered_needs,
)
from ecnlab.studies.papers.l4s.network import (
    CONTROL_NAMES,
    LINUX_7_2,
    LINUX_HOSTS,
    OF_2020,
    PRAGUE,
    PRAGUES,
    SCENARIO_1,
    SCENARIO_6,
    MeasurementPeriod,
    TwoFlows,
    two_flows,
)
from ecnlab.studies.papers.l4s.published import ReferenceRow, read_reference_rows

TOLERANCE = 0.10
WITHIN_TOLERANCE = claimed_between(-100 * TOLERANCE, 100 * TOLERANCE)
_LINUX = "Linux 7.2"
# One run of hosts, and the mean of six runs of hosts that have the settings of the simulated ones.
LINUX_RUN, LINUX_MEAN = "Linux 7.2 hosts", "Linux 7.2 hosts, mean of six"
_LINUX_TABLES = {LINUX_RUN: "linux-7.2-hosts", LINUX_MEAN: "linux-7.2-hosts-repeated"}


@dataclass(frozen=True)
class ComparedRow:
    """A row of a table, and the simulated flows that are compared with it: the controls, the queue, and whose rates the row has."""

    reference: ReferenceRow
    flows: TwoFlows
    simulated: str
    source: str

    def simulated_goodputs_mbps(self, results: Mapping[RequiredScenario, Result]) -> list[Estimate]:
        """The simulated goodput of both flows in Mbit/s."""
        return [estimate_of_quantity(goodput, results.__getitem__).scaled(MBPS.factor) for goodput in self.flows.goodput_measures()]

    def differences(self, results: Mapping[RequiredScenario, Result]) -> list[float]:
        """The relative difference of each flow's mean goodput from the row's rate."""
        found = zip(self.simulated_goodputs_mbps(results), self.reference.rates_mbps, strict=True)
        return [estimate.mean / rate - 1 for estimate, rate in found]


def simulated_queue_name(queue: str) -> str:
    """The queue of a published row: the kernel of 2020 had another dualpi2 than Linux 7.2."""
    return OF_2020 if queue == LINUX_7_2 else queue


def simulated_flows_of_published_row(row: ReferenceRow, prague: str, time: MeasurementPeriod = SCENARIO_1) -> TwoFlows:
    """The simulated flows of a published row with one of the two Pragues."""
    one, other = (sender.with_control_instead_of(PRAGUE, prague) for sender in row.senders)
    return two_flows(simulated_queue_name(row.queue), row.rate_mbps, (one, other), time)


def simulated_flows_of_linux_row(row: ReferenceRow) -> TwoFlows:
    """The simulated flows of a row of Linux 7.2 hosts."""
    return two_flows(row.queue, row.rate_mbps, row.senders, LINUX_HOSTS if row.queue.startswith(LINUX_7_2) else SCENARIO_6)


def linux_rows(*queues: str) -> list[ReferenceRow]:
    """The rows of Linux 7.2 hosts behind these queues."""
    return [row for row in read_reference_rows("linux-7.2-hosts") if row.queue in queues]


def _compared_rows(rows: Sequence[ReferenceRow], time: MeasurementPeriod) -> list[ComparedRow]:
    """Published rows with both Pragues, and the rows of Linux 7.2 hosts that have the same senders and queue."""
    found = []
    for row in rows:
        pragues = PRAGUES if any(sender.control == PRAGUE for sender in row.senders) else PRAGUES[:1]
        found += [
            ComparedRow(row, simulated_flows_of_published_row(row, prague, time), CONTROL_NAMES[prague], "published") for prague in pragues
        ]
        found += _compared_with_linux_hosts(row)
    return found


def _compared_with_linux_hosts(wanted: ReferenceRow) -> list[ComparedRow]:
    """The rows of Linux 7.2 hosts with the senders and the queue of a row."""
    return [
        ComparedRow(row, simulated_flows_of_linux_row(row), _LINUX, source)
        for source, table in _LINUX_TABLES.items()
        for row in read_reference_rows(table)
        if row.key == wanted.key
    ]


def comparison_item(number: str, title: str, caption: str, compared: Sequence[ComparedRow], part: str) -> StudyItem:
    """A table with a row for each pair of senders, and one that counts the rows within 10 %."""

    def draw_item(results: ResultsByKey) -> DrawnItemContent:
        runs = {need: results[key] for key, need in needs.items()}
        data = [
            (
                (
                    row.reference.queue,
                    row.reference.rate_mbps,
                    *(sender.label for sender in row.reference.senders),
                    row.source,
                    row.simulated,
                    position,
                    rate,
                ),
                estimate,
            )
            for row in compared
            for position, rate, estimate in zip(
                ("first", "second"), row.reference.rates_mbps, row.simulated_goodputs_mbps(runs), strict=True
            )
        ]
        columns = ["queue", "rate_mbps", "first", "second", "reference", "simulated", "flow", "reference_mbps"]
        frame = estimates_frame(columns, "mean_mbps", data)
        return DrawnItemContent(None, [_rows_within_tolerance_table(compared, runs), _rates_table(title, compared, runs)], frame)

    needs = numbered_needs(row.flows.need for row in compared)
    return StudyItem(number, title, caption, needs, draw_item, kind="Table", part=part)


def _rates_table(title: str, compared: Sequence[ComparedRow], runs: Mapping[RequiredScenario, Result]) -> ReportTable:
    rows: dict[tuple[object, ...], dict[str, str]] = {}
    for row in compared:
        cells = rows.setdefault(row.reference.key, {})
        cells[row.source] = ", ".join(f"{rate:.2f}" for rate in row.reference.rates_mbps)
        cells[row.simulated] = ", ".join(format_with_interval(estimate, 2) for estimate in row.simulated_goodputs_mbps(runs))
        compared_with = " from the mean of six" if row.source == LINUX_MEAN else ""
        differences = ", ".join(f"{100 * difference:+.0f} %" for difference in row.differences(runs))
        cells[f"{row.simulated}, difference{compared_with}"] = differences
    columns = list(dict.fromkeys(name for cells in rows.values() for name in cells))
    keys = {row.reference.key: row.reference for row in compared}
    lines_of_table = [
        [row.queue, f"{row.rate_mbps} Mbit/s", *(sender.label for sender in row.senders), *(rows[key].get(name, "") for name in columns)]
        for key, row in keys.items()
    ]
    header = [name if name.startswith(("published", LINUX_RUN)) else f"simulated {name}" for name in columns]
    return ReportTable(f"{title} (Mbit/s)", ["queue", "link", "first", "second", *header], lines_of_table)


def _rows_within_tolerance_table(compared: Sequence[ComparedRow], runs: Mapping[RequiredScenario, Result]) -> ReportTable:
    groups: dict[tuple[str, str, str, str], list[list[float]]] = {}
    for row in compared:
        key = (row.reference.queue, f"{row.reference.rate_mbps} Mbit/s", row.source, row.simulated)
        groups.setdefault(key, []).append(row.differences(runs))
    lines_of_table = []
    for key, rows in groups.items():
        flat = [100 * difference for differences in rows for difference in differences]
        within = sum(max(map(abs, differences)) <= TOLERANCE for differences in rows)
        lines_of_table.append([*key, f"{within} of {len(rows)}", f"{median(flat):+.1f} %", f"{min(flat):+.0f} to {max(flat):+.0f} %"])
    header = ["queue", "link", "rates of", "simulated", "rows within 10 %", "median difference", "range"]
    return ReportTable("Rows in which both flows differ by at most 10 %", header, lines_of_table)


_FAIRNESS = read_reference_rows("fairness")
DUALPI2_ROWS, DROP_TAIL_ROWS, FQ_CODEL_ROWS = (
    _compared_rows([row for row in _FAIRNESS if row.queue == queue], SCENARIO_1) for queue in (LINUX_7_2, "pfifo", "fq_codel")
)
SHARED_QUEUE_ROWS = _compared_rows(read_reference_rows("shared-queue"), SCENARIO_6)
STEP_ROWS = [
    compared
    for row in linux_rows("dualpi2 min_qlen_step 1", "dualpi2 min_qlen_step 2", "dualpi2 step_thresh 2 ms")
    for compared in _compared_with_linux_hosts(row)
]

_PART_A, _PART_B, PART_STEP = "Two flows of different round-trip times", "A shared RFC 3168 queue", "The step of Linux 7.2"
_SIMULATED = (
    "Published rates are of hosts of 2020 and one run; simulated rates have 95 % intervals. Prague of 2020 has no target RTT, "
    "Prague 0.7 has 25 ms."
)
DUALPI2_ITEM = comparison_item(
    "1",
    "Two flows over DualPI2",
    f"{_SIMULATED} Both run over the dualpi2 of 2020. Rows of Linux 7.2 hosts and the runs beside them have the dualpi2 of Linux 7.2 with "
    "its defaults.",
    DUALPI2_ROWS,
    _PART_A,
)
DROP_TAIL_ITEM = comparison_item(
    "2", "Two flows over drop-tail", f"{_SIMULATED} 200 packets at 10 Mbit/s, 1000 at 50 Mbit/s.", DROP_TAIL_ROWS, _PART_A
)
FQ_CODEL_ITEM = comparison_item("3", "Two flows over FQ-CoDel", f"{_SIMULATED} FQ-CoDel has its defaults.", FQ_CODEL_ROWS, _PART_A)
SHARED_QUEUE_ITEM = comparison_item(
    "4",
    "Prague beside CUBIC and Reno in one RFC 3168 queue",
    f"{_SIMULATED} 50 Mbit/s, 20 ms, six queues. A flow without ECN has a bleached path in the source; it is simulated without ECN.",
    SHARED_QUEUE_ROWS,
    _PART_B,
)
STEP_HOSTS_ITEM = comparison_item(
    "5",
    "Linux 7.2 hosts at 10 Mbit/s with other steps",
    "The dualpi2 of Linux 7.2 with min_qlen_step of 1 and 2 packets, and with step_thresh of 2 ms. Rows with its defaults are in Table 1.",
    STEP_ROWS,
    PART_STEP,
)

_RATE_PALETTE = Palette({"10 Mbit/s": "#D55E00", "50 Mbit/s": "#0072B2"}, {"10 Mbit/s": "s", "50 Mbit/s": "o"})
_PANELS: Mapping[str, tuple[Sequence[ComparedRow], str]] = {
    "DualPI2": (DUALPI2_ROWS, "published"),
    "drop-tail": (DROP_TAIL_ROWS, "published"),
    "FQ-CoDel": (FQ_CODEL_ROWS, "published"),
    "Linux 7.2 hosts over DualPI2": ([*DUALPI2_ROWS, *STEP_ROWS], LINUX_RUN),
}


def _rows_of_panel(title: str) -> list[ComparedRow]:
    rows, source = _PANELS[title]
    shown = CONTROL_NAMES[PRAGUES[0]] if source == "published" else _LINUX
    return [row for row in rows if (row.source, row.simulated) == (source, shown)]


def _draw_shares(results: ResultsByKey) -> DrawnItemContent:
    runs = {need: results[key] for key, need in _needs_of_shares().items()}
    figure, panels = style.figure_with_panels(2, 2, shape=0.95)
    data = []
    for axes, title in zip(panels, _PANELS, strict=True):
        curves: dict[int, list[tuple[float, Estimate]]] = {10: [], 50: []}
        for row in _rows_of_panel(title):
            rate = row.reference.rate_mbps
            for reference, estimate in zip(row.reference.rates_mbps, row.simulated_goodputs_mbps(runs), strict=True):
                share = estimate.scaled(100 / rate)
                curves[rate].append((100 * reference / rate, share))
                data.append((title, rate, 100 * reference / rate, share.mean, share.half_width))
        axes.plot([0, 100], [0, 100], color="black", linewidth=0.6)
        for rate, points in curves.items():
            label = f"{rate} Mbit/s"
            axes.errorbar(
                [x for x, _ in points],
                [share.mean for _, share in points],
                yerr=[share.half_width for _, share in points],
                label=label,
                color=_RATE_PALETTE.colour(label, 0),
                marker=_RATE_PALETTE.marker_of_name(label, 0),
                linestyle="none",
            )
        axes.set_title(title, loc="left")
        axes.set_xlabel(f"{_PANELS[title][1]} (% of the link)")
        axes.set_ylabel("simulated (% of the link)")
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
    style.shared_legend_of_panels(figure, panels[0])
    frame = pl.DataFrame(data, schema=["panel", "rate_mbps", "reference_percent", "mean_percent", "half_width"], orient="row")
    return DrawnItemContent(figure, [], frame)


def _needs_of_shares() -> dict[NeedKey, RequiredScenario]:
    return numbered_needs(row.flows.need for title in _PANELS for row in _rows_of_panel(title))


SHARES_ITEM = StudyItem(
    "1",
    "Each flow's share, simulated against the reference",
    "Every point is a flow of Tables 1, 2, 3 and 5. Three panels have the published rates and Prague of 2020, the fourth has Linux 7.2 "
    "hosts and Prague 0.7. On the line both agree.",
    _needs_of_shares(),
    _draw_shares,
    part=_PART_A,
)
ITEMS = [SHARES_ITEM, DUALPI2_ITEM, DROP_TAIL_ITEM, FQ_CODEL_ITEM, SHARED_QUEUE_ITEM]
