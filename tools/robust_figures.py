"""Draws the figures of docs/explanation/robust.md from runs of the examples: `python tools/robust_figures.py [--folder DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ecnlab.comparison.compare import compare
from ecnlab.execution.runner import run
from ecnlab.plot import robust, style
from ecnlab.scenarios.load import load

_ROOT = Path(__file__).parents[1]
FIGURES_FOLDER = _ROOT / "docs" / "figures"
EXAMPLES_FOLDER = _ROOT / "examples"

_SEEDS_OF_PRECISION = 120


def draw_robustness_page_figures(folder: Path, seeds: int = _SEEDS_OF_PRECISION) -> None:
    """Write the figures into a folder."""
    parking_lot = run(load(EXAMPLES_FOLDER / "parking_lot.toml"), 5, observe=True)
    parking_lot.plot.styled(titles=False).steady("hop3").save(folder / "robust-transient", ["svg"])

    ecn, aecn = (load(EXAMPLES_FOLDER / f"{name}.toml", {"record.queue": "off", "record.rates": False}) for name in ("ecn", "aecn"))
    many = run(ecn, seeds)
    measures = ["goodput", "fragile.goodput", "bottleneck.sojourn_mean", "drops"]
    many.plot.styled(titles=False).precision(measures, bound=0.01).save(folder / "robust-seeds", ["svg"])

    null = compare(run(ecn, range(21, 31)), run(ecn, range(31, 41)))
    real = compare(run(ecn, range(1, 11)), run(aecn, range(1, 11)))
    figure, (axes,) = style.figure_with_panels()
    with style.PLAIN.matplotlib_rc_context():
        curves = [("ECN and ECN, other seeds", null), ("ECN and AECN", real)]
        tested = [(name, [row.difference.p_value for row in found.rows]) for name, found in curves]
        robust.draw_p_values_by_rank(axes, [(name, [p for p in values if p == p]) for name, values in tested])
        style.legend_above(axes)
    figure.save(folder / "robust-discoveries", ["svg"])


def draw_robustness_page(arguments: Sequence[str] | None = None) -> int:
    """Draw the figures; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FIGURES_FOLDER)
    draw_robustness_page_figures(parser.parse_args(arguments).folder)
    return 0


if __name__ == "__main__":
    sys.exit(draw_robustness_page())
