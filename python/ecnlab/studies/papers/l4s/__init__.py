"""L4S: published shares of Prague and CUBIC, and those of Linux 7.2 hosts."""

from __future__ import annotations

from ecnlab.studies import TITLES
from ecnlab.studies.framework.model import InadmissibleSetup, Study
from ecnlab.studies.papers.l4s import overload, rate_step, step, tables, team
from ecnlab.studies.papers.l4s.claims import CLAIMS
from ecnlab.studies.papers.l4s.network import CUBIC, OF_2020, PRAGUE_2020, SCENARIO_1, two_flows, with_dualpi2_of_linux_7_2
from ecnlab.studies.papers.l4s.overload_claims import OVERLOAD_CLAIMS
from ecnlab.studies.papers.l4s.published import Sender
from ecnlab.studies.papers.l4s.rate_step_claims import RATE_STEP_CLAIMS
from ecnlab.studies.papers.l4s.requirement_tests import REQUIREMENT_CLAIMS, REQUIREMENTS_ITEM
from ecnlab.studies.papers.l4s.team_claims import TEAM_CLAIMS

STUDY = Study(
    name="l4s",
    title=TITLES["l4s"],
    source=(
        "P. Heist and J. Morton, L4S Tests, 2020, github.com/heistp/l4s-tests; the L4S team's ICCRG experiments and overload results, "
        "github.com/L4STeam/l4steam.github.io; RFC 9331; runs of Linux 7.2 hosts."
    ),
    summary=(
        "Two endless flows of Prague and CUBIC over DualPI2, drop-tail and FQ-CoDel at 10 and 50 Mbit/s, with RTTs of 10 to 160 ms, and "
        "Prague beside CUBIC and Reno in six shared queues of RFC 3168: each row published in 2020, with the Prague of that year and with "
        "Prague 0.7, beside rows of Linux 7.2 hosts; steps of the rate over FQ-CoDel; overload by unresponsive "
        "datagrams; single flows up to 500 Mbit/s; and the Prague requirements of RFC 9331 as a table of tests. Hosts have the profile "
        "linux-7.2."
    ),
    items=[*tables.ITEMS, *step.ITEMS, rate_step.RATE_STEP_ITEM, *overload.ITEMS, team.TEAM_ITEM, REQUIREMENTS_ITEM],
    claims=[*CLAIMS, *RATE_STEP_CLAIMS, *OVERLOAD_CLAIMS, *TEAM_CLAIMS, *REQUIREMENT_CLAIMS],
    alternatives=[
        InadmissibleSetup(
            "dualpi2 of Linux 7.2",
            "The published runs have a kernel of August 2020. The L4S team's sch_dualpi2 of that time spares a packet the step unless "
            "it finds more than one in the L queue, as min_qlen_step 2 does today. Linux 7.2 exempts none by default. Against it: the "
            "published rates at 10 Mbit/s, where Linux 7.2 starves Prague (L12).",
            with_dualpi2_of_linux_7_2,
        )
    ],
    full_seed_count=10,
    networks={
        "Prague of 160 ms and CUBIC of 10 ms over DualPI2": two_flows(
            OF_2020, 50, (Sender(PRAGUE_2020, 160), Sender(CUBIC, 10)), SCENARIO_1
        ).need,
        "Datagrams with ECT(1) beside responsive flows (Figure 3)": overload.overload_scenario(overload.DUALPI2, 110, overload.WITH_ECT),
    },
)
