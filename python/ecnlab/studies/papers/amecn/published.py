"""Numbers that the paper prints: the share of the link in use, in per cent, while the load rises and falls, and the target range."""

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
# Section 4.2: where AMECN has brought the average queue back to, in packets, 15 s after the load changed: roughly where it rises, within
# that time where it falls.
TARGET_RANGE = (9.0, 12.0)
RETURN_S = 15.0
CHANGE_S = 25.0
LOAD_BACK_S = CHANGE_S + RETURN_S
# Figure 3: where the target range begins and ends between min_th and max_th.
TARGET_SHARES = (0.4, 0.6)
