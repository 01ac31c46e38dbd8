"""Pairing of the values of both sides, and notes on their comparability.

Rows that differ are selected at a false discovery rate over all rows. They come first, sorted by relative change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ecnlab.backends import base
from ecnlab.comparison.model import Comparison, DifferenceRow, DifferingParameter
from ecnlab.comparison.phase import MIN_SEEDS
from ecnlab.errors import Problem, UsageError
from ecnlab.scenarios import catalog
from ecnlab.scenarios.load import leaf_values_with_paths, unused_aqm_warning
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.scenarios.units import unit_of
from ecnlab.stats.differences import QuantityDifference, SampleBySeed, can_pair_by_seed, difference_of_samples
from ecnlab.stats.estimates import fdr_adjusted_p_values
from ecnlab.storage.results import KEY_COLUMNS, Result, rows_of_measures
from ecnlab.sweeps.sweep import Sweep

# Sections of a scenario that are lists of named members, and keys that select an algorithm.
_KEYS_OF_LISTS = ("link.", "flows.")
_CHOICE_KEYS = ("variant", "aqm", "discipline", "profile", "congestion_control", "recovery", "ecn_response", "kind", "topology", "ecn")
_PRESENT = "present"

# Columns read from a histogram, and half of its largest relative cell width (2^8 cells per octave).
_PERCENTILE_COLUMN = re.compile(r"_p\d+_s$")
_HALF_HISTOGRAM_CELL = 1 / 2**9

QuantityKey = tuple[str, str, str]  # table, name of the row, quantity
Samples = Mapping[QuantityKey, SampleBySeed]
Values = Mapping[str, Any]


def compare_results(a: Result, b: Result, names: tuple[str, str], confidence: float) -> Comparison:
    """Compare two results."""
    of_a, of_b = _samples_by_quantity(a), _samples_by_quantity(b)
    notes = [
        *_notes_on_seeds(a.seeds, b.seeds, names),
        *_notes_on_engine_builds(a.header["build"], b.header["build"]),
        *_notes_on_unequal_measured_durations(*(side.header["duration_s"] - side.header["measure_from_s"] for side in (a, b))),
        *_notes_on_deterministic_results(a.alike, b.alike, names),
        *_notes_on_rows_of_one_side(of_a, of_b, names),
    ]
    changed = _differing_backends(a.backend, b.backend) + _differing_parameters(
        *(dict(leaf_values_with_paths(result.header["parameters"])) for result in (a, b))
    )
    if not changed:
        notes.insert(0, "both sides are the same scenario: all differences are chance")
    return _comparison_of_rows(a, b, names, changed, notes, _difference_rows({}, of_a, of_b, confidence), confidence)


def compare_sweeps(a: Sweep, b: Sweep, names: tuple[str, str], confidence: float) -> Comparison:
    """Compare two sweeps at each common point. Raises UsageError if their parameters differ."""
    columns = [[one.name for one in sweep.parameters] for sweep in (a, b)]
    if set(columns[0]) != set(columns[1]):
        varied = " and ".join(", ".join(each) for each in columns)
        raise UsageError(f"the sweeps vary different parameters ({varied}), so their points cannot be paired")
    points = [{tuple(row[column] for column in columns[0]): row["point"] for row in sweep.points.iter_rows(named=True)} for sweep in (a, b)]
    shared = [place for place in points[0] if place in points[1]]
    if not shared:
        raise UsageError("the sweeps have no point in common")
    left = [len(each) - len(shared) for each in points]
    notes = [f"{count} points are only in {name} and omitted" for name, count in zip(names, left, strict=True) if count]
    notes += [*_notes_on_seeds(a.seeds, b.seeds, names), *_notes_on_engine_builds(a.about["build"], b.about["build"])]
    changed, more = _differing_parameters_at_points([(points[0][place], points[1][place]) for place in shared], a, b)
    notes += more
    changed = _differing_backends(a.backend, b.backend) + changed
    of_a, of_b = _samples_of_sweep(a), _samples_of_sweep(b)
    rows: list[DifferenceRow] = []
    for place in shared:
        at_a, at_b = of_a.get(points[0][place], {}), of_b.get(points[1][place], {})
        rows += _difference_rows(dict(zip(columns[0], place, strict=True)), at_a, at_b, confidence)
    return _comparison_of_rows(a, b, names, changed, notes, rows, confidence)


def _comparison_of_rows(
    a: Result | Sweep,
    b: Result | Sweep,
    names: tuple[str, str],
    changed: list[DifferingParameter],
    notes: Sequence[str],
    unadjusted: Sequence[DifferenceRow],
    confidence: float,
) -> Comparison:
    rows = with_adjusted_p_values(unadjusted, confidence)
    return Comparison(
        names,
        (a.name, b.name),
        changed,
        [*notes, *_notes_on_percentile_resolution(rows)],
        [*_warnings_of_both_sides(a, b, names), *_warnings_of_few_seeds(a.seeds, b.seeds, names, rows)],
        rows,
        confidence,
    )


def _samples_by_quantity(result: Result) -> Samples:
    return {
        cell: SampleBySeed(dict(zip(result.seeds, values, strict=True)), result.alike) for cell, values in _iter_values_by_quantity(result)
    }


def _iter_values_by_quantity(result: Result) -> Iterator[tuple[QuantityKey, list[float]]]:
    for table, row in rows_of_measures(result):
        for quantity in _quantity_column_names(table):
            yield (table, ".".join(row.values()), quantity), result.values(quantity, **row)


def _samples_of_sweep(sweep: Sweep) -> dict[int, Samples]:
    """The samples of each point by its number."""
    alike = dict(sweep.points.select("point", "alike").iter_rows())
    values: dict[int, dict[QuantityKey, dict[int, float]]] = {}
    taken = {one.name for one in sweep.parameters}
    for table in (name for name in KEY_COLUMNS if name in sweep.tables):
        columns = {quantity: f"{table}.{quantity}" if quantity in taken else quantity for quantity in _quantity_column_names(table)}
        for row in sweep.table(table).iter_rows(named=True):
            name = ".".join(row[key] for key in KEY_COLUMNS[table])
            cells = values.setdefault(row["point"], {})
            for quantity, column in columns.items():
                cells.setdefault((table, name, quantity), {})[row["seed"]] = row[column]
    return {point: {cell: SampleBySeed(by_seed, alike[point]) for cell, by_seed in cells.items()} for point, cells in values.items()}


def _quantity_column_names(table: str) -> list[str]:
    return [column.name for column in catalog.table(table).columns if column.name not in KEY_COLUMNS[table]]


def _difference_rows(point: Values, a: Samples, b: Samples, confidence: float) -> list[DifferenceRow]:
    """Rows of all common quantities, without those that have no value on either side."""
    rows = []
    for cell, sample in a.items():
        if cell in b and not _is_without_values(sample, b[cell]):
            table, name, quantity = cell
            found = difference_of_samples(sample, b[cell], confidence)
            rows.append(DifferenceRow(point, table, name, quantity, unit_of(quantity), found, found.p_value, found.is_apart))
    return rows


def _is_without_values(a: SampleBySeed, b: SampleBySeed) -> bool:
    return all(math.isnan(value) for sample in (a, b) for value in sample.values.values())


def with_adjusted_p_values(rows: Sequence[DifferenceRow], confidence: float) -> list[DifferenceRow]:
    """Adjust p-values over these rows as one family of tests; sort by table, then rows that differ, then relative change."""
    tables = list(KEY_COLUMNS)
    adjusted = fdr_adjusted_p_values([row.difference.p_value for row in rows])
    found = [_with_adjusted_p_value(row, p, confidence) for row, p in zip(rows, adjusted, strict=True)]
    return sorted(found, key=lambda row: (tables.index(row.table), not row.is_apart, -_sort_key_by_difference_size(row)))


def _with_adjusted_p_value(row: DifferenceRow, adjusted: float, confidence: float) -> DifferenceRow:
    """A row with an adjusted p-value; without a test, as for one seed, any difference counts."""
    is_apart = row.difference.is_apart if math.isnan(adjusted) else adjusted <= 1 - confidence
    return replace(row, adjusted_p_value=adjusted, is_apart=is_apart)


def _sort_key_by_difference_size(row: DifferenceRow) -> float:
    size = abs(row.difference.relative_change.mean)
    return -1.0 if math.isnan(size) else size


def _notes_on_seeds(a: Sequence[int], b: Sequence[int], names: tuple[str, str]) -> list[str]:
    """Notes on seeds that only one side has."""
    both = sorted(set(a) & set(b))
    if not can_pair_by_seed(dict.fromkeys(a), dict.fromkeys(b)):
        by_side = " and ".join(f"{seeds_as_text(seeds)} of {name}" for name, seeds in zip(names, (a, b), strict=True))
        return [f"not paired, because the seeds {by_side} hardly overlap; intervals are Welch's, which are wider"]
    left = sorted(set(a) ^ set(b))
    notes = [f"seeds {seeds_as_text(left)} are only in one of the two and omitted"] if left else []
    return [*notes, "one seed: no intervals, and any difference can be chance"] if len(both) == 1 else notes


def _warnings_of_few_seeds(
    a: Sequence[int], b: Sequence[int], names: tuple[str, str], rows: Sequence[DifferenceRow]
) -> list[tuple[str, Problem]]:
    """A warning of the side with fewer seeds if they are below `MIN_SEEDS`; none where all seeds are identical, without chance."""
    paired = can_pair_by_seed(dict.fromkeys(a), dict.fromkeys(b))
    compared, name = (len(set(a) & set(b)), names[0]) if paired else min((len(a), names[0]), (len(b), names[1]))
    if compared >= MIN_SEEDS or (compared > 1 and all(math.isnan(row.adjusted_p_value) for row in rows)):
        return []
    few = "1 seed is" if compared == 1 else f"{compared} seeds are"
    message = f"{few} too few to tell differences from chance; fix: run at least {MIN_SEEDS}, as in --seeds {MIN_SEEDS}"
    return [(name, Problem("seeds", None, message))]


def _differing_backends(a: Values, b: Values) -> list[DifferingParameter]:
    """The backends of both sides, if they differ."""
    return [] if a == b else [DifferingParameter("backend", *base.pair_of_distinct_identity_texts(a, b))]


def _notes_on_unequal_measured_durations(a: float, b: float) -> list[str]:
    return [] if a == b else [f"measured over {a:g} s and {b:g} s: counts, such as marks and drops, cover different times"]


def _notes_on_engine_builds(a: str, b: str) -> list[str]:
    return [] if a == b else [f"run by different builds of the engine ({a} and {b}): differences can come from the engine"]


def _notes_on_percentile_resolution(rows: Sequence[DifferenceRow]) -> list[str]:
    """A note on percentiles in one histogram cell at all seeds, whose intervals look more precise than the cell width permits."""
    found = [row for row in rows if _PERCENTILE_COLUMN.search(row.quantity) and _is_apart_with_zero_intervals(row.difference)]
    if not found:
        return []
    quantities = ", ".join(dict.fromkeys(row.quantity for row in found))
    right = f"a percentile is right to {100 * _HALF_HISTOGRAM_CELL:.1f} % of its value"
    return [f"{quantities}: at ± 0 all seeds fall into one cell of the histogram; {right}"]


def _is_apart_with_zero_intervals(found: QuantityDifference) -> bool:
    return found.is_apart and found.a.half_width == found.b.half_width == found.change.half_width == 0


def _notes_on_deterministic_results(a: bool, b: bool, names: tuple[str, str]) -> list[str]:
    if a and b:
        return ["all seeds are identical in both, because nothing is random: no intervals, and each difference is exact"]
    return [
        f"all seeds of {name} are identical, because nothing in it is random" for name, alike in zip(names, (a, b), strict=True) if alike
    ]


def _notes_on_rows_of_one_side(a: Samples, b: Samples, names: tuple[str, str]) -> list[str]:
    """Notes on groups, queues and bands that only one side has."""
    notes = []
    for table, what in (("groups", "group"), ("queues", "queue"), ("bands", "band")):
        there = [dict.fromkeys(name for of, name, _ in samples if of == table) for samples in (a, b)]
        for name, own, other in zip(names, there, reversed(there), strict=True):
            alone = [row for row in own if row not in other]
            if alone:
                notes.append(f"{what}{'s' * (len(alone) > 1)} only in {name}: {', '.join(alone)}")
    return notes


def _warnings_of_both_sides(a: Result | Sweep, b: Result | Sweep, names: tuple[str, str]) -> list[tuple[str, Problem]]:
    """Warnings of both sides, without identical seeds, which a note covers, and without AQMs that the other side uses."""
    used = {unused_aqm_warning(aqm) for side in (a, b) for aqm in (side.header if isinstance(side, Result) else side.about)["aqms"]}
    warnings = [(name, warning) for name, side in zip(names, (a, b), strict=True) for warning in side.warnings]
    return [(name, warning) for name, warning in warnings if warning.place != "seeds" and warning not in used]


def _differing_parameters_at_points(pairs: Sequence[tuple[int, int]], a: Sweep, b: Sweep) -> tuple[list[DifferingParameter], list[str]]:
    """Parameters in which two sweeps differ at common points, each at its first difference, with notes."""
    found: dict[str, DifferingParameter] = {}
    varies = False
    times: dict[str, None] = {}
    for at_a, at_b in pairs:
        for one in _differing_parameters(a.in_force(at_a), b.in_force(at_b)):
            varies |= found.setdefault(one.key, one) != one
        times |= dict.fromkeys(_notes_on_unequal_measured_durations(a.measured_s(at_a), b.measured_s(at_b)))
    notes = list(times)
    if not found and a.backend == b.backend:
        notes.insert(0, "both sides have the same scenario at each point: all differences are chance")
    if varies:
        notes.append("some parameters differ differently at each point: their values at the first point are shown")
    return sorted(found.values(), key=_importance_of_parameter), notes


def _differing_parameters(a: Values, b: Values) -> list[DifferingParameter]:
    """Parameters in which two scenarios differ, without titles and recordings.

    Choices of algorithms come first, since most other differences follow from them. A link or group of one side only is one row.
    """
    of_a, of_b = ({key: value for key, value in tree.items() if key.split(".")[0] not in ("name", "record")} for tree in (a, b))
    only_a, only_b = _links_and_groups_of_one_side(of_a, of_b), _links_and_groups_of_one_side(of_b, of_a)
    inside = tuple(f"{member}." for member in (*only_a, *only_b))
    keys = [key for key in dict.fromkeys([*of_a, *of_b]) if of_a.get(key) != of_b.get(key) and not key.startswith(inside)]
    rows = [
        *(DifferingParameter(member, _PRESENT, None) for member in only_a),
        *(DifferingParameter(member, None, _PRESENT) for member in only_b),
        *_differing_congestion_controls(of_a, of_b),
        *(DifferingParameter(key, of_a.get(key), of_b.get(key)) for key in keys),
    ]
    return sorted(rows, key=_importance_of_parameter)


def _differing_congestion_controls(a: Values, b: Values) -> Iterator[DifferingParameter]:
    """Names of congestion controls of groups, if more specific than the parameter `congestion_control`, such as DCTCP."""
    for key in a:
        if key in b and key.startswith("flows.") and key.endswith(".tcp.congestion_control"):
            tcp = key.removesuffix("congestion_control")
            chosen = ("congestion_control", "ecn_response")
            trees = [{name: tree[f"{tcp}{name}"] for name in chosen if f"{tcp}{name}" in tree} for tree in (a, b)]
            names = [catalog.congestion_control_name(tree) for tree in trees]
            if names[0] != names[1] and names != [tree["congestion_control"] for tree in trees]:
                yield DifferingParameter(f"{tcp}variant", *names)


def _importance_of_parameter(one: DifferingParameter) -> int:
    if _PRESENT in (one.a, one.b):
        return 0
    return 1 if one.key.rsplit(".", 1)[-1] in _CHOICE_KEYS else 2


def _links_and_groups_of_one_side(own: Values, other: Values) -> list[str]:
    """Links and groups, as in `flows.far`, of one scenario only."""
    members = [dict.fromkeys(".".join(key.split(".")[:2]) for key in tree if key.startswith(_KEYS_OF_LISTS)) for tree in (own, other)]
    return [member for member in members[0] if member not in members[1]]
