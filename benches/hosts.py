"""Signals, queueing delay and utilisation with simulated hosts, beside those with Linux hosts behind the same queue and with ns-3.

    python benches/hosts.py [--seeds N] [--out FILE]

Runs the network of hosts.toml with each queue and congestion control of CELLS on simulated hosts and on `uml`, prints the table of
docs/trust/validation.md in Markdown, with ns-3's means from ns3/hosts.csv, and draws docs/figures/hosts-signals.svg. Everything goes to
bench-hosts.json. Needs the package and a kernel from `ecnlab uml build-kernel`. A signal is a mark or a drop.
"""

import argparse
import csv
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import BENCHES, ROOT, machine, positive, progress, write_whole

import ecnlab
from ecnlab.plot import style

BUFFER = {"limit": 200}
RED = {"aqm": "red", "min_th": 20, "max_th": 60, "max_p": 0.1, "w_q": 0.002, "gentle": True, **BUFFER}
CODEL = {"aqm": "codel", **BUFFER}
PIE = {"aqm": "pie", "floor": 3000, **BUFFER}
FQ_CODEL = {"discipline": "fq", "quantum": 1500, **BUFFER}
STEP = {"aqm": "step", "threshold": 20, **BUFFER}
CONTROLS: dict[str, dict[str, Any]] = {
    "Reno": {"congestion_control": "reno"},
    "CUBIC": {"congestion_control": "cubic"},
    "DCTCP": {"variant": "dctcp"},
}


@dataclass(frozen=True)
class Cell:
    """A queue and a congestion control."""

    queue: str
    options: dict[str, Any]
    control: str
    ecn: bool = False

    def scenario(self) -> ecnlab.Scenario:
        """The network with this queue and these senders."""
        tcp = {"profile": "linux", "ecn": self.ecn, **CONTROLS[self.control]}
        return ecnlab.load(BENCHES / "hosts.toml", {"link.bottleneck.queue": self.options, "flows.hosts.tcp": tcp})


CELLS = (
    *(Cell("RED", RED, control) for control in ("Reno", "CUBIC")),
    *(Cell("PIE", PIE, control) for control in ("Reno", "CUBIC")),
    *(Cell("CoDel", CODEL, control) for control in ("Reno", "CUBIC")),
    *(Cell("CoDel, ECN", CODEL, control, ecn=True) for control in ("Reno", "CUBIC")),
    *(Cell("FQ-CoDel", FQ_CODEL, control) for control in ("Reno", "CUBIC")),
    *(Cell("FQ-CoDel, ECN", FQ_CODEL, control, ecn=True) for control in ("Reno", "CUBIC")),
    Cell("step, ECN", STEP, "DCTCP", ecn=True),
)

MEASURES = {
    "signals": "signals",
    "sojourn_mean_ms": "mean sojourn time",
    "sojourn_p99_ms": "p99 of the sojourn time",
    "utilisation": "utilisation",
}


def main() -> int:
    """Run the comparison with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=positive, default=20, help="runs of each cell on each backend (default: 20)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-hosts.json", help="the file of results (default: bench-hosts.json)")
    arguments = parser.parse_args()
    ns3 = {(row["queue"], row["control"]): row for row in csv.DictReader((BENCHES / "ns3" / "hosts.csv").read_text().splitlines())}
    cells = []
    for cell in CELLS:
        means: dict[str, dict[str, float]] = {}
        for backend in ("uml", "sim"):
            progress(f"{cell.queue}, {cell.control}: {backend}")
            means[backend] = run(cell, backend, arguments.seeds)
        means["ns3"] = {measure: float(ns3[cell.queue, cell.control][measure]) for measure in MEASURES}
        cells.append({"queue": cell.queue, "control": cell.control, **means})
    progress("")
    print(table(cells))
    print()
    print(summary(cells))
    draw(cells)
    write_whole(arguments.out, json.dumps({"format": 1, "machine": machine(), "seeds": arguments.seeds, "cells": cells}, indent=2) + "\n")
    print(f"written: {arguments.out}")
    return 0


def run(cell: Cell, backend: str, seeds: int) -> dict[str, float]:
    """Means over the seeds of the measures of the bottleneck's queue."""
    result = ecnlab.run(cell.scenario(), seeds=seeds, backend=backend, out=ROOT / "results" / "hosts" / backend / cell.queue / cell.control)
    queues = result.queues.to_dicts()
    rows = [
        {
            "signals": row["marks"] + row["drops"],
            "sojourn_mean_ms": 1e3 * row["sojourn_mean_s"],
            "sojourn_p99_ms": 1e3 * row["sojourn_p99_s"],
            "utilisation": row["utilisation"],
        }
        for row in queues
    ]
    return {measure: statistics.fmean(row[measure] for row in rows) for measure in MEASURES}


def table(cells: list[dict[str, Any]]) -> str:
    """Each cell with Linux hosts, simulated hosts and ns-3, in Markdown."""
    shown = {"signals": ".0f", "sojourn_mean_ms": ".2f", "sojourn_p99_ms": ".1f", "utilisation": ".4f"}
    lines = [
        "| queue | control | signals | mean sojourn time, ms | p99, ms | utilisation |",
        "|---|---|---|---|---|---|",
    ]
    for cell in cells:
        values = [" / ".join(format(cell[hosts][measure], form) for hosts in ("uml", "sim", "ns3")) for measure, form in shown.items()]
        lines.append(f"| {cell['queue']} | {cell['control']} | {' | '.join(values)} |")
    return "\n".join(lines)


def summary(cells: list[dict[str, Any]]) -> str:
    """Median and range over the cells of the difference to Linux hosts, in per cent of these, in Markdown."""
    lines = ["| measure | simulated hosts: median (range) | ns-3: median (range) |", "|---|---|---|"]
    for measure, name in MEASURES.items():
        columns = []
        for hosts in ("sim", "ns3"):
            differences = [100 * (cell[hosts][measure] / cell["uml"][measure] - 1) for cell in cells]
            columns.append(f"{statistics.median(differences):+.1f} % ({min(differences):+.1f} to {max(differences):+.1f} %)")
        lines.append(f"| {name} | {' | '.join(columns)} |")
    return "\n".join(lines)


def draw(cells: list[dict[str, Any]]) -> None:
    """Signals of simulated hosts and of ns-3 beside those of Linux hosts, as a figure of the pages."""
    figure, (axes,) = style.figure_with_panels()
    with style.PLAIN.matplotlib_rc_context():
        places = range(len(cells))
        for hosts, label, marker in (("sim", "ecnlab", "o"), ("ns3", "ns-3", "s")):
            values = [100 * (cell[hosts]["signals"] / cell["uml"]["signals"] - 1) for cell in cells]
            axes.plot(values, places, marker, label=label, clip_on=False)
        axes.axvline(0, color="0.6", linewidth=0.8)
        axes.set_yticks(list(places), [f"{cell['queue']}, {cell['control']}" for cell in cells])
        axes.invert_yaxis()
        axes.set_xlabel("marks and drops, difference to Linux hosts in %")
        style.legend_above(axes)
    figure.save(ROOT / "docs" / "figures" / "hosts-signals", ["svg"])


if __name__ == "__main__":
    raise SystemExit(main())
