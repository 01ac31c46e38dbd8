"""Numbers that the thesis prints.

| Table 5.1 | Jain's index | goodput (Mbps) |
|---|---|---|
| AECN, alpha 1, 60 flows | 0.733493 | 9.9499 |
| AECN, alpha 1, 120 flows | 0.573331 | 9.200395 |
| ECN, 60 flows | 0.722963 | 9.8198 |
| ECN, 120 flows | 0.500629 | 8.552889 |
"""

from __future__ import annotations

TABLE_5_1 = {
    ("AECN, alpha 1", 60): (0.733493, 9.9499),
    ("AECN, alpha 1", 120): (0.573331, 9.200395),
    ("ECN", 60): (0.722963, 9.8198),
    ("ECN", 120): (0.500629, 8.552889),
}
