"""CSV files of users. All problems of a file are collected with line and column, and reported together."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ecnlab.errors import UsageError

_MAX_DIGITS = 9


@dataclass(frozen=True)
class CsvSheetLine:
    """A line below the header: its number in the file, and its cells by column."""

    number: int
    cells: Mapping[str, str]

    def cell_text(self, column: str) -> str:
        """The value of a column, "" if it is empty."""
        return self.cells.get(column, "")


@dataclass
class CsvSheet:
    """The complete lines of a file, and the problems that checks of its cells add."""

    path: Path
    header: list[str]
    lines: list[CsvSheetLine]
    problems: list[tuple[int, str]] = field(default_factory=list)

    def add_problem(self, line: CsvSheetLine | None, column: str | None, message: str) -> None:
        """Add a problem of a line (or of the header) and of a column (or of none)."""
        number = 1 if line is None else line.number
        parts = (f"{self.path}:{number}", column and f"column {column}", message)
        self.problems.append((number, ": ".join(part for part in parts if part)))

    def rename_columns(self, names: Mapping[str, str]) -> None:
        """Rename columns of the file to our names."""
        self.header = [names.get(name, name) for name in self.header]
        self.lines = [CsvSheetLine(line.number, {names.get(name, name): cell for name, cell in line.cells.items()}) for line in self.lines]

    def report_missing_columns(self, needed: Iterable[str]) -> None:
        """Add a problem for each missing column."""
        missing = [column for column in needed if column not in self.header]
        if missing:
            self.add_problem(None, None, f"missing columns {', '.join(missing)}")

    def report_unknown_columns(self, known: Iterable[str]) -> None:
        """Add a problem for each unknown column."""
        names = sorted(known)
        for column in dict.fromkeys(name for name in self.header if name and name not in names):
            nearest = get_close_matches(column, names, n=1, cutoff=0.6)
            self.add_problem(None, column, f"unknown; did you mean {nearest[0]!r}?" if nearest else "unknown, and not compared")

    def report_unless_number(self, line: CsvSheetLine, column: str, least: float = -math.inf) -> None:
        """Add a problem for a cell that is not a finite number, or is below `least`."""
        text = line.cell_text(column)
        try:
            value = float(text)
        except ValueError:
            self.add_problem(line, column, f"{text!r} is not a number")
            return
        if not least <= value < math.inf:
            self.add_problem(line, column, f"{text} must be finite" + (f" and at least {least:g}" if math.isfinite(least) else ""))

    def report_unless_positive_whole_number(self, line: CsvSheetLine, column: str, multiple_of: int = 1) -> None:
        """Add a problem for a cell that is not a positive integer, or not a multiple of `multiple_of`."""
        text = line.cell_text(column)
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and int(text) > 0 and int(text) % multiple_of == 0):
            kind = "positive whole number" if multiple_of == 1 else f"positive multiple of {multiple_of}"
            self.add_problem(line, column, f"{text!r} must be a {kind}")

    def report_unless_one_of(self, line: CsvSheetLine, column: str, words: Iterable[str]) -> None:
        """Add a problem for a cell that is not one of `words`."""
        known = list(words)
        if line.cell_text(column) not in known:
            self.add_problem(line, column, f"{line.cell_text(column)!r} is unknown; fix: use one of {', '.join(known)}")


def read_sheet(path: Path) -> CsvSheet:
    """Read a file. Raises UsageError if it is unreadable; problems of its contents are added to the sheet."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is not a CSV file in UTF-8: {error}") from None
    sheet = CsvSheet(path, header, [])
    _check_csv_header(sheet, rows)
    for number, cells in rows:
        line = CsvSheetLine(number, dict(zip(header, (cell.strip() for cell in cells), strict=False)))
        if len(cells) == len(header):
            sheet.lines.append(line)
        else:
            sheet.add_problem(line, None, f"{len(cells)} cells under {len(header)} columns")
    return sheet


def require_no_problems(sheets: Iterable[CsvSheet]) -> None:
    """Raise UsageError with all errors of the sheets by line, if there are any."""
    problems = [text for sheet in sheets for _, text in sorted(sheet.problems, key=lambda problem: problem[0])]
    if problems:
        raise UsageError("\n".join(problems))


def _check_csv_header(sheet: CsvSheet, rows: list[tuple[int, list[str]]]) -> None:
    if not sheet.header:
        sheet.add_problem(None, None, "the file is empty; its first line names the columns")
    elif not rows:
        sheet.add_problem(None, None, "the table has no rows")
    if "" in sheet.header:
        sheet.add_problem(None, None, "a column has no name")
    for column in dict.fromkeys(name for name in sheet.header if name and sheet.header.count(name) > 1):
        sheet.add_problem(None, column, f"occurs {sheet.header.count(column)} times")
