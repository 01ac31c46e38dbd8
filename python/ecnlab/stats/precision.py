"""Number of seeds for a target precision: the measure, the bound of its interval's half width, and the stages in which seeds are added.

Stopping as soon as an interval is narrow enough favours samples whose spread is small by chance, so the interval contains the true mean a
little less often than it says; the shortfall vanishes as the bound becomes small (Chow and Robbins, Ann. Math. Stat. 36, 1965). Hence
the minimum is ten seeds, and the rule is checked at a few stages only, each 1.5 times as large as the one before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecnlab.errors import Problem, UnknownName, UsageError
from ecnlab.scenarios import catalog
from ecnlab.scenarios.units import NUMBER_PATTERN, display_unit_for_values, unit_of
from ecnlab.scenarios.units import parse_quantity as quantity_of

if TYPE_CHECKING:
    from ecnlab.stats.estimates import Estimate
    from ecnlab.storage.results import Result

DEFAULT_MEASURE = "goodput"
MIN_SEEDS = 10
MAX_SEEDS = 1000

_STAGE_GROWTH = 1.5
_RATIO = "1"
# Units of columns that tables show in another one, such as Mbit/s.
_UNITS_SHOWN_IN_OTHERS = ("bit/s", "s")
_UNIT_SUFFIXES = ("", "_bps", "_s", "_packets")
_PERCENT = re.compile(rf"\s*({NUMBER_PATTERN})\s*%\s*")
_COUNT = re.compile(rf"\s*({NUMBER_PATTERN})\s*(\S*)\s*")


@dataclass(frozen=True)
class MeasureSelector:
    """A column of `total`, or of the row of a group, queue or band: `text` as the user names it."""

    text: str
    quantity: str
    group: str | None = None
    queue: str | None = None
    band: str | None = None

    @property
    def readable_name(self) -> str:
        """The measure for readers, e.g. "goodput" or "sojourn mean of bottleneck"."""
        words = self.quantity
        for ending in _UNIT_SUFFIXES[1:]:
            words = words.removesuffix(ending)
        row = ".".join(filter(None, (self.group, self.queue, self.band)))
        return words.replace("_", " ") + (f" of {row}" if row else "")

    def values(self, result: Result) -> list[float]:
        """Values of the measure, one per seed."""
        return result.values(self.quantity, group=self.group, queue=self.queue, band=self.band)

    def estimate(self, result: Result) -> Estimate:
        """Mean and interval of the measure."""
        return result.estimate(self.quantity, group=self.group, queue=self.queue, band=self.band)


@dataclass(frozen=True)
class PrecisionTarget:
    """A bound of the half width of a measure's 95 % interval: a share of the mean, or a value in its unit."""

    measure: MeasureSelector
    bound: float
    is_relative: bool

    def is_met_by(self, found: Estimate) -> bool:
        """Whether an interval is narrow enough; without an interval it is not."""
        return found.half_width <= (self.bound * abs(found.mean) if self.is_relative else self.bound)

    def shortfall_problem(self, found: Estimate) -> Problem:
        """Warning that the maximum number of seeds did not reach the precision."""
        if self.is_relative:
            known, asked = relative_half_width_text(self.measure, found), f"{self.bound * 100:g} %"
        else:
            known = _half_width_in_unit_text(self.measure, found.half_width) if math.isfinite(found.half_width) else "?"
            factor, unit = display_unit_for_values(self.measure.quantity, [self.bound])
            asked = _with_unit(f"{self.bound * factor:g}", unit)
        what = f"{self.measure.readable_name} is known to ± {known} after {found.n} seeds, the maximum"
        return Problem("until", None, f"{what}, and not to {asked}; fix: give more --seeds, a longer run, or a wider bound")


def identical_seeds_problem(n: int) -> Problem:
    """Warning that identical seeds never give an interval."""
    what = f"all {n} seeds are identical, because nothing in this scenario is random, so there is no interval"
    return Problem("until", None, f'{what}; fix: randomize something, e.g. [flows.access] spread = "1 ms", or run one seed without --until')


def undefined_measure_problem(measure: MeasureSelector, n: int) -> Problem:
    """Warning that a measure has no value in some seed."""
    return Problem(
        "until", None, f"{measure.readable_name} has no value in some of {n} seeds, so it has no interval; fix: name another measure"
    )


def relative_half_width_text(measure: MeasureSelector, found: Estimate) -> str:
    """A half width for readers, rounded up: in per cent of the mean, or in its unit where the mean is 0; "?" without an interval."""
    if not math.isfinite(found.half_width):
        return "?"
    if found.mean == 0:
        return _half_width_in_unit_text(measure, found.half_width)
    return f"{_rounded_up_text(100 * found.half_width / abs(found.mean))} %"


def _half_width_in_unit_text(measure: MeasureSelector, half_width: float) -> str:
    factor, unit = display_unit_for_values(measure.quantity, [half_width])
    return _with_unit(_rounded_up_text(half_width * factor), unit)


def _with_unit(number: str, unit: str) -> str:
    """A number with its unit; a ratio has none."""
    return number if unit == _RATIO else f"{number} {unit}"


def _rounded_up_text(value: float) -> str:
    """The value rounded up to two digits."""
    if value == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(round(value / step, 9)) * step:.{max(0, 1 - math.floor(math.log10(value)))}f}"


def parse_precision_target(until: str | float, of: str, groups: Sequence[str], queues: Sequence[str]) -> PrecisionTarget:
    """Parse a target precision: "1%" of the mean, "10 kbit/s", "0.1 ms", "5 packets", "0.01", or a number in the column's own unit.

    Numbers have any notation ("1e-3%"), and counts the plural or the singular ("1 flow"). A rate or time as text has its unit, since
    tables show them in others than the column's. Raises UsageError for a bound that cannot be read, is not above 0 or has another unit
    than the measure, and UnknownName for a measure.
    """
    measure = parse_measure(of, groups, queues)
    unit = unit_of(measure.quantity)
    fix = f"fix: write it as in {_bound_examples(unit)}"
    if isinstance(until, (int, float)) and not isinstance(until, bool):
        bound, is_relative = float(until), False
    elif not isinstance(until, str):
        raise UsageError(f"until: {until!r} is not a bound; {fix}")
    elif (percent := _PERCENT.fullmatch(until)) is not None:
        bound, is_relative = float(percent[1]) / 100, True
    else:
        found = _quantity_in_unit(until, unit)
        if found is None:
            raise UsageError(f"until: {until!r} is not a bound of {measure.readable_name}{_unit_text(unit)}; {fix}")
        if not found[1] and unit in _UNITS_SHOWN_IN_OTHERS:
            raise UsageError(f"until: {until!r} has no unit, and {measure.readable_name} is in {unit}; {fix}")
        bound, is_relative = found[0], False
    if not (bound > 0 and math.isfinite(bound)):
        raise UsageError(f"until: {until!r} must be above 0; {fix}")
    return PrecisionTarget(measure, bound, is_relative)


def _bound_examples(unit: str) -> str:
    """An example of each form of a bound of a measure in this unit."""
    values = {"bit/s": ["10 kbps"], "s": ["1 ms"], _RATIO: ["0.01"]}.get(unit, ["5", f"5 {unit}"])
    *others, last = [f'"{example}"' for example in ("1%", *values)]
    return f"{', '.join(others)} or {last}"


def _quantity_in_unit(text: str, unit: str) -> tuple[float, str] | None:
    """Parse a number without a unit, or with this one in any spelling; None if it is neither."""
    count = _COUNT.fullmatch(text)
    if count is not None and unit != _RATIO and count[2] in (unit, unit.removesuffix("s") or unit):
        return float(count[1]), unit
    found = quantity_of(text)
    return None if found is None or found[1] not in ("", unit) else found


def _unit_text(unit: str) -> str:
    return "" if unit == _RATIO else f" ({unit})"


def parse_measure(text: str, groups: Sequence[str], queues: Sequence[str]) -> MeasureSelector:
    """Parse the name of a measure: "goodput" or "goodput_bps" of all flows, "far.goodput", "bottleneck.sojourn_mean", or of a band.

    Raises UnknownName for a quantity, group or queue that is not there, and UsageError for a group or queue alone.
    """
    row, dot, word = text.rpartition(".")
    queue, _, band = row.rpartition(".")
    rows: list[tuple[str, dict[str, str]]] = [] if dot else [("total", {})]
    if row in groups:
        rows.append(("groups", {"group": row}))
    if row in queues:
        rows.append(("queues", {"queue": row}))
    elif queue in queues:
        rows.append(("bands", {"queue": queue, "band": band}))
    for table, names in rows:
        known = [column.name for column in catalog.table(table).columns if column.unit]
        for ending in _UNIT_SUFFIXES:
            if word + ending in known:
                return MeasureSelector(text, word + ending, **names)
    if text in (*groups, *queues):
        kind, example = ("group of flows", "goodput") if text in groups else ("queue", "sojourn_mean")
        raise UsageError(f"of: {text!r} is a {kind}; fix: name a measure of it, as in {text}.{example}")
    if not rows:
        raise UnknownName("group or queue", row, [*groups, *queues])
    elsewhere = (catalog.row_with_quantity(word + ending, groups, queues) for ending in _UNIT_SUFFIXES)
    row_of_other_table = next(filter(None, elsewhere), None)
    fix = None if row_of_other_table is None else f"write {'.'.join(filter(None, (row_of_other_table[1], word)))}"
    raise UnknownName(f"quantity of the table {table}", word, known, fix)


def seed_stages(most: int) -> Iterator[int]:
    """Numbers of seeds after which the interval is checked: 10, 15, 23, 35, ... and `most`."""
    n = min(MIN_SEEDS, most)
    while n < most:
        yield n
        n = min(most, math.ceil(n * _STAGE_GROWTH))
    yield n
