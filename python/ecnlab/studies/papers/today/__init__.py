"""The papers' questions for today's hosts and queues, on the thesis' networks."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import Study
from ecnlab.studies.papers.today.claims import CLAIMS
from ecnlab.studies.papers.today.figures import ITEMS
from ecnlab.studies.papers.today.overview import OVERVIEW_ITEM
from ecnlab.studies.papers.today.scenarios import (
    CUBIC_ECN,
    datagram_cross_traffic_scenario,
    exchange_clients_scenario,
    hosts_over_queue_scenario,
)

STUDY = Study(
    name="today",
    title=TITLES["today"],
    source="No paper: the questions of the thesis of 2001, of RFC 2884 and of the study of when ECN helps RED.",
    summary=(
        "CUBIC, Reno and DCTCP of current hosts over RED, AECN, CoDel, PIE, FQ-CoDel and DualPI2 on the thesis' two networks, with its "
        "packets and buffers: ECN's effect on goodput and delay, the shares of heterogeneous RTTs, lockout, "
        "short exchanges and competing datagrams. Hosts have the profile linux-6.1, validated against flows of that kernel; "
        "queues have the defaults of their RFCs."
    ),
    items=[OVERVIEW_ITEM, *ITEMS],
    claims=CLAIMS,
    networks={
        "60 flows on the thesis' network of chapter 5": hosts_over_queue_scenario(CUBIC_ECN, "FQ-CoDel"),
        "5 KB exchanges beside long flows (Figure 6)": exchange_clients_scenario("FQ-CoDel"),
        "Datagrams beside TCP (Figure 7)": datagram_cross_traffic_scenario(CUBIC_ECN, "FQ-CoDel"),
    },
)
