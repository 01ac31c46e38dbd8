"""What the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.analysis.stats import Estimate
from ecnlab.units import shown_unit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ecnlab.results import Result

_BY_GROUP = (
    "throughput_bps",
    "goodput_bps",
    "goodput_first_bps",
    "delay_mean_s",
    "delay_p95_s",
    "marks",
    "drops",
    "timeouts",
    "lockouts",
)
_TRANSACTIONS = ("transactions", "transaction_mean_s", "transaction_p95_s")
_WHOLE = ("jain_goodput", "jain_goodput_first", "jain_1s_goodput", "jain_1s_goodput_first", "max_min_gap")
_QUEUE = (
    "utilisation",
    "length_mean_packets",
    "length_max_packets",
    "sojourn_mean_s",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
_PATH = ("drops_lost", "drops_ecn")


def console() -> Console:
    """Standard output, wide enough for a table where it is no terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON and nothing else; what is no number becomes null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is text and whose others are numbers."""
    from rich.table import Table

    made = Table(title=title, title_justify="left")
    for position, name in enumerate(header):
        made.add_column(name, justify="left" if position == 0 else "right", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def result_tables(result: Result) -> list[Table]:
    """A result as tables: rates, delays and counts by group; fairness; each queue."""
    title = f"{result.name}: {len(result.seeds)} seed{'s' * (len(result.seeds) != 1)}, mean ± 95 % interval"
    header = ["quantity", "unit", "all", *result.group_names]
    by_group = _BY_GROUP + (_TRANSACTIONS if math.isfinite(result.estimate("transaction_mean_s").mean) else ())
    groups = table(title, header, [_by_group(result, quantity) for quantity in by_group])
    fairness = table("fairness over all flows", ["quantity", "value"], [[q, number(result.estimate(q))] for q in _WHOLE])
    queues = table(
        "queues",
        ["quantity", "unit", *result.queue_names],
        [_by_queue(result, quantity) for quantity in (*_QUEUE, *_path_losses(result))],
    )
    return [groups, fairness, queues]


def _path_losses(result: Result) -> list[str]:
    """The losses on a path, of those kinds that there were."""
    return [quantity for quantity in _PATH if any(result.estimate(quantity, queue=queue).mean > 0 for queue in result.queue_names)]


def number(value: Estimate, factor: float = 1.0) -> str:
    """A mean with its interval, to the digits that the interval leaves meaning to."""
    scaled = value.scaled(factor)
    if not math.isfinite(scaled.mean):
        return "-"
    digits = _digits(scaled)
    mean = f"{scaled.mean:.{digits}f}"
    return mean if math.isnan(scaled.half_width) else f"{mean} ± {scaled.half_width:.{digits}f}"


def _digits(value: Estimate) -> int:
    scale = value.half_width if value.half_width > 0 else abs(value.mean) / 1000
    return 0 if not scale > 0 else min(6, max(0, 1 - math.floor(math.log10(scale))))


def _by_group(result: Result, quantity: str) -> list[str]:
    factor, unit = shown_unit(quantity)
    values = [
        result.estimate(quantity),
        *(result.estimate(quantity, group=group) for group in result.group_names),
    ]
    return [_name(quantity), unit, *(number(value, factor) for value in values)]


def _by_queue(result: Result, quantity: str) -> list[str]:
    factor, unit = shown_unit(quantity)
    values = (result.estimate(quantity, queue=queue) for queue in result.queue_names)
    return [_name(quantity), unit, *(number(value, factor) for value in values)]


def _name(quantity: str) -> str:
    for ending in ("_bps", "_packets", "_s"):
        quantity = quantity.removesuffix(ending)
    return quantity.replace("_", " ")
