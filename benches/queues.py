"""CPU time per packet of each queue, relative to plain drop-tail.

    python benches/queues.py [--runs N] [--only NAME ...] [--out FILE]

Runs every AQM in a FIFO and every discipline, each once by itself and once as the bottleneck of two of the benchmark's networks, always in
turn with drop-tail in a buffer as large. Prints the table of docs/trust/benchmark.md in Markdown and writes everything to
bench-queues.json. Needs the package, which knows the queues: run it with the Python of .venv, as `make bench` does.

By itself (`benches/src/alone.rs`): CPU time from a packet's arrival to its departure, at a load that swings around the link's rate. In a
network: CPU time of the whole run for each packet that leaves the queue, over that of drop-tail; an AQM that keeps windows small also
changes what the senders do. Where the network's file has values for RED's parameters, they are those of every AQM that has them.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from bench import BENCHES, ROOT, build, machine, positive, progress, write_whole

from ecnlab.scenarios import catalog

Row = dict[str, Any]

NETWORKS = {"thesis.toml": ("duration=400 s",), "1g.toml": ("duration=5 s",)}
BOTTLENECK = "link.bottleneck.queue"


def main() -> int:
    """Run the benchmark with the options of the command line."""
    arguments = parse()
    entries = [entry for entry in queues() if not arguments.only or entry.name in arguments.only]
    if not entries:
        print(f"no queue is named {arguments.only}: there are {[entry.name for entry in queues()]}", file=sys.stderr)
        return 2
    binary = build()
    rows = [measure(entry, binary, arguments.runs) for entry in entries]
    progress("")
    print(table(rows))
    write_whole(arguments.out, json.dumps({"format": 1, "machine": machine(), "runs": arguments.runs, "queues": rows}, indent=2) + "\n")
    print(f"written: {arguments.out}")
    return 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=positive, default=5, help="pairs of runs of each network (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only the queues of these names")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-queues.json", help="where the results go (default: bench-queues.json)")
    return parser.parse_args()


def queues() -> list[catalog.CatalogEntry]:
    """The AQMs and the disciplines; the AQMs are measured in the plain discipline."""
    return [*catalog.entries("aqm"), *catalog.entries("discipline")[1:]]


def measure(entry: catalog.CatalogEntry, binary: Path, runs: int) -> Row:
    """A queue by itself and in each network, in turn with drop-tail."""
    progress(f"{entry.name}: by itself")
    alone = run(binary, "--queue", BENCHES / "thesis.toml", queue(entry, "thesis.toml"))
    row: Row = {"name": entry.name, "kind": entry.kind, "alone": alone, "networks": {}}
    for file, overrides in NETWORKS.items():
        pairs = []
        for at in range(runs):
            progress(f"{entry.name}: {file}, pair {at + 1} of {runs}")
            pairs.append([run(binary, BENCHES / file, chosen, *overrides) for chosen in (droptail(file), queue(entry, file))])
        row["networks"][file] = {"ratio": statistics.median(map(ratio, pairs)), "pairs": pairs}
    return row


def run(binary: Path, *arguments: str | Path) -> Row:
    """One run in a separate process."""
    row: Row = json.loads(subprocess.run([binary, *arguments], check=True, capture_output=True, text=True).stdout)
    return row


def ratio(pair: list[Row]) -> float:
    """CPU time for each packet that leaves the queue, over that of drop-tail."""
    plain, other = (one["run_s"] / one["departures"] for one in pair)
    return other / plain


def in_file(file: str) -> dict[str, Any]:
    """The queue in a network's file."""
    with (BENCHES / file).open("rb") as opened:
        link = tomllib.load(opened)["link"][0]
    return {**link["queue"], "rate": link["rate"]}


def droptail(file: str) -> str:
    """Plain drop-tail in the file's buffer, as an override."""
    return f"{BOTTLENECK}={{ aqm = 'droptail', limit = {in_file(file)['limit']} }}"


def queue(entry: catalog.CatalogEntry, file: str) -> str:
    """The entry in the file's buffer, as an override: with the parameters of the file, and drop-tail as its child."""
    known = in_file(file)
    given = {
        parameter.name: known.get(parameter.name, parameter.example) for parameter in entry.parameters if is_required(parameter, known)
    }
    parts = [f"{name} = {json.dumps(value)}" for name, value in ({entry.kind: entry.name} | given).items()]
    inside = [] if "limit" in given else [f"queue = {{ aqm = 'droptail', limit = {known['limit']} }}"]
    return f"{BOTTLENECK}={{ {', '.join(parts + inside)} }}"


def is_required(parameter: catalog.Parameter, known: dict[str, Any]) -> bool:
    """Whether a parameter is set: it is required, or the file has a value for it that is not a time of the same name."""
    return parameter.required or (parameter.name in known and parameter.kind != "time")


def table(rows: list[Row]) -> str:
    """The table in Markdown."""
    head = ["queue", "by itself, ns a packet", "beyond drop-tail, ns", "of the packets marked, dropped"]
    head += [f"{Path(file).stem}: time over drop-tail's (link busy)" for file in NETWORKS]
    lines = [head, ["---"] * len(head), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: Row) -> list[str]:
    """A row's texts."""
    alone = row["alone"]
    beyond = statistics.median(ns - plain for ns, plain in zip(alone["ns"], alone["droptail_ns"], strict=True))
    shares = f"{alone['marked']:.1%}, {alone['dropped']:.1%}"
    texts = [f"`{row['name']}`", f"{statistics.median(alone['ns']):.0f}", f"{beyond:+.0f}", shares]
    for network in row["networks"].values():
        texts.append(f"{network['ratio']:.2f} ({network['pairs'][0][1]['utilisation']:.0%})")
    return texts


if __name__ == "__main__":
    sys.exit(main())
