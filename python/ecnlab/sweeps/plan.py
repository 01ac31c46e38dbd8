"""Plan of a sweep: its points with their scenarios, all checked before the first run.

A point's changes apply in this order: the values of the axes, tables before their members, then the derived values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from ecnlab.errors import EcnlabError, Problem, ScenarioError, UsageError, require_no_problems
from ecnlab.scenarios.load import Scenario, leaf_values_with_paths, numpy_to_python_value, unused_aqm_warning
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.sweeps.arithmetic import evaluate_expression
from ecnlab.sweeps.axes import SweepAxis, extend_axes_by_listed_points, parse_grid_axes, short_column_names
from ecnlab.sweeps.values import Values, format_axis_value

MAX_POINTS = 100_000

Derived = Mapping[str, str | Callable[[Values], Any]]


@dataclass(frozen=True)
class SweepPoint:
    """One scenario of a sweep.

    Attributes
    ----------
    number : int
        Number of the point, from 1.
    values : Mapping
        The value of each axis by name; None if a listed point keeps the scenario's.
    scenario : Scenario
        The scenario with the point's changes.
    """

    number: int
    values: Values
    scenario: Scenario

    @property
    def values_as_text(self) -> str:
        """Its values as text: "max_p = 0.5, scheme = RED"."""
        return axis_assignments_text(self.values)


@dataclass(frozen=True)
class SweepPlan:
    """The axes and points of a sweep: points of the grid, then listed points."""

    base: Scenario
    axes: Sequence[SweepAxis]
    derived: Derived
    points: Sequence[SweepPoint]

    @property
    def warnings(self) -> list[Problem]:
        """Warnings of the scenarios, each once, and identical points.

        A user AQM need not be used at every point.
        """
        used = {unused_aqm_warning(name) for point in self.points for name in point.scenario.aqm_digests}
        reports = [(warning, point) for point in self.points for warning in point.scenario.warnings if warning not in used]
        return [*self._identical_points_problems(), *self.merge_problems_of_points(reports)]

    def merge_problems_of_points(self, reports: Iterable[tuple[Problem, SweepPoint]]) -> list[Problem]:
        """Each problem once, with the points concerned unless these are all."""
        return _merge_problems_of_points(reports, len(self.points))

    def to_dict(self) -> dict[str, Any]:
        """The scenario and the derived keys as plain values."""
        base = self.base
        return {
            "scenario": {"source": base.source, "form": base.form, "text": base.text, "overrides": base.overrides},
            "derived": {key: rule if isinstance(rule, str) else "a function" for key, rule in self.derived.items()},
            "aqms": dict(sorted({pair for point in self.points for pair in point.scenario.aqm_digests.items()})),
        }

    def shared_and_differing_parameters_to_dict(self) -> dict[str, Any]:
        """Parameters shared by all points, parameters that differ by point, and measured seconds of each."""
        shared = parameters_in_force(self.points[0])
        for point in self.points:
            there = parameters_in_force(point)
            shared = {key: value for key, value in shared.items() if key in there and there[key] == value}
        return {
            "in_force": shared,
            "in_force_at": [
                {key: value for key, value in parameters_in_force(point).items() if key not in shared} for point in self.points
            ],
            "measured_s": [point.scenario.duration_s - point.scenario.measure_from_s for point in self.points],
        }

    def _identical_points_problems(self) -> list[Problem]:
        numbers: dict[str, list[int]] = {}
        for point in self.points:
            numbers.setdefault(point.scenario.hash, []).append(point.number)
        groups = [f"{seeds_as_text(same)} are the same scenario" for same in numbers.values() if len(same) > 1]
        if not groups:
            return []
        more = f" and {len(groups) - 3} more such groups" if len(groups) > 3 else ""
        return [
            Problem(
                "points", None, f"{'; '.join(groups[:3])}{more}; fix: let a key or [derived] use the parameters that differ, or omit points"
            )
        ]


def plan_sweep(base: Scenario, grid: Values | None, points: Sequence[Values] | None, derived: Derived | None) -> SweepPlan:
    """Plan the points of a grid and of a list, and check their scenarios.

    Raises UsageError for invalid arguments, and ScenarioError with the problems of all points.
    """
    listed = _parse_listed_points(points)
    of_grid = parse_grid_axes(grid or {})
    axes = extend_axes_by_listed_points(of_grid, listed)
    short = short_column_names(axes)
    values = [*_grid_points(of_grid), *listed]
    if not values:
        raise UsageError(
            "no parameter is varied; fix: give a grid of values, as in {'link.bottleneck.queue.max_p': [0.1, 0.5]}, or a list of points"
        )
    rules = _require_valid_derived_keys(derived or {}, axes)
    renamed = [replace(axis, name=short[axis.name]) for axis in axes]
    return SweepPlan(base, renamed, rules, _SweepPointBuilder(base, axes, short, rules).build_points(values))


def parameters_in_force(point: SweepPoint) -> dict[str, Any]:
    """All parameters of a point by key, without the recordings."""
    return {key: value for key, value in leaf_values_with_paths(point.scenario.resolved) if not key.startswith("record.")}


def axis_assignments_text(values: Values) -> str:
    """Axis values as text."""
    return ", ".join(f"{name} = {format_axis_value(value)}" for name, value in values.items() if value is not None)


class _SweepPointBuilder:
    """Builds points and collects their problems."""

    def __init__(self, base: Scenario, axes: Sequence[SweepAxis], short: Mapping[str, str], derived: Derived) -> None:
        self._base = base
        self._axes = {axis.name: axis for axis in axes}
        self._short = short
        self._derived = derived
        self._wrong: list[tuple[Problem, SweepPoint]] = []

    def build_points(self, given: Iterable[Values]) -> list[SweepPoint]:
        """Build all points. Raises ScenarioError with all their problems."""
        points = [self._make_point(number, values) for number, values in enumerate(given, 1)]
        if self._wrong:
            raise ScenarioError(_merge_problems_of_points(self._wrong, len(points)), self._base.source)
        return points

    def _make_point(self, number: int, given: Values) -> SweepPoint:
        values = {short: given.get(name) for name, short in self._short.items()}
        point = SweepPoint(number, values, self._base)
        changes, wrong = self._changes_of_point(given, values)
        try:
            point = replace(point, scenario=self._base.changed(changes))
            wrong += point.scenario.refusals()
        except ScenarioError as error:
            wrong += error.problems
        except UsageError as error:
            wrong.append(Problem("", None, str(error)))
        self._wrong += [(problem, point) for problem in wrong]
        return point

    def _changes_of_point(self, given: Values, values: Values) -> tuple[dict[str, Any], list[Problem]]:
        """The overrides of a point, and the problems of derived values that cannot be evaluated."""
        changes: dict[str, Any] = {}
        for name, value in given.items():
            changes |= self._axes[name].overrides_for(value)
        ordered = dict(sorted(changes.items(), key=lambda change: change[0].count(".")))
        known = {name: value for name, value in values.items() if value is not None}
        wrong = []
        for key, rule in self._derived.items():
            ordered.pop(key, None)
            try:
                ordered[key] = _evaluate_derived_value(key, rule, known)
            except UsageError as error:
                wrong.append(Problem("", None, str(error)))
        return ordered, wrong


def _evaluate_derived_value(key: str, rule: str | Callable[[Values], Any], values: Values) -> Any:
    try:
        return evaluate_expression(rule, values) if isinstance(rule, str) else rule(values)
    except EcnlabError as error:
        raise UsageError(f"derived: {key}: {error}") from None
    except Exception as error:  # a user's function may raise anything
        raise UsageError(f"derived: {key}: {type(error).__name__}: {error}") from error


def _merge_problems_of_points(reports: Iterable[tuple[Problem, SweepPoint]], number_of_points: int) -> list[Problem]:
    at: dict[Problem, list[SweepPoint]] = {}
    for problem, point in reports:
        at.setdefault(problem, []).append(point)
    return [problem if len(points) == number_of_points else _problem_at_points(problem, points) for problem, points in at.items()]


def _problem_at_points(problem: Problem, points: Sequence[SweepPoint]) -> Problem:
    """A problem whose text names the points concerned."""
    where = f"point {points[0].number}: {points[0].values_as_text}" if len(points) == 1 else _points_and_shared_values_text(points)
    return replace(problem, message=f"{problem.message} ({where})")


def _points_and_shared_values_text(points: Sequence[SweepPoint]) -> str:
    shared = {name: value for name, value in points[0].values.items() if all(point.values[name] == value for point in points)}
    common = axis_assignments_text(shared)
    return f"points {seeds_as_text(point.number for point in points)}" + (f": {common}" if common else "")


def _parse_listed_points(points: Sequence[Values] | None) -> list[Values]:
    if points is None:
        return []
    if isinstance(points, (str, Mapping)) or not all(isinstance(point, Mapping) and point for point in points):
        raise UsageError("points: must be a list of dicts from keys to values, as in [{'link.bottleneck.queue.max_p': 0.1}]")
    return [{name: numpy_to_python_value(value) for name, value in point.items()} for point in points]


def _grid_points(axes: Sequence[SweepAxis]) -> Iterable[Values]:
    """The product of the axes' values, with the last axis varying fastest. Raises UsageError if it is too large."""
    if not axes:
        return []
    count = math.prod(len(axis.values) for axis in axes)
    if count > MAX_POINTS:
        sizes = " x ".join(str(len(axis.values)) for axis in axes)
        raise UsageError(f"grid: {sizes} are {count} points, and a sweep has at most {MAX_POINTS}; fix: split it; its parts share a store")
    names = [axis.name for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]


def _require_valid_derived_keys(derived: Derived, axes: Sequence[SweepAxis]) -> Derived:
    """Check derived values. Raises UsageError for invalid ones, and for keys that an axis sets too."""
    if not isinstance(derived, Mapping):
        raise UsageError(f"derived: must be a dict from keys to expressions, not {type(derived).__name__}")
    problems = []
    for key, rule in derived.items():
        if not isinstance(key, str):
            problems.append(f"derived: {key!r} is not a key of a scenario")
        if not isinstance(rule, str) and not callable(rule):
            problems.append(f'derived: {key}: {rule!r} is not an expression; fix: write it as text, e.g. "flows / 3"')
        problems += [
            f"derived: {key}: is set by the axis {axis.name} too; fix: omit one of them" for axis in axes if key in axis.overridden_keys
        ]
    require_no_problems(problems)
    return derived
