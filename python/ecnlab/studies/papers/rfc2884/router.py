"""The RED of the testbed's router R1: Linux's own (`linux-red`), with thresholds in packets of 1500 bytes.

Linux's RED has no `w_q`: its weight is a power of two that follows from the burst which passes below `min`, as tc-red(8) says. Thresholds
and weight are set here, and the burst is computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.model import ScenarioTree

PACKET_BYTES = 1500
LIMIT_PACKETS = 200
MAX_BURST_PACKETS = 1000


@dataclass(frozen=True, order=True)
class RedThresholds:
    """RED's thresholds in packets."""

    max_packets: int
    min_packets: int

    @property
    def name(self) -> str:
        """Both thresholds as the report shows them: "20 and 60 packets"."""
        return f"{self.min_packets} and {self.max_packets} packets"


def weight_log_of_burst(min_packets: int, burst: int) -> int:
    """The weight that tc derives from a burst, as the logarithm of its inverse (iproute2, tc_red_eval_ewma)."""
    wanted = burst + 1 - min_packets
    return next(log for log in range(1, 32) if wanted <= (1 - (1 - 2.0**-log) ** burst) * 2**log)


def smallest_burst_for_weight(min_packets: int, weight: int) -> int:
    """The smallest burst from which tc derives the weight 2^-weight."""
    return next(packets for packets in range(min_packets, MAX_BURST_PACKETS) if weight_log_of_burst(min_packets, packets) == weight)


def linux_red_queue(thresholds: RedThresholds, weight: int, max_p: float) -> Tree:
    """Linux's RED below the shaper: gaps even on 1 .. 1/p_b, bytes, a slope that is a power of two, and drops above `max` (section 1)."""
    return {
        "aqm": "linux-red",
        "limit": f"{LIMIT_PACKETS * PACKET_BYTES} B",
        "min": f"{thresholds.min_packets * PACKET_BYTES} B",
        "max": f"{thresholds.max_packets * PACKET_BYTES} B",
        "burst": smallest_burst_for_weight(thresholds.min_packets, weight),
        "avpkt": f"{PACKET_BYTES} B",
        "bandwidth": "1500 kbps",
        "probability": max_p,
        "harddrop": True,
        "slope": "power-of-two",
        "child": True,
    }


def red_queue_with_thresholds_and_weight(red: ScenarioTree, thresholds: RedThresholds, weight: int) -> Tree:
    """Such a queue with these thresholds and this weight, otherwise unchanged."""
    of_both = linux_red_queue(thresholds, weight, red["probability"])
    return {**red, **{key: of_both[key] for key in ("min", "max", "burst")}}


def thresholds_of_red_queue(red: ScenarioTree) -> RedThresholds:
    """The thresholds of such a queue."""
    return RedThresholds(_bytes_to_packets(red["max"]), _bytes_to_packets(red["min"]))


def weight_log_of_red_queue(red: ScenarioTree) -> int:
    """The weight of such a queue, as the logarithm of its inverse."""
    return weight_log_of_burst(_bytes_to_packets(red["min"]), red["burst"])


def _bytes_to_packets(size: str) -> int:
    return int(size.removesuffix(" B")) // PACKET_BYTES
