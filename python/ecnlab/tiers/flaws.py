"""What went wrong in runs in front of real hosts, and yet left numbers: they are kept, and it is told what they lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ecnlab.errors import Problem
from ecnlab.seeds import listed_seeds

_About = Mapping[str, Any]

_BROKEN = (
    "connections broke, and their flows were silent from then on, so that goodput and fairness are those of fewer flows: "
    "`connections` and `groups` of the record `about` say more"
)
_REFUSED = (
    "packets were not taken by the host that they were for, so that they count as delivered and were not: "
    "look at this machine's memory and at what changes devices"
)
_DROPPED = (
    "datagrams were dropped at their receiver, whose buffer was full, so that goodput is the machine's and not the network's: "
    "raise net.core.rmem_max, or let the machine rest"
)


def flaws(abouts: Mapping[int, _About]) -> list[Problem]:
    """What is to be said of the runs of these seeds, each flaw once with its seeds."""
    told: list[tuple[str, Callable[[_About], int], str]] = [
        ("connections", lambda about: about.get("connections", {}).get("broken", 0), _BROKEN),
        ("packets", lambda about: about.get("packets", {}).get("refused", 0), _REFUSED),
        ("datagrams", _dropped, _DROPPED),
    ]
    return [Problem(place, None, found) for place, count, text in told if (found := _found(abouts, count, text))]


def _found(abouts: Mapping[int, _About], count: Callable[[_About], int], text: str) -> str:
    counts = {seed: count(about) for seed, about in abouts.items()}
    seeds = [seed for seed, found in counts.items() if found]
    return f"{sum(counts.values())} {text} ({'seed' if len(seeds) == 1 else 'seeds'} {listed_seeds(seeds)})" if seeds else ""


def _dropped(about: _About) -> int:
    hosts = (group.get(host, {}) for group in about.get("groups", ()) for host in ("opening_host", "answering_host"))
    return sum(host.get("receive_buffer_drops", 0) for host in hosts)
