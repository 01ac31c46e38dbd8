"""Options that several commands take, read in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ecnlab.errors import Interrupted, Problem, ScenarioError, UsageError

if TYPE_CHECKING:
    from ecnlab.store import Store
    from ecnlab.tiers import Tier
    from ecnlab.workers import Workers

# Of a comparison.
MOST_SIDES = 2

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Decorated], Decorated]

threads = click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Runs at a time (default: one for each core).")
cluster = click.option("--cluster", metavar="ADDRESS", help="Run on the dask workers of this scheduler, e.g. tcp://node1:8786.")
store = click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("results") / "store",
    help="Where runs are kept and shared (default: results/store).",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON and nothing else.")
quiet = click.option("--quiet", is_flag=True, help="Print nothing but warnings and errors.")

_ON = (
    "What it runs on: sim (the simulator, unless said otherwise), live (this machine's kernel, in real time) or boxed (a kernel "
    "in virtual time)."
)
_TIER = (
    click.option("--ip", type=click.Choice(["4", "6"]), help="The version of IP of the hosts, on live and boxed: 4 (default) or 6."),
    click.option("--kernel", metavar="NAME", help="A kernel of `ecnlab box list`, on boxed (default: the newest 6.1)."),
    click.option(
        "--lateness-budget",
        "lateness",
        metavar="TIME",
        help="Refuse a run on live whose departures are later at p99, e.g. 1ms (default: a quarter of a packet's time on the slowest "
        "link).",
    ),
)


def prints_apart(command: Decorated) -> Decorated:
    """Print to standard error whatever is no output of the command's own: an AQM of the user's may print."""

    @wraps(command)
    def called(*args: Any, **more: Any) -> Any:
        from ecnlab.cli import output

        with output.kept_apart():
            return command(*args, **more)

    return cast(Decorated, called)


def aqms(command: Decorated) -> Decorated:
    """`--aqm FILE:CLASS`, as the command's parameter `aqms`."""
    words = "Bring an AQM of your own, e.g. my_aqm.py:MyAqm; repeatable."
    return click.option("--aqm", "aqms", metavar="FILE:CLASS", multiple=True, help=words)(prints_apart(command))


def on(command: Decorated) -> Decorated:
    """`--on TIER` and what a tier takes besides; the command's parameter `on` is the tier, or None if none of them is given."""

    @wraps(command)
    def with_tier(*args: Any, on: str | None, ip: str | None, kernel: str | None, lateness: str | None, **given: Any) -> Any:
        return command(*args, on=next(iter(tiers([on] if on else [], ip, kernel, lateness)), None), **given)

    return cast("Decorated", _with(click.option("--on", metavar="TIER", help=_ON), with_tier))


def on_each(command: Decorated) -> Decorated:
    """`--on TIER` once or twice, of both sides of a comparison or of each; the command's parameter `on` has as many tiers."""

    @wraps(command)
    def with_tiers(*args: Any, on: Sequence[str], ip: str | None, kernel: str | None, lateness: str | None, **given: Any) -> Any:
        if len(on) > MOST_SIDES:
            raise UsageError(f"--on: stands there {len(on)} times: give one for both sides, or one for each")
        return command(*args, on=tiers(on, ip, kernel, lateness), **given)

    several = click.option("--on", metavar="TIER", multiple=True, help=f"{_ON} Twice: that of A and that of B.")
    return cast("Decorated", _with(several, with_tiers))


def _with(chooses: Decorator[Any], command: Any) -> Any:
    """A command with the option that chooses a tier and those of what a tier takes besides."""
    for option in reversed((chooses, *_TIER)):
        command = option(command)
    return command


def seed(default: str) -> Decorator[Any]:
    """`--seed N`, the one seed."""
    return click.option("--seed", metavar="N", help=f"Run this one seed (default: {default}).")


def seeds(default: str) -> Decorator[Any]:
    """`--seeds N`, the seeds 1 to N."""
    return click.option("--seeds", metavar="N|A..B|A,B,C", help=f"Run the seeds 1 to N, A to B, or those named (default: {default}).")


def chosen_seeds(one: str | None, several: str | None, default: str) -> list[int]:
    """The seeds that `--seed` and `--seeds` ask for; `default` is read as the value of `--seeds`. Raises UsageError."""
    from ecnlab.seeds import listed_seeds, parse_seed, parse_seeds

    if one is not None and several is not None:
        parse_seed(one)
        runs = listed_seeds(parse_seeds(several))
        raise UsageError(
            f"--seed and --seeds exclude each other: --seed {one} runs the seed {one} alone, --seeds {several} runs the seeds {runs}; "
            "fix: give one of the two"
        )
    return parse_seeds(default if several is None else several) if one is None else parse_seed(one)


def workers(threads: int | None, cluster: str | None) -> Workers:
    """Who `--threads` and `--cluster` say is to do the runs. Raises UsageError."""
    from ecnlab.cluster import Cluster
    from ecnlab.workers import Threads

    if threads is not None and cluster is not None:
        raise UsageError("--threads and --cluster exclude each other: the workers of a cluster have threads of their own")
    return Threads(threads) if cluster is None else Cluster(cluster)


def tiers(on: Sequence[str], ip: str | None, kernel: str | None, lateness: str | None) -> list[Tier]:
    """What these options say that it is to run on; nothing if none is given.

    Of several tiers each takes of the other options what it has. Raises UsageError, TierError.
    """
    from ecnlab import tiers

    budget = None if lateness is None else _seconds("--lateness-budget", lateness)
    asked = {"ip": None if ip is None else int(ip), "kernel": kernel, "lateness_budget_s": budget}
    given = {name: value for name, value in asked.items() if value is not None}
    if not (on or given):
        return []
    chosen = [tiers.chosen(name) for name in on or [tiers.NAME]]
    nowhere = [name for name in given if not any(hasattr(tier, name) for tier in chosen)]
    return [
        tiers.changed(tier, **{name: value for name, value in given.items() if hasattr(tier, name) or name in nowhere}) for tier in chosen
    ]


def _seconds(option: str, given: str) -> float:
    """A time that an option gives, as "1 ms". Raises UsageError."""
    from ecnlab.units import quantity

    found = quantity(given)
    if found is None or found[1] != "s" or not found[0] > 0:
        raise UsageError(f"{option} {given!r}: write a time above 0 with its unit, e.g. 1ms")
    return found[0]


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The store that `--store` names; says what there is to say of it, and where runs are kept if Ctrl-C ends the work."""
    from ecnlab.cli import output
    from ecnlab.store import Store

    store = Store(path)
    output.warn(store.warnings, None)
    try:
        yield store
    except Interrupted as error:
        raise Interrupted(f"{error}; they are kept in {path}, and the same command goes on from there", error.result) from None


def overrides(changes: Sequence[str]) -> dict[str, str]:
    """Read `--set a.b=v` options. Raises UsageError naming every one that has no key or no "="."""
    return pairs("--set", changes, "flows.far.count=40")


@contextmanager
def blamed_on_set(overrides: Mapping[str, str]) -> Iterator[None]:
    """Name `--set` in the problems of a scenario that it has brought in."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError([_of_set(problem, overrides) for problem in error.problems], error.source) from None


def _of_set(problem: Problem, overrides: Mapping[str, str]) -> Problem:
    is_set = problem.line is None and any(_leads(key, problem.place) for key in overrides)
    return replace(problem, place=f"--set {problem.place}") if is_set else problem


def _leads(key: str, place: str) -> bool:
    """Whether a place is the one that a key names, or within it. Members of a list go by `*` and by number too."""
    asked, there = key.split("."), place.split(".")
    return len(asked) <= len(there) and all(step in ("*", at) or step.isdecimal() for step, at in zip(asked, there, strict=False))


def pairs(option: str, given: Sequence[str], example: str) -> dict[str, str]:
    """Read options of the form KEY=VALUE. Raises UsageError naming every one that has no key or no "="."""
    parts = [one.partition("=") for one in given]
    bad = [one for one, (key, equals, _) in zip(given, parts, strict=True) if not (key.strip() and equals)]
    if bad:
        raise UsageError("\n".join(f"{option} {one!r}: write KEY=VALUE, e.g. {example}" for one in bad))
    return {key.strip(): value.strip() for key, _, value in parts}
