"""`ecnlab replay`: recorded arrivals, enqueued into the same queues again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_DISAGREES, options, output

if TYPE_CHECKING:
    from ecnlab.packet_traces.replay import ReplayedQueue


@click.command()
@click.argument("result", metavar="RESULT_DIR", type=options.PATH)
@click.option("--seed", metavar="N", help="Replay only this seed (default: all).")
@click.option("--seeds", metavar="N|A..B|A,B,C", help="Replay the seeds 1 to N, A to B, or A, B and C (default: all).")
@click.option("--queue", metavar="NAME", help="Replay only the queue of this link (default: all).")
@options.aqm_option
@options.json_option
@options.quiet_option
def replay(result: Path, seed: str | None, seeds: str | None, queue: str | None, aqms: Sequence[str], as_json: bool, quiet: bool) -> None:
    """Replay recorded arrivals and compare decisions.

    RESULT_DIR is a results folder of `ecnlab run FILE --record --out RESULT_DIR`, on any backend. Every decision is compared. The first
    difference of each queue is printed, and the exit code is then 1.
    """
    from ecnlab.packet_traces import replay as replays

    chosen = None if seed is None and seeds is None else options.seeds_from_options(seed, seeds, "1")
    found = replays.replay(result, seeds=chosen, queue=queue, aqms=aqms)
    output.print_warnings(found.warnings, str(result))
    if as_json:
        output.print_json(found.to_dict())
    elif not quiet:
        for one in found.queues:
            for line in _replayed_queue_summary(one).split("\n"):
                output.print_line(line)
    if not found.agrees:
        click.get_current_context().exit(EXIT_DISAGREES)


def _replayed_queue_summary(one: ReplayedQueue) -> str:
    counts = f"{one.arrivals} arrivals, {one.departures} departures, {one.marks} marks, {one.drops} drops"
    if one.difference is None:
        return f"seed {one.seed}  {one.queue}  identical decisions: {counts}"
    other = one.difference
    then, now = (text or "nothing" for text in (other.recorded, other.replayed))
    where = f"differs at {other.time_s:.9f} s, line {other.line}, after {counts}"
    return f"seed {one.seed}  {one.queue}  {where}\n  then: {then}\n  now:  {now}"
