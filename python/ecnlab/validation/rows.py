"""Rows of ns-2's tables as scenarios of ecnlab.

A row has the experiment's identity (columns that differ by kind of table), the number of seeds, and the measured quantities:
each as its mean and, in the column with the suffix `_sd`, its standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ecnlab.errors import ScenarioError
from ecnlab.scenarios.load import Scenario, scenario
from ecnlab.scenarios.networks import (
    CHAPTER_4,
    CHAPTER_5,
    GROUPS,
    ThesisNetworkParameters,
    Tree,
    red_ecn_scenario,
    thesis_network_scenario,
    two_way_traffic_scenario,
)
from ecnlab.validation import sheets
from ecnlab.validation.columns import RED_ECN_COLUMNS, THESIS_COLUMNS, TWO_WAY_COLUMNS, ComparedColumns
from ecnlab.validation.sheets import CsvSheet, CsvSheetLine

# Parameters of the sender and of RED for each era of ns-2's defaults.
ERA_NAMES: Mapping[str, Mapping[str, Tree]] = {
    "21b7": {"tcp": {"profile": "ns2-2001"}, "red": {"gentle": False, "mean_packet": "500 B"}},
    "235": {"tcp": {"profile": "ns2"}, "red": {"gentle": False, "mean_packet": "500 B"}},
}
_MODE_PARAMETERS = ("red", "ecn", "ecnm")
# A row's column `population`: alpha and beta fixed, or AECN2's ratios of two lengths in whole or in real numbers.
_BALANCE_PARAMETERS = {
    "0": {"balance": "fixed"},
    "1": {"balance": "population", "ratios": "whole"},
    "2": {"balance": "population", "ratios": "real"},
}
_THRESHOLD_COLUMNS = {"limit": 120, "min_th": 10, "max_th": 30, "w_q": 0.002}


@dataclass(frozen=True)
class ReferenceRow:
    """A row: its cells, and the scenario that it measures."""

    line: CsvSheetLine
    tree: Tree
    scenario: Scenario


@dataclass(frozen=True)
class ReferenceTable:
    """A file of ns-2: its name, its rows, its identity columns, the compared columns, and the network.

    The network is ch4 or ch5, or None where no further seeds can explain anything.
    """

    name: str
    rows: list[ReferenceRow]
    identity: tuple[str, ...]
    columns: ComparedColumns
    network: str | None

    def row_label(self, row: ReferenceRow) -> str:
        """The identity columns of the row, as text."""
        return " ".join(f"{column}={row.line.cell_text(column)}" for column in self.identity if row.line.cell_text(column))


@dataclass(frozen=True)
class _Ns2TableFormat:
    """A kind of table: its identity, the checks of it beyond numbers, how a row becomes a scenario, its columns, and the network.

    `flows` is the column of their number, if there is one; `thresholds` are those of its numbers that may be left out; `also` are
    columns under another name, as some files have them.
    """

    flows: str | None
    words: Mapping[str, Sequence[str]]
    free: tuple[str, ...]
    numbers: tuple[str, ...]
    thresholds: tuple[str, ...]
    to_tree: Callable[[CsvSheetLine], Tree]
    columns: ComparedColumns = THESIS_COLUMNS
    network: str | None = None
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that every file of this kind has."""
        return (*self.words, *self.free, *([self.flows] if self.flows else []), *self.numbers)


def read_tables(paths: Sequence[Path]) -> list[ReferenceTable]:
    """Read files with ns-2's columns. Raises UsageError with the problems of all files."""
    read = [_read_table(path) for path in paths]
    sheets.require_no_problems(sheet for sheet, _ in read)
    return [table for _, table in read]


def _read_table(path: Path) -> tuple[CsvSheet, ReferenceTable]:
    sheet = sheets.read_sheet(path)
    kind = _table_kind_of_sheet(sheet)
    if kind is None:
        return sheet, ReferenceTable(path.stem, [], (), THESIS_COLUMNS, None)
    sheet.rename_columns(kind.also)
    naming = {*kind.required_columns, *kind.thresholds}
    sheet.report_missing_columns([*kind.required_columns, "seeds"])
    sheet.report_unknown_columns({*naming, "seeds", *_quantity_column_names(kind.columns)})
    if {*kind.required_columns, "seeds"} <= set(sheet.header):
        for line in sheet.lines:
            _check_cells_of_line(sheet, kind, line)
    rows = (
        [] if sheet.problems else [row for row in (_reference_row_from_line(sheet, kind, line) for line in sheet.lines) if row is not None]
    )
    return sheet, ReferenceTable(path.stem, rows, tuple(column for column in sheet.header if column in naming), kind.columns, kind.network)


def _table_kind_of_sheet(sheet: CsvSheet) -> _Ns2TableFormat | None:
    """The kind of a table, from its columns and its name."""
    header, stem = sheet.header, sheet.path.stem
    if "workload" in header:
        return _TWO_WAY_KIND
    if "experiment" in header:
        return _RED_ECN_KIND
    if "count" in header:
        return _AECN_KIND
    if "minth" in header or "ch4" in stem:
        return _red_table_format(CHAPTER_4, "ch4")
    if "ch5" in stem:
        return _red_table_format(CHAPTER_5, "ch5")
    if header:
        sheet.add_problem(
            None,
            None,
            "cannot tell which network it was measured on; a column `workload` means two-way traffic, "
            "a column `experiment` the networks of red-ecn, "
            "a column `count` means AECN on the chapter 5 network, "
            "a column `minth` the chapter 4 network, else the file's name has to contain ch4 or ch5",
        )
    return None


def _quantity_column_names(columns: ComparedColumns) -> list[str]:
    return [column for name in columns.compared | columns.not_compared for column in (name, f"{name}_sd")]


def _check_cells_of_line(sheet: CsvSheet, kind: _Ns2TableFormat, line: CsvSheetLine) -> None:
    for column, words in kind.words.items():
        sheet.report_unless_one_of(line, column, words)
    if kind.flows:
        sheet.report_unless_positive_whole_number(line, kind.flows, multiple_of=len(GROUPS))
    sheet.report_unless_positive_whole_number(line, "seeds")
    for column in (*kind.numbers, *(c for c in kind.thresholds if line.cell_text(c))):
        sheet.report_unless_number(line, column, least=0)
    for column in (c for c in sheet.header if c in kind.columns.compared):
        _check_mean_and_sd(sheet, line, column, f"{column}_sd")


def _check_mean_and_sd(sheet: CsvSheet, line: CsvSheetLine, mean: str, sd: str) -> None:
    if line.cell_text(mean):
        sheet.report_unless_number(line, mean)
    if line.cell_text(sd):
        sheet.report_unless_number(line, sd, least=0)
        if line.cell_text("seeds") == "1" and line.cell_text(sd).strip("0."):
            sheet.add_problem(line, sd, f"{line.cell_text(sd)} must be 0 or empty: one seed has no spread")


def _reference_row_from_line(sheet: CsvSheet, kind: _Ns2TableFormat, line: CsvSheetLine) -> ReferenceRow | None:
    tree = kind.to_tree(line)
    try:
        return ReferenceRow(line, tree, scenario(tree))
    except ScenarioError as error:
        for problem in error.problems:
            sheet.add_problem(line, None, f"{problem.place}: {problem.message}")
        return None


def _red_table_format(network: ThesisNetworkParameters, name: str) -> _Ns2TableFormat:
    words = {"era": tuple(ERA_NAMES), "mode": _MODE_PARAMETERS}
    return _Ns2TableFormat("n", words, (), ("maxp",), ("minth", "maxth"), lambda line: _red_row_scenario(line, network), network=name)


def _red_row_scenario(line: CsvSheetLine, network: ThesisNetworkParameters) -> Tree:
    """A row of RED, ECN or ECNM."""
    mode, era, flows, max_p = (line.cell_text(column) for column in ("mode", "era", "n", "maxp"))
    thresholds = _THRESHOLD_COLUMNS | _parameters_of_filled_cells(line, {"minth": "min_th", "maxth": "max_th"})
    queue = {"aqm": mode, **thresholds, "max_p": float(max_p), **ERA_NAMES[era]["red"]}
    title = f"{mode}, era {era}, {network.title}, {flows} flows, max_p {max_p}"
    return thesis_network_scenario(network, title, int(flows), queue, ecn=mode != "red", tcp=ERA_NAMES[era]["tcp"])


def _aecn_row_scenario(line: CsvSheetLine) -> Tree:
    """A row of AECN."""
    queue = {
        "aqm": "aecn",
        "count": line.cell_text("count"),
        **_THRESHOLD_COLUMNS,
        **_parameters_of_filled_cells(line, {"max_th": "max_th", "robust_min_th": "robust_min_th", "alpha": "alpha", "beta": "beta"}),
        "max_p": float(line.cell_text("base_max_p")),
        **_BALANCE_PARAMETERS[line.cell_text("population")],
    }
    title = f"aecn, {line.cell_text('sweep')}, {line.cell_text('flows')} flows"
    return thesis_network_scenario(CHAPTER_5, title, int(line.cell_text("flows")), queue, ecn=True, tcp=ERA_NAMES["21b7"]["tcp"])


def _parameters_of_filled_cells(line: CsvSheetLine, names: Mapping[str, str]) -> Tree:
    return {ours: float(line.cell_text(theirs)) for theirs, ours in names.items() if line.cell_text(theirs)}


_AECN_KIND = _Ns2TableFormat(
    "flows",
    {"population": tuple(_BALANCE_PARAMETERS)},
    ("count", "sweep"),
    ("base_max_p",),
    ("alpha", "beta", "robust_min_th", "max_th"),
    _aecn_row_scenario,
)


def _two_way_row_scenario(line: CsvSheetLine) -> Tree:
    """A row of two-way traffic through RED or Adaptive RED as ns-2 has them; `ecnstock` leaves mark_p_ at 0.1."""
    mode, adaptive = line.cell_text("mode"), line.cell_text("adaptive") == "1"
    queue: Tree = {"limit": 40, "min_th": 5, "max_th": 15, "w_q": 0.0027, "max_p": 0.1, "mean_packet": "500 B"}
    if adaptive:
        queue |= {"aqm": "ared", "ecn": mode != "red", "adapt": "arrivals", "gentle_line": "first", "bottom": "auto"}
    else:
        queue |= {"aqm": "red" if mode == "red" else "ecn", "gentle": line.cell_text("gentle") == "1"}
    if mode == "ecnstock":
        queue["mark_limit"] = 0.1
    if target := line.cell_text("target_delay_ms"):
        queue |= {"target_delay": f"{target} ms", "min_th": "auto", "max_th": "auto"}
    title = f"two-way traffic, {'adaptive ' if adaptive else ''}{mode}, gentle {line.cell_text('gentle')}"
    return two_way_traffic_scenario(title, queue, {"profile": "ns2", "variant": "reno", "ecn": mode != "red"})


_TWO_WAY_KIND = _Ns2TableFormat(
    None,
    {"workload": ("fig5",), "adaptive": ("0", "1"), "mode": ("ecn", "red", "ecnstock"), "gentle": ("0", "1")},
    (),
    (),
    ("target_delay_ms",),
    _two_way_row_scenario,
    TWO_WAY_COLUMNS,
)

# Bursts of datagrams that compete with the TCP flows, by the number of the experiment.
_BURST_SETTINGS = {"1": 0, "2": 8}


def _red_ecn_row_scenario(line: CsvSheetLine) -> Tree:
    """A row of RED or RED with ECN behind a link whose delay varies."""
    scheme, experiment, delay = (line.cell_text(column) for column in ("scheme", "experiment", "delay_ms"))
    thresholds: Tree = {"limit": 25, "min_th": 6, "max_th": 18, "w_q": 0.002, "max_p": 0.1}
    queue = {"aqm": scheme, **thresholds, **ERA_NAMES["235"]["red"]}
    title = f"{scheme}, experiment {experiment}, {delay} ms"
    return red_ecn_scenario(title, queue, float(delay), ecn=scheme == "ecn", bursts=_BURST_SETTINGS[experiment])


_RED_ECN_KIND = _Ns2TableFormat(
    None,
    {"experiment": tuple(_BURST_SETTINGS), "scheme": ("red", "ecn")},
    (),
    ("delay_ms",),
    (),
    _red_ecn_row_scenario,
    RED_ECN_COLUMNS,
    also={"mean_kbps": "goodput_kbps", "sd": "goodput_kbps_sd"},
)
