"""`ecnlab.sweep`: runs the points of a sweep over seeds, except stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.backends import base, lateness
from ecnlab.backends.base import Backend
from ecnlab.backends.registry import merge_renamed_backend_argument
from ecnlab.errors import Failure, Problem, UsageError, require_no_problems
from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.scenarios import catalog
from ecnlab.scenarios.load import Scenario, load
from ecnlab.scenarios.load import scenario as scenario_from_tree
from ecnlab.scenarios.seeds import seeds_from_arguments
from ecnlab.stats.estimates import CONFIDENCE
from ecnlab.storage.folders import parse_folder_argument
from ecnlab.storage.results import Result
from ecnlab.storage.store import Store
from ecnlab.sweeps import folder
from ecnlab.sweeps.file import SweepFile
from ecnlab.sweeps.plan import Derived, SweepPlan, plan_sweep
from ecnlab.sweeps.sweep import MEASURE_TABLES, FailedSweepRun, Sweep, SweepTablesOfRuns, missing_recording_of_table, parameters_of_plan

STORE_FOLDER = Path("results") / "store"


def sweep(
    base: Scenario | str | Path | Mapping[str, Any],
    grid: Mapping[str, Any] | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    *,
    seeds: int | Iterable[int] | None = None,
    seed: int | None = None,
    backend: str | Backend | None = None,
    derived: Derived | None = None,
    tables: Sequence[str] = (),
    name: str | None = None,
    store: Store | str | Path | None = STORE_FOLDER,
    out: str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
    on: str | Backend | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid, or of a list, over seeds.

    Parameters
    ----------
    base : Scenario, path or Mapping
        The scenario to vary, its file, or its nested dicts.
    grid : Mapping, optional
        The axes: {"link.bottleneck.queue.max_p": [0.1, 0.5], "scheme": {"RED": {"link.bottleneck.queue.aqm": "red"}, ...}}.
        Every combination is a point.
    points : sequence of Mapping, optional
        Further points, each a dict of values by key or by axis name.
    seeds : int or iterable of int, optional
        `20` stands for the seeds 1 to 20; a list or range names each.
    seed : int, optional
        A single seed; 1 if neither this nor `seeds` is given.
    backend : str or Backend, optional
        The backend, as for `run`.
    derived : Mapping, optional
        Keys with values computed from the point's: {"flows.*.count": "flows / 3"}, or a function of the point's values.
    tables : sequence of str, optional
        Tables besides those of the measures, e.g. "flows" or "series_rate"; those that the folder has already are written again.
    name : str, optional
        Name of the sweep; by default the scenario's title.
    store : Store, str or Path, optional
        The store of runs, which sweeps can share; None for no store.
    out : str or Path, optional
        A folder for the sweep's tables.
    workers, threads, progress, on
        As for `run`.

    Returns
    -------
    Sweep
        The tables of all points. Failed runs are in `.failures`.

    Raises
    ------
    ScenarioError
        Points are invalid, or their backend cannot run them; `.problems` has those of all points, and nothing was run.
    UsageError
        An argument is out of range or of the wrong type.
    ResultsError
        A folder cannot be written, has foreign files or another sweep, or is damaged.
    ClusterError
        The cluster cannot be reached or used.
    Interrupted
        Ctrl-C; finished runs are in the store.

    Examples
    --------
    Vary one parameter; each point has the same seeds:

    >>> import ecnlab as lab
    >>> base = lab.load("example:ecn", {"duration": "10 s", "measure_from": "2 s"})
    >>> swept = lab.sweep(base, {"link.bottleneck.queue.max_p": [0.1, 0.5]}, seeds=2, store=None)
    >>> swept
    <Sweep 'ECN, thesis chapter 5: 60 flows, three RTTs', 2 points, 2 seeds>
    >>> swept.queues.select("max_p", "seed", "marks").rows()
    [(0.1, 1, 171), (0.1, 2, 193), (0.5, 1, 1204), (0.5, 2, 1088)]
    """
    chosen = seeds_from_arguments(seeds, seed)
    of, backend = _base_scenario_from_argument(base), merge_renamed_backend_argument(backend, on)
    plan = plan_sweep(of if backend is None else of.on_backend(backend), grid, points, derived)
    return run_sweep_plan(plan, chosen, tables=tables, name=name, store=store, out=out, workers=workers, threads=threads, progress=progress)


def plan_parsed_sweep_file(sweep_file: SweepFile) -> SweepPlan:
    """The plan of a sweep file. Raises UsageError, ScenarioError, BackendError."""
    base = load(sweep_file.scenario, sweep_file.changes, aqms=sweep_file.aqms)
    try:
        base = base if sweep_file.backend is None else base.on_backend(sweep_file.backend)
        if sweep_file.path is not None and not (sweep_file.grid or sweep_file.points):
            example = '"link.bottleneck.queue.max_p" = [0.1, 0.5]'
            raise UsageError(f"no parameter is varied; fix: give a table [grid], with {example}, or [[point]]")
        plan = plan_sweep(base, sweep_file.grid, sweep_file.points, sweep_file.derived)
        _require_recorded_tables(sweep_file.tables, plan)
    except UsageError as error:
        if sweep_file.path is None:
            raise
        raise UsageError("\n".join(f"{sweep_file.path}: {line}" for line in str(error).splitlines())) from None
    return plan


def run_sweep_plan(
    plan: SweepPlan,
    seeds: Sequence[int],
    *,
    tables: Sequence[str] = (),
    name: str | None = None,
    store: Store | str | Path | None = STORE_FOLDER,
    out: str | Path | None = None,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Sweep:
    """Run a plan over seeds; arguments, result and errors as for `sweep`."""
    more = _require_recorded_tables(tables, plan)
    home = None if out is None else folder.prepare_sweep_folder(parse_folder_argument("out", out), plan, seeds)
    more = more if home is None else list(dict.fromkeys([*more, *folder.additional_tables_to_write_again(home, plan)]))
    unlike = {point.scenario.hash: point.scenario for point in plan.points}
    requests = [Request(scenario, seeds) for scenario in unlike.values()]
    outcome = run_all(requests, store=store, workers=workers, threads=threads, progress=progress)
    results = dict(zip(unlike, outcome.results, strict=True))
    about = _sweep_header(plan, seeds, plan.base.name if name is None else name)
    about["warnings"] += [vars(warning) for warning in _warnings_of_results(plan, results)]
    late = lateness.worst_lateness_by_percentile(record for result in results.values() for record in result.host_record_by_seed.values())
    about |= {lateness.LATENESS_KEY: late} if late else {}
    about["failures"] = [vars(missing) for missing in _failed_runs_at_points(plan, outcome.failures)]
    done = Sweep(about, SweepTablesOfRuns(plan, parameters_of_plan(plan), results, more))
    return done if home is None else folder.write_sweep(done, home)


def _sweep_header(plan: SweepPlan, seeds: Sequence[int], name: str) -> dict[str, Any]:
    return {
        "format": folder.SWEEP_FORMAT,
        "engine": _core.VERSION,
        "build": _core.BUILD,
        "backend": base.backend_to_dict(plan.base.backend),
        "name": name,
        **plan.to_dict(),
        "parameters": [one.to_dict() for one in parameters_of_plan(plan)],
        "points": len(plan.points),
        **plan.shared_and_differing_parameters_to_dict(),
        "seeds": list(seeds),
        "confidence": CONFIDENCE,
        "warnings": [vars(warning) for warning in plan.warnings],
    }


def _warnings_of_results(plan: SweepPlan, results: Mapping[str, Result]) -> list[Problem]:
    """Warnings that only runs can show, such as identical seeds."""
    warnings = [(warning, point) for point in plan.points for warning in results[point.scenario.hash].warnings]
    return plan.merge_problems_of_points((warning, point) for warning, point in warnings if warning not in point.scenario.warnings)


def _failed_runs_at_points(plan: SweepPlan, failures: Iterable[Failure]) -> list[FailedSweepRun]:
    """Failed runs of each point, in the order of points and seeds."""
    by_key: dict[str, list[Failure]] = {}
    for failure in failures:
        by_key.setdefault(failure.key, []).append(failure)
    found = [(point, failure) for point in plan.points for failure in by_key.get(point.scenario.hash, ())]
    return sorted(
        (FailedSweepRun(point.number, failure.seed, failure.message) for point, failure in found), key=lambda one: (one.point, one.seed)
    )


def _base_scenario_from_argument(base: object) -> Scenario:
    if isinstance(base, Scenario):
        return base
    if isinstance(base, (str, Path)):
        return load(base)
    if isinstance(base, Mapping):
        return scenario_from_tree(base)
    raise UsageError(f"base: must be a scenario, the path of its file, or its dict, not {type(base).__name__}")


def _require_recorded_tables(names: Sequence[str], plan: SweepPlan) -> list[str]:
    """Check the additional tables. Raises UsageError if no point records them."""
    if isinstance(names, str):
        raise UsageError(f"tables: must be a list of names, as in [{names!r}]")
    problems = []
    for name in names:
        if key := missing_recording_of_table(catalog.table(name).name, plan):
            problems.append(f"tables: {name} is not recorded; fix: set record.{key}")
    require_no_problems(problems)
    return [name for name in dict.fromkeys(names) if name not in MEASURE_TABLES]
