"""What went wrong in runs in front of real hosts, and yet left numbers: they are kept, and it is told what they lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ecnlab.errors import Problem
from ecnlab.scenarios.seeds import listed_seeds

_RunRecord = Mapping[str, Any]

_BROKEN_CONNECTIONS_TEXT = (
    "connections broke, and their flows were silent from then on, so that goodput and fairness are those of fewer flows: "
    "`connections` and `groups` of the record `about` say more"
)
_REFUSED_PACKETS_TEXT = (
    "packets were not taken by the host that they were for, so that they count as delivered and were not: "
    "look at this machine's memory and at what changes devices"
)
_DROPPED_DATAGRAMS_TEXT = (
    "datagrams were dropped at their receiver, whose buffer was full, so that goodput is the machine's and not the network's: "
    "raise net.core.rmem_max, or let the machine rest"
)


def kernel_bug_warnings(abouts: Mapping[int, _RunRecord]) -> list[Problem]:
    """What is to be said of the runs of these seeds, each flaw once with its seeds."""
    told: list[tuple[str, Callable[[_RunRecord], int], str]] = [
        ("connections", lambda about: about.get("connections", {}).get("broken", 0), _BROKEN_CONNECTIONS_TEXT),
        ("packets", lambda about: about.get("packets", {}).get("refused", 0), _REFUSED_PACKETS_TEXT),
        ("datagrams", _dropped_datagrams, _DROPPED_DATAGRAMS_TEXT),
    ]
    return [Problem(place, None, found) for place, count, text in told if (found := _count_by_seed(abouts, count, text))]


def _count_by_seed(abouts: Mapping[int, _RunRecord], count: Callable[[_RunRecord], int], text: str) -> str:
    counts = {seed: count(about) for seed, about in abouts.items()}
    seeds = [seed for seed, found in counts.items() if found]
    return f"{sum(counts.values())} {text} ({'seed' if len(seeds) == 1 else 'seeds'} {listed_seeds(seeds)})" if seeds else ""


def _dropped_datagrams(about: _RunRecord) -> int:
    hosts = (group.get(host, {}) for group in about.get("groups", ()) for host in ("opening_host", "answering_host"))
    return sum(host.get("receive_buffer_drops", 0) for host in hosts)
