"""The smallest user-defined AQM, with which docs/how-to/custom-aqm.md begins."""

import ecnlab as lab


class Threshold(lab.Aqm):
    """Marks each packet that arrives at a long queue."""

    test_params = {"most": 5}
    most: int = lab.param(20, bounds=(1, 10_000), unit="packets", doc="Queue length from which every packet is marked.")

    def on_arrival(self, arrival):
        return lab.mark() if arrival.backlog.packets >= self.most else lab.PASS
