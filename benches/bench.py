"""Times the engine on the networks of the budget, next to ns-2 where it is installed.

    python benches/bench.py [--runs N] [--no-ns2] [--no-pgo] [--only NETWORK ...] [--out FILE]

Builds `target/release/ecnlab-bench`, runs each network N times in a process of its own, ns-2 (Debian package `ns2`, network
`benches/ns2/dumbbell.tcl`) in between, prints a table and writes everything to bench.json. Times are CPU times of the run alone,
without the set-up. A packet-hop is one data or ACK packet that crosses one link. The column PGO is a second build, with profile-guided
optimisation (`tools/pgo.py`), which is trained on other networks; its runs must have the same fingerprints.

Bytes a flow are (peak - peak with one flow) / flows: the packets in flight and the growth of vectors are in it, so it is more than
a flow's own state. Where flows come and go they are those that came, so it falls as the run goes on. For ns-2's ratio see `cpu_ratio`:
ns-2's CPU time over ecnlab's for the same simulated time of the same network.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ROOT / "benches"
sys.path.insert(0, str(ROOT / "tools"))

import pgo  # noqa: E402

Row = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """A network of the budget: the run, and the required and desired ns per packet-hop."""

    name: str
    file: str
    overrides: tuple[str, ...]
    one_flow: tuple[str, ...]
    ns2: tuple[str, ...] | None  # None: ns-2 has no script for it
    must_ns: int | None  # None: no bound was set
    aim_ns: int | None
    ns2_runs: int | None = None  # None: as many as for ecnlab


ONE_OF_EACH = ("flows.*.count=1",)
ONE_ARRIVAL = ("flows.*.app.count=1",)
# Linux's transport with profile `linux` (RACK-TLP, undo, HyStart), with the packet size and the ACK per packet of the other rows.
# ns-2's sink acknowledges each segment and has no buffer; so does the receiver here with the rule "fixed".
CUBIC_SACK = (
    'flows.*.tcp.profile="linux"',
    'flows.*.tcp.packet_size="1000 B"',
    "flows.*.tcp.delayed_ack=false",
    'flows.*.tcp.quirks={ delayed_ack_rule = "fixed" }',
)

NETWORKS = (
    Network("thesis, 60 flows", "thesis.toml", (), ONE_OF_EACH, ("net=thesis", "flows=60"), 48, 42),
    Network(
        "thesis, 600 flows",
        "thesis.toml",
        ("flows.*.count=200", 'flows.*.access.rate="150 kbps"'),
        (*ONE_OF_EACH, 'flows.*.access.rate="150 kbps"'),
        ("net=thesis", "flows=600"),
        68,
        58,
    ),
    Network("1 Gbps, 1 000 flows", "1g.toml", (), ONE_OF_EACH, ("net=1g",), 56, 46),
    Network("1 Gbps, CUBIC + SACK", "1g.toml", CUBIC_SACK, (*ONE_OF_EACH, *CUBIC_SACK), ("net=1g", "tcp=cubic"), 100, 86),
    # ns-2 has no Prague, no Accurate ECN and no DualPI2.
    Network("1 Gbps, Prague + CUBIC over DualPI2", "l4s.toml", (), ONE_OF_EACH, None, None, None),
    Network("10 Gbps, 10 000 flows", "10g.toml", (), ONE_OF_EACH, ("net=10g",), 150, 100, ns2_runs=1),
    # A tenth of the flows in a tenth of the time: memory depends on live flows, so it is the same, and per arrived flow ten times as large.
    Network("arrivals, 10 000 flows", "arrivals.toml", ('duration="10 s"',), ONE_ARRIVAL, None, 140, 110),
    Network("arrivals, 100 000 flows", "arrivals.toml", (), ONE_ARRIVAL, None, 140, 110),
)


def main() -> int:
    """Run the benchmark with the options of the command line."""
    arguments = parse()
    networks = [network for network in NETWORKS if not arguments.only or any(word in network.name for word in arguments.only)]
    if not networks:
        print(f"no network matches {arguments.only}: there are {[n.name for n in NETWORKS]}", file=sys.stderr)
        return 2
    binary = build()
    with_profile, missing = (None, "it was left out") if arguments.no_pgo else build_with_profile()
    ns2 = None if arguments.no_ns2 else shutil.which("ns")
    rows = [measure(network, binary, with_profile, ns2, arguments.runs) for network in networks]
    print(table(rows))
    print("ns are per packet-hop, us/flow of the set-up; bytes/flow = (peak - peak with one flow a group) / flows, with packets in flight.")
    if not ns2:
        print(f"The columns of ns-2 are empty: it {'was left out' if arguments.no_ns2 else 'is not installed'}.")
    if missing:
        print(f"The column PGO is empty: {missing}.")
    result = {"format": 1, "machine": machine(), "runs": arguments.runs, "networks": rows}
    write_whole(arguments.out, json.dumps(result, indent=2) + "\n")
    print(f"written: {arguments.out}")
    return 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=positive, default=5, help="runs of each network (default: 5)")
    parser.add_argument("--no-ns2", action="store_true", help="leave ns-2 out")
    parser.add_argument("--no-pgo", action="store_true", help="leave the build with profile-guided optimisation out")
    parser.add_argument("--only", nargs="+", metavar="NETWORK", help="only the networks whose name contains one of these")
    parser.add_argument("--out", type=Path, default=ROOT / "bench.json", help="where the results go (default: bench.json)")
    return parser.parse_args()


def positive(text: str) -> int:
    """A whole number of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def build() -> Path:
    """Build the timing program and return its path."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "ecnlab-bench"], cwd=ROOT, check=True)
    return target_folder() / "release" / "ecnlab-bench"


def target_folder() -> Path:
    """Cargo's folder of what it compiled."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build_with_profile() -> tuple[Path | None, str]:
    """Build the timing program with profile-guided optimisation; returns its path, or none and the reason."""
    compiler = pgo.Compiler.installed()
    try:
        profdata = compiler.profdata("bench")
    except pgo.MissingProfileTool as error:
        return None, str(error)
    folder, program = target_folder() / "pgo", target_folder() / compiler.host / "release" / "ecnlab-bench"
    command = ["cargo", "build", "--quiet", "--release", "-p", "ecnlab-bench", "--target", compiler.host]

    def train(environment: Mapping[str, str]) -> None:
        for name in pgo.TRAINING:
            progress(f"training: {name}")
            file = pgo.EXAMPLES / f"{name}.toml"
            subprocess.run([program, file], env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)

    subprocess.run(command, cwd=ROOT, env={**os.environ, **pgo.flags_with_counters()}, check=True)
    profile = pgo.record_profile(program, profdata, folder, train)
    subprocess.run(command, cwd=ROOT, env={**os.environ, **pgo.flags_with_profile(profile)}, check=True)
    return program, ""


def measure(network: Network, binary: Path, with_profile: Path | None, ns2: str | None, runs: int) -> Row:
    """Run a network in both builds of ecnlab and in ns-2 by turns, and summarize."""
    base = measure_ecnlab(binary, network.file, network.one_flow)
    limit = runs if network.ns2_runs is None else min(runs, network.ns2_runs)
    own, optimised, other = [], [], []
    for at in range(runs):
        progress(f"{network.name}: run {at + 1} of {runs}")
        own.append(measure_ecnlab(binary, network.file, network.overrides))
        if with_profile:
            optimised.append(measure_ecnlab(with_profile, network.file, network.overrides))
        if ns2 and network.ns2 and at < limit:
            progress(f"{network.name}: ns-2, run {at + 1} of {limit}")
            other.append(ns2_run(ns2, network.ns2))
    progress("")
    if len({run["fingerprint"] for run in own + optimised}) != 1:
        raise SystemExit(f"{network.name}: runs of one seed differ: the engine is not deterministic")
    return summary(network, base, own, optimised, other)


def summary(network: Network, base: Row, own: list[Row], optimised: list[Row], other: list[Row]) -> Row:
    """A network's row: the summary, and all its runs."""
    times = [run["ns_per_hop"] for run in own]
    peak = statistics.median(run["peak_bytes"] for run in own)
    row = {
        "network": network.name,
        "flows": own[0]["flows"],
        "hops": own[0]["hops"],
        "ns_per_hop": {"median": statistics.median(times), "min": min(times), "max": max(times)},
        "must_ns": network.must_ns,
        "aim_ns": network.aim_ns,
        "must_reached": is_within_bound(times, network.must_ns),
        "aim_reached": is_within_bound(times, network.aim_ns),
        "set_up_us_per_flow": statistics.median(run["set_up_us_per_flow"] for run in own),
        "bytes_per_flow": (peak - base["peak_bytes"]) / own[0]["flows"],
        "pgo_ns_per_hop": statistics.median(run["ns_per_hop"] for run in optimised) if optimised else None,
        "ns2": None,
        "runs": own,
        "pgo_runs": optimised,
        "one_flow_run": base,
        "ns2_runs": other,
    }
    if other:
        seconds = statistics.median(run["run_s"] for run in other)
        row["ns2"] = {
            "ns_per_hop": statistics.median(run["run_s"] * 1e9 / run["hops"] for run in other),
            "run_s": seconds,
            "cpu_ratio": seconds / statistics.median(run["run_s"] for run in own),
        }
    return row


def measure_ecnlab(binary: Path, file: str, overrides: tuple[str, ...]) -> Row:
    """One run of the engine in a separate process."""
    command = [str(binary), str(BENCHES / file), *overrides]
    row: Row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return row


def ns2_run(ns2: str, arguments: tuple[str, ...]) -> Row:
    """One run of ns-2; one line, from the word `flows` on, is `key value` pairs. TCP/Linux prints other text around it."""
    command = [ns2, str(BENCHES / "ns2" / "dumbbell.tcl"), *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    words = output[output.index("flows ") :].splitlines()[0].split()
    return {key: float(value) for key, value in zip(words[::2], words[1::2], strict=True)}


def table(rows: list[Row]) -> str:
    """The rows as a table."""
    head = ("network", "ns/hop", "min", "max", "PGO", "must", "aim", "reached", "us/flow", "bytes/flow", "ns-2 ns/hop", "ns-2/ours CPU")
    lines = [head, *(cells(row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(w) if at == 0 else text.rjust(w) for at, (text, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )


def is_within_bound(times: list[float], bound: int | None) -> bool | None:
    """Whether the median is within a bound, if there is one."""
    return None if bound is None else statistics.median(times) <= bound


def cells(row: Row) -> tuple[str, ...]:
    """A row's texts."""
    times, ns2 = row["ns_per_hop"], row["ns2"]
    bound = "-" if row["must_ns"] is None else "aim" if row["aim_reached"] else "must" if row["must_reached"] else "NO"
    return (
        row["network"],
        *(f"{times[key]:.1f}" for key in ("median", "min", "max")),
        "-" if row["pgo_ns_per_hop"] is None else f"{row['pgo_ns_per_hop']:.1f}",
        str(row["must_ns"] or "-"),
        str(row["aim_ns"] or "-"),
        bound,
        f"{row['set_up_us_per_flow']:.1f}",
        f"{row['bytes_per_flow']:.0f}",
        f"{ns2['ns_per_hop']:.0f}" if ns2 else "-",
        f"{ns2['cpu_ratio']:.1f}" if ns2 else "-",
    )


def machine() -> Row:
    """The machine of the measurement."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def progress(text: str) -> None:
    """A progress line that the next one overwrites, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
