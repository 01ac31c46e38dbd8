"""Further seeds of ns-2 for rows whose few seeds disagree with ours, from reference/ns2/more-seeds.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ecnlab.errors import UsageError
from ecnlab.packet_traces import ns2
from ecnlab.validation.samples import SampleStatistics, means_agree, sample_from_row

MORE_SEEDS_FILE = ns2.REFERENCE / "more-seeds.csv"
MIN_SEEDS = 8

_RowKey = tuple[str, str, str, int, float]
_THRESHOLD_KEYS = {"minth": 10.0, "maxth": 30.0}


@dataclass(frozen=True)
class FurtherRecordedNs2Seeds:
    """Rows of ns-2 by network, era, mode, flows and max_p; all have the thresholds 10 and 30."""

    rows: Mapping[_RowKey, Mapping[str, str]] = field(default_factory=dict)

    def reason_if_more_seeds_agree(
        self, network: str | None, row: Mapping[str, str], column: str, table: SampleStatistics, ours: SampleStatistics
    ) -> str | None:
        """The reason for a disagreement with `table`, if our value agrees with the further seeds of the row; else None.

        The table's mean must itself be a likely draw of as many seeds with the further seeds' spread; a table
        that is off by more has another fault.
        """
        more = self._sample_of_column(network, row, column)
        if more is None or not means_agree(more, ours) or not means_agree(replace(table, sd=more.sd), more):
            return None
        return (
            f"ns-2's spread over {table.n} seeds is too small by chance: "
            f"{more.n} further seeds of ns-2 agree with ours ({more.mean:.6g} ± {more.sd:.2g})"
        )

    def _sample_of_column(self, network: str | None, row: Mapping[str, str], column: str) -> SampleStatistics | None:
        if network is None or any(float(row.get(name) or usual) != usual for name, usual in _THRESHOLD_KEYS.items()):
            return None
        further = self.rows.get(_row_key(network, row), {})
        return sample_from_row(further, column) if further.get(column) else None


def read_more_seeds(path: Path = MORE_SEEDS_FILE) -> FurtherRecordedNs2Seeds:
    """The rows of a file. Raises UsageError if it is unreadable or a row has fewer seeds than `MIN_SEEDS`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        keyed = {_row_key(row["network"], row): row for row in rows}
        few = [row for row in rows if int(row["seeds"]) < MIN_SEEDS]
    except (OSError, KeyError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    if few:
        raise UsageError(f"{path}: a row of {few[0]['seeds']} seeds, fewer than {MIN_SEEDS}")
    if len(keyed) < len(rows):
        raise UsageError(f"{path}: duplicate row")
    return FurtherRecordedNs2Seeds(keyed)


def _row_key(network: str, row: Mapping[str, str]) -> _RowKey:
    return network, row["era"], row["mode"], int(row["n"]), float(row["maxp"])
