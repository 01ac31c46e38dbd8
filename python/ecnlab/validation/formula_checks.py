"""The checks of docs/trust/formulas.md: formula, setting and tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import polars as pl

from ecnlab.packet_traces.ns2 import reference_rows
from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import Tree
from ecnlab.storage.results import Result
from ecnlab.validation import collapse, laws
from ecnlab.validation.formulas import FormulaCheck
from ecnlab.validation.samples import SampleStatistics, sample_from_row

_RTT_S = 0.1
_PACKET_BITS = 8000
# Minimum RTO of profile ns2. At a constant RTT of 100 ms its integer arithmetic gives 130 ms.
_TIMEOUT_S = 0.2
_LOSS_RATES = (0.02, 0.01, 0.001)
_RECOVERY_VARIANTS = {"Sack1": "sack1", "Newreno": "newreno", "Reno": "reno"}
# RFC 6675's recovery, with a window that is halved as a real number, not rounded to packets as in ns-2.
_NS2_QUIRKS = {"ssthresh_rounding": "real"}
_MODERN_TCP = {"recovery": "sack", "quirks": _NS2_QUIRKS}
# Formulas for periodic losses neglect one round trip per loss and half a packet of each window; see the page.
_SKIPPED_ROUNDS = 1.5


def formula_checks(*, quick: bool = False) -> list[FormulaCheck]:
    """All checks, or the quick set."""
    listed = [
        *_utilisation_checks(),
        *_mathis_checks(),
        *_pftk_checks(),
        *_reno_checks(),
        *_cubic_checks(),
        *_dctcp_checks(),
        *_ared_checks(),
        *_waiting_time_checks(),
        *_offered_load_checks(),
        *collapse.collapse_checks(),
    ]
    return [check for check in listed if check.quick or not quick]


def _utilisation_checks() -> Iterator[FormulaCheck]:
    for buffer, ns2 in ((0.048, 0.782), (0.096, 0.812), (0.248, 0.886), (0.496, 0.961), (1.0, 1.000)):
        yield FormulaCheck(
            "utilisation",
            f"buffer {buffer:g} BDP",
            "1",
            laws.reno_link_utilisation(buffer),
            0.01,
            _single_link_network("10 Mbps", "49.6 ms", round(buffer * 125), {"max_rwnd": 100_000}, (500, 2500)),
            _column("utilisation", queue=networks.BOTTLENECK),
            ns2=SampleStatistics(ns2, 0.0, 1),
            quick=True,
        )


def _mathis_checks() -> Iterator[FormulaCheck]:
    for loss in (0.001, 0.0001):
        rounds = laws.reno_rounds_between_losses(loss)
        yield FormulaCheck(
            "Mathis",
            f"periodic, p = {loss:g}",
            "1",
            laws.MATHIS_PERIODIC,
            laws.MATHIS_PERIODIC * _SKIPPED_ROUNDS / rounds,
            _packet_loss_network(_MODERN_TCP, (300, 3300), loss_every=round(1 / loss)),
            _mathis_constant(loss),
            quick=loss > 0.0005,
        )
    for (agent, loss), ns2 in recorded_ns2_packet_rates_by_agent_and_loss().items():
        factor = _RTT_S * sqrt(loss)
        yield FormulaCheck(
            "Mathis",
            f"random, p = {loss:g}, {agent}",
            "1",
            laws.MATHIS_PERIODIC,
            None,
            _random_loss_scenario(agent, loss),
            _mathis_constant(loss),
            seeds=20,
            ns2=SampleStatistics(ns2.mean * factor, ns2.sd * factor, ns2.n),
            quick=agent == "Sack1" and loss > 0.005,
        )
    yield FormulaCheck(
        "Mathis",
        "random, p = 0.0001",
        "1",
        laws.MATHIS_RANDOM,
        laws.MATHIS_RANDOM * _SKIPPED_ROUNDS / laws.reno_rounds_between_losses(1e-4),
        _packet_loss_network(_MODERN_TCP, (500, 8500), loss=1e-4),
        _mathis_constant(1e-4),
        seeds=8,
    )


def _pftk_checks() -> Iterator[FormulaCheck]:
    known = recorded_ns2_packet_rates_by_agent_and_loss()
    for loss in _LOSS_RATES:
        yield FormulaCheck(
            "PFTK",
            f"random, p = {loss:g}, Sack1",
            "packets/s",
            laws.pftk_rate(loss, _RTT_S, _TIMEOUT_S),
            None,
            _random_loss_scenario("Sack1", loss),
            _measured_rate,
            seeds=20,
            ns2=known["Sack1", loss],
            quick=loss > 0.005,
        )


def _reno_checks() -> Iterator[FormulaCheck]:
    times = {100: (100, 1000), 1_000: (300, 3000), 10_000: (1000, 6000), 100_000: (1000, 6000), 1_000_000: (1500, 4000)}
    for every, span in times.items():
        window, rounds = laws.reno_window(1 / every), laws.reno_rounds_between_losses(1 / every)
        epochs = (span[1] - span[0]) / (rounds * _RTT_S)
        yield FormulaCheck(
            "Reno's response",
            f"periodic, p = {1 / every:g}",
            "packets",
            window,
            window * (_SKIPPED_ROUNDS / rounds + 0.1 / epochs),
            _packet_loss_network(_MODERN_TCP | {"max_rwnd": 20_000}, span, loss_every=every),
            _mean_window,
            quick=every <= 10_000,
        )


def _cubic_checks() -> Iterator[FormulaCheck]:
    yield from (_cubic_as_reno_check(every) for every in (100, 1000))
    times = {1_000: (1000, 4000), 10_000: (4000, 14_000), 100_000: (4000, 9000), 1_000_000: (1000, 1600)}
    yield from (_cubic_periodic_loss_check(every, span) for every, span in times.items())
    for loss, span, seeds in ((1e-3, (100, 2100), 8), (1e-4, (500, 4500), 8), (1e-5, (500, 3000), 4)):
        window = laws.CUBIC_RANDOM * (_RTT_S / loss) ** 0.75
        yield FormulaCheck(
            "CUBIC's response",
            f"random, p = {loss:g}",
            "packets",
            window,
            window * _SKIPPED_ROUNDS / laws.cubic_rounds_between_losses(loss, _RTT_S),
            _packet_loss_network(_cubic_tcp_parameters(), span, loss=loss),
            _mean_window,
            seeds=seeds,
            quick=loss > 5e-4,
        )


def _cubic_as_reno_check(every: int) -> FormulaCheck:
    window, rounds = laws.reno_window(1 / every), laws.reno_rounds_between_losses(1 / every)
    tree = _packet_loss_network(_cubic_tcp_parameters(reno_friendly=True), (300, 3000), loss_every=every)
    setting = f"periodic, p = {1 / every:g}, as friendly as Reno"
    return FormulaCheck("CUBIC's response", setting, "packets", window, window * _SKIPPED_ROUNDS / rounds, tree, _mean_window, quick=True)


def _cubic_periodic_loss_check(every: int, span: tuple[float, float]) -> FormulaCheck:
    window, rounds = laws.cubic_mean_window(1 / every, _RTT_S), laws.cubic_rounds_between_losses(1 / every, _RTT_S)
    # A first maximum that is too high leaves a relative error of 0.94 / sqrt(n) after n losses; the page derives it.
    memory = 0.94 / sqrt(span[0] / (rounds * _RTT_S))
    tree = _packet_loss_network(_cubic_tcp_parameters(), span, loss_every=every)
    slack = window * (_SKIPPED_ROUNDS / rounds + memory)
    return FormulaCheck(
        "CUBIC's response", f"periodic, p = {1 / every:g}", "packets", window, slack, tree, _mean_window, quick=every == 1000
    )


def _dctcp_checks() -> Iterator[FormulaCheck]:
    settings = ((1, 100, 40, 0.0625), (2, 100, 40, 0.0625), (4, 100, 40, 0.0625), (10, 100, 40, 0.0625), (2, 500, 65, 0.03125))
    for flows, rtt_us, threshold, gain in settings:
        pipe = 10e9 * rtt_us * 1e-6 / 12_000
        tree = _marking_network(flows, rtt_us, threshold, gain)
        place = f"N = {flows}, RTT {rtt_us} us, K = {threshold}"
        window = (pipe + threshold) / flows
        alpha = laws.dctcp_mark_fraction(window)
        amplitude = laws.dctcp_queue_amplitude(pipe, threshold, flows)
        cycle = amplitude / flows * rtt_us * 1e-6
        queue = flows + 1.0
        yield FormulaCheck("DCTCP's alpha", place, "1", alpha, 2 / window, tree, _mean_of_samples("window", "alpha"), 4, quick=True)
        yield FormulaCheck("DCTCP's swing", place, "packets", amplitude, queue, tree, _mean_queue_length_swing(2 * cycle), 4, quick=True)
        yield FormulaCheck(
            "DCTCP's maximum",
            place,
            "packets",
            threshold + flows,
            queue,
            tree,
            _column("length_max_packets", queue=networks.BOTTLENECK),
            4,
            quick=True,
        )


def _ared_checks() -> Iterator[FormulaCheck]:
    for flows, ns2 in ((5, 9.66), (20, 9.91), (50, 10.04), (100, 10.12)):
        yield FormulaCheck(
            "Adaptive RED",
            f"{flows} flows",
            "packets",
            laws.ared_target_average(5, 15),
            laws.ared_target_half_range(5, 15),
            _adaptive_red_network(flows),
            _mean_of_samples("queue", "average_packets"),
            seeds=20,
            ns2=SampleStatistics(ns2, 0.0, 1),
            quick=flows == 20,
        )


def _waiting_time_checks() -> Iterator[FormulaCheck]:
    """Poisson datagrams of one size and of exponential sizes at a link; one mean packet lasts 0.1 ms."""
    for queue, size, variation in (("M/D/1", "1000 B", 0), ("M/M/1", "exponential 1000 B", 1)):
        for load in (0.5, 0.8, 0.9):
            yield FormulaCheck(
                "Wait in a queue",
                f"{queue}, load {load:g}",
                "packets",
                laws.mg1_mean_wait(load, variation),
                0.0,
                _poisson_network(load, size),
                _column("sojourn_mean_s", 1e-4, queue=networks.BOTTLENECK),
                seeds=10,
                quick=load < 0.6,
            )


def _offered_load_checks() -> Iterator[FormulaCheck]:
    """Flow arrivals at a given load carry that load, where the link is not overloaded."""
    for process in ("poisson", "pareto", "deterministic"):
        shape = {"shape": 2.5} if process == "pareto" else {}
        app = {"kind": "arrivals", "load": 0.5, "rate": "10 Mbps", "process": process, "size": "exponential 10 KB"} | shape
        link = networks.bottleneck_link("10 Mbps", "1 ms", {"aqm": "droptail", "limit": 10_000})
        flows = {"name": "short", "from": "router", "to": "sink", "tcp": {"profile": "linux"}, "app": app}
        tree = networks.dumbbell_scenario("arrivals", link, [flows], duration="420 s", measure_from="20 s")
        yield FormulaCheck(
            "Offered load", f"{process} arrivals", "1", 0.5, 0.0, tree, _column("goodput_bps", 10e6), seeds=10, quick=process == "poisson"
        )


def recorded_ns2_packet_rates_by_agent_and_loss() -> dict[tuple[str, float], SampleStatistics]:
    """ns-2's acknowledged packets per second by agent and loss probability."""
    rows = reference_rows("formulas")
    return {(row["agent"], float(row["loss"])): sample_from_row(row, "packets_per_s") for row in rows}


def _random_loss_scenario(agent: str, loss: float) -> Tree:
    return _packet_loss_network({"recovery": _RECOVERY_VARIANTS[agent]}, (100, 5100), loss=loss)


def _cubic_tcp_parameters(*, reno_friendly: bool = False) -> Tree:
    quirks = _NS2_QUIRKS | {"cubic_fast_convergence": False, "cubic_reno_friendly": reno_friendly}
    return {"variant": "cubic"} | _MODERN_TCP | {"quirks": quirks}


def _packet_loss_network(tcp: Tree, span: tuple[float, float], **impairment: Any) -> Tree:
    """A path without queueing on which packets are lost at random or periodically."""
    return _single_link_network("10 Gbps", "50 ms", 1_000_000, {"max_rwnd": 100_000} | tcp, span, **impairment)


def _single_link_network(rate: str, delay: str, limit: int, tcp: Tree, span: tuple[float, float], **impairment: Any) -> Tree:
    link = networks.bottleneck_link(rate, delay, {"aqm": "droptail", "limit": limit}, **impairment)
    flow = {"name": "flow", "from": "router", "to": "sink", "tcp": {"profile": "ns2"} | tcp}
    return networks.dumbbell_scenario("one flow", link, [flow], duration=f"{span[1]} s", measure_from=f"{span[0]} s")


def _marking_network(flows: int, rtt_us: int, threshold: int, gain: float) -> Tree:
    """DCTCP flows over a queue that marks from `threshold` packets on: RED without averaging or a ramp."""
    step = {"min_th": threshold, "max_th": threshold + 1e-6, "max_p": 1, "w_q": 1, "wait": False, "floor": 0}
    hop = f"{rtt_us / 4} us"
    tcp = {"profile": "ns2", "variant": "dctcp", "packet_size": 1500, "max_rwnd": 100_000, "dctcp_g": gain}
    link = networks.bottleneck_link("10 Gbps", hop, {"aqm": "ecnm", "limit": 2000} | step)
    access = {"rate": "20 Gbps", "delay": hop, "spread": "1 us", "limit": 100_000}
    record = {"queue": f"{rtt_us / 20} us", "window": f"{rtt_us} us"}
    groups = [networks.flow_group("flows", flows, access, tcp)]
    return networks.dumbbell_scenario("DCTCP", link, groups, duration="0.5 s", measure_from="0.1 s", record=record)


def _adaptive_red_network(flows: int) -> Tree:
    """Reno flows over Adaptive RED as ns-2 has it, thresholds 5 and 15, on the dumbbell of Durresi et al. 2007, section 4.1, at 15 Mbps."""
    as_ns2 = {"adapt": "arrivals", "bottom": "auto", "gentle_line": "first", "mean_packet": "500 B"}
    queue = {"aqm": "ared", "limit": 100, "min_th": 5, "max_th": 15, "ecn": False} | as_ns2
    access = {"rate": "10 Mbps", "delay": "2 ms", "spread": "1 ms"}
    starts = [f"{5 * number / flows:.3f} s" for number in range(flows)]
    group = networks.flow_group("flows", flows, access, {"profile": "ns2", "variant": "reno", "max_rwnd": 1000}, start=starts)
    link = networks.bottleneck_link("15 Mbps", "44 ms", queue)
    return networks.dumbbell_scenario("Adaptive RED", link, [group], duration="100 s", measure_from="50 s", record={"queue": "100 ms"})


def _poisson_network(load: float, size: str) -> Tree:
    """Poisson datagrams without headers over 80 Mbps, where a packet of 1000 bytes lasts 0.1 ms."""
    app = {"kind": "poisson", "rate": f"{80 * load:g} Mbps", "size": size}
    flow = {"name": "packets", "from": "router", "to": "sink", "udp": {"packet_size": 65_535, "header": 0}, "app": app}
    link = networks.bottleneck_link("80 Mbps", "1 ms", {"aqm": "droptail", "limit": 1_000_000})
    return networks.dumbbell_scenario("Poisson datagrams", link, [flow], duration="220 s", measure_from="20 s")


def _column(quantity: str, unit: float = 1.0, **row: str) -> Callable[[Result], list[float]]:
    """A column in this unit."""
    return lambda result: [value / unit for value in result.values(quantity, **row)]


_measured_rate = _column("goodput_bps", _PACKET_BITS)


def _mean_window(result: Result) -> list[float]:
    """Time-averaged window by Little's law: packets delivered per round trip."""
    return [rate * _RTT_S for rate in _measured_rate(result)]


def _mathis_constant(loss: float) -> Callable[[Result], list[float]]:
    return lambda result: [window * sqrt(loss) for window in _mean_window(result)]


def _mean_of_samples(series: str, column: str) -> Callable[[Result], list[float]]:
    """Mean over time of a column of a series."""
    return lambda result: _apply_to_series_by_seed(
        result, getattr(result.series, series), lambda part: float(part[column].to_numpy().mean())
    )


def _mean_queue_length_swing(every_s: float) -> Callable[[Result], list[float]]:
    """Peak-to-peak queue length, averaged over intervals of `every_s`."""

    def mean_swing(part: pl.DataFrame) -> float:
        spell = (part["time_s"] / every_s).floor()
        length = part["length_packets"].cast(pl.Float64)
        spells = pl.DataFrame({"spell": spell, "length": length}).group_by("spell").agg(pl.max("length") - pl.min("length"))
        return float(spells["length"].to_numpy().mean())

    return lambda result: _apply_to_series_by_seed(result, result.series.queue, mean_swing)


def _apply_to_series_by_seed(result: Result, series: pl.DataFrame, of: Callable[[pl.DataFrame], float]) -> list[float]:
    measured = series.filter(pl.col("time_s") >= result.header["measure_from_s"])
    return [of(measured.filter(pl.col("seed") == seed)) for seed in result.seeds]
