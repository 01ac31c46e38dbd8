"""Numbers that RFC 2884 prints. Its figures stand in a longer version that is lost; of them the text tells some points.

Section 5.1, fairness index:

| max_p | background with ECN | background without |
|---|---|---|
| 0.02 | 0.996888 | 0.991946 |
| 0.05 | 0.995987 | 0.988286 |
| 0.1 | 0.985403 | 0.989726 |
| 0.2 | 0.979368 | 0.983342 |

Sections 5.2 and 5.3, gain of ECN over non-ECN in per cent:

| transfer | hosts | max_p 0.1, low to high (transactions: moderate to high) | high congestion, max_p 0.02 to 0.5 |
|---|---|---|---|
| 20 MB | Reno | 23 to 50 | 10 to 60 |
| 20 MB | SACK | 5 to 15 | 10 to 40 |
| 5 KB | Reno | 42 to 62 | 20 to 140 (0.8 to 2.2 transactions a second) |
| 5 KB | SACK | 47 to 80 | 15 to 120 |
"""

from __future__ import annotations

from collections.abc import Mapping

# By whether the background has ECN, and max_p.
FAIRNESS: Mapping[tuple[bool, float], float] = {
    (True, 0.02): 0.996888,
    (True, 0.05): 0.995987,
    (True, 0.1): 0.985403,
    (True, 0.2): 0.979368,
    (False, 0.02): 0.991946,
    (False, 0.05): 0.988286,
    (False, 0.1): 0.989726,
    (False, 0.2): 0.983342,
}

# Gain in per cent by kind of host: for 20 MB and for 5 KB, by congesting flows at max_p 0.1, and by max_p at 10 congesting flows.
BULK_BY_LOAD: Mapping[str, Mapping[float, float]] = {"Reno": {2: 23, 10: 50}, "SACK": {2: 5, 10: 15}}
BULK_BY_MAX_P: Mapping[str, Mapping[float, float]] = {"Reno": {0.02: 10, 0.5: 60}, "SACK": {0.02: 10, 0.5: 40}}
SHORT_BY_LOAD: Mapping[str, Mapping[float, float]] = {"Reno": {5: 42, 10: 62}, "SACK": {5: 47, 10: 80}}
SHORT_BY_MAX_P: Mapping[str, Mapping[float, float]] = {"Reno": {0.02: 20, 0.5: 140}, "SACK": {0.02: 15, 0.5: 120}}

# Transactions of 5 KB a second by max_p at 10 congesting flows; assumed to be those with ECN.
RATE_BY_MAX_P: Mapping[float, float] = {0.02: 0.8, 0.5: 2.2}
