"""The step of Linux 7.2's dualpi2: Prague beside CUBIC at link rates around that at which a packet takes as long as the step."""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab.plot.style import Palette
from ecnlab.studies.framework.claims import DisplayUnit
from ecnlab.studies.framework.curves import AxisSettings, CurvePanel, curve_figure
from ecnlab.studies.papers.l4s.network import CUBIC, LINUX_7_2, LINUX_HOSTS, PRAGUE, TwoFlows, two_flows
from ecnlab.studies.papers.l4s.published import Sender
from ecnlab.studies.papers.l4s.tables import PART_STEP, STEP_HOSTS_ITEM, linux_rows

# A packet of 1500 bytes takes the step of 1 ms at 12 Mbit/s.
RATES_BELOW_MBPS = (4, 6, 8, 10, 11)
RATES_ABOVE_MBPS = (13, 16, 20, 30)
RTTS_MS = (20, 80)
STEPS: Mapping[str, str] = {
    "Linux 7.2, default": LINUX_7_2,
    "min_qlen_step 1": "dualpi2 min_qlen_step 1",
    "step_thresh 2 ms": "dualpi2 step_thresh 2 ms",
}
RATIO = DisplayUnit(1, "", 2)
_PALETTE = Palette(dict(zip(STEPS, ("#D55E00", "#0072B2", "#009E73"), strict=True)), dict(zip(STEPS, ("o", "s", "^"), strict=True)))


def prague_and_cubic_flows(queue: str, rate_mbps: int, rtt_ms: int) -> TwoFlows:
    """Prague 0.7, the first, beside CUBIC of the same RTT."""
    return two_flows(queue, rate_mbps, (Sender(PRAGUE, rtt_ms), Sender(CUBIC, rtt_ms)), LINUX_HOSTS)


def _ratios_of_linux_hosts(rtt_ms: int) -> dict[str, dict[float, float]]:
    """The ratio of Linux 7.2 hosts at the rates of which a row is stored, by step."""
    senders = (Sender(PRAGUE, rtt_ms), Sender(CUBIC, rtt_ms))
    names = {queue: name for name, queue in STEPS.items()}
    found: dict[str, dict[float, float]] = {name: {} for name in STEPS}
    for row in linux_rows(*names):
        if row.senders == senders and row.rate_mbps in RATES_BELOW_MBPS:
            found[names[row.queue]][row.rate_mbps] = row.rates_mbps[0] / row.rates_mbps[1]
    return found


STEP_ITEM = curve_figure(
    "2",
    "Prague's goodput over CUBIC's by rate of the link",
    "Prague 0.7 and CUBIC of the same RTT over the dualpi2 of Linux 7.2 with three settings of its step. A packet of 1500 bytes takes "
    "1 ms at 12 Mbit/s. Half-filled markers are Linux 7.2 hosts, one run each.",
    [
        CurvePanel(
            f"{rtt_ms} ms",
            {
                name: {rate: prague_and_cubic_flows(queue, rate, rtt_ms).ratio() for rate in (*RATES_BELOW_MBPS, *RATES_ABOVE_MBPS)}
                for name, queue in STEPS.items()
            },
            _ratios_of_linux_hosts(rtt_ms),
            "Linux 7.2 hosts",
        )
        for rtt_ms in RTTS_MS
    ],
    AxisSettings("rate of the link (Mbit/s)", "Prague over CUBIC", RATIO, y_range=(0, 3)),
    part=PART_STEP,
    palette=_PALETTE,
)
ITEMS = [STEP_ITEM, STEP_HOSTS_ITEM]
