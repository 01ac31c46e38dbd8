"""Modules that are known by name and version: those of Python, of ecnlab and of installed packages."""

from __future__ import annotations

import functools
import importlib.metadata
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any


def is_installed_module(name: object) -> bool:
    """Whether a module of that name is Python's, ecnlab's or an installed package's."""
    if not isinstance(name, str) or name == "__main__":
        return False
    top = name.partition(".")[0]
    if top == "ecnlab" or top in sys.builtin_module_names:
        return True
    module = sys.modules.get(name) or sys.modules.get(top)
    file = getattr(module, "__file__", None)
    if file is None:
        return module is not None and top in sys.stdlib_module_names
    return is_installed_file(file)


@functools.lru_cache(4096)
def is_installed_file(file: str) -> bool:
    """Whether a file lies where Python or packages are installed."""
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _installed_folders()) or not {"site-packages", "dist-packages"}.isdisjoint(
        path.parts
    )


@functools.cache
def _installed_folders() -> list[Path]:
    paths = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [Path(path).resolve() for path in (*paths, *site.getsitepackages())]


@functools.cache
def package_version(package: str) -> str:
    """The version of an installed package, "unknown" if it has none; Python's own for its library."""
    if package in sys.builtin_module_names or package in sys.stdlib_module_names or package == "ecnlab":
        return python_version()
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pass
    if isinstance(given := getattr(sys.modules.get(package), "__version__", None), str):
        return given
    names = importlib.metadata.packages_distributions().get(package, [])
    return " ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))) or "unknown"


def python_version() -> str:
    """The Python that runs, but for its corrections: `sum` of 3.12, for one, rounds otherwise than that of 3.11."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def package_of_builtin(value: Any) -> str | None:
    """The installed package that has a function written in C, such as numpy's `mean`, under its name."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    for each in map(str, (module, "numpy", "scipy.special")):
        if callable(value) and isinstance(name, str) and is_installed_module(each) and getattr(sys.modules.get(each), name, None) is value:
            return each.partition(".")[0]
    return None
