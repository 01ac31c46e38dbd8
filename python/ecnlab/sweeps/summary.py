"""Summary of a sweep: a table with a row per point and the main quantities, and JSON with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ecnlab.backends import base, lateness
from ecnlab.display.cells import TextTable
from ecnlab.scenarios.units import column_display_factor_and_unit, display_factor_and_unit
from ecnlab.stats.estimates import Estimate
from ecnlab.storage.summary import format_estimate, quantity_name
from ecnlab.sweeps.values import format_axis_value

if TYPE_CHECKING:
    from ecnlab.sweeps.sweep import Sweep

# The main quantities, over all flows.
SHOWN_QUANTITIES = ("goodput_bps", "jain_goodput", "delay_mean_s", "marks", "drops")

_MAX_SHOWN_POINTS = 60


def sweep_tables(sweep: Sweep) -> list[TextTable]:
    """The table of a sweep's points, over all flows."""
    summary = sweep.summary()
    names = [one.name for one in sweep.parameters]
    points: dict[int, dict[str, Any]] = {}
    for row in summary.filter(summary["table"] == "total").iter_rows(named=True) if summary.height else ():
        point = points.setdefault(row["point"], {name: row[name] for name in names})
        point[row["quantity"]] = Estimate(row["mean"], row["sd"], row["half_width"], row["n"])
    units = {one.name: display_factor_and_unit(one.unit) for one in sweep.parameters}
    rows = [
        [
            *(_parameter_value_cell(point[name], units[name][0]) for name in names),
            *(_estimate_cell(point, quantity) for quantity in SHOWN_QUANTITIES),
        ]
        for point in points.values()
    ]
    headings = [f"{name} ({unit})" if unit else name for name, (_, unit) in units.items()]
    header = [*headings, *map(_quantity_heading, SHOWN_QUANTITIES)]
    return [TextTable(_sweep_table_title(sweep, len(rows)), header, rows[:_MAX_SHOWN_POINTS], headings)] if rows else []


def sweep_to_dict(sweep: Sweep) -> dict[str, Any]:
    """The definition of the sweep, and parameters and quantities of each point, as nested dicts."""
    names = [one.name for one in sweep.parameters]
    points: dict[int, dict[str, Any]] = {}
    for row in sweep.points.iter_rows(named=True):
        points[row["point"]] = {
            "point": row["point"],
            "parameters": {name: row[name] for name in names},
            **{name: row[name] for name in ("key", "seeds", "alike")},
        }
    for row in sweep.summary().iter_rows(named=True):
        home = points[row["point"]].setdefault(row["table"], {})
        home = home.setdefault(row["name"], {}) if row["name"] else home
        home[row["quantity"]] = {key: row[key] for key in ("mean", "sd", "half_width", "n", "unit")}
    about = {key: value for key, value in sweep.about.items() if key not in ("points", "files")}
    return about | {"points": list(points.values())}


def _sweep_table_title(sweep: Sweep, rows: int) -> str:
    n = len(sweep.seeds)
    title = f"{sweep.name}: 1 seed" if n == 1 else f"{sweep.name}: {n} seeds, mean ± 95 % interval"
    title += _backend_and_lateness_text(sweep)
    return f"{title}; the first {_MAX_SHOWN_POINTS} of {rows} points, all are in summary.csv" if rows > _MAX_SHOWN_POINTS else title


def _backend_and_lateness_text(sweep: Sweep) -> str:
    """Backend and worst lateness of all runs; empty for the simulator."""
    late = sweep.about.get(lateness.LATENESS_KEY, {})
    percentiles = ", ".join(f"{step} {lateness.seconds_to_milliseconds_text(late[step])}" for step in lateness.PERCENTILES if step in late)
    if "kernel" not in sweep.backend:
        return ""
    return f"; on {base.backend_identity_text(sweep.backend)}" + (f", lateness in the worst run {percentiles}" if percentiles else "")


def _parameter_value_cell(value: Any, factor: float) -> str:
    """A parameter's value in the unit of the column's heading."""
    if value is None:
        return ""
    return f"{value * factor:.9g}" if factor != 1.0 else format_axis_value(value)


def _estimate_cell(point: Mapping[str, Any], quantity: str) -> str:
    return format_estimate(point[quantity], column_display_factor_and_unit(quantity)[0])


def _quantity_heading(quantity: str) -> str:
    unit = column_display_factor_and_unit(quantity)[1]
    return quantity_name(quantity) + (f" ({unit})" if unit not in ("1", "packets") else "")
