"""Lookup of backends by name, and their parameters from the command line."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

from ecnlab.backends.base import SIMULATOR_NAME, Backend, require_linux
from ecnlab.errors import UsageError, require_known_name

# Error messages for parameters that a backend does not have.
_UNSUPPORTED_PARAMETER_MESSAGES = {
    "lateness_budget_s": "lateness_budget_s: only the backend live runs in real time, not {backend}; fix: add --backend live",
    "ip": "ip: only backends with kernel hosts take an IP version, not {backend}; fix: add --backend live or --backend uml",
    "kernel": "kernel: only the backend uml takes a kernel, not {backend}; fix: add --backend uml",
}

# Module and class of each backend, imported on first use.
_BACKEND_CLASSES = {
    "sim": "ecnlab.backends.simulator:Simulator",
    "live": "ecnlab.backends.live:Live",
    "uml": "ecnlab.backends.uml.backend:Uml",
}
_RENAMED_BACKENDS = {"boxed": "uml"}

# Type of an argument `backend`: one backend or a sequence of them.
_Given = TypeVar("_Given")


def resolve_backend(given: str | Backend) -> Backend:
    """Return the backend for an argument, which is a name or an object. Raises UnknownName, UsageError, BackendError."""
    if not isinstance(given, str):
        if all(hasattr(given, name) for name in ("name", "identity", "refusals", "run")):
            return given
        raise UsageError(f"backend: must be {', '.join(_BACKEND_CLASSES)}, or a backend such as ecnlab.Live(), not {type(given).__name__}")
    module, name = _BACKEND_CLASSES[require_backend_name(given)].split(":")
    if given != SIMULATOR_NAME:
        require_linux(f"backend: {given}")
    backend: Backend = getattr(import_module(module), name)()
    return backend


def require_backend_name(name: str) -> str:
    """Return the name if it is that of a backend. Raises UnknownName, and UsageError for a former name."""
    if name in _RENAMED_BACKENDS:
        new = _RENAMED_BACKENDS[name]
        raise UsageError(f"backend: {name!r} is now {new!r}; fix: write {new!r}")
    require_known_name("backend", name, _BACKEND_CLASSES)
    return name


def merge_renamed_backend_argument(backend: _Given, on: _Given) -> _Given:
    """Return the argument `backend`, or `on`, its deprecated name, with a DeprecationWarning. Raises UsageError if both are given."""
    if on is None:
        return backend
    if backend is not None:
        raise UsageError("on: is the old name of backend; fix: omit on")
    warnings.warn("the argument on= is now backend=", DeprecationWarning, stacklevel=3)
    return on


def replace_backend_parameters(backend: Backend, **parameters: Any) -> Backend:
    """Return the backend with changed parameters; None keeps a value. Raises UsageError that names all unsupported parameters."""
    given = {name: value for name, value in parameters.items() if value is not None}
    strange = [name for name in given if not hasattr(backend, name)]
    if strange:
        raise UsageError("\n".join(_UNSUPPORTED_PARAMETER_MESSAGES[name].format(backend=backend.name) for name in strange))
    return replace(backend, **given) if given else backend  # type: ignore[type-var]
