"""RFC 2884 (2000): the effect of ECN on bulk transfers and short transactions of Linux hosts."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import Study
from ecnlab.studies.papers.rfc2884 import fairness, testbed, transfers
from ecnlab.studies.papers.rfc2884.choices import ALTERNATIVES, OPEN_PARAMETERS
from ecnlab.studies.papers.rfc2884.claims import CLAIMS
from ecnlab.studies.papers.rfc2884.kernels import scenario_on_kernels

STUDY = Study(
    name="rfc2884",
    title=TITLES["rfc2884"],
    source="J. Hadi Salim, U. Ahmed: Performance Evaluation of Explicit Congestion Notification (ECN) in IP Networks. RFC 2884, July 2000.",
    summary=(
        "A server, a router with Linux's RED that shapes to 1.5 Mbit/s, a router that delays by 20 ms, and receivers with and without ECN "
        "beside 2, 5 or 10 congesting flows: transfers of 20 MB by their user's throughput, and transactions of 5, 10 and 20 KB by how "
        "many are completed in a second. Hosts are Linux 2.0 (Reno) and 2.2 (SACK, NewReno)."
    ),
    items=[*fairness.ITEMS, *transfers.ITEMS],
    claims=CLAIMS,
    open_parameters=OPEN_PARAMETERS,
    alternatives=ALTERNATIVES,
    networks={"The testbed of section 4.1": testbed.competing_bulk_transfers_scenario(testbed.CONGESTION_LEVELS["low"], 0.1)},
    on_kernels=scenario_on_kernels,
)
