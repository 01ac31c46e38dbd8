"""Running a study, or some of its figures and claims. Runs are kept in a store, so that an interrupted study can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from ecnlab import _core
from ecnlab.backends import base, registry
from ecnlab.backends.base import Backend
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.browser import page as lab_page
from ecnlab.errors import Failure, Interrupted, UsageError
from ecnlab.execution.progress import ProgressLine
from ecnlab.execution.workers import Workers, available_cores
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.storage.results import Result
from ecnlab.storage.store import Store
from ecnlab.studies.framework import drawing, page, report, report_folder, verdicts
from ecnlab.studies.framework.claims import Claim, ClaimDecision, decide_claims
from ecnlab.studies.framework.model import RequiredScenario, Study, StudyItem
from ecnlab.studies.framework.plan import StudyPlan, all_required_scenarios
from ecnlab.studies.framework.setups import StudySetups

# Studies were developed with the seeds 1 to 20; verdicts use other seeds, which influenced no choice.
FULL_SEEDS, QUICK_SEEDS = range(101, 121), range(1, 6)


def seeds_of_full_run(study: Study) -> Sequence[int]:
    """The seeds of a full run of a study."""
    return FULL_SEEDS[: study.full_seed_count]


@dataclass(frozen=True)
class StudySelection:
    """The selected parts of a study: items to draw, claims to decide, and the runs that both require.

    `setups` are those in which claims are decided beside the main one; None where that is the only one.
    """

    study: Study
    items: Sequence[StudyItem]
    claims: Sequence[Claim]
    plan: StudyPlan
    setups: StudySetups | None = None


@dataclass(frozen=True)
class StudyRunOutcome:
    """Results of a study.

    Attributes
    ----------
    report : Path
        Its report.
    decisions : sequence of Decision
        The claims with their verdicts.
    failures : sequence of Failure
        The runs that failed.
    left_out : sequence of str
        The figures, tables and claims that these runs were needed for.
    """

    report: Path
    decisions: Sequence[ClaimDecision]
    failures: Sequence[Failure] = ()
    left_out: Sequence[str] = ()


def select_from_study(
    study: Study,
    seeds: Sequence[int],
    numbers: Sequence[str] = (),
    claims: Sequence[str] = (),
    backend: str | Backend = SIMULATOR,
    *,
    kernel_hosts: bool = False,
    all_setups: bool = True,
) -> StudySelection:
    """The items and claims of these names, or all if none is named, on a backend. Raises UnknownName, UsageError, BackendError.

    If only items are named, the claims that their runs decide in the main set-up are selected too. `kernel_hosts` and `all_setups` are as
    for `run_study`.
    """
    if kernel_hosts and study.on_kernels is None:
        raise UsageError(f"kernel_hosts: the study {study.name} has no scenarios for hosts with real kernels; fix: omit kernel_hosts")
    is_whole_study = not numbers and not claims
    items = study.choose_items(numbers) if numbers or is_whole_study else []
    selected_claims = study.choose_claims(claims) if claims or is_whole_study else []
    backend = registry.resolve_backend(backend)
    plan = StudyPlan(
        all_required_scenarios(items, selected_claims), seeds, backend, study.on_kernels if kernel_hosts or backend != SIMULATOR else None
    )
    if numbers and not claims:
        selected_claims = [claim for claim in study.claims if plan.has_planned_scenarios(claim.required_scenarios())]
        plan.add_required_scenarios(all_required_scenarios((), selected_claims))
    only_main = not all_setups or backend != SIMULATOR or kernel_hosts or (numbers and not claims)
    if only_main or not selected_claims:
        return StudySelection(study, items, selected_claims, plan)
    setups = StudySetups(study)
    plan.add_required_scenarios(setups.required_scenarios_in_other_setups(selected_claims))
    return StudySelection(study, items, selected_claims, plan, setups)


def run_study(
    study: Study,
    out: Path,
    seeds: Sequence[int],
    numbers: Sequence[str] = (),
    claims: Sequence[str] = (),
    *,
    backend: str | Backend = SIMULATOR,
    kernel_hosts: bool = False,
    all_setups: bool = True,
    store: Store | str | Path | None = None,
    workers: Workers | None = None,
    processes: int | None = None,
    progress: bool = False,
) -> StudyRunOutcome:
    """Run a study, or its figures and claims of these names, into the folder `out`.

    Parameters
    ----------
    study, out, seeds
        The study, its seeds, and the folder of the report.
    numbers, claims
        The selected figures and tables, and the selected claims; all if none is named.
    backend : str or Backend, optional
        The backend of the scenarios; arguments as for `ecnlab.run`.
    kernel_hosts : bool
        Simulate the scenarios of the backends with kernels, whose hosts are the nearest to the paper's that a kernel can be set to.
        Results of different backends then differ by the backend only.
    all_setups : bool
        Decide claims in all admissible set-ups and alternatives. It has no effect where figures alone are named, or where hosts are kernels
        or are set as kernels: claims are decided in the main set-up alone there.
    store : Store, str or Path, optional
        The store of runs; in memory only unless given.
    workers : Threads or Cluster, optional
        Workers of the runs; the cores of this machine unless given.
    processes : int, optional
        Number of drawing processes; the number of cores unless given.
    progress : bool
        Show progress on standard error.

    Raises
    ------
    UnknownName
        A figure, a claim or a backend does not exist.
    UsageError
        `kernel_hosts` for a study whose hosts are the same on all backends.
    ScenarioError, BackendError
        The backend does not support the study (`.problems` has all reasons), or cannot be used on this machine; nothing was run.
    ResultsError
        A folder cannot be written, is damaged, or holds something else.
    Interrupted
        Ctrl-C; runs that have finished are in the store.
    """
    chosen = select_from_study(study, seeds, numbers, claims, backend, kernel_hosts=kernel_hosts, all_setups=all_setups)
    report_folder.prepare_report_folder(out, study)
    results, failures = chosen.plan.run_missing(store, workers, progress=progress)
    try:
        return _draw_and_write_report(
            chosen, results, failures, out, _command_line(chosen, seeds, numbers, claims), processes or available_cores(), progress=progress
        )
    except KeyboardInterrupt:
        raise Interrupted("interrupted: all runs had finished") from None


def _draw_and_write_report(
    chosen: StudySelection,
    results: Mapping[RequiredScenario, Result],
    failures: Sequence[Failure],
    out: Path,
    command: str,
    processes: int,
    *,
    progress: bool,
) -> StudyRunOutcome:
    """Draw items, decide claims, and write the report; items and claims with failed runs are omitted."""
    items = [item for item in chosen.items if all(need in results for need in item.needs.values())]
    claims = [claim for claim in chosen.claims if all(need in results for need in _scenarios_of_claim_in_all_setups(chosen, claim))]
    left_out = [item.heading for item in chosen.items if item not in items] + [claim.id for claim in chosen.claims if claim not in claims]
    with ProgressLine(len(items), shown=progress, verb="drawing") as bar:
        drawn = drawing.draw_and_save_items(chosen.study, items, results, out / report_folder.FIGURES_FOLDER, processes, bar)
    decisions = chosen.setups.decide_over_setups(claims, results) if chosen.setups else decide_claims(claims, results.__getitem__)
    fingerprints = {result.hash: result.seed_run_statistics[0].fingerprint for result in results.values()}
    in_setups = chosen.setups is not None
    lab = _laboratory_html(chosen.plan)
    content = report.StudyReportContent(
        decisions,
        drawn,
        failures,
        left_out,
        chosen.plan,
        fingerprints,
        command,
        len(seeds_of_full_run(chosen.study)),
        in_setups,
        lab is not None,
    )
    report_files = {
        "claims.json": _claim_decisions_json(chosen, decisions),
        "claims.csv": verdicts.decisions_as_csv(decisions),
        **({} if lab is None else {report_folder.LAB_PAGE: lab}),
        "report.html": report.report_as_html(chosen.study, content),
    }
    report_folder.write_report_files(out, chosen.study, report_files, [item.file_stem for item in items])
    return StudyRunOutcome(out / "report.html", decisions, failures, left_out)


def _laboratory_html(plan: StudyPlan) -> str | None:
    """The laboratory as one file, as `ecnlab lab --out` writes it.

    None if the package has none of its build, or if the hosts are not the study's: the laboratory would show other runs.
    """
    if plan.backend != SIMULATOR or plan.is_rewritten:
        return None
    try:
        return lab_page.single_file(lab_page.page_config(None))
    except UsageError:
        return None


def _scenarios_of_claim_in_all_setups(chosen: StudySelection, claim: Claim) -> Iterator[RequiredScenario]:
    """All scenarios that decide a claim, in every admissible set-up."""
    yield from claim.required_scenarios()
    if chosen.setups is not None:
        yield from chosen.setups.required_scenarios_in_other_setups([claim], alternatives=False)


def _command_line(chosen: StudySelection, seeds: Sequence[int], numbers: Sequence[str], claims: Sequence[str]) -> str:
    """The command that reproduces the report."""
    options = [f"--figure {quote(number)}" for number in numbers] + [f"--claim {quote(id_)}" for id_ in claims]
    plan = chosen.plan
    where = (["--kernel-hosts"] if plan.is_rewritten else []) if plan.backend == SIMULATOR else ["--backend", plan.backend.name]
    is_setup_implied = where or (numbers and not claims) or chosen.setups is not None or not chosen.claims
    setups = [] if is_setup_implied else ["--main-setup"]
    return " ".join(["ecnlab study run", quote(chosen.study.name), *where, *setups, "--seeds", seeds_as_text(seeds), *options])


def _claim_decisions_json(chosen: StudySelection, decisions: Sequence[ClaimDecision]) -> str:
    in_full = page.read_full_run_verdicts(chosen.study.name)
    claims_json = {
        "study": chosen.study.name,
        "engine": _core.VERSION,
        "build": _core.BUILD,
        "backend": base.backend_to_dict(chosen.plan.backend),
        "kernel_hosts": chosen.plan.is_rewritten,
        "seeds": list(chosen.plan.seeds),
        "all_setups": chosen.setups is not None,
        "claims": [verdicts.decision_to_dict(decision, in_full) for decision in decisions],
    }
    return json.dumps(claims_json, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
