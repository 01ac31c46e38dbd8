"""Goodput of two flows behind DualPI2 with simulated hosts, beside Linux hosts and beside published rates.

    python benches/l4s.py [--seeds N] [--out FILE]

Simulates each row of l4s/hosts.csv, and those that were published for the Prague of 2020 with `prague-2020` too. Prints the tables of
docs/trust/validation.md in Markdown. All rows go to bench-l4s.json. Needs the package alone.
"""

import argparse
import csv
import json
import statistics
from pathlib import Path
from typing import Any

from bench import BENCHES, ROOT, machine, positive, progress, write_whole

import ecnlab

# The defaults of Linux 7.2's dualpi2: a step at 1 ms, tested at enqueue, without a minimum length.
KERNEL: dict[str, Any] = {
    "discipline": "dualpi2",
    "limit": 10000,
    "min_th": "1 ms",
    "range": "0 s",
    "th_len": 0,
    "th_len_at": "enqueue",
    "classic_weight": 0.1,
    "min_backlog": "3000 B",
}
QUEUES: dict[str, dict[str, Any]] = {
    "kernel": KERNEL,
    "min_qlen_step 1": KERNEL | {"th_len": 1},
    "min_qlen_step 2": KERNEL | {"th_len": 2},
    "step_thresh 2 ms": KERNEL | {"min_th": "2 ms"},
}
CONTROLS: dict[str, dict[str, Any]] = {
    "prague": {"variant": "prague"},
    "prague-2020": {"variant": "prague-2020"},
    "cubic": {"congestion_control": "cubic", "ecn": True, "ecn_echo": "accurate"},
}
LINK_DELAY_MS = 0.1
# A row agrees if the goodput of each flow differs by this share at most.
TOLERANCE = 0.10


def main() -> int:
    """Run the comparison with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=positive, default=10, help="runs of each row (default: 10)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-l4s.json", help="the file of results (default: bench-l4s.json)")
    arguments = parser.parse_args()
    rows = list(csv.DictReader((BENCHES / "l4s" / "hosts.csv").read_text(encoding="utf-8").splitlines()))
    compared = [compare(row, "hosts", arguments.seeds) for row in rows]
    published = [
        compare(row, "published", arguments.seeds)
        for row in rows
        if row["published_first_mbps"] and "prague" in (row["first"], row["second"])
    ]
    progress("")
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in [*compared, *published]:
        groups.setdefault(f"{row['reference']}, {row['queue']}, {row['rate_mbps']} Mbit/s", []).append(row)
    print(summary(groups))
    print()
    print(table(compared + published))
    write_whole(
        arguments.out,
        json.dumps({"format": 1, "machine": machine(), "seeds": arguments.seeds, "rows": compared + published}, indent=2) + "\n",
    )
    print(f"written: {arguments.out}")
    return 0


def compare(row: dict[str, str], reference: str, seeds: int) -> dict[str, Any]:
    """Means over the seeds of the goodput of both flows, with their 95 % intervals, beside the reference's."""
    flows = [row["first"], row["second"]]
    if reference == "published":
        flows = [flow.replace("prague", "prague-2020") for flow in flows]
    rtts_ms = [float(row["first_rtt_ms"]), float(row["second_rtt_ms"])]
    names = [f"{flow} {rtt_ms:g} ms" for flow, rtt_ms in zip(flows, rtts_ms, strict=True)]
    progress(f"{row['queue']}, {row['rate_mbps']} Mbit/s: {names[0]}, {names[1]}")
    result = ecnlab.run(scenario(row, flows, rtts_ms), seeds=seeds)
    means = [result.estimate("goodput_bps", group=group) for group in ("first", "second")]
    simulated = [mean.mean / 1e6 for mean in means]
    expected = [float(row[f"{reference}_{position}_mbps"]) for position in ("first", "second")]
    differences = [mean / value - 1 for mean, value in zip(simulated, expected, strict=True)]
    return {
        "reference": reference,
        "queue": row["queue"],
        "rate_mbps": row["rate_mbps"],
        "flows": names,
        "simulated_mbps": simulated,
        "half_width_mbps": [mean.half_width / 1e6 for mean in means],
        "reference_mbps": expected,
        "differences": differences,
        "agrees": max(map(abs, differences)) <= TOLERANCE,
    }


def scenario(row: dict[str, str], flows: list[str], rtts_ms: list[float]) -> ecnlab.Scenario:
    """The two flows of a row on their link."""
    link = {"name": "bottleneck", "from": "router", "to": "sink", "rate": f"{row['rate_mbps']} Mbps", "delay": f"{LINK_DELAY_MS} ms"}
    groups = [
        {
            "name": name,
            "to": "sink",
            "access": {"to": "router", "rate": "10 Gbps", "delay": f"{rtt_ms / 2 - LINK_DELAY_MS:g} ms"},
            "tcp": {"profile": "linux-7.2", **CONTROLS[flow]},
            "start": ["0 s", "1 s"],
        }
        for name, flow, rtt_ms in zip(("first", "second"), flows, rtts_ms, strict=True)
    ]
    return ecnlab.scenario(
        {"name": "two flows", "duration": "60 s", "measure_from": "20 s", "link": [link | {"queue": QUEUES[row["queue"]]}], "flows": groups}
    )


def summary(groups: dict[str, list[dict[str, Any]]]) -> str:
    """Rows that agree, and median and range of the differences, in Markdown."""
    lines = ["| reference, queue, link | rows within 10 % | median | range |", "|---|---|---|---|"]
    for name, rows in groups.items():
        differences = [100 * difference for row in rows for difference in row["differences"]]
        agreeing = sum(row["agrees"] for row in rows)
        lines.append(
            f"| {name} | {agreeing} of {len(rows)} | {statistics.median(differences):+.1f} % "
            f"| {min(differences):+.1f} to {max(differences):+.1f} % |"
        )
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """Each row with simulated and reference goodput, in Markdown."""
    lines = ["| reference | queue | link | flows | simulated, Mbit/s | reference, Mbit/s | difference |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        simulated = ", ".join(
            f"{mean:.2f} ± {half_width:.2f}" for mean, half_width in zip(row["simulated_mbps"], row["half_width_mbps"], strict=True)
        )
        reference = ", ".join(f"{value:.2f}" for value in row["reference_mbps"])
        differences = ", ".join(f"{100 * difference:+.0f} %" for difference in row["differences"])
        shown = differences if row["agrees"] else f"**{differences}**"
        lines.append(
            f"| {row['reference']} | {row['queue']} | {row['rate_mbps']} Mbit/s | {'; '.join(row['flows'])} "
            f"| {simulated} | {reference} | {shown} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
