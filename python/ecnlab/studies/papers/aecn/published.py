"""Numbers that the thesis prints: Table 5.1, and what section 5.7.3 says of figures 5.41 to 5.44.

| Table 5.1 | Jain's index | goodput (Mbps) |
|---|---|---|
| AECN, alpha 1, 60 flows | 0.733493 | 9.9499 |
| AECN, alpha 1, 120 flows | 0.573331 | 9.200395 |
| ECN, 60 flows | 0.722963 | 9.8198 |
| ECN, 120 flows | 0.500629 | 8.552889 |
"""

from __future__ import annotations

from ecnlab.studies.papers.aecn.schemes import GOODPUT, JAIN

TABLE_5_1 = {
    ("AECN, alpha 1", 60): (0.733493, 9.9499),
    ("AECN, alpha 1", 120): (0.573331, 9.200395),
    ("ECN", 60): (0.722963, 9.8198),
    ("ECN", 120): (0.500629, 8.552889),
}
# Column of Table 5.1 for each quantity.
TABLE_5_1_COLUMNS = {JAIN: 0, GOODPUT: 1}


def values_of_table_5_1(quantity: str, name: str) -> dict[float, float]:
    """Table 5.1's values of a scheme, by the number of flows; empty for a quantity that is not in the table."""
    column = TABLE_5_1_COLUMNS.get(quantity)
    return {} if column is None else {flows: row[column] for (scheme, flows), row in TABLE_5_1.items() if scheme == name}


# Increase of quantities in per cent when AECN4's max_th is 50 instead of 30, at 120 flows.
MAX_TH_30_TO_50 = {
    "goodput": 7.0,
    "Jain's index": 7.0,
    "delay of robust flows": 17.0,
    "delay of average flows": 8.0,
    "delay of fragile flows": 7.0,
}
