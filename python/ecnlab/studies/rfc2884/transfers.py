"""Sections 5.2 and 5.3: what ECN gains in long transfers and in short ones, against the load and against RED's max_p."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ecnlab.studies.claims import KBPS, PERCENT, Measured
from ecnlab.studies.curves import Panel, Scales, figure
from ecnlab.studies.model import Item, Need
from ecnlab.studies.rfc2884 import published, testbed
from ecnlab.studies.rfc2884.claims import PER_SECOND, bulk_gain, by_timeout, resent, resent_by_timeout, short_gain
from ecnlab.studies.rfc2884.testbed import (
    HOSTS,
    LOADS,
    MAX_PS,
    RESPONSES_KB,
    WITH,
    WITHOUT,
    bulk,
    rate,
    repeated_drops,
    transactions,
    user_throughput,
    with_events,
)

BULK, SHORT = "Section 5.2: bulk transfers", "Section 5.3: transactions"
_HIGH = LOADS["high"]
_LOADS = tuple(LOADS.values())
_CONGESTING, _MAX_P = "congesting flows", "max_p"

Metric = Callable[[Need, str], Measured]


def _of_both(metric: Metric, needs: Mapping[float, Need]) -> dict[str, dict[float, Measured]]:
    """A metric with ECN and without it."""
    return {group: {x: metric(need, group) for x, need in needs.items()} for group in (WITH, WITHOUT)}


def _of_hosts(gain: Callable[[str, float], Measured], xs: Sequence[float]) -> dict[str, dict[float, Measured]]:
    """A gain for each kind of host."""
    return {hosts: {x: gain(hosts, x) for x in xs} for hosts in HOSTS}


def _item(number: str, part: str, title: str, caption: str, panel: Panel, scales: Scales) -> Item:
    return figure(number, title, caption, [panel], scales, part=part, palette=testbed.PALETTE)


def _bulk_items() -> list[Item]:
    by_load: dict[float, Need] = {load: bulk(load, 0.1) for load in _LOADS}
    by_max_p = {max_p: bulk(_HIGH, max_p) for max_p in MAX_PS}
    return [
        _item(
            "5.2.1",
            BULK,
            "User's throughput of 20 MB against congestion",
            "Reno, max_p 0.1: the file's size by the time that its transfer took.",
            Panel("", _of_both(user_throughput, by_load)),
            Scales(_CONGESTING, "throughput", KBPS, y_range=(0, 450)),
        ),
        _item(
            "5.2.2",
            BULK,
            "Gain of ECN against congestion, 20 MB",
            "max_p 0.1; half-filled markers are the RFC's numbers.",
            Panel("", _of_hosts(lambda hosts, load: bulk_gain(int(load), 0.1, hosts), _LOADS), published.BULK_BY_LOAD),
            Scales(_CONGESTING, "gain", PERCENT),
        ),
        _item(
            "5.2.3",
            BULK,
            "Gain of ECN against max_p, 20 MB",
            "10 congesting flows; half-filled markers are the RFC's numbers.",
            Panel("", _of_hosts(lambda hosts, max_p: bulk_gain(_HIGH, max_p, hosts), MAX_PS), published.BULK_BY_MAX_P),
            Scales(_MAX_P, "gain", PERCENT, ticks=MAX_PS),
        ),
        figure(
            "5.2.4",
            "Gain of ECN against max_p at each level of congestion, 20 MB",
            "Reno.",
            [Panel("", {f"{level} congestion": {max_p: bulk_gain(load, max_p) for max_p in MAX_PS} for level, load in LOADS.items()})],
            Scales(_MAX_P, "gain", PERCENT, ticks=MAX_PS),
            part=BULK,
            palette=testbed.PALETTE,
        ),
        _item(
            "5.2.5",
            BULK,
            "Retransmissions of 20 MB",
            "Reno, 10 congesting flows: packets sent again as a share of all that were sent.",
            Panel("", _of_both(resent, by_max_p)),
            Scales(_MAX_P, "sent again", PERCENT, ticks=MAX_PS),
        ),
        _item(
            "5.2.6",
            BULK,
            "Retransmissions after a timeout, 20 MB without ECN",
            "10 congesting flows: packets sent again after a timeout as a share of all that were sent again.",
            Panel("", _of_hosts(lambda hosts, max_p: by_timeout(bulk(_HIGH, max_p, hosts), WITHOUT), MAX_PS)),
            Scales(_MAX_P, "after a timeout", PERCENT, y_range=(0, 100), ticks=MAX_PS),
        ),
        _item(
            "5.2.7",
            BULK,
            "Retransmissions after a timeout against congestion, 20 MB without ECN",
            "max_p 0.1: packets sent again after a timeout as a share of all that were sent.",
            Panel("", _of_hosts(lambda hosts, load: resent_by_timeout(bulk(int(load), 0.1, hosts), WITHOUT), _LOADS)),
            Scales(_CONGESTING, "after a timeout", PERCENT),
        ),
        _item(
            "5.2.8",
            BULK,
            "Windows with several drops, 20 MB without ECN",
            "Reno, max_p 0.1: of the windows in which a packet was dropped, the share in which another was. A window lasts for the mean "
            "RTT.",
            Panel("", {WITHOUT: {load: repeated_drops(with_events(bulk(load, 0.1)), WITHOUT) for load in _LOADS}}),
            Scales(_CONGESTING, "windows with several drops", PERCENT),
        ),
    ]


def _short_items() -> list[Item]:
    return [
        _item(
            "5.3.1",
            SHORT,
            "Transactions a second against congestion, 5 KB",
            "Reno, max_p 0.1: completed transactions over three minutes.",
            Panel("", _of_both(rate, {load: transactions(5, load, 0.1) for load in _LOADS})),
            Scales(_CONGESTING, "transactions", PER_SECOND),
        ),
        _item(
            "5.3.2",
            SHORT,
            "Transactions a second against max_p, 5 KB",
            "Reno, 10 congesting flows; half-filled markers are the RFC's numbers, taken for those with ECN.",
            Panel("", _of_both(rate, {max_p: transactions(5, _HIGH, max_p) for max_p in MAX_PS}), {WITH: published.RATE_BY_MAX_P}),
            Scales(_MAX_P, "transactions", PER_SECOND, ticks=MAX_PS),
        ),
        _item(
            "5.3.3",
            SHORT,
            "Gain of ECN against congestion, 5 KB",
            "max_p 0.1; half-filled markers are the RFC's numbers.",
            Panel("", _of_hosts(lambda hosts, load: short_gain(5, int(load), 0.1, hosts), _LOADS), published.SHORT_BY_LOAD),
            Scales(_CONGESTING, "gain", PERCENT),
        ),
        _item(
            "5.3.4",
            SHORT,
            "Gain of ECN against max_p, 5 KB",
            "10 congesting flows; half-filled markers are the RFC's numbers.",
            Panel("", _of_hosts(lambda hosts, max_p: short_gain(5, _HIGH, max_p, hosts), MAX_PS), published.SHORT_BY_MAX_P),
            Scales(_MAX_P, "gain", PERCENT, ticks=MAX_PS),
        ),
        figure(
            "5.3.5",
            "Gain of ECN against the size of the response",
            "Reno, max_p 0.1.",
            [Panel("", {f"{level} congestion": {kb: short_gain(kb, load, 0.1) for kb in RESPONSES_KB} for level, load in LOADS.items()})],
            Scales("response (KB)", "gain", PERCENT, ticks=RESPONSES_KB),
            part=SHORT,
            palette=testbed.PALETTE,
        ),
        figure(
            "5.3.6",
            "Retransmissions after a timeout, transactions without ECN",
            "Reno, max_p 0.1: packets sent again after a timeout as a share of all that were sent again.",
            [
                Panel(
                    "",
                    {
                        f"{level} congestion": {kb: by_timeout(transactions(kb, load, 0.1), WITHOUT) for kb in RESPONSES_KB}
                        for level, load in LOADS.items()
                    },
                )
            ],
            Scales("response (KB)", "after a timeout", PERCENT, y_range=(0, 105), ticks=RESPONSES_KB),
            part=SHORT,
            palette=testbed.PALETTE,
        ),
        figure(
            "5.3.7",
            "Gain of ECN against max_p by the size of the response",
            "Reno, 10 congesting flows.",
            [Panel("", {f"{kb} KB": {max_p: short_gain(kb, _HIGH, max_p) for max_p in MAX_PS} for kb in RESPONSES_KB})],
            Scales(_MAX_P, "gain", PERCENT, ticks=MAX_PS),
            part=SHORT,
            palette=testbed.PALETTE,
        ),
    ]


ITEMS = (*_bulk_items(), *_short_items())
