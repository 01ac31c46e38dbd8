"""Sections 5.2 and 5.3: gain of ECN for long and short transfers, against the load and against RED's max_p."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ecnlab.studies.framework.claims import COUNT, KBPS, PERCENT, MeasuredQuantity
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.framework.model import RequiredScenario, StudyItem
from ecnlab.studies.papers.rfc2884 import published, testbed
from ecnlab.studies.papers.rfc2884.claims import (
    PER_SECOND,
    bulk_throughput_gain,
    retransmissions_measure,
    retransmitted_share,
    timeout_share_of_retransmissions,
    transaction_rate_gain,
)
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

BULK_PART, SHORT_PART = "Section 5.2: bulk transfers", "Section 5.3: transactions"
_HIGH_LOAD = CONGESTION_LEVELS["high"]
_LOAD_COUNTS = tuple(CONGESTION_LEVELS.values())
_CONGESTING_LABEL, _MAX_P_LABEL = "congesting flows", "max_p"

Metric = Callable[[RequiredScenario, str], MeasuredQuantity]


def _metric_with_and_without_ecn(metric: Metric, needs: Mapping[float, RequiredScenario]) -> dict[str, dict[float, MeasuredQuantity]]:
    """A metric with ECN and without it."""
    return {group: {x: metric(need, group) for x, need in needs.items()} for group in (WITH_ECN, WITHOUT_ECN)}


def _gains_by_host_kind(gain: Callable[[str, float], MeasuredQuantity], xs: Sequence[float]) -> dict[str, dict[float, MeasuredQuantity]]:
    """A gain for each kind of host."""
    return {hosts: {x: gain(hosts, x) for x in xs} for hosts in HOST_TCP}


def _bulk_transfer_measures_by_congestion_level(
    measure: Callable[[RequiredScenario], MeasuredQuantity],
) -> dict[str, dict[float, MeasuredQuantity]]:
    """A measure of 20 MB transfers with Reno, for each congestion level and max_p."""
    return {
        f"{level} congestion": {max_p: measure(competing_bulk_transfers_scenario(load, max_p)) for max_p in MAX_PS}
        for level, load in CONGESTION_LEVELS.items()
    }


def _transfer_figure_item(number: str, part: str, title: str, caption: str, panel: CurvePanel, scales: AxisSettings) -> StudyItem:
    return curve_figure(number, title, caption, [panel], scales, part=part, palette=testbed.PALETTE)


def _bulk_transfer_items() -> list[StudyItem]:
    by_load: dict[float, RequiredScenario] = {load: competing_bulk_transfers_scenario(load, 0.1) for load in _LOAD_COUNTS}
    by_max_p = {max_p: competing_bulk_transfers_scenario(_HIGH_LOAD, max_p) for max_p in MAX_PS}
    return [
        _transfer_figure_item(
            "5.2.1",
            BULK_PART,
            "User's throughput of 20 MB against congestion",
            "Reno, max_p 0.1: the file's size by the time that its transfer took.",
            CurvePanel("", _metric_with_and_without_ecn(file_throughput_measure, by_load)),
            AxisSettings(_CONGESTING_LABEL, "throughput", KBPS, y_range=(0, 450)),
        ),
        _transfer_figure_item(
            "5.2.2",
            BULK_PART,
            "Gain of ECN against congestion, 20 MB",
            "max_p 0.1; half-filled markers are the RFC's numbers.",
            CurvePanel(
                "",
                _gains_by_host_kind(lambda hosts, load: bulk_throughput_gain(int(load), 0.1, hosts), _LOAD_COUNTS),
                published.BULK_BY_LOAD,
            ),
            AxisSettings(_CONGESTING_LABEL, "gain", PERCENT),
        ),
        _transfer_figure_item(
            "5.2.3",
            BULK_PART,
            "Gain of ECN against max_p, 20 MB",
            "10 congesting flows; half-filled markers are the RFC's numbers.",
            CurvePanel(
                "",
                _gains_by_host_kind(lambda hosts, max_p: bulk_throughput_gain(_HIGH_LOAD, max_p, hosts), MAX_PS),
                published.BULK_BY_MAX_P,
            ),
            AxisSettings(_MAX_P_LABEL, "gain", PERCENT, ticks=MAX_PS),
        ),
        curve_figure(
            "5.2.4",
            "Gain of ECN against max_p at each level of congestion, 20 MB",
            "Reno.",
            [
                CurvePanel(
                    "",
                    {
                        f"{level} congestion": {max_p: bulk_throughput_gain(load, max_p) for max_p in MAX_PS}
                        for level, load in CONGESTION_LEVELS.items()
                    },
                )
            ],
            AxisSettings(_MAX_P_LABEL, "gain", PERCENT, ticks=MAX_PS),
            part=BULK_PART,
            palette=testbed.PALETTE,
        ),
        _transfer_figure_item(
            "5.2.5",
            BULK_PART,
            "Retransmissions of 20 MB",
            "Reno, 10 congesting flows: packets sent again as a share of all that were sent.",
            CurvePanel("", _metric_with_and_without_ecn(retransmitted_share, by_max_p)),
            AxisSettings(_MAX_P_LABEL, "sent again", PERCENT, ticks=MAX_PS),
        ),
        _transfer_figure_item(
            "5.2.6",
            BULK_PART,
            "Retransmissions after a timeout, 20 MB without ECN",
            "10 congesting flows: packets sent again after a timeout as a share of all that were sent again.",
            CurvePanel(
                "",
                _gains_by_host_kind(
                    lambda hosts, max_p: timeout_share_of_retransmissions(
                        competing_bulk_transfers_scenario(_HIGH_LOAD, max_p, hosts), WITHOUT_ECN
                    ),
                    MAX_PS,
                ),
            ),
            AxisSettings(_MAX_P_LABEL, "after a timeout", PERCENT, y_range=(0, 100), ticks=MAX_PS),
        ),
        _transfer_figure_item(
            "5.2.7",
            BULK_PART,
            "Retransmissions after a timeout at each level of congestion, 20 MB without ECN",
            "Reno: packets sent again after a timeout as a share of all that were sent again.",
            CurvePanel("", _bulk_transfer_measures_by_congestion_level(lambda need: timeout_share_of_retransmissions(need, WITHOUT_ECN))),
            AxisSettings(_MAX_P_LABEL, "after a timeout", PERCENT, y_range=(0, 100), ticks=MAX_PS),
        ),
        _transfer_figure_item(
            "5.2.8",
            BULK_PART,
            "Windows with several drops, 20 MB without ECN",
            "Reno: windows of a transfer in which two packets or more were dropped. A window lasts for the mean RTT.",
            CurvePanel(
                "",
                _bulk_transfer_measures_by_congestion_level(
                    lambda need: windows_with_several_drops(with_event_recording(need), WITHOUT_ECN)
                ),
            ),
            AxisSettings(_MAX_P_LABEL, "windows with several drops", COUNT, ticks=MAX_PS),
        ),
        _transfer_figure_item(
            "5.2.9",
            BULK_PART,
            "Retransmissions at each level of congestion, 20 MB with ECN",
            "Reno: packets of a transfer that were sent again.",
            CurvePanel("", _bulk_transfer_measures_by_congestion_level(lambda need: retransmissions_measure(need, WITH_ECN))),
            AxisSettings(_MAX_P_LABEL, "packets sent again", COUNT, ticks=MAX_PS),
        ),
    ]


def _transaction_items() -> list[StudyItem]:
    return [
        _transfer_figure_item(
            "5.3.1",
            SHORT_PART,
            "Transactions a second against congestion, 5 KB",
            "Reno, max_p 0.1: completed transactions over three minutes.",
            CurvePanel(
                "",
                _metric_with_and_without_ecn(
                    transaction_rate_measure, {load: competing_transactions_scenario(5, load, 0.1) for load in _LOAD_COUNTS}
                ),
            ),
            AxisSettings(_CONGESTING_LABEL, "transactions", PER_SECOND),
        ),
        _transfer_figure_item(
            "5.3.2",
            SHORT_PART,
            "Transactions a second against max_p, 5 KB",
            "Reno, 10 congesting flows; half-filled markers are the RFC's numbers, taken for those with ECN.",
            CurvePanel(
                "",
                _metric_with_and_without_ecn(
                    transaction_rate_measure, {max_p: competing_transactions_scenario(5, _HIGH_LOAD, max_p) for max_p in MAX_PS}
                ),
                {WITH_ECN: published.RATE_BY_MAX_P},
            ),
            AxisSettings(_MAX_P_LABEL, "transactions", PER_SECOND, ticks=MAX_PS),
        ),
        _transfer_figure_item(
            "5.3.3",
            SHORT_PART,
            "Gain of ECN against congestion, 5 KB",
            "max_p 0.1; half-filled markers are the RFC's numbers.",
            CurvePanel(
                "",
                _gains_by_host_kind(lambda hosts, load: transaction_rate_gain(5, int(load), 0.1, hosts), _LOAD_COUNTS),
                published.SHORT_BY_LOAD,
            ),
            AxisSettings(_CONGESTING_LABEL, "gain", PERCENT),
        ),
        _transfer_figure_item(
            "5.3.4",
            SHORT_PART,
            "Gain of ECN against max_p, 5 KB",
            "10 congesting flows; half-filled markers are the RFC's numbers.",
            CurvePanel(
                "",
                _gains_by_host_kind(lambda hosts, max_p: transaction_rate_gain(5, _HIGH_LOAD, max_p, hosts), MAX_PS),
                published.SHORT_BY_MAX_P,
            ),
            AxisSettings(_MAX_P_LABEL, "gain", PERCENT, ticks=MAX_PS),
        ),
        curve_figure(
            "5.3.5",
            "Gain of ECN against the size of the response",
            "Reno, max_p 0.1.",
            [
                CurvePanel(
                    "",
                    {
                        f"{level} congestion": {kb: transaction_rate_gain(kb, load, 0.1) for kb in RESPONSES_KB}
                        for level, load in CONGESTION_LEVELS.items()
                    },
                )
            ],
            AxisSettings("response (KB)", "gain", PERCENT, ticks=RESPONSES_KB),
            part=SHORT_PART,
            palette=testbed.PALETTE,
        ),
        curve_figure(
            "5.3.6",
            "Retransmissions after a timeout, transactions without ECN",
            "Reno, max_p 0.1: packets sent again after a timeout as a share of all that were sent again.",
            [
                CurvePanel(
                    "",
                    {
                        f"{level} congestion": {
                            kb: timeout_share_of_retransmissions(competing_transactions_scenario(kb, load, 0.1), WITHOUT_ECN)
                            for kb in RESPONSES_KB
                        }
                        for level, load in CONGESTION_LEVELS.items()
                    },
                )
            ],
            AxisSettings("response (KB)", "after a timeout", PERCENT, y_range=(0, 105), ticks=RESPONSES_KB),
            part=SHORT_PART,
            palette=testbed.PALETTE,
        ),
        curve_figure(
            "5.3.7",
            "Gain of ECN against max_p by the size of the response",
            "Reno, 10 congesting flows.",
            [
                CurvePanel(
                    "", {f"{kb} KB": {max_p: transaction_rate_gain(kb, _HIGH_LOAD, max_p) for max_p in MAX_PS} for kb in RESPONSES_KB}
                )
            ],
            AxisSettings(_MAX_P_LABEL, "gain", PERCENT, ticks=MAX_PS),
            part=SHORT_PART,
            palette=testbed.PALETTE,
        ),
    ]


ITEMS = (*_bulk_transfer_items(), *_transaction_items())
