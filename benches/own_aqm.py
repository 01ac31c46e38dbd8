"""CPU time of user AQMs: RED built in, written by hand in Python, and the same class compiled by numba.

    python benches/own_aqm.py [--rounds N] [--json]

Two measures, the forms in turn within each round, so that a slow moment of the machine meets all of them; medians over the rounds.
`queue` is the processor time of a packet through a FIFO buffer alone, `run` that of a packet-hop in a whole run: the thesis' network
with 60 flows, whose three runs are the same to the packet.
"""

import argparse
import json
import statistics
from pathlib import Path

import ecnlab
from ecnlab import _core
from ecnlab.aqm import fingerprint, plugins
from ecnlab.scenarios.load import Scenario

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "examples" / "red_by_hand.py"
FORMS = {"built in": "red", "compiled": f"{FILE}:CompiledRed", "class": f"{FILE}:RedByHand"}
PACKETS = {"built in": 2_000_000, "compiled": 2_000_000, "class": 200_000}
QUEUE = '{{ aqm = "{}", limit = 120, min_th = 10, max_th = 30, max_p = 0.5 }}'


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    queue, run = _queue_costs(options.rounds), _run_costs(options.rounds)
    rows = {form: {"queue_ns": queue[form], "run_ns": run[form]} for form in FORMS}
    for row in rows.values():
        row |= {"queue_ratio": row["queue_ns"] / queue["built in"], "run_ratio": row["run_ns"] / run["built in"]}
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'RED':<10}{'ns a packet':>14}{'ratio':>8}{'ns a packet-hop':>18}{'ratio':>8}")
    for form, row in rows.items():
        print(f"{form:<10}{row['queue_ns']:>14.1f}{row['queue_ratio']:>8.2f}{row['run_ns']:>18.1f}{row['run_ratio']:>8.2f}")


def _queue_costs(rounds: int) -> dict[str, float]:
    subjects = {
        form: (name if form == "built in" else plugins.registry_entry_of_aqm(fingerprint.load_aqm_class(name)))
        for form, name in FORMS.items()
    }
    for subject in subjects.values():
        _core.cost_of_aqm(subject, 1000)
    measured = [{form: _core.cost_of_aqm(subject, PACKETS[form]) for form, subject in subjects.items()} for _ in range(rounds)]
    return _medians(measured)


def _run_costs(rounds: int) -> dict[str, float]:
    scenarios = {form: _scenario(name) for form, name in FORMS.items()}
    first = {form: scenario._core.run(1) for form, scenario in scenarios.items()}
    if len({run.fingerprint for run in first.values()}) != 1:
        raise SystemExit("the three forms of RED are not the same to the packet")
    measured = []
    for _ in range(rounds):
        runs = {form: scenario._core.run(1) for form, scenario in scenarios.items()}
        measured.append({form: run.cpu_s * 1e9 / run.packet_hops for form, run in runs.items()})
    return _medians(measured)


def _scenario(name: str) -> Scenario:
    aqms = [fingerprint.load_aqm_class(name)] if ":" in name else []
    called = aqms[0].__name__ if aqms else name
    return ecnlab.load(ROOT / "benches" / "thesis.toml", {"link.bottleneck.queue": QUEUE.format(called)}, aqms=aqms)


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {form: statistics.median(one[form] for one in rounds) for form in FORMS}


if __name__ == "__main__":
    main()
