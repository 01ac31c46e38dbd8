"""Sections 5.2 and 5.3: gain of ECN for long and short transfers, against the load and against RED's max_p."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ecnlab.studies.framework.claims import COUNT, KBPS, PER_SECOND, PERCENT, MeasuredQuantity
from ecnlab.studies.framework.curves import AxisSettings
from ecnlab.studies.framework.model import RequiredScenario
from ecnlab.studies.papers.rfc2884 import published
from ecnlab.studies.papers.rfc2884.claims import (
    bulk_throughput_gain,
    retransmissions_measure,
    retransmitted_share,
    timeout_share_of_retransmissions,
    transaction_rate_gain,
)
from ecnlab.studies.papers.rfc2884.figures import Curves, curves_by_congestion_level, figure_of_curves
from ecnlab.studies.papers.rfc2884.testbed import (
    CONGESTION_LEVELS,
    HOST_TCP,
    MAX_PS,
    RESPONSES_KB,
    WITH_ECN,
    WITHOUT_ECN,
    competing_bulk_transfers_scenario,
    competing_transactions_scenario,
    file_throughput_measure,
    transaction_rate_measure,
    windows_with_several_drops,
    with_event_recording,
)

_HIGH_LOAD = CONGESTION_LEVELS["high"]
_LOAD_COUNTS = tuple(CONGESTION_LEVELS.values())
_AGAINST_LOAD, _AGAINST_MAX_P = partial(AxisSettings, "congesting flows"), partial(AxisSettings, "max_p", ticks=MAX_PS)
_AGAINST_RESPONSE = partial(AxisSettings, "response (KB)", ticks=RESPONSES_KB)

Metric = Callable[[RequiredScenario, str], MeasuredQuantity]


def _metric_with_and_without_ecn(metric: Metric, needs: Mapping[float, RequiredScenario]) -> Curves:
    """A metric with ECN and without it."""
    return {group: {x: metric(need, group) for x, need in needs.items()} for group in (WITH_ECN, WITHOUT_ECN)}


def _gains_by_host_kind(gain: Callable[[str, float], MeasuredQuantity], xs: Sequence[float]) -> Curves:
    """A gain for each kind of host."""
    return {hosts: {x: gain(hosts, x) for x in xs} for hosts in HOST_TCP}


def _bulk_measures_by_congestion_level(measure: Callable[[RequiredScenario], MeasuredQuantity]) -> Curves:
    """A measure of 20 MB transfers with Reno, for each congestion level and max_p."""
    return curves_by_congestion_level(lambda load, max_p: measure(competing_bulk_transfers_scenario(load, max_p)))


_bulk_figure = partial(figure_of_curves, "Section 5.2: bulk transfers")
_short_figure = partial(figure_of_curves, "Section 5.3: transactions")

ITEMS = (
    _bulk_figure(
        "5.2.1",
        "User's throughput of 20 MB against congestion",
        "Reno, max_p 0.1: the file's size by the time that its transfer took.",
        _metric_with_and_without_ecn(
            file_throughput_measure, {load: competing_bulk_transfers_scenario(load, 0.1) for load in _LOAD_COUNTS}
        ),
        _AGAINST_LOAD("throughput", KBPS, y_range=(0, 450)),
    ),
    _bulk_figure(
        "5.2.2",
        "Gain of ECN against congestion, 20 MB",
        "max_p 0.1; half-filled markers are the RFC's numbers.",
        _gains_by_host_kind(lambda hosts, load: bulk_throughput_gain(int(load), 0.1, hosts), _LOAD_COUNTS),
        _AGAINST_LOAD("gain", PERCENT),
        published.BULK_BY_LOAD,
    ),
    _bulk_figure(
        "5.2.3",
        "Gain of ECN against max_p, 20 MB",
        "10 congesting flows; half-filled markers are the RFC's numbers.",
        _gains_by_host_kind(lambda hosts, max_p: bulk_throughput_gain(_HIGH_LOAD, max_p, hosts), MAX_PS),
        _AGAINST_MAX_P("gain", PERCENT),
        published.BULK_BY_MAX_P,
    ),
    _bulk_figure(
        "5.2.4",
        "Gain of ECN against max_p at each level of congestion, 20 MB",
        "Reno.",
        curves_by_congestion_level(bulk_throughput_gain),
        _AGAINST_MAX_P("gain", PERCENT),
    ),
    _bulk_figure(
        "5.2.5",
        "Retransmissions of 20 MB",
        "Reno, 10 congesting flows: packets sent again as a share of all that were sent.",
        _metric_with_and_without_ecn(
            retransmitted_share, {max_p: competing_bulk_transfers_scenario(_HIGH_LOAD, max_p) for max_p in MAX_PS}
        ),
        _AGAINST_MAX_P("sent again", PERCENT),
    ),
    _bulk_figure(
        "5.2.6",
        "Retransmissions after a timeout, 20 MB without ECN",
        "10 congesting flows: packets sent again after a timeout as a share of all that were sent again.",
        _gains_by_host_kind(
            lambda hosts, max_p: timeout_share_of_retransmissions(competing_bulk_transfers_scenario(_HIGH_LOAD, max_p, hosts), WITHOUT_ECN),
            MAX_PS,
        ),
        _AGAINST_MAX_P("after a timeout", PERCENT, y_range=(0, 100)),
    ),
    _bulk_figure(
        "5.2.7",
        "Retransmissions after a timeout at each level of congestion, 20 MB without ECN",
        "Reno: packets sent again after a timeout as a share of all that were sent again.",
        _bulk_measures_by_congestion_level(lambda need: timeout_share_of_retransmissions(need, WITHOUT_ECN)),
        _AGAINST_MAX_P("after a timeout", PERCENT, y_range=(0, 100)),
    ),
    _bulk_figure(
        "5.2.8",
        "Windows with several drops, 20 MB without ECN",
        "Reno: windows of a transfer in which two packets or more were dropped. A window lasts for the mean RTT.",
        _bulk_measures_by_congestion_level(lambda need: windows_with_several_drops(with_event_recording(need), WITHOUT_ECN)),
        _AGAINST_MAX_P("windows with several drops", COUNT),
    ),
    _bulk_figure(
        "5.2.9",
        "Retransmissions at each level of congestion, 20 MB with ECN",
        "Reno: packets of a transfer that were sent again.",
        _bulk_measures_by_congestion_level(lambda need: retransmissions_measure(need, WITH_ECN)),
        _AGAINST_MAX_P("packets sent again", COUNT),
    ),
    _short_figure(
        "5.3.1",
        "Transactions a second against congestion, 5 KB",
        "Reno, max_p 0.1: completed transactions over three minutes.",
        _metric_with_and_without_ecn(
            transaction_rate_measure, {load: competing_transactions_scenario(5, load, 0.1) for load in _LOAD_COUNTS}
        ),
        _AGAINST_LOAD("transactions", PER_SECOND),
    ),
    _short_figure(
        "5.3.2",
        "Transactions a second against max_p, 5 KB",
        "Reno, 10 congesting flows; half-filled markers are the RFC's numbers, taken for those with ECN.",
        _metric_with_and_without_ecn(
            transaction_rate_measure, {max_p: competing_transactions_scenario(5, _HIGH_LOAD, max_p) for max_p in MAX_PS}
        ),
        _AGAINST_MAX_P("transactions", PER_SECOND),
        {WITH_ECN: published.RATE_BY_MAX_P},
    ),
    _short_figure(
        "5.3.3",
        "Gain of ECN against congestion, 5 KB",
        "max_p 0.1; half-filled markers are the RFC's numbers.",
        _gains_by_host_kind(lambda hosts, load: transaction_rate_gain(5, int(load), 0.1, hosts), _LOAD_COUNTS),
        _AGAINST_LOAD("gain", PERCENT),
        published.SHORT_BY_LOAD,
    ),
    _short_figure(
        "5.3.4",
        "Gain of ECN against max_p, 5 KB",
        "10 congesting flows; half-filled markers are the RFC's numbers.",
        _gains_by_host_kind(lambda hosts, max_p: transaction_rate_gain(5, _HIGH_LOAD, max_p, hosts), MAX_PS),
        _AGAINST_MAX_P("gain", PERCENT),
        published.SHORT_BY_MAX_P,
    ),
    _short_figure(
        "5.3.5",
        "Gain of ECN against the size of the response",
        "Reno, max_p 0.1.",
        curves_by_congestion_level(lambda load, kb: transaction_rate_gain(int(kb), load, 0.1), RESPONSES_KB),
        _AGAINST_RESPONSE("gain", PERCENT),
    ),
    _short_figure(
        "5.3.6",
        "Retransmissions after a timeout, transactions without ECN",
        "Reno, max_p 0.1: packets sent again after a timeout as a share of all that were sent again.",
        curves_by_congestion_level(
            lambda load, kb: timeout_share_of_retransmissions(competing_transactions_scenario(int(kb), load, 0.1), WITHOUT_ECN),
            RESPONSES_KB,
        ),
        _AGAINST_RESPONSE("after a timeout", PERCENT, y_range=(0, 105)),
    ),
    _short_figure(
        "5.3.7",
        "Gain of ECN against max_p by the size of the response",
        "Reno, 10 congesting flows.",
        {f"{kb} KB": {max_p: transaction_rate_gain(kb, _HIGH_LOAD, max_p) for max_p in MAX_PS} for kb in RESPONSES_KB},
        _AGAINST_MAX_P("gain", PERCENT),
    ),
)
