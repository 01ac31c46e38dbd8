"""Rates of two flows: those of l4s-tests (2020), and those of Linux 7.2 hosts; the tables are in reference/l4s.

P. Heist and J. Morton, L4S Tests, github.com/heistp/l4s-tests, results of 11 November 2020: "Scenario 1 Fairness Table" and "Scenario 6
Fairness Table". Linux 7.2 hosts: reference/l4s/README.md.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REFERENCE = Path(__file__).parents[3] / "reference" / "l4s"


@dataclass(frozen=True, order=True)
class Sender:
    """A congestion control and its round-trip time."""

    control: str
    rtt_ms: float

    @property
    def label(self) -> str:
        """E.g. "prague 20 ms"."""
        return f"{self.control} {self.rtt_ms:g} ms"

    def with_control_instead_of(self, control: str, other: str) -> Sender:
        """The same RTT with `other` instead of `control`."""
        return Sender(other, self.rtt_ms) if self.control == control else self


Pair = tuple[Sender, Sender]


@dataclass(frozen=True)
class ReferenceRow:
    """Two flows behind a queue, and their rates in Mbit/s."""

    queue: str
    rate_mbps: int
    senders: Pair
    rates_mbps: tuple[float, float]

    @property
    def key(self) -> tuple[str, int, Pair]:
        """Queue, rate and senders."""
        return self.queue, self.rate_mbps, self.senders


@cache
def read_reference_rows(table: str) -> Sequence[ReferenceRow]:
    """The rows of a table: "fairness", "shared-queue", "linux-7.2-hosts" or "linux-7.2-hosts-repeated"."""
    with (REFERENCE / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return [
            ReferenceRow(
                cells["queue"],
                int(cells["rate_mbps"]),
                (Sender(cells["first"], int(cells["first_rtt_ms"])), Sender(cells["second"], int(cells["second_rtt_ms"]))),
                (float(cells["first_mbps"]), float(cells["second_mbps"])),
            )
            for cells in csv.DictReader(file)
        ]


def published_rates_of_pair(queue: str, rate_mbps: int, one: Sender, other: Sender) -> tuple[float, float]:
    """The published rates of two senders in this order: the mean of the rows that have them, in either order."""
    found = [
        row.rates_mbps if row.senders == (one, other) else row.rates_mbps[::-1]
        for row in read_reference_rows("fairness")
        if (row.queue, row.rate_mbps) == (queue, rate_mbps) and row.senders in ((one, other), (other, one))
    ]
    return sum(rates[0] for rates in found) / len(found), sum(rates[1] for rates in found) / len(found)
