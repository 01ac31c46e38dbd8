"""An AQM that uses every hook, as in aqms.js."""

import ecnlab as lab
from ecnlab.aqm import exp, ln


class EveryHook(lab.Aqm):
    """Uses every hook."""

    groups = 2
    pause: float = lab.param(0.05, unit="s")
    share: float = lab.param(0.02, bounds=(0, 1))
    deadlines: float = lab.gauge()
    idles: float = lab.gauge()
    decay: float = lab.gauge()

    def on_start(self):
        self.signal = False
        self.rates = 0
        return self.pause

    def group(self, packet):
        return packet.flow % 2

    def on_arrival(self, arrival):
        if arrival.groups[0].packets > 3 * arrival.groups[1].packets + 8:
            return lab.mark(group=0, cause="forced")
        if arrival.backlog.packets > 30:
            return lab.drop("front")
        return lab.drop(2) if arrival.backlog.packets > 25 else lab.PASS

    def on_departure(self, departure):
        if self.signal and departure.waited_s > 0.001:
            self.signal = False
            return lab.mark()
        return lab.drop(cause="forced") if self.random() < self.share * self.decay else lab.PASS

    def on_deadline(self, context):
        self.deadlines += 1
        self.decay = exp(-context.head_waited_s) * ln(2 + context.backlog.bytes) / 10
        self.signal = self.random() < 0.5
        return context.now_s + self.pause * (1 + self.rates)

    def on_idle(self, idling):
        self.idles += 1 if idling.now_s > 0 else 0

    def on_rate(self, rate_bps):
        self.rates += 1 if rate_bps > 0 else 0
