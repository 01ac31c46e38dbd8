"""RED (Floyd and Jacobson 1993) as a user would write it; docs/how-to/custom-aqm.md explains it.

With its defaults it decides for each packet as the built-in `red`, and with ecn = true as `ecn`.
"""

import ecnlab as lab
from ecnlab.aqm import Arrival, Idling, Verdict, powi


class RedByHand(lab.Aqm):
    """RED, written by hand."""

    source = "Floyd and Jacobson 1993"
    test_params = {"w_q": 1, "min_th": 2, "max_th": 12, "max_p": 1, "ecn": True}

    min_th: float = lab.param(5, bounds=(0, 1e9), unit="packets", doc="Average queue length below which no packet is signalled.")
    max_th: float = lab.param(15, bounds=(0, 1e9), unit="packets", doc="Average queue length from which every packet is dropped.")
    max_p: float = lab.param(0.1, bounds=(0, 1), doc="What p_b, the probability before signals are spaced out, reaches at max_th.")
    w_q: float = lab.param(0.002, bounds=(0, 1), doc="Weight of the newest queue length in the average.")
    mean_packet: int = lab.param(500, bounds=(1, 65_535), unit="bytes", doc="Packet size of the idle link's estimate.")
    ecn: bool = lab.param(False, doc="Early signals mark packets that are ECN-capable, instead of dropping them.")

    average: float = lab.gauge(unit="packets", doc="Average queue length.")
    probability: float = lab.gauge(doc="p_b, the probability before signals are spaced out.")

    def check(self) -> dict[str, str]:
        return {"min_th": f"{self.min_th} must be below max_th {self.max_th}"} if self.min_th >= self.max_th else {}

    def on_start(self) -> None:
        self.packet_time_ps = self.line.packet_time_ps(self.mean_packet)
        self.idle_since_ps = -1  # the link is busy
        self.count = 0
        self.above = False

    def on_idle(self, idling: Idling) -> None:
        self.idle_since_ps = idling.now_ps

    def on_arrival(self, arrival: Arrival) -> Verdict:
        idle_since_ps, sent = self.idle_since_ps, 0
        if idle_since_ps >= 0:  # the idle link could have sent so many packets
            sent = (arrival.now_ps - idle_since_ps) // self.packet_time_ps
        self.idle_since_ps = -1
        self.average = self.average * powi(1 - self.w_q, sent + 1) + self.w_q * arrival.backlog.packets
        self.count += 1
        verdict = self.judge(arrival)
        if arrival.full:
            self.count = 0
            verdict = lab.drop(cause="overflow")
        dropped = verdict != lab.PASS and verdict != lab.mark()
        if dropped and idle_since_ps >= 0:  # the link stays idle
            self.idle_since_ps = idle_since_ps + sent * self.packet_time_ps
        return verdict

    def judge(self, arrival: Arrival) -> Verdict:
        p_b = self.max_p * (self.average - self.min_th) / (self.max_th - self.min_th)
        self.probability = min(max(p_b, 0.0), 1.0) if self.average < self.max_th else 1.0
        if self.average < self.min_th or arrival.backlog.packets <= 1:
            self.above = False
            return lab.PASS
        if self.average >= self.max_th:
            self.count = 0
            return lab.drop(cause="forced")
        if not self.above:  # the first above min_th passes
            self.above = True
            self.count = 1
            return lab.PASS
        passed = self.count * p_b
        p_a = 0.0 if passed < 1 else p_b / (2 - passed) if passed < 2 else 1.0
        if self.random() >= p_a:
            return lab.PASS
        self.count = 0
        return lab.mark() if self.ecn else lab.drop()


class CompiledRed(RedByHand, compiled=True):
    """RED, written by hand and compiled by numba."""
