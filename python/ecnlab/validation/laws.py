"""Formulas for TCP's throughput and for queues, as functions. docs/trust/formulas.md has their sources and limits."""

from __future__ import annotations

from math import sqrt

# Mathis et al. 1997: sqrt(3/2) for periodic losses. Ott, Kemperman and Mathis 1996: the limit for random losses and p -> 0.
MATHIS_PERIODIC = sqrt(1.5)
MATHIS_RANDOM = 1.3098
# Poojary and Sharma 2015: CUBIC's constant for random losses and p -> 0 with C = 0.4 and beta = 0.7; 1.0538 for periodic ones.
CUBIC_RANDOM = 1.3004
CUBIC_C, CUBIC_BETA = 0.4, 0.7


def reno_link_utilisation(buffer: float) -> float:
    """Utilization of a link with one Reno flow and a drop-tail buffer of `buffer` <= 1 bandwidth-delay products."""
    return (3 + 6 * buffer - buffer**2) / (4 * (1 + buffer))


def reno_window(loss: float) -> float:
    """Mean window in packets at one loss in 1/`loss` packets: sqrt(3/2) / sqrt(p)."""
    return MATHIS_PERIODIC / sqrt(loss)


def reno_rounds_between_losses(loss: float) -> float:
    """Number of round trips between two losses."""
    return sqrt(2 / (3 * loss))


def cubic_mean_window(loss: float, rtt_s: float) -> float:
    """Mean window in packets at one loss in 1/`loss` packets, where CUBIC is not held up by Reno's window (RFC 9438, section 5.2)."""
    return cubic_mean_window_constant() * float((rtt_s / loss) ** 0.75)


def cubic_mean_window_constant() -> float:
    """The fourth root of C (3 + beta) / (4 (1 - beta))."""
    return float((CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25)


def cubic_rounds_between_losses(loss: float, rtt_s: float) -> float:
    """Number of round trips between two losses, in which the mean window sends 1/`loss` packets."""
    return 1 / (loss * cubic_mean_window(loss, rtt_s))


def pftk_rate(loss: float, rtt_s: float, timeout_s: float) -> float:
    """Packets per second of a Reno flow with timeouts (Padhye et al. 1998; RFC 5348, section 3.1), one ACK for each packet."""
    growth = rtt_s * sqrt(2 * loss / 3)
    timeouts = timeout_s * min(1.0, 3 * sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    return 1 / (growth + timeouts)


def dctcp_mark_fraction(window: float) -> float:
    """DCTCP's share of marks at a window of `window` packets: sqrt(2 / W)."""
    return sqrt(2 / window)


def dctcp_queue_amplitude(pipe: float, threshold: float, flows: int) -> float:
    """Amplitude of the queue's oscillation, in packets: sqrt(2 N (C RTT + K)) / 2."""
    return sqrt(2 * flows * (pipe + threshold)) / 2


def mg1_mean_wait(load: float, variation: float) -> float:
    """Mean wait in an M/G/1 queue, in mean service times (Pollaczek and Khinchine): 0 variation is M/D/1, 1 is M/M/1.

    `variation` is the variance of the service times by their mean squared.
    """
    return load * (1 + variation) / (2 * (1 - load))


def ared_target_average(min_th: float, max_th: float) -> float:
    """The average queue at which Adaptive RED settles, in packets."""
    return (min_th + max_th) / 2


def ared_target_half_range(min_th: float, max_th: float) -> float:
    """Tolerance of Adaptive RED's average around its target: the target range is 0.4 to 0.6 between the thresholds."""
    return 0.1 * (max_th - min_th)
