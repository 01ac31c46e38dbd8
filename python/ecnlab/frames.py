"""The engine's columns as polars frames: seed first, names instead of indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

_KINDS = ["mark", "drop"]
_CAUSES = ["early", "forced", "overflow", "lost", "ecn"]

Columns = Mapping[str, "np.ndarray[Any, Any]"]


def to_frames(tables: Mapping[str, Columns], groups: list[str], queues: list[str], seed: int) -> dict[str, pl.DataFrame]:
    """One frame for each of a run's tables."""
    names = {"group": groups, "queue": queues, "kind": _KINDS, "cause": _CAUSES}
    return {table: _frame(columns, names, seed) for table, columns in tables.items()}


def _frame(columns: Columns, names: Mapping[str, list[str]], seed: int) -> pl.DataFrame:
    series = [_named(name, data, names) for name, data in columns.items()]
    height = len(series[0]) if series else 0
    return pl.DataFrame([pl.Series("seed", np.full(height, seed, dtype=np.uint64)), *series])


def _named(name: str, data: Any, names: Mapping[str, list[str]]) -> pl.Series:
    if name not in names:
        return pl.Series(name, np.asarray(data))
    index = pl.Series(np.asarray(data, dtype=np.uint32), dtype=pl.UInt32)
    return pl.Series(name, names[name], dtype=pl.String).gather(index)
