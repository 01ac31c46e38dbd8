"""Shared parts of the tests of user AQMs: a run of the small scenario with one of them, and some small ones."""

from __future__ import annotations

from typing import Any

import ecnlab
from ecnlab._core import RunResult
from ecnlab.aqm import Aqm, Arrival, Departure, Packet, TimerContext, Verdict
from ecnlab.scenarios.load import scenario_from_toml_text
from helpers import EXAMPLES, SMALL

RED_BY_HAND = f"{EXAMPLES / 'red_by_hand.py'}:RedByHand"
COMPILED_RED = f"{EXAMPLES / 'red_by_hand.py'}:CompiledRed"
QUEUE = "link.bottleneck.queue"


def scenario_with(aqm: type[Aqm] | str, settings: str = "", name: str = "", **changes: Any) -> ecnlab.Scenario:
    """The small scenario with this AQM in its queue; a text is a reference to a class, or a built-in's name."""
    user_aqms = [] if isinstance(aqm, str) and ":" not in aqm else [aqm]
    called = name or (aqm.__name__ if isinstance(aqm, type) else aqm.rpartition(":")[2])
    return scenario_from_toml_text(SMALL, {QUEUE: f'{{ aqm = "{called}", limit = 60{settings} }}', **changes}, aqms=user_aqms)


def run_with(aqm: type[Aqm] | str, settings: str = "", seed: int = 1, **changes: Any) -> RunResult:
    """One run of it."""
    return scenario_with(aqm, settings, **changes)._core.run(seed)


def counted(run: RunResult, *columns: str) -> list[Any]:
    """Columns of the one queue's row."""
    return [run.tables["queues"].column(column)[0] for column in columns]


class Passes(Aqm):
    """Lets every packet pass."""

    def on_arrival(self, arrival: Arrival) -> Verdict:
        return ecnlab.PASS


class Departing(Aqm):
    """Signals at dequeue, by sojourn time."""

    def on_arrival(self, arrival: Arrival) -> Verdict:
        return ecnlab.PASS

    def on_departure(self, departure: Departure) -> Verdict:
        if departure.waited_s > 0.08:
            return ecnlab.drop()
        return ecnlab.mark() if departure.waited_s > 0.03 and self.random() < 0.3 else ecnlab.PASS


class Ticking(Aqm):
    """Marks every packet after the third of its deadlines."""

    ticks: float = ecnlab.gauge(doc="Deadlines that have come.")

    def on_start(self) -> float | None:
        return 0.5

    def on_arrival(self, arrival: Arrival) -> Verdict:
        return ecnlab.mark() if self.ticks >= 3 else ecnlab.PASS

    def on_deadline(self, context: TimerContext) -> float | None:
        self.ticks += 1.0
        return context.now_s + 0.5 if self.ticks < 3 else None


class Grouping(Aqm):
    """Has two groups, and signals at the front, at the n-th and at the first markable packet of a group."""

    groups = 2

    def group(self, packet: Packet) -> int:
        return 1 if packet.rtt_s > 0.08 else 0

    def on_start(self) -> None:
        self.seen = 0

    def on_arrival(self, arrival: Arrival) -> Verdict:
        self.seen += 1
        if self.seen % 50 == 0:
            return ecnlab.mark(group=1)
        if arrival.groups[0].packets > 10:
            return ecnlab.drop("front")
        return ecnlab.drop(3, cause="forced") if arrival.groups[1].packets > 20 else ecnlab.PASS
