"""The smallest AQM of one's own; docs/how-to/custom-aqm.md begins with it."""

import ecnlab as lab


class Threshold(lab.Aqm):
    """Marks whatever arrives while more than a few packets wait."""

    test_params = {"most": 5}
    most: int = lab.param(20, bounds=(1, 10_000), unit="packets", doc="Queue length from which every packet is marked.")

    def on_arrival(self, arrival):
        return lab.mark() if arrival.backlog.packets >= self.most else lab.PASS
