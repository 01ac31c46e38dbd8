"""The paper's numbers: the link's utilization in per cent while the load rises and falls, and the target range."""

from __future__ import annotations

from collections.abc import Mapping

LOAD_NAMES = ("rise", "fall")
SCHEMES = ("MECN", "AMECN")

# Section 4.2, by load and scheme.
UTILISATION_PERCENT: Mapping[tuple[str, str], float] = {
    ("rise", "MECN"): 94.5,
    ("rise", "AMECN"): 96.3,
    ("fall", "MECN"): 93.4,
    ("fall", "AMECN"): 94.5,
}
# Section 4.2: the average queue in packets to which AMECN returns 15 s after the load changed: roughly that after a rise, within
# that time after a fall.
TARGET_RANGE = (9.0, 12.0)
RETURN_S = 15.0
CHANGE_S = 25.0
LOAD_BACK_S = CHANGE_S + RETURN_S
# Figure 3: begin and end of the target range between min_th and max_th.
TARGET_SHARES = (0.4, 0.6)
