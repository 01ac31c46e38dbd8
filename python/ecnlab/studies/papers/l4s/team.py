"""The L4S team's runs of November 2020: single flows at 20 to 500 Mbit/s, four RTTs at once, and Prague beside CUBIC.

Hosts of the L4S team's Linux, Prague and DCTCP over dualpi2, and CUBIC with ECN over fq_codel in one queue. Runs of 40 s, of which the
second half counts; the numbers are in reference/l4s/l4s-team.csv.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ecnlab.storage.results import Result
from ecnlab.studies.framework.claims import MBPS, ScenarioMeasure, estimate_of_quantity
from ecnlab.studies.framework.model import (
    DrawnItemContent,
    ReportTable,
    RequiredScenario,
    ResultsByKey,
    StudyItem,
    estimates_frame,
    format_with_interval,
)
from ecnlab.studies.papers.l4s.network import CONTROL_NAMES, PRAGUE, PRAGUES, flow_group, link_tree, required_scenario
from ecnlab.studies.papers.l4s.published import REFERENCE, Sender
from ecnlab.studies.papers.l4s.tables import simulated_queue_name

_DURATION_S, _MEASURE_FROM_S = 40, 20


@dataclass(frozen=True)
class PublishedTeamFlow:
    """A flow of a run of the L4S team: its control and RTT, and its published rate in Mbit/s."""

    sender: Sender
    mbps: float


@dataclass(frozen=True)
class PublishedTeamRun:
    """A run of the L4S team: its flows behind one queue."""

    name: str
    queue: str
    rate_mbps: int
    flows: Sequence[PublishedTeamFlow]

    @property
    def prague_variants_to_simulate(self) -> Sequence[str]:
        """The Pragues with which it is simulated; one name stands for a run without Prague."""
        return PRAGUES if any(flow.sender.control == PRAGUE for flow in self.flows) else PRAGUES[:1]

    @property
    def is_alone(self) -> bool:
        """Whether it has a single flow."""
        return len(self.flows) == 1


@cache
def team_runs() -> Mapping[str, PublishedTeamRun]:
    """The runs of the L4S team by name."""
    found: dict[str, PublishedTeamRun] = {}
    with (REFERENCE / "l4s-team.csv").open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file):
            flow = PublishedTeamFlow(Sender(cells["control"], float(cells["rtt_ms"])), float(cells["mbps"]))
            earlier = found[cells["run"]].flows if cells["run"] in found else ()
            found[cells["run"]] = PublishedTeamRun(cells["run"], cells["queue"], int(cells["rate_mbps"]), [*earlier, flow])
    return found


@cache
def team_run_scenario(run: str, prague: str) -> RequiredScenario:
    """A run of the L4S team with one of the two Pragues; a run without Prague has one scenario."""
    made = team_runs()[run]
    queue = simulated_queue_name(made.queue)
    senders = [flow.sender.with_control_instead_of(PRAGUE, prague) for flow in made.flows]
    name = ", ".join([run, *([prague] if len(made.prague_variants_to_simulate) > 1 else []), queue])
    groups = [flow_group(_group_name(number), sender) for number, sender in enumerate(senders, 1)]
    return required_scenario(name, [link_tree(queue, made.rate_mbps)], groups, _DURATION_S, _MEASURE_FROM_S)


def _group_name(number: int) -> str:
    return f"flow {number}"


def goodput_measures_of_run(run: str, prague: str) -> list[ScenarioMeasure]:
    """The goodput of each flow of a run."""
    made = team_runs()[run]
    need = team_run_scenario(run, prague if prague in made.prague_variants_to_simulate else made.prague_variants_to_simulate[0])
    return [ScenarioMeasure(need, "goodput_bps", group=_group_name(number)) for number in range(1, len(made.flows) + 1)]


def _draw_team_runs(results: ResultsByKey) -> DrawnItemContent:
    runs: dict[RequiredScenario, Result] = {team_run_scenario(str(run), str(prague)): result for (run, prague), result in results.items()}
    rows, data = [], []
    for run in team_runs().values():
        for at, flow in enumerate(run.flows):
            cells = [run.name, run.queue, f"{run.rate_mbps} Mbit/s", flow.sender.label, f"{flow.mbps:.1f}"]
            for prague in PRAGUES:
                if prague not in run.prague_variants_to_simulate:
                    cells += ["", ""]
                    continue
                found = estimate_of_quantity(goodput_measures_of_run(run.name, prague)[at], runs.__getitem__).scaled(MBPS.factor)
                cells += [format_with_interval(found, 1), f"{100 * (found.mean / flow.mbps - 1):+.0f} %"]
                data.append(((run.name, at + 1, flow.sender.control, flow.sender.rtt_ms, prague, flow.mbps), found))
            rows.append(cells)
    header = ["run", "queue", "link", "flow", "published"]
    header += [text for prague in PRAGUES for text in (f"simulated {CONTROL_NAMES[prague]}", f"{CONTROL_NAMES[prague]}, difference")]
    keys = ["run", "flow", "control", "rtt_ms", "prague", "published_mbps"]
    return DrawnItemContent(None, [ReportTable("Rates (Mbit/s)", header, rows)], estimates_frame(keys, "mbps", data))


TEAM_ITEM = StudyItem(
    "7",
    "Runs of the L4S team",
    "37 flows: one alone, four RTTs at once, and Prague beside CUBIC. Published rates are the mean of the second half of 40 s, one run; "
    "simulated ones are goodput in the same time. Prague and DCTCP run over the dualpi2 of 2020, CUBIC with ECN over CoDel in one queue. "
    "Runs without Prague stand in the columns of Prague of 2020. No row of Linux 7.2 hosts has these links.",
    {(run.name, prague): team_run_scenario(run.name, prague) for run in team_runs().values() for prague in run.prague_variants_to_simulate},
    _draw_team_runs,
    kind="Table",
    part="Runs of the L4S team",
)
