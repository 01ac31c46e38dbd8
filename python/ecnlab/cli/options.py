"""Options that several commands take, read in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ecnlab.cli import output
from ecnlab.errors import Interrupted, Problem, ScenarioError, UsageError, require_no_problems, require_nonempty_path

if TYPE_CHECKING:
    from ecnlab.backends.base import Backend
    from ecnlab.execution.workers import Workers
    from ecnlab.storage.store import Store

# Options of a comparison.
MAX_SIDES = 2

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Decorated], Decorated]


class NonEmptyPath(click.Path):
    """A path; an empty text, such as that of an unset variable of the shell, would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises UsageError for an empty text."""
        require_nonempty_path(_parameter_name(param), value)
        return super().convert(value, param, ctx)


def _parameter_name(param: click.Parameter | None) -> str:
    """An option as it is written, or the name of an argument."""
    if isinstance(param, click.Option):
        return param.opts[-1]
    return "path" if param is None else param.make_metavar(click.get_current_context()).strip("[].")


PATH = NonEmptyPath(path_type=Path)

threads_option = click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Parallel runs (default: one for each core).")
cluster_option = click.option("--cluster", metavar="ADDRESS", help="Run on the dask workers of this scheduler, e.g. tcp://node1:8786.")
store_option = click.option(
    "--store",
    type=PATH,
    metavar="DIR",
    default=Path("results") / "store",
    help="Store of all runs (default: results/store).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON only.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but warnings and errors.")

_BACKEND_HELP = (
    "Backend: sim (the simulator, the default), live (hosts are this machine's kernel, in real time) or uml (hosts are a kernel in "
    "user-mode Linux, in virtual time)."
)
_BACKEND_OPTIONS = (
    click.option("--ip", type=click.Choice(["4", "6"]), help="IP version of the hosts, on live and uml: 4 (default) or 6."),
    click.option("--kernel", metavar="NAME", help="A kernel of `ecnlab uml list`, or a control in one, on uml (default: the newest 6.1)."),
    click.option(
        "--lateness-budget",
        "lateness",
        metavar="TIME",
        help="On live: reject a run whose departures are later than TIME at p99, e.g. 1ms "
        "(default: a quarter of a packet's time on the slowest link).",
    ),
)


def redirect_prints_to_stderr(command: Decorated) -> Decorated:
    """Redirect all prints except the command's output to standard error: a user-defined AQM may print."""

    @wraps(command)
    def redirected(*args: Any, **more: Any) -> Any:
        with output.redirect_stdout_to_stderr():
            return command(*args, **more)

    return cast(Decorated, redirected)


def resolve_example_argument(context: click.Context, param: click.Parameter, value: Any) -> Any:
    """Replace `example:NAME` in an argument by the paths of the example's files. Raises UsageError for an empty one."""
    from ecnlab.packaged_examples import resolve_example

    if isinstance(value, tuple):
        return tuple(resolve_example_argument(context, param, one) for one in value)
    require_nonempty_path(_parameter_name(param), value)
    return value if value is None else type(value)(resolve_example(value))


def aqm_option(command: Decorated) -> Decorated:
    """`--aqm FILE:CLASS`, as the command's parameter `aqms`."""
    option = repeatable_option("--aqm", "aqms", "FILE:CLASS", "Load a user-defined AQM, e.g. my_aqm.py:MyAqm; repeatable.")
    return cast("Decorated", option(redirect_prints_to_stderr(command)))


def backend_options(command: Decorated) -> Decorated:
    """`--backend NAME` and the options of backends; the command's parameter `backend` is None if none of them is given."""

    @wraps(command)
    def call_command_with_backend(*args: Any, backends: Sequence[Backend], **given: Any) -> Any:
        return command(*args, backend=next(iter(backends), None), **given)

    return cast("Decorated", _add_backend_options(call_command_with_backend, _BACKEND_HELP, per_side=False))


def add_backend_options_per_side(command: Decorated) -> Decorated:
    """`--backend NAME` once for both sides of a comparison, or twice; the command's parameter `backends` has as many."""
    return _add_backend_options(command, f"{_BACKEND_HELP} Twice: for A and for B.", per_side=True)


def _add_backend_options(command: Decorated, words: str, *, per_side: bool) -> Decorated:
    """The options that choose backends, as the command's parameter `backends`; unless one is for each side, the last one counts."""

    @wraps(command)
    def call_command_with_backends(
        *args: Any, names: Sequence[str], on: Sequence[str], ip: str | None, kernel: str | None, lateness: str | None, **given: Any
    ) -> Any:
        chosen = merge_renamed_backend_option(names, on) if per_side else merge_renamed_backend_option(names[-1:], on[-1:])
        if len(chosen) > MAX_SIDES:
            raise UsageError(f"--backend: is given {len(chosen)} times; fix: give one for both sides, or one for each")
        return command(*args, backends=backends_from_options(chosen, ip, kernel, lateness), **given)

    choice = repeatable_option("--backend", "names", "NAME", words)
    decorated: Any = call_command_with_backends
    for option in reversed((choice, click.option("--on", multiple=True, hidden=True), *_BACKEND_OPTIONS)):
        decorated = option(decorated)
    return cast("Decorated", decorated)


def merge_renamed_backend_option(names: Sequence[str], on: Sequence[str]) -> Sequence[str]:
    """The values of `--backend`, and of `--on`, its old name, with a warning."""

    if on:
        output.print_to_stderr("warning: --on is now --backend; fix: write --backend")
    return [*names, *on]


def workers_options(command: Decorated) -> Decorated:
    """`--threads N` and `--cluster ADDRESS`, as the command's parameter `workers`."""

    @wraps(command)
    def call_command_with_workers(*args: Any, threads: int | None, cluster: str | None, **given: Any) -> Any:
        return command(*args, workers=threads_or_cluster_from_options(threads, cluster), **given)

    return cast("Decorated", threads_option(cluster_option(call_command_with_workers)))


def out_option(metavar: str, words: str) -> Decorator[Any]:
    """`--out`, the file or folder to write."""
    return click.option("--out", type=PATH, metavar=metavar, help=words)


def repeatable_option(option: str, parameter: str, metavar: str, words: str) -> Decorator[Any]:
    """An option that may be given several times, as the command's `parameter`."""
    return click.option(option, parameter, metavar=metavar, multiple=True, help=words)


def set_option(words: str) -> Decorator[Any]:
    """`--set KEY=VALUE`, as the command's parameter `overrides`."""
    return click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, callback=_parse_set_options, help=words)


def _parse_set_options(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    return parse_key_value_options("--set", given, "flows.far.count=40")


def seed_option(default: str) -> Decorator[Any]:
    """`--seed N`, the one seed."""
    return click.option("--seed", metavar="N", help=f"Run only this seed (default: {default}).")


def seeds_option(default: str) -> Decorator[Any]:
    """`--seeds N`, the seeds 1 to N."""
    return click.option("--seeds", metavar="N|A..B|A,B,C", help=f"Run the seeds 1 to N, A to B, or A, B and C (default: {default}).")


def seeds_from_options(one: str | None, several: str | None, default: str) -> list[int]:
    """The seeds that `--seed` and `--seeds` ask for; `default` is read as the value of `--seeds`. Raises UsageError."""
    from ecnlab.scenarios.seeds import parse_seed_to_list, parse_seeds, seeds_as_text

    if one is not None and several is not None:
        parse_seed_to_list(one)
        runs = seeds_as_text(parse_seeds(several))
        raise UsageError(
            f"--seed and --seeds exclude each other: --seed {one} runs only seed {one}, --seeds {several} runs the seeds {runs}; "
            "fix: give one of the two"
        )
    return parse_seeds(default if several is None else several) if one is None else parse_seed_to_list(one)


def threads_or_cluster_from_options(threads: int | None, cluster: str | None) -> Workers:
    """The workers that `--threads` and `--cluster` select. Raises UsageError."""
    from ecnlab.execution.workers import Threads

    if threads is not None and cluster is not None:
        raise UsageError("--threads and --cluster exclude each other; fix: omit one of them")
    if cluster is None:
        return Threads(threads)
    from ecnlab.execution.cluster import Cluster

    return Cluster(cluster)


def backends_from_options(names: Sequence[str], ip: str | None, kernel: str | None, lateness: str | None) -> list[Backend]:
    """The backends that these options name; none if no option is given.

    Each of several backends takes the options that it has. Raises UsageError, BackendError.
    """
    from ecnlab.backends import base, registry

    budget = None if lateness is None else _parse_lateness_budget(lateness)
    asked = {"ip": None if ip is None else int(ip), "kernel": kernel, "lateness_budget_s": budget}
    given = {name: value for name, value in asked.items() if value is not None}
    if not (names or given):
        return []
    chosen = [registry.resolve_backend(name) for name in names or [base.SIMULATOR_NAME]]
    nowhere = [name for name in given if not any(hasattr(backend, name) for backend in chosen)]
    return [
        registry.replace_backend_parameters(
            backend, **{name: value for name, value in given.items() if hasattr(backend, name) or name in nowhere}
        )
        for backend in chosen
    ]


def _parse_lateness_budget(given: str) -> float:
    """A time, as "1 ms". Raises UsageError."""
    from ecnlab.scenarios.units import parse_quantity

    found = parse_quantity(given)
    if found is None or found[1] != "s" or not found[0] > 0:
        raise UsageError(f"--lateness-budget {given!r}: is not a time above 0; fix: write it with its unit, e.g. 1ms")
    return found[0]


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Opens the store that `--store` names and prints its warnings; after Ctrl-C the error names it."""
    from ecnlab.storage.store import Store

    store = Store(path)
    output.print_warnings(store.warnings, None)
    with name_folder_when_interrupted(path):
        yield store


@contextmanager
def name_folder_when_interrupted(folder: Path) -> Iterator[None]:
    """Names the folder that keeps the runs in the error after Ctrl-C."""
    try:
        yield
    except Interrupted as error:
        raise Interrupted(f"{error}; finished runs are in {folder}; the same command continues from there", error.result) from None


@contextmanager
def name_set_option_in_problems(overrides: Mapping[str, str]) -> Iterator[None]:
    """Name `--set` in the problems of a scenario that it caused."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError([_problem_with_set_option_name(problem, overrides) for problem in error.problems], error.source) from None


def _problem_with_set_option_name(problem: Problem, overrides: Mapping[str, str]) -> Problem:
    if problem.line is not None:
        return problem
    if any(_is_problem_place_within_key(key, problem.place) for key in overrides):
        return replace(problem, place=f"--set {problem.place}")
    causes = [f"--set {key}=..." for key, value in overrides.items() if _has_made_place_of_problem(key, value, problem)]
    return replace(problem, place=f"{', '.join(causes)}: {problem.place}") if causes else problem


def _has_made_place_of_problem(key: str, value: str, problem: Problem) -> bool:
    """Whether an override has set the name of a list's member in a problem's place, which is a number without one, or made its table."""
    steps, there = key.split("."), problem.place.split(".")
    has_set_name = steps[0] == there[0] and (len(steps) == 2 or steps[2:] == there[2:] == ["name"])
    is_member = len(there) > 2 and (there[1].isdecimal() or there[1] in value)
    return (has_set_name and is_member) or (problem.message.startswith("is missing") and steps[: len(there) - 1] == there[:-1])


def _is_problem_place_within_key(key: str, place: str) -> bool:
    """Whether a problem's place is the key or inside it. Members of a list match `*` and their index."""
    asked, there = key.split("."), place.split(".")
    return len(asked) <= len(there) and all(step in ("*", at) or step.isdecimal() for step, at in zip(asked, there, strict=False))


def parse_key_value_options(option: str, given: Sequence[str], example: str, form: str = "KEY=VALUE") -> dict[str, str]:
    """Read options of the form KEY=VALUE, or as `form` describes it. Raises UsageError naming every one that is not of it, or not UTF-8."""
    parts = [one.partition("=") for one in given]
    problems = [
        f"{option} {one!r}: is not {form}; fix: write it as in {example}"
        for one, (key, equals, _) in zip(given, parts, strict=True)
        if not (key.strip() and equals)
    ]
    # Python gives bytes of the command line that are not UTF-8 as surrogates.
    problems += [f"{option} {one!r}: is not UTF-8; fix: encode it as UTF-8" for one in given if any("\ud800" <= c <= "\udfff" for c in one)]
    require_no_problems(problems)
    return {key.strip(): value.strip() for key, _, value in parts}
