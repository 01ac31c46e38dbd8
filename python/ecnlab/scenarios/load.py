"""Scenarios: read from a TOML file or built from a dict, and checked by the engine before any run."""

from __future__ import annotations

import errno
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any

from ecnlab import _core
from ecnlab.backends import base, registry
from ecnlab.backends.base import Backend
from ecnlab.backends.simulator import SIMULATOR
from ecnlab.display import html
from ecnlab.errors import Problem, ScenarioError, UsageError, require_nonempty_path
from ecnlab.packaged_examples import PREFIX, resolve_example
from ecnlab.scenarios.summary import scenario_tables

if TYPE_CHECKING:
    from ecnlab.aqm.api import Aqm

Overrides = Mapping[str, Any]

# Limit for scenario and sweep files, since a device such as /dev/zero never ends.
MAX_TEXT_CHARACTERS = 20_000_000


class Scenario:
    """A valid scenario, made by `load` and `scenario`. Immutable; can be pickled for a worker process.

    Attributes
    ----------
    name : str
        The title.
    duration_s, measure_from_s : float
        Simulated seconds, and the start of the measured interval.
    group_names, queue_names : list of str
        Names of the groups of flows and of the queues, in the scenario's order; a queue has the name of its link.
    hash : str
        The key: a digest of the engine's build and all parameters except the title and recordings, and of the backend unless that is the
        simulator. The same key and seed give the same results, except on a backend in real time.
    backend : Backend
        The backend that runs it: the simulator unless `on_backend` has set another.
    warnings : list of Problem
        Warnings about probable mistakes, each with a remedy.
    form, text, overrides, source
        Source of the scenario: "toml" or "json", the text in that form, the overrides as text by key path, and the file's name or None.
    aqms : tuple of classes
        The user's AQMs that it may use.
    """

    def __init__(
        self,
        core: _core.Scenario,
        form: str,
        text: str,
        overrides: Mapping[str, str],
        source: str | None,
        aqms: tuple[type[Aqm], ...] = (),
        folder: Path | None = None,
        backend: Backend = SIMULATOR,
    ) -> None:
        self._core = core
        self._folder = folder
        self.backend = backend
        self.form = form
        self.text = text
        self.overrides = dict(overrides)
        self.source = source
        self.name = core.name
        self.duration_s = core.duration_s
        self.measure_from_s = core.measure_from_s
        self.group_names = core.groups
        self.queue_names = core.queues
        self.hash = base.result_key_on_backend(core.hash, backend)
        self.aqms = aqms
        self.warnings = list(map(Problem.from_engine, core.warnings))

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """All parameters with defaults filled in, as nested dicts."""
        resolved: dict[str, Any] = json.loads(self._core.resolved)
        return resolved

    @property
    def estimated_memory_bytes(self) -> tuple[int, int]:
        """Memory of a run in bytes, estimated from its flows: with little state of each flow, and with much."""
        return self._core.estimated_memory_bytes

    @property
    def aqm_digests(self) -> dict[str, str]:
        """Digest of the source of each user AQM in a queue, by name."""
        return dict(self._core.user_aqm_digests)

    @property
    def digests_of_classes(self) -> list[tuple[type[Aqm], str]]:
        """Each user AQM class in a queue, with its digest when the scenario was read."""
        return [(aqm, digest) for aqm in self.aqms for name, digest in self.aqm_digests.items() if name == (aqm.name or aqm.__name__)]

    @property
    def file_names(self) -> list[str]:
        """Names of the files that it names, as it writes them."""
        return self._core.file_names

    @cached_property
    def link_names(self) -> list[str]:
        """Link names for traces; those that end in `.reverse` are reverse directions.

        A shared link has its own name. `GROUP.access` selects all access links of a group's flows, `GROUP.access.0` one.
        """
        return self._core.links

    @cached_property
    def routes(self) -> dict[str, tuple[list[str], list[str]]]:
        """Shared links on the forward and the reverse path of each group."""
        return {group: (there, back) for group, (there, back) in zip(self.group_names, self._core.routes, strict=True)}

    @cached_property
    def record(self) -> dict[str, Any]:
        """The optional recordings."""
        record: dict[str, Any] = json.loads(self._core.recordings_json)
        return record

    def changed(self, overrides: Overrides) -> Scenario:
        """The same scenario with more overrides, which replace existing ones. Raises ScenarioError, UsageError."""
        changes = _override_values_as_toml(overrides)
        kept = {key: value for key, value in self.overrides.items() if key not in changes}
        return _scenario_from_text(self.form, self.text, kept | changes, self.source, self.aqms, self._folder, self.backend, self._core)

    def on_backend(self, backend: str | Backend) -> Scenario:
        """The same scenario on a backend: "sim", "live", "uml", or one with settings, as `Live(lateness_budget_s=0.001)`.

        Raises UnknownName for an unknown backend, and BackendError if the backend cannot be identified on this machine.
        """
        chosen = registry.resolve_backend(backend)
        if chosen == self.backend:
            return self
        copy = Scenario(self._core, self.form, self.text, self.overrides, self.source, self.aqms, self._folder, chosen)
        copy.warnings = self.warnings
        return copy

    def on(self, backend: str | Backend) -> Scenario:
        """Deprecated name of `on_backend`."""
        warnings.warn("Scenario.on is now Scenario.on_backend", DeprecationWarning, stacklevel=2)
        return self.on_backend(backend)

    def refusals(self) -> list[Problem]:
        """Parts of the scenario that its backend cannot run; if there are any, no run starts."""
        return self.backend.refusals(self)

    def __reduce__(self) -> tuple[Any, ...]:
        aqms = [aqm.read_from or aqm for aqm in self.aqms]
        return _scenario_from_text, (self.form, self.text, self.overrides, self.source, aqms, self._folder, self.backend)

    def __repr__(self) -> str:
        where = "" if self.backend == SIMULATOR else f" on {self.backend.name}"
        return f"<Scenario {self.name!r} {self.hash[:12]}{where}>"

    def __str__(self) -> str:
        """The scenario's text followed by its overrides; `resolved` has all parameters."""
        changes = [f"# changed: {key} = {value}" for key, value in self.overrides.items()]
        text = self.text if self.form == "toml" else json.dumps(json.loads(self.text), indent=2, ensure_ascii=False)
        return "\n".join([repr(self), text.rstrip("\n"), *changes])

    def _repr_html_(self) -> str:
        """The main parameters as tables, for notebooks."""
        notes = [f"warning: {warning.as_text(self.source)}" for warning in self.warnings]
        return html.tables_and_notes_to_html(repr(self), scenario_tables(self.resolved, self.duration_s, self.measure_from_s), notes)


def load(path: str | Path, overrides: Overrides | None = None, *, aqms: Iterable[type[Aqm] | str] = ()) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : str or Path
        The file (TOML), or `example:NAME` for one of the package's.
    overrides : Mapping, optional
        Values of Python or numpy that replace those of the file, by key path: {"flows.far.count": 40, "link.bottleneck.rate": "20 Mbps"}.
    aqms : iterable of classes, optional
        User AQMs that it may name: subclasses of `Aqm`, or texts as "my_aqm.py:MyAqm".

    Raises
    ------
    ScenarioError
        The scenario is unsound; `.problems` lists everything that is wrong.
    UsageError
        The file cannot be read, or an argument is of the wrong type.

    Examples
    --------
    Shorten an example of the project to ten seconds:

    >>> import ecnlab as lab
    >>> scenario = lab.load("example:ecn", {"duration": "10 s", "measure_from": "2 s"})
    >>> scenario.group_names, scenario.queue_names
    (['fragile', 'average', 'robust'], ['bottleneck'])

    An error lists everything that is wrong in the file:

    >>> try:
    ...     lab.load("example:ecn", {"link.bottleneck.queue.min_tj": 10})
    ... except lab.ScenarioError as error:
    ...     print(error.problems[0].place, error.problems[0].message, sep=": ")
    link.bottleneck.queue.min_tj: unknown key; did you mean "min_th"?
    """
    if not isinstance(path, (str, Path)):
        raise UsageError(f"path: must be the path of a scenario file, not {type(path).__name__}")
    require_nonempty_path("path", path)
    file = resolve_example(path)
    source = str(file)
    try:
        text = read_user_text_file(file)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"cannot read {source!r}: {_read_error_text(error)}") from None
    return scenario_from_toml_text(text, overrides, source, aqms=aqms)


def example(name: str, overrides: Overrides | None = None) -> Scenario:
    """Read a scenario of the package, as `load("example:NAME")`.

    Parameters
    ----------
    name : str
        Such as "ecn"; `ecnlab example` lists the names.
    overrides : Mapping, optional
        As for `load`.

    Raises
    ------
    UsageError
        No example has this name.

    Examples
    --------
    >>> import ecnlab as lab
    >>> lab.example("ecn", {"duration": "20 s"}).group_names
    ['fragile', 'average', 'robust']
    """
    return load(f"{PREFIX}{name}", overrides)


def read_user_text_file(path: Path) -> str:
    """Read a text file or pipe named by the user. Raises OSError if it is too large, and ValueError if it is not text."""
    with path.open(encoding="utf-8") as file:
        text = file.read(MAX_TEXT_CHARACTERS + 1)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise OSError(errno.EFBIG, f"it has more than {MAX_TEXT_CHARACTERS} characters", str(path))
    return text


def scenario_from_toml_text(
    text: str, overrides: Overrides | None = None, source: str | None = None, *, aqms: Iterable[type[Aqm] | str] = ()
) -> Scenario:
    """Read a scenario from the text of a file (TOML) that `source` names in messages. Arguments and errors as for `load`."""
    return _scenario_from_text("toml", text, _override_values_as_toml(overrides), source, aqms)


def scenario(tree: Mapping[str, Any], overrides: Overrides | None = None, *, aqms: Iterable[type[Aqm] | str] = ()) -> Scenario:
    """Build a scenario from nested dicts.

    Parameters
    ----------
    tree : Mapping
        The keys of a scenario file; `link` and `flows` are lists of dicts.
    overrides : Mapping, optional
        As for `load`.
    aqms : iterable of classes, optional
        As for `load`.

    Raises
    ------
    ScenarioError
        The scenario is unsound; `.problems` lists everything that is wrong.
    UsageError
        An argument is of a wrong type.

    Examples
    --------
    Four Linux flows share a 10 Mbit/s link with CoDel:

    >>> import ecnlab as lab
    >>> queue = {"aqm": "codel", "limit": 1000}
    >>> tree = {
    ...     "name": "four flows",
    ...     "duration": "10 s",
    ...     "network": {"topology": "dumbbell", "rate": "10 Mbps", "delay": "20 ms", "queue": queue},
    ...     "flows": [{"name": "four", "count": 4, "from": "left", "to": "right", "tcp": {"profile": "linux", "ecn": True}}],
    ... }
    >>> lab.scenario(tree).queue_names
    ['bottleneck']

    Overrides change a value without a change of the tree:

    >>> lab.scenario(tree, {"network.rate": "20 Mbps"}).resolved["link"][0]["rate"]
    '20000000 bps'
    """
    if not isinstance(tree, Mapping):
        raise UsageError(
            f"tree: must be a dict with the keys of a scenario file, not {type(tree).__name__}; fix: for a file call load(path)"
        )
    try:
        text = json.dumps(tree, allow_nan=False, default=_to_json_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError([Problem("", None, f"not a tree of plain values: {error}")]) from None
    return _scenario_from_text("json", text, _override_values_as_toml(overrides), None, aqms)


def _scenario_from_text(
    form: str,
    text: str,
    changes: Mapping[str, str],
    source: str | None,
    aqms: Iterable[type[Aqm] | str] = (),
    folder: Path | None = None,
    backend: Backend = SIMULATOR,
    changed_from: _core.Scenario | None = None,
) -> Scenario:
    """Parse and check a scenario; its file references are relative to `folder`, or else to the folder of `source`.

    With the same network as `changed_from` it shares that in memory.
    """
    classes, entries = _user_aqm_classes_and_entries(aqms)
    beside = folder or Path(source or "").parent.absolute()
    try:
        core = _build_interruptibly(
            lambda: _core.Scenario(text, list(changes.items()), entries, beside, changed_from, is_toml=form == "toml")
        )
    except _core.ScenarioError as error:
        raise ScenarioError(map(Problem.from_engine, error.problems), source) from None
    except ValueError as error:  # a name already in use
        raise UsageError(f"aqms: {error}") from None
    loaded = Scenario(core, form, text, changes, source, classes, beside, backend)
    used = loaded.aqm_digests
    loaded.warnings += [unused_aqm_warning(entry.name) for entry in entries if entry.name not in used]
    return loaded


def _user_aqm_classes_and_entries(aqms: Iterable[type[Aqm] | str]) -> tuple[tuple[type[Aqm], ...], list[_core.BroughtAqm]]:
    """The user's AQMs as classes and as engine entries; the reader of classes is imported only if there are any."""
    if aqms == ():
        return (), []
    from ecnlab.aqm import plugins

    return plugins.aqm_classes_and_registry_entries(aqms)


def unused_aqm_warning(name: str) -> Problem:
    """The warning about a user AQM that no queue uses."""
    remedy = f"fix: name it in a queue, as in --set link.NAME.queue.aqm={name}"
    return Problem("", None, f"the scenario has no queue with the AQM {name}; {remedy}")


def leaf_values_with_paths(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield every value of a tree with its path; members of a list are identified by name if they have one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaf_values_with_paths(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, (list, tuple)) and value and all(isinstance(one, Mapping) and "name" in one for one in value):
        for one in value:
            yield from leaf_values_with_paths({key: inner for key, inner in one.items() if key != "name"}, f"{path}.{one['name']}")
    else:
        yield path, value


def _build_interruptibly(build: Callable[[], _core.Scenario]) -> _core.Scenario:
    """Return or raise the outcome of `build`, run in a thread so that Ctrl-C takes effect while a large file is read."""
    if current_thread() is not main_thread():  # only the main thread receives Ctrl-C
        return build()
    outcomes: SimpleQueue[_core.Scenario | BaseException] = SimpleQueue()

    def put_build_outcome() -> None:
        try:
            outcomes.put(build())
        except BaseException as error:
            outcomes.put(error)

    Thread(target=put_build_outcome, daemon=True).start()
    outcome = outcomes.get()
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _override_values_as_toml(overrides: Overrides | None) -> dict[str, str]:
    if overrides is None:
        return {}
    if not isinstance(overrides, Mapping):
        raise UsageError(
            f"overrides: must be a dict from key paths to values, as in {{'flows.far.count': 40}}, not {type(overrides).__name__}"
        )
    if wrong := [key for key in overrides if not isinstance(key, str)]:
        raise UsageError(f"overrides: the key {wrong[0]!r} is no text; fix: write the path of a key, as in 'flows.far.count'")
    try:
        return {key: _override_value_as_toml(key, value) for key, value in overrides.items()}
    except RecursionError:
        raise UsageError("overrides: a value is nested too deeply") from None


def _to_json_value(value: Any) -> Any:
    """Convert a value that JSON does not support. Raises TypeError."""
    plain = numpy_to_python_value(value)
    if plain is value:
        raise TypeError(f"{value!r} is not a text, number, boolean, list or dict")
    return plain


def _override_value_as_toml(key: str, value: Any) -> str:
    try:
        text = _unquoted_toml_value(value)
        (key + text).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"overrides: {key}: {error}") from None
    return text


def _unquoted_toml_value(value: Any) -> str:
    """A Python or numpy value in TOML syntax; text is passed unchanged, since the engine accepts bare words. Raises TypeError."""
    if isinstance(value, str):
        return value
    value = numpy_to_python_value(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted_toml_value(str(key))} = {_quoted_toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_quoted_toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a text, number, boolean, list or dict")
    return repr(value)


def _quoted_toml_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _unquoted_toml_value(value)


def numpy_to_python_value(value: Any) -> Any:
    """Convert a numpy value to Python's type."""
    return value.tolist() if hasattr(value, "tolist") else value


def _read_error_text(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
