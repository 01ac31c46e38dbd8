"""Functions by their instructions, constants, defaults, closures, and by the globals that they name."""

from __future__ import annotations

import functools
import importlib
import random
import sys
import types
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ecnlab.aqm.digests.instructions import NamesInCode, names_in_function_code, package_for_relative_imports
from ecnlab.aqm.digests.modules import ModuleDigest
from ecnlab.aqm.digests.origin import package_of_builtin, package_version
from ecnlab.aqm.digests.state import FIX_FOR_RANDOM_DRAWS, Location, not_digestible_error, type_name_with_article

_BUILTIN_CALLABLES: tuple[type, ...] = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)


# What stands around a function: its name in the digest, and the attributes that count.
_PARTS_AROUND_FUNCTION = {
    types.MethodType: ("method", ("__func__", "__self__")),
    property: ("property", ("fget", "fset", "fdel")),
    functools.singledispatchmethod: ("single dispatch of methods", ("func", "dispatcher")),
    functools.partial: ("partial", ("func", "args", "keywords")),
}


class FunctionDigest(ModuleDigest):
    """Adds functions and what stands around one."""

    def _add_if_wrapped_or_builtin_callable(self, value: Any, place: Location) -> bool:
        """Add what stands around a function; whether it was that."""
        kind = type(value)
        if kind in _PARTS_AROUND_FUNCTION:
            name, attributes = _PARTS_AROUND_FUNCTION[kind]
            self.add(name)
            self._add_values([getattr(value, attribute) for attribute in attributes], place)
        elif kind in (staticmethod, classmethod):
            self.add(kind.__name__)
            self.add_value(value.__func__, place)
        elif kind is functools.cached_property:
            self.add("cached property")
            self.add_value(value.func, place)
        elif kind is functools._lru_cache_wrapper:
            self.add("cached", repr(value.cache_parameters()))
            self.add_value(value.__wrapped__, place)
        elif isinstance(value, _BUILTIN_CALLABLES):
            self._add_builtin(value, place)
        elif (package := package_of_builtin(value)) is not None:
            self.add("member", package, value.__name__, package_version(package))
        elif kind.__module__.startswith("numba.") and isinstance(getattr(value, "py_func", None), types.FunctionType):
            self.add("compiled", package_version("numba"), repr(sorted(value.targetoptions.items())))
            self.add_value(value.py_func, place)
        else:
            return False
        return True

    def _add_builtin(self, value: Any, place: Location) -> None:
        """Add something written in C by its name, and by what it is bound to."""
        owner = getattr(value, "__self__", None)
        self.add("named", value.__qualname__ if hasattr(value, "__qualname__") else value.__name__)
        if isinstance(owner, random.Random):
            raise not_digestible_error(place, f"a method of {type_name_with_article(type(owner))}", FIX_FOR_RANDOM_DRAWS)
        if owner is None or isinstance(owner, types.ModuleType):
            home = getattr(getattr(value, "__objclass__", value), "__module__", None)
            if home in sys.modules and not self._is_installed_module(home):
                self._add_module(sys.modules[home], place, ())  # an extension counts by its file
            else:
                self._add_origin(str(home or "builtins"))
        else:
            self.add_value(owner, place)

    def _add_function(self, function: types.FunctionType, place: Location) -> None:
        if not self._is_first_occurrence(function):
            return
        if function.__globals__ is vars(functools) and isinstance(vars(function).get("registry"), types.MappingProxyType):
            self.add("single dispatch")
            self.add_value(vars(function)["registry"], place)
            return
        self.add("function")
        self._add_code(function.__code__, place)
        name = function.__name__
        self.add_value(function.__defaults__, (None, f"{name}'s default"))
        self.add_value(function.__kwdefaults__, (None, f"{name}'s default"))
        names = names_in_function_code(function.__code__)
        is_installed = self._is_installed_function(function)
        if not is_installed:
            self._names_in_functions.update(names.all)
            self._refuse_random_draws(function, names)
        for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(free)
            try:
                held = cell.cell_contents
            except ValueError:
                self.add("empty")
                continue
            self.add_value(held, (None, f"{name}'s closure variable {free}"), names.all)
            self._record_digest_of_part(f"{name}'s closure variable {free}")
        self.add_value(function.__dict__, (None, f"{name}.__dict__"))
        if is_installed:
            self._add_origin(str(function.__globals__.get("__name__")))
            self.add(function.__qualname__)
            return
        self._record_digest_of_part(f"the function {name}")
        for imported in names.imported:  # all before any is added, for an import sets an attribute of the package
            with suppress(Exception):
                importlib.import_module(imported, package_for_relative_imports(function))
        for called in names.of_globals:
            self.add(called)
            if called in function.__globals__:
                self.add_value(function.__globals__[called], (None, f"the global {called}"), names.all)
                self._record_digest_of_part(f"the global {called}")
        for imported in names.imported:
            self._add_imported_module(imported, function, names.all)

    def _add_imported_module(self, name: str, function: types.FunctionType, names: Iterable[str]) -> None:
        """Add a module that a function imports itself, and the packages that it is in: `import a.b` gives `a`."""
        self.add("import", name)
        try:
            module = importlib.import_module(name, package_for_relative_imports(function))
        except Exception:  # the function will raise the error itself when called
            self.add("absent")
            return
        parts = module.__name__.split(".")
        for package in (".".join(parts[:depth]) for depth in range(1, len(parts))):
            if not name.startswith(".") and package in sys.modules:
                self._add_module(sys.modules[package], (None, f"the module {package}"), names)
        self._add_module(module, (None, f"the module {name}"), names)
        self._record_digest_of_part(f"the module {module.__name__}")

    def _refuse_random_draws(self, function: types.FunctionType, names: NamesInCode) -> None:
        """Refuse `random.random()` and the like, whose state no digest covers. Raises NotDigestible."""
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for chain in names.chains:
            first, *rest = chain
            try:
                value = free[first].cell_contents if first in free else function.__globals__.get(first)
                if first.startswith("import "):
                    value = importlib.import_module(first.removeprefix("import "), package_for_relative_imports(function))
            except Exception:  # an empty cell, or a module that is absent
                continue
            for at, name in enumerate(rest):
                if not isinstance(value, types.ModuleType):
                    break
                value = getattr(value, name, None) if value.__name__ in ("numpy", "random", "numpy.random") else vars(value).get(name)
                owner = type(getattr(value, "__self__", None))
                if issubclass(owner, random.Random) or owner.__module__.startswith("numpy.random"):
                    text = ".".join((first.removeprefix("import "), *rest[: at + 1]))
                    raise not_digestible_error(
                        (None, f"{text} in {function.__name__}"), f"a method of {type_name_with_article(owner)}", FIX_FOR_RANDOM_DRAWS
                    )

    def _add_code(self, code: types.CodeType, place: Location) -> None:
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.add("code", code.co_code, code.co_exceptiontable, repr(numbers))
        self.add(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)), str(len(code.co_consts)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, place)
            else:
                self.add_value(constant, place)
