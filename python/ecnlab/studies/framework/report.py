"""A study's report: one self-contained HTML file that opens offline.

It holds no date and no machine's name: the same engine, study and seeds give the same bytes. Figures link to the laboratory only if the
package has one.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ecnlab import _core, diagram
from ecnlab.backends import base
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.errors import Failure
from ecnlab.scenarios.load import scenario
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.studies.framework import judgements, lab_links, page, report_folder, verdicts
from ecnlab.studies.framework.claims import ClaimDecision, StatementEstimate
from ecnlab.studies.framework.drawing import DrawnItem
from ecnlab.studies.framework.model import InadmissibleSetup, Study
from ecnlab.studies.framework.plan import PlannedScenario, StudyPlan
from ecnlab.studies.framework.setups import alternatives_and_robustness_checks
from ecnlab.studies.framework.strip import statement_interval_svg

_TEMPLATES_FOLDER = Path(__file__).parent / "templates"

# Keys of a scenario that are names, not parameters.
_NAME_KEYS = ("name", "link.name", "flows.name")
_MAX_OPEN_VALUES = 8  # rows of an item's tables; longer ones are collapsed


@dataclass(frozen=True)
class StudyReportContent:
    """Contents of a study's report: decided claims, drawn items, failed runs and the items omitted because of them, the plan of the runs,
    the fingerprint of each scenario's first seed by its key, the command
    that repeats the study, the number of seeds of a full run, whether claims were decided in all admissible set-ups, and whether the
    laboratory is beside the report.
    """

    decisions: Sequence[ClaimDecision]
    drawn: Sequence[DrawnItem]
    failures: Sequence[Failure]
    left_out: Sequence[str]
    plan: StudyPlan
    fingerprints: Mapping[str, str]
    command: str
    seeds_in_full: int
    in_all_setups: bool = False
    has_laboratory: bool = False


def report_as_html(study: Study, made: StudyReportContent) -> str:
    """The report as HTML text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(_TEMPLATES_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    scenarios = made.plan.planned_scenarios
    shown = {drawn.item.file_stem for drawn in made.drawn}
    stems = {decision.claim.id: [study.find_item(number).file_stem for number in decision.claim.figures] for decision in made.decisions}
    full = len(made.plan.seeds) >= made.seeds_in_full and (made.in_all_setups or not study.open_parameters)
    in_full = page.read_full_run_verdicts(study.name)
    of_study = made.plan.backend == SIMULATOR and not made.plan.is_rewritten
    readers = judgements.reader_judgements_of_study(study.name)
    rows = [
        _claim_row(decision, [stem if stem in shown else "" for stem in stems[decision.claim.id]])
        | {"judged": readers.get(decision.claim.id)}
        | {"why": verdicts.why_claim_fails(decision, in_full, full=full, seeds_in_full=made.seeds_in_full, of_study=of_study)}
        for decision in made.decisions
    ]
    return environment.get_template("report.html.j2").render(
        study=study,
        version=_core.VERSION,
        build=_core.BUILD,
        made=made,
        hosts="" if of_study else _backend_hosts_text(made.plan),
        full=full,
        seeds=seeds_as_text(made.plan.seeds),
        papers=_ReportClaimList([row for row in rows if not row["claim"].own]),
        own=_ReportClaimList([row for row in rows if row["claim"].own]),
        alternatives=[
            _changed_verdicts_of_alternative(alternative, made.decisions) for alternative in alternatives_and_robustness_checks(study)
        ]
        if made.in_all_setups
        else [],
        networks=[(name, b64encode(drawn.encode()).decode()) for name, drawn in network_svg_by_title(study).items()],
        parts=[
            (part, list(sections))
            for part, sections in groupby(_item_section_contexts(made, stems), key=lambda section: section["item"].part)
        ],
        page=Markup(page.page_as_html(study.name)),
        runs=[_planned_run_row(planned, made.fingerprints) for planned in scenarios],
        settings=_parameter_settings(scenarios),
    )


def network_svg_by_title(study: Study) -> dict[str, str]:
    """The networks of a study as SVG, by their titles."""
    return {title: diagram.network_svg(scenario(need.scenario)) for title, need in study.networks.items()}


def _changed_verdicts_of_alternative(alternative: InadmissibleSetup, decisions: Sequence[ClaimDecision]) -> dict[str, Any]:
    """An alternative with the claims whose verdict it changes, and the number of unchanged verdicts."""
    rows: list[tuple[Any, ...]] = []
    same: list[tuple[Any, ...]] = []
    for decision in decisions:
        if (found := decision.alternatives.get(alternative.name)) is not None:
            main = decision.setups[0].verdict if decision.setups else decision.verdict
            (same if found.verdict == main else rows).append(
                (decision.claim, main, found, _statement_row(verdicts.deciding_statement(found)))
            )
    return {"alternative": alternative, "rows": rows, "same": [claim.id for claim, *_ in same]}


def _setups_of_claim_to_dict(decision: ClaimDecision) -> dict[str, Any]:
    """The admissible set-ups of a claim: the open parameters that differ, and in each set-up their values, verdict and deciding number."""
    names = list(decision.setups[0].values)
    rows = [
        (
            [setup.values[name] for name in names],
            setup.verdict,
            verdicts.VERDICT_SIGNS[setup.verdict],
            _statement_row(verdicts.deciding_statement(setup)),
        )
        for setup in decision.setups
    ]
    return {
        "names": names,
        "rows": rows,
        "told": verdicts.verdicts_of_setups_text(decision.setups),
        "depends_on": verdicts.parameters_that_change_verdict(decision.setups),
    }


def _backend_hosts_text(plan: StudyPlan) -> str:
    """The hosts, if they differ from the study's."""
    if plan.backend == SIMULATOR:
        return "Hosts are simulated, and those to which kernels are set on other backends."
    return f"Hosts are real kernels: {base.backend_identity_text(base.backend_to_dict(plan.backend))}."


class _ReportClaimList:
    """A section of claims, the counts of their verdicts, and whether published or ns-2's numbers are shown beside ours."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows
        self.beside = any(row["first"]["published"] or row["first"]["ns2"] for row in rows)
        self.counted = verdicts.verdict_counts_text([row["decision"] for row in rows])


def _claim_row(decision: ClaimDecision, stems: Sequence[str]) -> dict[str, Any]:
    """A claim for the report's table; `stems` are the file stems of its figures, empty for items that the report omits."""
    claim, first = decision.claim, verdicts.deciding_statement(decision)
    return {
        "decision": decision,
        "claim": claim,
        "sign": verdicts.VERDICT_SIGNS[decision.verdict],
        "first": _statement_row(first),
        "statements": [_statement_row(weighed) for weighed in decision.estimates],
        "standings": verdicts.statement_statuses_text(decision),
        "map": _setups_of_claim_to_dict(decision) if decision.setups else None,
        "figures": list(zip(claim.figures, stems, strict=True)),
    }


def _statement_row(weighed: StatementEstimate) -> dict[str, Any]:
    from markupsafe import Markup

    published, ours, ns2 = verdicts.published_and_measured_texts(weighed)
    return {
        "text": weighed.statement.text,
        "range": verdicts.claimed_range_text(weighed),
        "published": published,
        "ours": ours,
        "ns2": ns2,
        "strip": Markup(statement_interval_svg(weighed)),
        "standing": str(weighed.status),
        "sign": verdicts.STATUS_SIGNS[weighed.status],
    }


def _item_section_contexts(made: StudyReportContent, stems: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Each item for the report, with the claims that refer to it: `stems` has the items of each claim."""
    for drawn in made.drawn:
        folded = sum(len(table.rows) for table in drawn.tables) > _MAX_OPEN_VALUES
        yield {
            "item": drawn.item,
            "image": "" if drawn.svg is None else b64encode(drawn.svg).decode(),
            "tables": drawn.tables,
            "folded": folded,
            "lab": lab_links.link_of_item(drawn.item, report_folder.LAB_PAGE) if made.has_laboratory else None,
            "files": [(ending.upper(), f"figures/{drawn.item.file_stem}.{ending}") for ending in drawn.files],
            "claims": [
                (d.claim, verdicts.VERDICT_SIGNS[d.verdict], d.verdict) for d in made.decisions if drawn.item.file_stem in stems[d.claim.id]
            ],
        }


def _planned_run_row(planned: PlannedScenario, fingerprints: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": planned.scenario.name,
        "key": planned.scenario.hash[:16],
        "recorded": ", ".join(planned.recorded),
        "seeds": seeds_as_text(planned.seeds),
        "fingerprint": fingerprints.get(planned.scenario.hash, "")[:16],
    }


def _parameter_settings(scenarios: Sequence[PlannedScenario]) -> list[tuple[str, str]]:
    """Every parameter in force, with its values in all scenarios; names of scenarios, links and groups are excluded."""
    values: dict[str, dict[str, None]] = {}
    for planned in scenarios:
        for place, value in _parameter_leaves("", planned.scenario.resolved):
            if place not in _NAME_KEYS:
                values.setdefault(place, {})[value] = None
    return [(place, " | ".join(found)) for place, found in values.items()]


def _parameter_leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """The leaves of a scenario's parameters, `link.queue.min_th` and so on; values of several links or groups share one key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _parameter_leaves(f"{place}.{key}".removeprefix("."), inner)
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for inner in value:
            yield from _parameter_leaves(place, inner)
    else:
        yield place, value if isinstance(value, str) else json.dumps(value)
