"""`ecnlab.compare`: two results, scenarios or sweeps, quantity by quantity, paired by seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ecnlab.backends.base import Backend
from ecnlab.backends.registry import merge_renamed_backend_argument
from ecnlab.comparison.model import Comparison
from ecnlab.comparison.sides import compare_results, compare_sweeps, with_adjusted_p_values
from ecnlab.errors import UsageError, require_known_name, require_nonempty_path
from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.scenarios.load import Scenario, load
from ecnlab.scenarios.seeds import seeds_from_arguments
from ecnlab.stats.estimates import CONFIDENCE
from ecnlab.storage.filenames import escape_unprintable
from ecnlab.storage.results import Result, open_result
from ecnlab.storage.store import Store
from ecnlab.sweeps.file import is_sweep_file
from ecnlab.sweeps.folder import is_sweep_folder, open_sweep
from ecnlab.sweeps.run import STORE_FOLDER
from ecnlab.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from ecnlab.aqm.api import Aqm

DEFAULT_SEEDS = 10

Side = Result | Sweep


def compare(
    a: Result | Sweep | Scenario | str | Path,
    b: Result | Sweep | Scenario | str | Path,
    *,
    seeds: int | Iterable[int] | None = None,
    backend: str | Backend | Sequence[str | Backend] | None = None,
    aqms: Iterable[type[Aqm] | str] = (),
    quantities: Sequence[str] = (),
    confidence: float = CONFIDENCE,
    store: Store | str | Path | None = STORE_FOLDER,
    workers: Workers | None = None,
    threads: int | None = None,
    progress: bool = False,
    on: str | Backend | Sequence[str | Backend] | None = None,
) -> Comparison:
    """Compare A and B, quantity by quantity.

    Parameters
    ----------
    a, b : Result, Sweep, Scenario or path
        Two results or two sweeps, or their folders; scenarios and scenario files are run.
    seeds : int or iterable of int, optional
        Seeds of scenarios; by default those of the other side if that is a result, else 1 to 10.
    backend : str or Backend, or two of them, optional
        Backend of scenarios, as for `run`; of two backends the first is for A, the second for B.
    aqms : iterable of classes, optional
        User AQMs that scenario files may name, as for `load`.
    quantities : sequence of str, optional
        Quantities to compare, e.g. "goodput_bps"; by default all.
    confidence : float
        Confidence level of each interval. The expected share of false discoveries among the reported differences is at most
        1 - confidence (Benjamini and Hochberg 1995).
    store, workers, threads, progress
        As for `sweep`.
    on
        Deprecated name of `backend`.

    Raises
    ------
    UsageError
        Only one side is a sweep, the sweeps have different parameters, or a backend is given for finished runs.
    UnknownName
        A quantity that neither side has.
    ScenarioError, ResultsError
        A scenario is invalid, or a folder cannot be read.
    RunsFailed
        A run failed.

    Examples
    --------
    Compare Jain's index of two queues, seed by seed:

    >>> import ecnlab as lab
    >>> short = {"duration": "10 s", "measure_from": "2 s"}
    >>> ecn, aecn = (lab.load(f"example:{name}", short) for name in ("ecn", "aecn"))
    >>> comparison = lab.compare(ecn, aecn, seeds=3, quantities=["jain_goodput"], store=None)
    >>> row = comparison.rows[0]
    >>> change = row.difference.change
    >>> print(f"{row.quantity}: {change.mean:+.2f} ± {change.half_width:.2f}, differs: {row.is_apart}")
    jain_goodput: +0.16 ± 0.04, differs: True
    """
    opened = [_open_compared_side(side, aqms) for side in (a, b)]
    if seeds is not None and not any(isinstance(side, Scenario) for side in opened):
        raise UsageError("seeds: both sides are finished runs; fix: omit the seeds")
    opened = _put_sides_on_backends(opened, merge_renamed_backend_argument(backend, on))
    names = _names_of_compared_sides(a, b, opened)
    wanted = [side for side in opened if isinstance(side, Scenario)]
    requests = [Request(scenario, _seeds_for_compared_sides(opened, seeds)) for scenario in wanted]
    ran = iter(run_all(requests, store=store, workers=workers, threads=threads, progress=progress).results_or_raise() if requests else ())
    left, right = (next(ran) if isinstance(side, Scenario) else side for side in opened)
    if isinstance(left, Sweep) and isinstance(right, Sweep):
        comparison = compare_sweeps(left, right, names, confidence)
    elif isinstance(left, Result) and isinstance(right, Result):
        comparison = compare_results(left, right, names, confidence)
    else:
        raise UsageError("compare: one side is a sweep and the other is not; fix: name two sweeps")
    return _restrict_to_quantities(comparison, quantities)


def _open_compared_side(side: object, aqms: Iterable[type[Aqm] | str]) -> Side | Scenario:
    """Open a side as a result, a sweep, or a scenario to be run. Raises UsageError."""
    if isinstance(side, (Result, Sweep, Scenario)):
        return side
    if not isinstance(side, (str, Path)):
        raise UsageError(f"compare: must be a result, a sweep, a scenario, or a path, not {type(side).__name__}")
    require_nonempty_path("compare", side)
    path = Path(side)
    if path.is_dir():
        return open_sweep(path) if is_sweep_folder(path) else open_result(path)
    if is_sweep_file(path):
        raise UsageError(f"{path} is a sweep file; fix: run it with ecnlab sweep, and compare the folders of two sweeps")
    return load(path, aqms=aqms)


def _put_sides_on_backends(
    sides: Sequence[Side | Scenario], backend: str | Backend | Sequence[str | Backend] | None
) -> list[Side | Scenario]:
    """Put scenarios on their backends. Raises UsageError."""
    if backend is None:
        return list(sides)
    of_each = list(backend) if isinstance(backend, (list, tuple)) else None
    if of_each is not None and len(of_each) != len(sides):
        raise UsageError(f"backend: {len(of_each)} are given for two sides; fix: give one for both, or one for each")
    ran = [not isinstance(side, Scenario) for side in sides]
    if all(ran) or (of_each is not None and any(ran)):
        raise UsageError("backend: a side is a finished run; fix: name its scenario file to run it on another backend")
    given = cast("list[str | Backend]", [backend, backend] if of_each is None else of_each)
    return [side.on_backend(one) if isinstance(side, Scenario) else side for side, one in zip(sides, given, strict=True)]


def _seeds_for_compared_sides(sides: Sequence[Side | Scenario], seeds: int | Iterable[int] | None) -> list[int]:
    """Seeds of scenarios: the given ones, else those of the other side, else the first ten."""
    there = [side.seeds for side in sides if isinstance(side, Result)]
    if seeds is None and there:
        return there[0]
    return seeds_from_arguments(DEFAULT_SEEDS if seeds is None else seeds)


def _restrict_to_quantities(comparison: Comparison, quantities: Sequence[str]) -> Comparison:
    """Restrict a comparison to some quantities and adjust its p-values to them; all if none is named. Raises UnknownName."""
    known = {row.quantity for row in comparison.rows}
    for quantity in quantities:
        require_known_name("quantity that both have", quantity, known)
    if not quantities:
        return comparison
    return replace(
        comparison, rows=with_adjusted_p_values([row for row in comparison.rows if row.quantity in quantities], comparison.confidence)
    )


def _name_of_file_or_folder(path: str | Path) -> str:
    """The name of a scenario file without its suffix, or of a folder."""
    resolved = Path(path).resolve()
    return escape_unprintable(Path(path).stem if Path(path).suffix == ".toml" else resolved.name if resolved.is_dir() else "")


def _names_of_compared_sides(a: object, b: object, opened: Sequence[Side | Scenario]) -> tuple[str, str]:
    """Names of the two sides: their files or folders, or their backends if that distinguishes them."""
    files = [_name_of_file_or_folder(side) if isinstance(side, (str, Path)) else "" for side in (a, b)]
    on = [side.backend.name if isinstance(side, Scenario) else "" for side in opened]
    for first, second in (files, on):
        if first and second and first != second:
            return first, second
    return "A", "B"
