"""Warnings about kept runs on real hosts in which connections broke, or hosts rejected or dropped packets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ecnlab.errors import Problem
from ecnlab.scenarios.seeds import seeds_as_text

_RunRecord = Mapping[str, Any]

_BROKEN_CONNECTIONS_TEXT = (
    "connections broke and their flows stopped sending, so goodput and fairness are "
    "those of fewer flows; see `connections` and `groups` in `about`"
)
_REFUSED_PACKETS_TEXT = (
    "packets count as delivered, but their host rejected them; fix: check this machine's memory, and programs that change network devices"
)
_DROPPED_DATAGRAMS_TEXT = (
    "datagrams were dropped at a full receive buffer, so goodput shows the machine and not the network; "
    "fix: raise net.core.rmem_max, or reduce the machine's load"
)


def kernel_bug_warnings(abouts: Mapping[int, _RunRecord]) -> list[Problem]:
    """Warnings about the runs of these seeds; a warning that concerns several seeds is given once and names them."""
    flaws: list[tuple[str, Callable[[_RunRecord], int], str]] = [
        ("connections", lambda about: about.get("connections", {}).get("broken", 0), _BROKEN_CONNECTIONS_TEXT),
        ("packets", lambda about: about.get("packets", {}).get("refused", 0), _REFUSED_PACKETS_TEXT),
        ("datagrams", _count_dropped_datagrams, _DROPPED_DATAGRAMS_TEXT),
    ]
    return [Problem(place, None, found) for place, count, text in flaws if (found := _total_and_seeds_text(abouts, count, text))]


def _total_and_seeds_text(abouts: Mapping[int, _RunRecord], count: Callable[[_RunRecord], int], text: str) -> str:
    counts = {seed: count(about) for seed, about in abouts.items()}
    seeds = [seed for seed, found in counts.items() if found]
    return f"{sum(counts.values())} {text} ({'seed' if len(seeds) == 1 else 'seeds'} {seeds_as_text(seeds)})" if seeds else ""


def _count_dropped_datagrams(about: _RunRecord) -> int:
    hosts = (group.get(host, {}) for group in about.get("groups", ()) for host in ("opening_host", "answering_host"))
    return sum(host.get("receive_buffer_drops", 0) for host in hosts)
