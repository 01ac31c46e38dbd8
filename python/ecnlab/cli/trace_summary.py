"""A trace as tables: all flows together, each flow, fairness, and the links with events; and the findings of a check."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.cli.text import count_text
from ecnlab.display.cells import TextTable
from ecnlab.scenarios.units import column_display_factor_and_unit

if TYPE_CHECKING:
    from ecnlab.packet_traces.analyze import KnownDeparture, Trace, TraceFinding, TraceVerification, VerifiedRule

_MAX_FLOWS, _MAX_LINKS = 100, 10
_MAX_VIOLATIONS = 20

_FIXED_QUANTITIES = ("throughput_bps", "goodput_bps", "goodput_first_bps", "sent")
# Rows that are shown only if their value is above 0 or known.
_NONZERO_QUANTITIES = (
    "retransmitted_fast",
    "retransmitted_timeout",
    "spurious_retransmits",
    "timeouts",
    "reordered",
    "drops",
    "marks",
    "ce",
    "echoes",
    "cwr_packets",
    "reactions",
    "reaction_mean_s",
    "lockouts",
    "lockout_s",
    "acked_unseen_bytes",
    "rtt_mean_s",
    "rtt_p95_s",
    "delay_mean_s",
    "delay_p95_s",
)
_FLOW_COLUMNS = (
    "throughput_bps",
    "goodput_bps",
    "sent",
    "retransmitted_fast",
    "retransmitted_timeout",
    "drops",
    "marks",
    "ce",
    "reactions",
    "lockouts",
    "rtt_mean_s",
    "delay_mean_s",
)
_FAIRNESS_QUANTITIES = ("jain_goodput", "jain_goodput_first", "jain_bins_goodput", "jain_bins_goodput_first")
_LINK_QUANTITIES = ("arrivals", "departures", "marks", "drops", "throughput_bps", "sojourn_mean_s", "sojourn_p95_s")


def trace_tables(trace: Trace) -> list[TextTable]:
    """The tables of a trace."""
    total, flows, links = trace.total, trace.columns("flows"), trace.columns("links")
    shown = [*_FIXED_QUANTITIES, *(quantity for quantity in _NONZERO_QUANTITIES if total[quantity] > 0)]
    rows = [
        [_quantity_name(quantity), column_display_factor_and_unit(quantity)[1], _format_quantity(quantity, total[quantity])]
        for quantity in shown
    ]
    made = [TextTable(trace_title(trace), ("quantity", "unit", "all flows"), rows, ("quantity", "unit"))]
    competing = int(total["competing_flows"])
    if competing > 1:
        over = "all flows" if competing == total["flows"] else f"the {competing} flows that compete, of {int(total['flows'])}"
        made.append(
            TextTable(
                f"fairness over {over}",
                ("quantity", "value"),
                [[_quantity_name(q), _format_quantity(q, total[q])] for q in _FAIRNESS_QUANTITIES],
            )
        )
    if total["flows"] > 1:
        made.append(_flow_table(flows))
    return [*made, _link_table(links)] if links["link"] else made


def trace_title(trace: Trace) -> str:
    """Table of the file and the measured interval."""
    about = trace.about
    return (
        f"{trace.source}: {about['format']}, {about['events']} events, {count_text(int(trace.total['flows']), 'flow')}; "
        f"measured from {about['from_s']:.9g} s to {about['to_s']:.9g} s"
    )


def violation_line(finding: TraceFinding) -> str:
    """A packet that is not as RFC 3168 asks, as a line."""
    what = f"known departure of {finding.whose} from" if finding.is_departure else "violation of"
    where = f"record {finding.record}, {finding.time_s:.6f} s, {finding.source} > {finding.destination}"
    return f"{where}: {what} {finding.rule} ({_section_text_without_default_rfc(finding.section)}): {finding.found}"


def known_departure_line(known: KnownDeparture, first: TraceFinding | None) -> str:
    """A known departure with its count and its first record, as a line."""
    shown = f", first in record {first.record}, {first.found}" if first else ""
    rule, count = f"{known.rule} ({_rfc_and_section_text(known.section)})", _count_or_no_text(known.count, "packet")
    return f"known departure of {known.whose} from {rule}: {count}{shown}"


def lines_of_findings(verdict: TraceVerification, *, every: bool) -> list[str]:
    """A check's findings as lines: the first violations with how many more there are, and each known departure once; or `every` finding."""
    if every:
        return [violation_line(finding) for finding in verdict.findings]
    first: dict[tuple[str, str], TraceFinding] = {}
    for finding in verdict.findings:
        first.setdefault((finding.rule, finding.whose), finding)
    violations = [finding for finding in verdict.findings if not finding.is_departure][:_MAX_VIOLATIONS]
    more = verdict.violation_count - len(violations)
    cut = [f"... and {_count_or_no_text(more, 'more violation')}; --all lists every finding"] if more else []
    return [
        *map(violation_line, violations),
        *cut,
        *(known_departure_line(known, first.get((known.rule, known.whose))) for known in verdict.known),
    ]


def violation_and_departure_count_line(verdict: TraceVerification) -> str:
    """Table of the checked file and the number of findings."""
    connections = _count_or_no_text(verdict.about["connections"], "TCP connection")
    counts_text = (
        f"{_count_or_no_text(verdict.violation_count, 'violation')}, {_count_or_no_text(verdict.known_departure_count, 'known departure')}"
    )
    is_cut = verdict.violation_count + verdict.known_departure_count > len(verdict.findings)
    return f"{verdict.source}: {connections}, {counts_text}" + ("; the first 10000 of each rule are listed" if is_cut else "")


def violated_rules_tables(verdict: TraceVerification) -> list[TextTable]:
    """The violated rules with their counts."""
    header = ("rule", "section", "violations", "departures", "rules, and known departures")
    rows = [
        [rule.name, rule.section, str(rule.violations), str(rule.departures), _requirement_and_departures_text(rule)]
        for rule in verdict.rules
    ]
    return [TextTable("", header, rows, ("rule", "section", header[-1]))] if rows else []


def _count_or_no_text(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _requirement_and_departures_text(rule: VerifiedRule) -> str:
    return f"{rule.asks}; {rule.departs}" if rule.departures and rule.departs else rule.asks


def _flow_table(flows: Mapping[str, Sequence[Any]]) -> TextTable:
    """A row for each competing flow by descending goodput, and one for all others together."""
    order = sorted(range(len(flows["flow"])), key=lambda row: -flows["goodput_bps"][row])
    competing, others = ([row for row in order if flows["competes"][row] == wanted] for wanted in (1, 0))
    shown = competing[:_MAX_FLOWS]
    quantities = [quantity for quantity in _FLOW_COLUMNS if any(flows[quantity][row] > 0 for row in shown)]
    words = ["flow", "source", "destination"]
    rows = [
        [*(str(flows[word][row]) for word in words), *(_format_quantity(quantity, flows[quantity][row]) for quantity in quantities)]
        for row in shown
    ]
    if others:
        rows.append(
            [
                f"{len(others)} more",
                "short, or requests",
                "",
                *(_format_quantity(name, _sum_over_flows(name, flows, others)) for name in quantities),
            ]
        )
    heading = "flows" if len(shown) == len(competing) else f"the largest {_MAX_FLOWS} of {len(competing)} flows that compete"
    is_whole = len(shown) == len(order)
    return TextTable(
        heading if is_whole else f"{heading}; --out and --json have all", [*words, *map(_quantity_heading, quantities)], rows, words
    )


def _sum_over_flows(quantity: str, flows: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> float:
    """The sum of a rate or a count over flows; NaN for a mean."""
    return math.nan if quantity.endswith("_mean_s") else sum(flows[quantity][row] for row in rows)


def _link_table(links: Mapping[str, Sequence[Any]]) -> TextTable:
    """A row for each link where packets were marked, dropped or queued; the bottleneck is first."""
    count = len(links["link"])
    busy = [row for row in range(count) if links["marks"][row] + links["drops"][row] or links["sojourn_mean_s"][row] > 0] or [0]
    heading = "links with marked, dropped or queued packets, the bottleneck first"
    if len(busy) > _MAX_LINKS:
        heading = f"the first {_MAX_LINKS} of {len(busy)} {heading}"
    rows = [
        [links["link"][row], *(_format_quantity(quantity, links[quantity][row]) for quantity in _LINK_QUANTITIES)]
        for row in busy[:_MAX_LINKS]
    ]
    return TextTable(heading, ["link", *map(_quantity_heading, _LINK_QUANTITIES)], rows)


def _quantity_heading(quantity: str) -> str:
    unit = column_display_factor_and_unit(quantity)[1]
    return _quantity_name(quantity) if unit in ("packets", "spells", "reactions") else f"{_quantity_name(quantity)} ({unit})"


def _format_quantity(quantity: str, value: float) -> str:
    """A value in its display unit, with at least four digits."""
    if not math.isfinite(value):
        return "-"
    if isinstance(value, int):
        return str(value)
    scaled = value * column_display_factor_and_unit(quantity)[0]
    digits = 0 if scaled == 0 else max(0, 3 - math.floor(math.log10(abs(scaled))))
    return f"{scaled:.{min(6, digits)}f}"


def _quantity_name(quantity: str) -> str:
    for ending in ("_bps", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")


def _section_text_without_default_rfc(section: str) -> str:
    """A section of RFC 3168, or of the RFC that it names."""
    rfc, _, number = section.rpartition(", ")
    return f"{rfc}, section {number}" if rfc else f"section {section}"


def _rfc_and_section_text(section: str) -> str:
    return _section_text_without_default_rfc(section if section.startswith("RFC ") else f"RFC 3168, {section}")
