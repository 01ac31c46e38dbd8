"""Analysis of packet traces by ns-2, by packet capture on hosts, or by ecnlab.

    trace = lab.trace("thesis.tr", from_s=20)
    trace.flows            # polars frame, a row for each flow
    trace.total["goodput_bps"]
    trace.plot.sequence()  # matplotlib figure

docs/reference/traces.md defines the measures.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from errno import EISDIR
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import _core, accessors
from ecnlab.display.json_values import non_finite_to_none
from ecnlab.errors import Interrupted, Problem, TraceError, require_known_name, require_no_problems, require_nonempty_path
from ecnlab.execution.progress import ProgressLine
from ecnlab.scenarios import catalog
from ecnlab.storage.atomic import locked_temporary_path, partial_path, rename_with_retries
from ecnlab.storage.folders import parse_folder_argument

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.plot.trace import TracePlots

STANDARD_INPUT = "-"

# A trace that ends by more than this share of the measured interval before its end causes a warning.
_SHORT_TRACE_SHARE = 0.05
_MAX_FLOW_NUMBER = 2**32 - 1


class Trace:
    """Measures of a trace. Rates are in bit/s, times in s since the start of the simulation or a capture's first packet.

    Attributes
    ----------
    source : str
        The file's name, or "standard input".
    about : Mapping
        Description of the file: format, events, interval, unreadable packets, and whether the results are `reliable`, which requires
        ascending times.
    """

    def __init__(self, source: str, read: _core.TraceRead, flows: Sequence[int] = ()) -> None:
        self.source = source
        self._chosen_flows = flows
        self.about: Mapping[str, Any] = json.loads(read.about)
        self._tables = read.tables
        self._frames: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"<Trace {self.source!r} {self.about['format']}, {self.about['events']} events>"

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each direction of a connection that carried data."""
        return self.table("flows")

    @property
    def links(self) -> pl.DataFrame:
        """A row for each link, the bottleneck first."""
        return self.table("links")

    @property
    def bins(self) -> pl.DataFrame:
        """Rates, marks, drops and fairness of all flows in bins of time."""
        return self.table("bins")

    @property
    def flow_bins(self) -> pl.DataFrame:
        """Rates, marks and drops of each flow in bins of time."""
        return self.table("flow_bins")

    @property
    def reactions(self) -> pl.DataFrame:
        """A row for each reaction to marks: CE, ECN-Echo, CWR."""
        return self.table("reactions")

    @property
    def events(self) -> pl.DataFrame:
        """A row for each data packet that was marked or dropped."""
        return self.table("events")

    @property
    def lockouts(self) -> pl.DataFrame:
        """A row for each lockout."""
        return self.table("lockouts")

    @property
    def sequence(self) -> pl.DataFrame:
        """The points of the requested time-sequence graphs."""
        return self.table("sequence")

    @cached_property
    def total(self) -> Mapping[str, float]:
        """Measures over all flows, by column name."""
        return {name: values[0] for name, values in self.columns("total").items()}

    @property
    def plot(self) -> TracePlots:
        """The figures."""
        plots: TracePlots = accessors.import_and_create_accessor("Trace.plot", self)
        return plots

    @property
    def warnings(self) -> list[Problem]:
        """Warnings about unreadable packets and probable mistakes."""
        found = set(self.columns("flows")["flow"])
        missing = [str(flow) for flow in dict.fromkeys(self._chosen_flows) if flow not in found]
        warnings = [Problem("", None, message) for message in _trace_warnings(self.about)]
        if missing:
            what = f"the trace has no flow {', '.join(missing)} in this interval"
            warnings.append(Problem("flow", None, f"{what}; fix: choose by the column flow of the table flows of all flows"))
        return warnings

    def table(self, name: str) -> pl.DataFrame:
        """A table as a polars frame. Raises UnknownName."""
        import polars as pl

        if name not in self._frames:
            columns = self.columns(name)
            declared = next(table for table in catalog.trace_tables() if table.name == name)
            types = {"real": pl.Float64, "count": pl.UInt64, "index": pl.UInt32, "name": pl.String}
            self._frames[name] = pl.DataFrame(columns, schema={column.name: types[column.kind] for column in declared.columns})
        return self._frames[name]

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A table as lists, without the import of polars. Raises UnknownName."""
        require_known_name("table of a trace", name, self._tables)
        table = self._tables[name]
        return {column: table.column(column) for column in table.columns}

    def summary_json(self) -> dict[str, Any]:
        """Description of the file, total, and rows of flows and links, as plain values for JSON."""
        rows = {name: self._table_rows(name) for name in ("flows", "links")}
        return {"source": self.source, "about": dict(self.about), "total": dict(self.total)} | rows

    def save(self, folder: str | Path) -> list[str]:
        """Write summary.json and every table as Parquet into a folder; returns the files' names.

        Raises TraceError if a write fails; the folder is then unchanged. Raises UsageError if the argument is no folder.
        """
        path = parse_folder_argument("folder", folder)
        names = ["summary.json", *(f"{table.name}.parquet" for table in catalog.trace_tables())]
        try:
            path.mkdir(parents=True, exist_ok=True)
            for name in names:
                if (path / name).is_dir():
                    raise IsADirectoryError(EISDIR, f"{name} is a folder")
            with ExitStack() as stack:
                partial = {name: stack.enter_context(locked_temporary_path(partial_path(path / name))) for name in names}
                for table in catalog.trace_tables():
                    partial[f"{table.name}.parquet"].write_bytes(self._table_to_parquet(table.name))
                text = json.dumps(non_finite_to_none(self.summary_json()), indent=2, allow_nan=False)
                partial["summary.json"].write_text(text + "\n", encoding="utf-8", newline="\n")
                for name in names:
                    rename_with_retries(partial[name], path / name)
        except OSError as error:
            raise TraceError(f"cannot write to {folder}: {error.strerror or error}; the folder was not changed") from None
        return names

    def _table_to_parquet(self, name: str) -> bytes:
        """A table as Parquet in memory, since a library that writes files itself hides the cause of a failed write."""
        out = BytesIO()
        self.table(name).write_parquet(out)
        return out.getvalue()

    def _table_rows(self, name: str) -> list[dict[str, Any]]:
        columns = self.columns(name)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def trace(
    path: str | os.PathLike[str],
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    bin_s: float = 1.0,
    flows: Sequence[int] = (),
    sequence: Sequence[int] = (),
    header: int = 0,
    progress: bool = False,
) -> Trace:
    """Read a trace: ns-2, pcap or pcapng, optionally compressed by gzip or zstd; "-" is standard input.

    Parameters
    ----------
    from_s, to_s : float
        The measured interval; by default from the first event to the last.
    bin_s : float
        Width of the bins of time.
    flows : sequence of int
        The flows to count, by their numbers in `flows`; by default all.
    sequence : sequence of int
        The flows with a time-sequence graph.
    header : int
        Bytes of headers in the TCP packets of an ns-2 trace, which does not contain them; excluded from goodput.
    progress : bool
        Whether to show progress on a terminal.

    Raises
    ------
    UsageError
        An argument is out of range.
    TraceError
        The file cannot be opened, or no packet can be read.

    Examples
    --------
    Write a trace of two seconds, and read it back:

    >>> import ecnlab as lab
    >>> scenario = lab.load("example:codel", {"duration": "2 s", "measure_from": "0 s"})
    >>> result = lab.run(scenario, trace="codel.pcapng")
    >>> trace = lab.trace("codel.pcapng")
    >>> trace.flows.select("flow", "marks").head(2).rows()
    [(0, 8), (1, 7)]
    """
    _require_valid_trace_options(from_s, to_s, bin_s, (*flows, *sequence), header)
    options: dict[str, Any] = {"from_s": from_s, "to_s": to_s, "bin_s": bin_s, "header": header}
    options |= {"flows": list(flows), "drawn": list(sequence)}
    name = os.fspath(path)
    read = read_trace_with_progress(name, lambda file, watch: _core.read_trace(file, watch=watch, **options), progress=progress)
    return Trace(trace_display_name(name), read, flows)


@dataclass(frozen=True)
class TraceFinding:
    """A packet that violates RFC 3168.

    Attributes
    ----------
    record : int
        Line number in the file, or packet number as in Wireshark, from 1.
    time_s : float
        Time of the packet, as in `Trace`.
    source, destination : str
        Source and destination address.
    rule, section : str
        The rule's name, and its section in RFC 3168.
    is_departure : bool
        Whether it is a known departure of real hosts, or of ns-2, rather than a violation.
    whose : str
        Implementations known to behave so; "" for a violation.
    found : str
        Description of the finding.
    """

    record: int
    time_s: float
    source: str
    destination: str
    rule: str
    section: str
    is_departure: bool
    whose: str
    found: str


@dataclass(frozen=True)
class KnownDeparture:
    """A known departure from a rule of RFC 3168, with its number of findings.

    Attributes
    ----------
    rule, section : str
        The rule's name, and its section in RFC 3168.
    whose : str
        Implementations known to behave so.
    count : int
        Number of findings.
    """

    rule: str
    section: str
    whose: str
    count: int


@dataclass(frozen=True)
class VerifiedRule:
    """A rule of RFC 3168, with its numbers of findings.

    Attributes
    ----------
    name, section, asks : str
        Name, section in RFC 3168, and requirement.
    departs : str
        Implementations known to depart from it, and why; "" if there are none.
    violations, departures : int
        Number of violations, and of known departures.
    """

    name: str
    section: str
    asks: str
    departs: str
    violations: int
    departures: int


@dataclass(frozen=True)
class TraceVerification:
    """Whether a trace obeys RFC 3168.

    Attributes
    ----------
    source : str
        The file's name, or "standard input".
    about : Mapping
        Description of the file, and unreadable packets.
    rules : tuple of VerifiedRule
        The rules with findings.
    known : tuple of KnownDeparture
        The known departures found, in the order of the rules.
    findings : tuple of TraceFinding
        Findings in the order of the file; the first 10 000 of each rule.
    """

    source: str
    about: Mapping[str, Any]
    rules: tuple[VerifiedRule, ...]
    known: tuple[KnownDeparture, ...]
    findings: tuple[TraceFinding, ...]

    @property
    def violation_count(self) -> int:
        """Number of packets that violate a rule."""
        return sum(rule.violations for rule in self.rules)

    @property
    def known_departure_count(self) -> int:
        """Number of known departures found."""
        return sum(rule.departures for rule in self.rules)

    @property
    def warnings(self) -> list[Problem]:
        """Warnings about unreadable packets and unchecked connections."""
        found = _unread_packets_texts(self.about)
        if one_way := self.about["one_way_connections"]:
            found.append(
                f"{one_way} of {self.about['connections']} TCP connections have packets of one direction only, so the rules about"
                " replies were not checked on them; fix: trace the reverse path too, e.g. --trace-link NAME.reverse"
            )
        return [Problem("", None, message) for message in found]


def all_trace_rules() -> tuple[VerifiedRule, ...]:
    """All rules of a check, without findings."""
    return tuple(VerifiedRule(**rule) for rule in json.loads(_core.trace_rules()))


def verify_trace(path: str | os.PathLike[str], *, progress: bool = False) -> TraceVerification:
    """Check a trace against RFC 3168, packet by packet. Raises TraceError if it cannot be opened or no packet can be read."""
    name = os.fspath(path)
    report = json.loads(read_trace_with_progress(name, lambda file, watch: _core.check_trace(file, watch=watch), progress=progress))
    rules = tuple(VerifiedRule(**rule) for rule in report["rules"])
    known = tuple(KnownDeparture(**known) for known in report["known"])
    return TraceVerification(
        trace_display_name(name), report["about"], rules, known, tuple(TraceFinding(**finding) for finding in report["findings"])
    )


def trace_display_name(path: str) -> str:
    """The name of a file in messages."""
    return "standard input" if path == STANDARD_INPUT else path


def read_trace_with_progress(path: str, read: Any, *, progress: bool) -> Any:
    """Call `read` on a file with a callback for its progress in bytes. Raises TraceError, Interrupted."""
    require_nonempty_path("path", path)
    name = trace_display_name(path)
    size = 0 if path == STANDARD_INPUT or not Path(path).is_file() else Path(path).stat().st_size
    with ProgressLine(1, shown=progress and size > 0, verb=f"reading {name}") as bar:

        def report_progress(done: float) -> bool:
            bar.show_done_count(done / size if size else 0.0)
            return False

        try:
            return read(None if path == STANDARD_INPUT else path, report_progress)
        except _core.TraceError as error:
            raise TraceError(f"{name}: {error}") from None
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted while {name} was read") from None
        except OSError as error:
            raise TraceError(f"cannot read {name}: {os.strerror(error.errno) if error.errno else error}") from None


def _require_valid_trace_options(from_s: float | None, to_s: float | None, bin_s: float, flows: Sequence[int], header: int) -> None:
    """Check options of `trace`. Raises UsageError that lists all values out of range."""
    begin, end = from_s or 0.0, math.inf if to_s is None else to_s
    problems = [f"time {time:g} s must be from 0 to 1e+07 s" for time in (from_s, to_s) if time is not None and not 0 <= time < 1e7]
    if not problems and begin >= end:
        problems.append(f"interval from {begin:g} s to {end:g} s: must end after it begins")
    if not 1e-6 <= bin_s <= 1e7:
        problems.append(f"bin width {bin_s:g} s: must be from 1e-06 to 1e+07 s")
    problems += [f"flow number {flow}: must be from 0 to {_MAX_FLOW_NUMBER}" for flow in flows if not 0 <= flow <= _MAX_FLOW_NUMBER]
    if not 0 <= header <= 65_535:
        problems.append(f"header {header}: must be from 0 to 65535 bytes")
    require_no_problems(problems)


def _unread_packets_texts(about: Mapping[str, Any]) -> list[str]:
    found = [f"{fault}; it is omitted" for fault in about["faults"]]
    if about["ends_early"]:
        found[-1] = f"{about['faults'][-1]}; the records before it were read"
    if about["more_faults"]:
        found.append(f"{about['more_faults']} more records could not be read")
    if back := about["backwards"]:
        found.append(
            f"times go backwards at record {back['first_record']}, by up to {back['by_s']:.6g} s ({back['records']} records): the results"
            " are unreliable; fix: sort the records by time (reordercap), or read files that were joined one by one"
        )
    return found


def _trace_warnings(about: Mapping[str, Any]) -> list[str]:
    descriptions = {
        "cut": "packets were captured without all of their headers and are not counted; fix: capture more of each, e.g. tcpdump -s 128",
        "fragments": "parts of fragmented packets are not counted",
        "unacknowledged": "TCP flows have no acknowledgements in the file, so RTTs, reactions and the causes of"
        " retransmissions are unknown, and each counts as a timeout; fix: trace the reverse path too, e.g. --trace-link NAME.reverse",
        "evicted": "idle connections count as closed, because too many were open",
        "unlisted_flows": "flows beyond the first 100 000 have no row; the total includes them",
        "unranked": "connections are omitted from Jain's index, because too many compete; fix: choose --from and --to",
        "left_out": "rows of the tables by time were omitted, because there are too many; fix: choose --from and --to, or wider bins",
        "unfollowed": "packets were not tracked, because too many were in flight",
    }
    found = [*_unread_packets_texts(about), *(f"{about[key]} {what}" for key, what in descriptions.items() if about[key])]
    length = about["to_s"] - about["from_s"]
    if about["last_s"] < about["from_s"]:
        found.append(f"nothing was measured: the last event is at {about['last_s']:g} s, before the interval begins")
    elif length > 0 and about["to_s"] - about["last_s"] > _SHORT_TRACE_SHARE * length:
        found.append(
            f"the last event is at {about['last_s']:g} s, long before the interval ends at {about['to_s']:g} s: rates are over all of it"
        )
    return found
