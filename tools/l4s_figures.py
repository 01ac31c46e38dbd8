"""Draws the figures of docs/explanation/l4s.md: `python tools/l4s_figures.py [--folder DIR]`.

l4s-lengths.svg and l4s-probabilities.svg show the bands of DualPI2 in the second 20 to 40 of `example:l4s` with seed 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import ecnlab as lab
from backend_figures import FIGURES_FOLDER
from queue_figures import Axis, chart

FROM_S, TO_S = 20, 40
# Samples of 10 ms that a point is the mean of.
SAMPLES_OF_A_POINT = 10
_GAUGES = {"p'": "probability", "p_C": "classic", "p_CL": "coupled"}


def _curve(frame: pl.DataFrame, column: str) -> list[tuple[float, float]]:
    """Means of a series' samples, from FROM_S on."""
    shown = frame.filter(pl.col("time_s").is_between(FROM_S, TO_S)).with_row_index()
    points = shown.group_by(pl.col("index") // SAMPLES_OF_A_POINT, maintain_order=True).agg(pl.col("time_s", column).mean())
    return [(time - FROM_S, value) for time, value in points.select("time_s", column).iter_rows()]


def figures() -> dict[str, str]:
    """The SVG of each figure by its file name."""
    recorded = lab.run(lab.load("example:l4s", {"duration": f"{TO_S} s"}), seed=1).series
    lengths = {f"band {band}": _curve(recorded.band.filter(pl.col("band") == band), "length_packets") for band in ("L", "C")}
    probabilities = {label: _curve(recorded.gauge.filter(pl.col("gauge") == gauge), "value") for label, gauge in _GAUGES.items()}
    time = Axis("time (s)", TO_S - FROM_S)
    return {
        "l4s-lengths.svg": chart(time, Axis("packets", 30), lengths),
        "l4s-probabilities.svg": chart(time, Axis("probability", 0.2), probabilities),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FIGURES_FOLDER)
    folder = parser.parse_args(arguments).folder
    for name, text in figures().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
