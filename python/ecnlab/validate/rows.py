"""Rows of ns-2's tables as scenarios of ours."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.errors import UsageError
from ecnlab.networks import CHAPTER_4, CHAPTER_5, Thesis, Tree, thesis

# What the era of ns-2's defaults means for the sender and for RED: the one place where it is said.
ERAS: Mapping[str, Mapping[str, Tree]] = {
    "21b7": {"tcp": {"profile": "ns2-2001"}, "red": {"gentle": False, "mean_packet": "500 B"}},
    "235": {"tcp": {"profile": "ns2"}, "red": {"gentle": False, "mean_packet": "500 B"}},
}
_MODES = ("red", "ecn", "ecnm")
_THRESHOLDS: Tree = {"limit": 120, "min_th": 10, "max_th": 30, "w_q": 0.002}

Row = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A file of ns-2's: its name, its rows, how a row becomes a scenario, and the network (ch4 or ch5; None for AECN)."""

    name: str
    rows: list[Row]
    identity: tuple[str, ...]
    to_scenario: Callable[[Row], Tree]
    network: str | None

    def label(self, row: Row) -> str:
        """The columns that say which row this is, as text."""
        return " ".join(f"{column}={row[column]}" for column in self.identity)


def read_table(path: Path) -> Table:
    """Read a file of ns-2's columns. Raises UsageError if it is unreadable, misses columns or is of no known network."""
    header, rows = _read(path)
    identity, to_scenario, network = _reader(path, header)
    missing = [column for column in (*identity, "seeds") if column not in header]
    if missing:
        raise UsageError(f"{path}: missing columns {', '.join(missing)}")
    return Table(path.stem, rows, identity, _located(path, rows, to_scenario), network)


def _read(path: Path) -> tuple[list[str], list[Row]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows: list[Row] = [{k: v or "" for k, v in row.items() if k is not None} for row in reader]
            return list(reader.fieldnames or []), rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"cannot read {path}: {error}") from None


def _reader(path: Path, header: list[str]) -> tuple[tuple[str, ...], Callable[[Row], Tree], str | None]:
    if "count" in header:
        return _AECN_IDENTITY, aecn_scenario, None
    identity = tuple(column for column in _RED_IDENTITY if column in header or column not in ("minth", "maxth"))
    if "minth" in header or "ch4" in path.stem:
        return identity, lambda row: red_scenario(row, CHAPTER_4), "ch4"
    if "ch5" in path.stem:
        return identity, lambda row: red_scenario(row, CHAPTER_5), "ch5"
    raise UsageError(
        f"{path}: cannot tell which network it was measured on; a column `count` means AECN on the chapter 5 network, "
        "a column `minth` the chapter 4 network, else the file's name has to contain ch4 or ch5"
    )


def _located(path: Path, rows: list[Row], to_scenario: Callable[[Row], Tree]) -> Callable[[Row], Tree]:
    def convert(row: Row) -> Tree:
        try:
            return to_scenario(row)
        except (KeyError, ValueError) as error:
            raise UsageError(f"{path}:{rows.index(row) + 2}: {error}") from None

    return convert


def red_scenario(row: Row, network: Thesis) -> Tree:
    """A row of RED, ECN or ECNM. Raises ValueError for an unknown era or mode, or an unreadable number."""
    mode, era = _known("mode", row["mode"], _MODES), ERAS[_known("era", row["era"], ERAS)]
    thresholds = _THRESHOLDS | _given(row, {"minth": "min_th", "maxth": "max_th"})
    queue = {"aqm": mode, **thresholds, "max_p": float(row["maxp"]), **era["red"]}
    title = f"{mode}, era {row['era']}, {network.title}, {row['n']} flows, max_p {row['maxp']}"
    return thesis(network, title, int(row["n"]), queue, ecn=mode != "red", tcp=era["tcp"])


def aecn_scenario(row: Row) -> Tree:
    """A row of AECN. Raises ValueError for an unreadable number."""
    queue = {
        "aqm": "aecn",
        "count": row["count"],
        **_THRESHOLDS,
        **_given(row, {"max_th": "max_th", "robust_min_th": "robust_min_th", "alpha": "alpha", "beta": "beta"}),
        "max_p": float(row["base_max_p"]),
        "balance": "population" if row["population"] == "1" else "fixed",
    }
    title = f"aecn, {row['sweep']}, {row['flows']} flows"
    return thesis(CHAPTER_5, title, int(row["flows"]), queue, ecn=True, tcp=ERAS["21b7"]["tcp"])


def _given(row: Row, names: Mapping[str, str]) -> Tree:
    return {ours: float(row[theirs]) for theirs, ours in names.items() if row.get(theirs)}


def _known(what: str, name: str, known: Any) -> str:
    if name not in known:
        raise ValueError(f"{what} {name!r} is none of {', '.join(known)}")
    return name


_RED_IDENTITY = ("era", "mode", "n", "maxp", "minth", "maxth")
_AECN_IDENTITY = (
    "count",
    "sweep",
    "flows",
    "base_max_p",
    "alpha",
    "beta",
    "robust_min_th",
    "max_th",
    "population",
)
