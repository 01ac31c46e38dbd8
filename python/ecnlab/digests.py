"""Digests of Python values, functions and classes: by them a user's AQM is part of the key of its results.

Equal values have equal digests in every process, and unequal ones unequal digests. A digest covers

- numbers, texts, bytes, dates, paths, enumerations and regular expressions by kind and value, arrays of numpy by type, shape and content;
- containers by their members: dicts in their order, sets in none;
- instances of the user's own classes by class and attributes, those of dataclasses by class and fields;
- functions by their instructions, constants, defaults, closures, and by the globals that they name;
- classes by their attributes and bases, and by the file that they are in;
- modules and members of installed packages by name and version, the user's own modules by the file and by the attributes that are named.

Anything else raises `NotCovered`, because two different values would get one digest.
"""

from __future__ import annotations

import argparse
import array
import collections
import dataclasses
import datetime
import decimal
import dis
import fractions
import functools
import importlib
import importlib.metadata
import inspect
import io
import logging
import operator
import random
import re
import site
import statistics
import struct
import sys
import sysconfig
import threading
import types
import typing
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from enum import Enum
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

from ecnlab.aqm import Aqm, Verdict

_FIX = "give numbers, texts, arrays of numpy, or lists, dicts and sets of them, or make it in on_start and keep it on self"
_FIX_OF_LOCKS = "create it inside the hook or in on_start"
_FIX_OF_DRAWS = "draw with self.random(), whose stream belongs to the seed"

# What Python puts into every class. None of it changes what instances do.
_SKIPPED = {
    "__abstractmethods__",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
    "_is_protocol",
    "_is_runtime_protocol",
}
_IN_ORDER: tuple[type, ...] = (tuple, list, collections.deque)
_MAPPINGS: tuple[type, ...] = (dict, collections.OrderedDict, collections.Counter, collections.defaultdict)
_SETS: tuple[type, ...] = (set, frozenset)
_SCALARS: tuple[type, ...] = (int, float, complex, str, bytes, bytearray)
# Types that are written in C, or have caches, and whose __reduce__ gives all of their value.
_REDUCED: tuple[type, ...] = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    fractions.Fraction,
    operator.attrgetter,
    operator.itemgetter,
    operator.methodcaller,
    collections._tuplegetter,  # type: ignore[attr-defined]
)
_BY_ATTRIBUTES: tuple[type, ...] = (statistics.NormalDist, uuid.UUID, functools.partialmethod, types.SimpleNamespace, collections.ChainMap)
_BY_ATTRIBUTES += (collections.UserDict, collections.UserList, collections.UserString, argparse.Namespace)
_LOCKS_AND_STREAMS: tuple[type, ...] = (io.IOBase, type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event)
_BUFFERS: tuple[type, ...] = (bytearray, memoryview, array.array)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made as the program runs, as every class in Python is
_ALIASES: tuple[type, ...] = (types.UnionType, types.GenericAlias, type(typing.List[int]), type(typing.Union[int, str]))  # noqa: UP006, UP007
# Values of which there is one: what a method that a dataclass got has as a default.
_SENTINELS: tuple[type, ...] = (type(dataclasses.MISSING), type(dataclasses._HAS_DEFAULT_FACTORY))  # type: ignore[attr-defined]
_BY_NAME: tuple[type, ...] = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
_GLOBAL_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")

# What leads to a value, outermost first: the one before it, and a word or two.
_Place = tuple[Any, str]
# A named value that has been added, and the state of the digest after it: of two digests the first unequal part names what differs.
Part = tuple[str, bytes]
# The content of a class's or module's file, and of what it imports from beside it.
FileContent = Callable[[Path, type | None], Iterable[bytes]]


class NotCovered(Exception):
    """A value of which no digest can be taken; the text names it and has the fix."""


class Digest:
    """A digest that grows by what is added to it."""

    def __init__(self, content: FileContent, own: Set[str] = frozenset(), opened: Mapping[int, int] | None = None) -> None:
        """`content` gives what files hold; modules of the packages `own` are the user's own, even if they are installed."""
        self._content = content
        self._own = own
        self._sha = sha256()
        self._opened = dict(opened or {})
        # What has been added, by its number, and kept so that no other object gets its id.
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []
        self._texts: set[str] = set()
        # Sub-digests of tuples that have been added: "" after the first time, when what they hold had no numbers yet.
        self._tuples: dict[int, str] = {}
        # Modules of the user's own, and the names in all functions: a function can get at a module in any way.
        self._modules: dict[int, types.ModuleType] = {}
        self._named: set[str] = set()
        self.parts: list[Part] = []

    def hexdigest(self) -> str:
        """The digest so far, in hexadecimal."""
        return self._sha.hexdigest()

    def add(self, *parts: str | bytes) -> None:
        """Add texts or bytes, each as a unit."""
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self._sha.update(len(data).to_bytes(8, "big"))
            self._sha.update(data)

    def add_value(self, value: Any, place: _Place, names: Iterable[str] = ()) -> None:
        """Add a value; of a module of the user's own also the attributes called `names`. Raises NotCovered."""
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented:
            self.add("constant", repr(value))
        elif kind in _SCALARS or kind is bool:
            self.add(kind.__name__, _scalar(value))
            if kind is bytearray:
                self._add_sharing(value)
        elif isinstance(value, type):
            self._add_type(value, place)
        elif isinstance(value, types.ModuleType):
            self._add_module(value, place, names)
        elif isinstance(value, types.FunctionType):
            self._add_function(value, place)
        elif isinstance(value, Enum):
            self.add("enum member", str(value.name))
            self.add_value(type(value), place)
            self.add_value(value._value_, (place, ".value"))
        elif not (self._add_plain(value, place) or self._add_callable(value, place) or self._add_of_numpy(value, place)):
            self._add_instance(value, place)

    def add_modules(self) -> None:
        """Add of each module of the user's own the attributes that any function names, however it gets at the module. Raises NotCovered."""
        before = -1
        while before != len(self._texts):
            before = len(self._texts)
            for module in sorted(self._modules.values(), key=lambda one: (one.__name__, str(getattr(one, "__file__", "")))):
                self._add_attributes(module, sorted(self._named & vars(module).keys()), ())

    def _add_plain(self, value: Any, place: _Place) -> bool:
        """Add containers and values of the standard library; whether it was one."""
        kind = type(value)
        if kind in _SETS:
            self._add_set(value, place)
        elif kind is tuple:
            self._add_tuple(value, place)
        elif kind in _IN_ORDER or kind in _MAPPINGS:
            if self._is_first(value):
                self._add_members(value, kind, place)
        elif kind in (range, slice):
            self.add(kind.__name__)
            self._add_all((value.start, value.stop, value.step), place)
        elif kind is types.MappingProxyType:
            self.add("mapping proxy")
            self._add_members(dict(value), dict, place)
        elif kind is array.array:
            self.add("array", value.typecode, value.tobytes())
            self._add_sharing(value)
        elif kind is memoryview:
            self.add("memoryview", value.format, repr(value.shape), value.tobytes())
            self._add_sharing(value)
        elif kind is re.Pattern:
            self.add("pattern", str(value.flags))
            self.add_value(value.pattern, place)
        elif kind is decimal.Decimal:
            self.add("decimal", repr(value.as_tuple()))
        elif isinstance(value, PurePath) and self._is_installed(kind.__module__):
            self.add("path", kind.__name__, str(value))
        elif kind is zoneinfo.ZoneInfo and value.key is not None:
            self.add("zone", value.key)
        elif kind is logging.Logger:  # what it logs changes no packet
            self.add("logger", value.name)
        elif kind is datetime.datetime:
            self.add("datetime", value.replace(tzinfo=None).isoformat(), str(value.fold))
            self.add_value(value.tzinfo, (place, ".tzinfo"))
        elif kind in _REDUCED:
            self.add("reduced", kind.__name__)
            self._add_all(value.__reduce__()[1], place)
        elif isinstance(value, _ALIASES):
            self.add("alias")
            self._add_all((typing.get_origin(value), *typing.get_args(value)), place)
        elif kind in _SENTINELS:
            self.add("sentinel", kind.__name__)
        elif isinstance(value, typing.TypeVar):
            self.add("type variable", value.__name__)
        elif kind is typing.NewType:
            self.add("new type", value.__name__)
            self.add_value(value.__supertype__, (place, ".__supertype__"))
        elif kind is struct.Struct:
            self.add("struct", value.format)
        else:
            return False
        return True

    def _add_callable(self, value: Any, place: _Place) -> bool:
        """Add what stands around a function; whether it was that."""
        kind = type(value)
        if kind is types.MethodType:
            self.add("method")
            self._add_all((value.__func__, value.__self__), place)
        elif kind in (staticmethod, classmethod):
            self.add(kind.__name__)
            self.add_value(value.__func__, place)
        elif kind is property:
            self.add("property")
            self._add_all((value.fget, value.fset, value.fdel), place)
        elif kind is functools.cached_property:
            self.add("cached property")
            self.add_value(value.func, place)
        elif kind is functools.singledispatchmethod:
            self.add("single dispatch of methods")
            self._add_all((value.func, value.dispatcher), place)
        elif kind is functools.partial:
            self.add("partial")
            self._add_all((value.func, value.args, value.keywords), place)
        elif kind is functools._lru_cache_wrapper:
            self.add("cached", repr(value.cache_parameters()))
            self.add_value(value.__wrapped__, place)
        elif isinstance(value, _BY_NAME):
            self._add_named(value, place)
        elif (package := _home(value)) is not None:
            self.add("member", package, value.__name__, version(package))
        elif kind.__module__.startswith("numba.") and isinstance(getattr(value, "py_func", None), types.FunctionType):
            self.add("compiled", version("numba"), repr(sorted(value.targetoptions.items())))
            self.add_value(value.py_func, place)
        else:
            return False
        return True

    def _add_of_numpy(self, value: Any, place: _Place) -> bool:
        """Add an array, a scalar, a type or a function of numpy's; whether it was one."""
        if (numpy := sys.modules.get("numpy")) is None:
            return False
        if isinstance(value, numpy.dtype):
            self._add_dtype(value, place)
        elif type(value) is numpy.ndarray or isinstance(value, numpy.generic):
            self.add("array of numpy", repr(value.shape), "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C")
            self._add_dtype(value.dtype, place)
            self.add(value.tobytes())
            if type(value) is numpy.ndarray:
                self._add_sharing(value)
        else:
            return False
        return True

    def _add_sharing(self, value: Any) -> None:
        """Add which earlier value has the same memory, and where in it a view lies: a write to one of them changes both."""
        owner: Any = value
        while (inner := _base(owner)) is not None:
            owner = inner
        if isinstance(owner, bytes):  # nobody can write to it
            return
        if id(owner) not in self._numbers:
            self._number(owner)
            return
        self.add("memory of", str(self._numbers[id(owner)]))
        self.add(repr(getattr(value, "strides", None)))
        if value is not owner:
            numpy = importlib.import_module("numpy")
            start, first = (numpy.asarray(one).__array_interface__["data"][0] for one in (value, owner))
            self.add(str(start - first))

    def _add_dtype(self, dtype: Any, place: _Place) -> None:
        if dtype.hasobject:
            raise _refusal(place, "an array of objects", _FIX)
        self.add("dtype", dtype.str, repr(dtype.descr), str(dtype.itemsize))

    def _add_instance(self, value: Any, place: _Place) -> None:
        """Add an instance by its class and attributes."""
        kind = type(value)
        if isinstance(value, random.Random) or kind.__module__.startswith("numpy.random"):
            raise _refusal(place, _a(kind), _FIX_OF_DRAWS)
        if not (
            kind in (*_BY_ATTRIBUTES, Verdict) or dataclasses.is_dataclass(kind) or not self._is_installed_type(kind)
        ) or not _has_only_attributes(kind):
            raise _refusal(place, _a(kind), _FIX_OF_LOCKS if isinstance(value, _LOCKS_AND_STREAMS) else _FIX)
        if not self._is_first(value):
            return
        self.add("instance")
        self.add_value(kind, place)
        for base in (*_IN_ORDER, *_MAPPINGS, *_SETS, *_SCALARS):
            if isinstance(value, base):
                self._add_base(value, base, place)
                break
        attributes = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}}
        self.add(str(len(attributes)))
        for name, attribute in sorted(attributes.items()):
            self.add(name)
            self.add_value(attribute, (place, f".{name}"))

    def _add_base(self, value: Any, base: type, place: _Place) -> None:
        """Add what an instance of a subclass of a container, a number or a text holds as such."""
        if base in _SCALARS:
            self.add(base.__name__, _scalar(value))
        elif base in _SETS:
            self._add_set(value, place)
        else:
            self._add_members(value, base, place)

    def _add_members(self, value: Any, base: type, place: _Place) -> None:
        self.add(base.__name__, str(base.__len__(value)))  # type: ignore[attr-defined]
        if base in _MAPPINGS:
            if base is collections.defaultdict:
                self.add_value(value.default_factory, (place, ".default_factory"))
            for key, member in list(base.items(value)):  # type: ignore[attr-defined]
                self.add_value(key, (place, f", whose key {_shortened(key)}"))
                self.add_value(member, (place, f"[{_shortened(key)}]"))
            return
        if base is collections.deque:
            self.add(str(value.maxlen))
        for at, member in enumerate(list(base.__iter__(value))):  # type: ignore[attr-defined]
            self.add_value(member, (place, f"[{at}]"))

    def _add_tuple(self, value: tuple[Any, ...], place: _Place) -> None:
        """Add a tuple by a sub-digest, which counts by content alone: one tuple twice has the value of two equal ones.

        After the first time all that it holds has numbers, so its sub-digest stays the same and the tuple is not expanded again.
        """
        known = self._tuples.get(id(value))
        if known:
            self.add("tuple", known)
            return
        self._kept.append(value)
        outside, self._sha = self._sha, sha256()
        try:
            self._add_members(value, tuple, place)
        finally:
            inside, self._sha = self._sha, outside
        self.add("tuple", inside.hexdigest())
        if known == "":
            self._tuples[id(value)] = inside.hexdigest()
        else:
            self._tuples.setdefault(id(value), "")

    def _add_set(self, value: Any, place: _Place) -> None:
        """Add a set's members, sorted by digests of their own; what leads back to the set is told by how deep that lies."""
        if id(value) in self._opened:
            self.add("enclosing set", str(self._opened[id(value)]))
            return
        opened = {**self._opened, id(value): len(self._opened)}
        digests = []
        for member in list(value):
            apart = Digest(self._content, self._own, opened)
            apart._modules, apart._named = self._modules, self._named
            apart.add_value(member, (place, f", whose member {_shortened(member)}"))
            digests.append(apart.hexdigest())
        self.add("frozenset" if isinstance(value, frozenset) else "set", str(len(digests)), *sorted(digests))

    def _add_all(self, values: Iterable[Any], place: _Place) -> None:
        members = list(values)
        self.add(str(len(members)))
        for member in members:
            self.add_value(member, place)

    def _add_named(self, value: Any, place: _Place) -> None:
        """Add something written in C by its name, and by what it is bound to."""
        owner = getattr(value, "__self__", None)
        self.add("named", value.__qualname__ if hasattr(value, "__qualname__") else value.__name__)
        if isinstance(owner, random.Random):
            raise _refusal(place, f"a method of {_a(type(owner))}", _FIX_OF_DRAWS)
        if owner is None or isinstance(owner, types.ModuleType):
            home = getattr(getattr(value, "__objclass__", value), "__module__", None)
            if home in sys.modules and not self._is_installed(home):
                self._add_module(sys.modules[home], place, ())  # an extension counts by its file
            else:
                self._add_origin(str(home or "builtins"))
        else:
            self.add_value(owner, place)

    def _add_function(self, function: types.FunctionType, place: _Place) -> None:
        if not self._is_first(function):
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
        names = _names(function.__code__)
        is_installed = self._is_installed_function(function)
        if not is_installed:
            self._named.update(names.all)
            self._refuse_draws(function, names)
        for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(free)
            try:
                held = cell.cell_contents
            except ValueError:
                self.add("empty")
                continue
            self.add_value(held, (None, f"{name}'s closure variable {free}"), names.all)
            self._end_part(f"{name}'s closure variable {free}")
        self.add_value(function.__dict__, (None, f"{name}.__dict__"))
        if is_installed:
            self._add_origin(str(function.__globals__.get("__name__")))
            self.add(function.__qualname__)
            return
        self._end_part(f"the function {name}")
        for imported in names.imported:  # all before any is added, for an import sets an attribute of the package
            with suppress(Exception):
                importlib.import_module(imported, _package(function))
        for called in names.of_globals:
            self.add(called)
            if called in function.__globals__:
                self.add_value(function.__globals__[called], (None, f"the global {called}"), names.all)
                self._end_part(f"the global {called}")
        for imported in names.imported:
            self._add_imported(imported, function, names.all)

    def _add_imported(self, name: str, function: types.FunctionType, names: Iterable[str]) -> None:
        """Add a module that a function imports itself, and the packages that it is in: `import a.b` gives `a`."""
        self.add("import", name)
        try:
            module = importlib.import_module(name, _package(function))
        except Exception:  # the function's own affair, when it comes to it
            self.add("absent")
            return
        parts = module.__name__.split(".")
        for package in (".".join(parts[:depth]) for depth in range(1, len(parts))):
            if not name.startswith(".") and package in sys.modules:
                self._add_module(sys.modules[package], (None, f"the module {package}"), names)
        self._add_module(module, (None, f"the module {name}"), names)
        self._end_part(f"the module {module.__name__}")

    def _refuse_draws(self, function: types.FunctionType, names: _Names) -> None:
        """Refuse `random.random()` and the like, whose state no digest covers. Raises NotCovered."""
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for chain in names.chains:
            first, *rest = chain
            try:
                value = free[first].cell_contents if first in free else function.__globals__.get(first)
                if first.startswith("import "):
                    value = importlib.import_module(first.removeprefix("import "), _package(function))
            except Exception:  # an empty cell, or a module that is absent
                continue
            for at, name in enumerate(rest):
                if not isinstance(value, types.ModuleType):
                    break
                value = getattr(value, name, None) if value.__name__ in ("numpy", "random", "numpy.random") else vars(value).get(name)
                owner = type(getattr(value, "__self__", None))
                if issubclass(owner, random.Random) or owner.__module__.startswith("numpy.random"):
                    text = ".".join((first.removeprefix("import "), *rest[: at + 1]))
                    raise _refusal((None, f"{text} in {function.__name__}"), f"a method of {_a(owner)}", _FIX_OF_DRAWS)

    def _add_code(self, code: types.CodeType, place: _Place) -> None:
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.add("code", code.co_code, code.co_exceptiontable, repr(numbers))
        self.add(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)), str(len(code.co_consts)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, place)
            else:
                self.add_value(constant, place)

    def _add_type(self, one: type, place: _Place) -> None:
        if self._is_installed_type(one):
            self.add("type", one.__qualname__)
            self._add_origin(one.__module__)
        elif self._is_first(one):
            self._add_class(one)

    def _add_class(self, one: type) -> None:
        """Add a class of the user's own: its attributes, its bases, and the file that it is in."""
        self.add("class", one.__qualname__)
        module = sys.modules.get(one.__module__)
        if module is not None and not _is_installed(one.__module__):
            self._add_file_of(module, one)
        place = (None, f"the class {one.__name__}")
        if type(one) is not type:
            self.add_value(type(one), place)
        self._add_all(one.__bases__, place)
        self.add(_annotations(one))
        for name, value in list(vars(one).items()):
            if name not in _SKIPPED and not _is_skipped_of_kind(one, name, value):
                self.add(name)
                self.add_value(value, (None, name if _is_function(value) else f"the class attribute {one.__name__}.{name}"))
                self._end_part(f"{one.__name__}.{name}" if _is_function(value) else f"the class attribute {one.__name__}.{name}")
        for name, field in vars(one).get("__dataclass_fields__", {}).items():
            if field.metadata:
                self.add("metadata", name)
                self.add_value(field.metadata, (None, f"the metadata of the field {one.__name__}.{name}"))
                self._end_part(f"the metadata of the field {one.__name__}.{name}")
        if issubclass(one, Enum):
            self._add_members_of_enum(one)

    def _add_members_of_enum(self, one: type[Enum]) -> None:
        for name, member in one.__members__.items():
            own = {key: value for key, value in vars(member).items() if key not in ("_value_", "_name_", "__objclass__", "_sort_order_")}
            self.add(name, str(member.name))
            self.add_value(member._value_, (None, f"{one.__name__}.{name}"))
            self.add_value(own, (None, f"{one.__name__}.{name}.__dict__"))
            self._end_part(f"{one.__name__}.{name}")

    def _add_module(self, module: types.ModuleType, place: _Place, names: Iterable[str]) -> None:
        if self._is_installed(module.__name__):
            self.add("module", module.__name__)
            self._add_origin(module.__name__)
            return
        self.add("module")
        self._modules[id(module)] = module
        if self._is_first(module):
            self._add_file_of(module, None)
        self._add_attributes(module, names, names)

    def _add_attributes(self, module: types.ModuleType, names: Iterable[str], inner: Iterable[str]) -> None:
        """Add a module's attributes `names`; of modules among these those called `inner`."""
        for name in names:
            if name in vars(module) and self._is_first_text(f"module {id(module)}.{name}"):
                self.add(name)
                self.add_value(vars(module)[name], (None, f"{module.__name__}.{name}"), inner)
                self._end_part(f"{module.__name__}.{name}")

    def _add_file_of(self, module: types.ModuleType, one: type | None) -> None:
        """Add the file of a module, and what it imports; an extension's file alone."""
        file = file_of_module(module)
        if file is not None:
            self._add_file(file, one)
        elif (other := getattr(module, "__file__", None)) is not None and module.__name__ != "__main__" and Path(other).is_file():
            self.add("file", sha256(Path(other).read_bytes()).digest())

    def _add_file(self, file: Path, one: type | None) -> None:
        content = sha256(b"".join(sha256(data).digest() for data in self._content(file, one))).hexdigest()
        if self._is_first_text(f"file {content}"):
            self.add("file", content)

    def _add_origin(self, module: str) -> None:
        """Add where something is that is not the user's own: its package and the package's version."""
        self.add("from", module, version(module.partition(".")[0]))
        file = file_of_module(sys.modules.get(module))
        if module.partition(".")[0] == "ecnlab" and file is not None:
            self.add(file.read_bytes())

    def _is_installed(self, module: object) -> bool:
        """Whether a module is Python's, ecnlab's or an installed package's, and so known by name and version."""
        return _is_installed(module) and str(module).partition(".")[0] not in self._own

    def _is_installed_function(self, function: types.FunctionType) -> bool:
        """As `_is_installed`; a file of the user's may have the name of a module of Python's."""
        module, file = function.__globals__.get("__name__"), function.__globals__.get("__file__")
        if not self._is_installed(module):
            return False
        is_of_module = function.__globals__ is vars(sys.modules.get(str(module), types))
        return is_of_module or not isinstance(file, str) or _is_installed_file(file)

    def _is_installed_type(self, one: type) -> bool:
        """As `_is_installed`; a class that a call makes may have the module of the caller, such as `types`."""
        if not self._is_installed(one.__module__):
            return False
        found: Any = sys.modules.get(one.__module__)
        for name in one.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is one or not one.__flags__ & _HEAP_TYPE:
            return True
        functions = [value for value in vars(one).values() if isinstance(value, types.FunctionType)]
        return one.__module__ not in ("builtins", "types") and all(map(self._is_installed_function, functions))

    def _end_part(self, name: str) -> None:
        self.parts.append((name, self._sha.digest()[:8]))

    def _number(self, one: object) -> None:
        self._numbers[id(one)] = len(self._numbers)
        self._kept.append(one)

    def _is_first(self, one: object) -> bool:
        """Whether this object is added for the first time; if not, its number is."""
        if id(one) in self._numbers:
            self.add("number", str(self._numbers[id(one)]))
            return False
        self._number(one)
        return True

    def _is_first_text(self, text: str) -> bool:
        first = text not in self._texts
        self._texts.add(text)
        return first


@dataclasses.dataclass(frozen=True)
class _Names:
    """The names in a function's instructions, sorted: of globals, of modules that it imports, and all, attributes included.

    `chains` are the names that are read one from the other, such as ("np", "random", "rand"); "import " begins that of an imported module.
    """

    of_globals: list[str]
    imported: list[str]
    all: list[str]
    chains: list[tuple[str, ...]]


@functools.lru_cache(4096)
def _names(code: types.CodeType) -> _Names:
    codes = [code]
    for one in codes:
        codes.extend(constant for constant in one.co_consts if isinstance(constant, types.CodeType))
    of_globals: set[str] = set()
    imported: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    for one in codes:
        steps = [step for step in dis.get_instructions(one) if step.opname not in ("EXTENDED_ARG", "CACHE", "NOP")]
        of_globals.update(step.argval for step in steps if step.opname in _GLOBAL_NAMES)
        modules = _imports(steps)
        imported.update(module for module, _ in modules)
        chains.update(_chains(steps, dict(stored for _, names in modules for stored in names)))
        chains.update(chain for _, names in modules for _, chain in names)
    # A text may be an attribute's name, which getattr reads.
    texts = {text for one in codes for text in one.co_consts if isinstance(text, str) and text.isidentifier()}
    return _Names(sorted(of_globals), sorted(imported), sorted(texts.union(*(one.co_names for one in codes))), sorted(chains))


def _imports(steps: list[dis.Instruction]) -> list[tuple[str, list[tuple[str, tuple[str, ...]]]]]:
    """The modules that instructions import, with the names that these get and what each is: the module or an attribute."""
    found = []
    for at, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        # Before it the level, which is 0 or the number of dots, and the names after `import` are loaded.
        level, listed = steps[at - 2].argval, steps[at - 1].argval
        module = "." * level + step.argval
        names: list[tuple[str, tuple[str, ...]]] = []
        chain: tuple[str, ...] = (f"import {module if listed else module.partition('.')[0]}",)
        for after in steps[at + 1 :]:
            if after.opname == "IMPORT_FROM":
                chain = (f"import {module}", after.argval) if listed else (f"import {module}",)
            elif after.opname.startswith("STORE_"):
                names.append((after.argval, chain))
                if not listed or len(names) == len(listed):
                    break
            elif after.opname not in ("SWAP", "ROT_TWO", "POP_TOP"):
                break
        found.append((module, names))
        if listed:  # a name may be a module inside of a package
            found += [(f"{module}{'' if module.endswith('.') else '.'}{name}", []) for name in listed if name != "*"]
    return found


def _chains(steps: list[dis.Instruction], imported: Mapping[str, tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The names that are read one from the other; the first is a global's, a closure variable's or that of a module `imported`."""
    chains: set[tuple[str, ...]] = set()
    chain: tuple[str, ...] = ()
    for step in steps:
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = (*chain, step.argval)
            chains.add(chain)
        elif step.argval in imported and step.opname.startswith("LOAD_"):
            chain = imported[step.argval]
        elif step.opname in (*_GLOBAL_NAMES, "LOAD_DEREF"):
            chain = (step.argval,)
        else:
            chain = ()
    return chains


def _package(function: types.FunctionType) -> str | None:
    """The package that a function's relative imports begin at."""
    names = function.__globals__
    package = names.get("__package__")
    return package if package is not None or "__path__" in names else str(names.get("__name__")).rpartition(".")[0] or None


def _refusal(place: _Place, what: str, fix: str) -> NotCovered:
    texts = []
    at: Any = place
    while at is not None:
        at, text = at
        texts.append(text)
    return NotCovered(f"{''.join(reversed(texts))} is {what}, whose value cannot be part of the key; fix: {fix}")


def _scalar(value: Any) -> bytes | str:
    if isinstance(value, (str, bytes, bytearray)):
        return str.__str__(value) if isinstance(value, str) else bytes(value)
    if isinstance(value, float):
        return float.hex(value)
    if isinstance(value, complex):
        return f"{value.real.hex()} {value.imag.hex()}"
    return hex(int.__index__(value))


def _base(value: Any) -> Any:
    """The object whose memory an array or a view shows; None of one that has it itself, or of an owner without a buffer."""
    if isinstance(value, memoryview):
        return value.obj
    if hasattr(value, "__array_interface__") and hasattr(value, "strides"):
        return value.base if hasattr(value.base, "__array_interface__") or isinstance(value.base, (bytes, *_BUFFERS)) else None
    return None


def _shortened(value: object) -> str:
    text = repr(value) if type(value) in (*_SCALARS, bool, tuple) else f"of type {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def _a(kind: type) -> str:
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _home(value: Any) -> str | None:
    """The installed package that has a function written in C, such as numpy's `mean`, under its name."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    for each in map(str, (module, "numpy", "scipy.special")):
        if callable(value) and isinstance(name, str) and _is_installed(each) and getattr(sys.modules.get(each), name, None) is value:
            return each.partition(".")[0]
    return None


def _is_function(value: object) -> bool:
    return isinstance(value, (types.FunctionType, staticmethod, classmethod, property))


def _is_skipped_of_kind(one: type, name: str, value: object) -> bool:
    """Whether an attribute is the place of an AQM's file, whose content counts, or one that Enum makes: members count by their values."""
    if issubclass(one, Aqm) and name == "read_from":
        return True
    return issubclass(one, Enum) and not _is_function(value) and (name in one.__members__ or name[0] == name[-1] == "_")


def _annotations(one: type) -> str:
    """The types of a class's fields, which say what kind of parameter each is."""
    try:
        found = inspect.get_annotations(one)
    except Exception:  # the reading of its fields tells
        return "unreadable"
    return repr([(name, kind.__qualname__ if isinstance(kind, type) else str(kind)) for name, kind in found.items()])


def _slots(kind: type) -> list[str]:
    """The names of an instance's slots."""
    members = [(name, value) for base in kind.__mro__ for name, value in vars(base).items()]
    return sorted({name for name, value in members if isinstance(value, types.MemberDescriptorType)} - {"__dict__", "__weakref__"})


def _has_only_attributes(kind: type) -> bool:
    """Whether nothing of an instance is hidden: no base that is written in C has a state but those that can be read."""
    known = (*_IN_ORDER, *_MAPPINGS, *_SETS, *_SCALARS)
    most = object.__basicsize__ + 2 * tuple.__itemsize__
    for base in kind.__mro__:
        hidden = base.__basicsize__ > most + tuple.__itemsize__ * len(_slots(base)) and not any(issubclass(base, one) for one in known)
        if hidden and not (base in known or kind in _BY_ATTRIBUTES):
            return False
    return True


def _is_installed(name: object) -> bool:
    if not isinstance(name, str) or name == "__main__":
        return False
    top = name.partition(".")[0]
    if top == "ecnlab" or top in sys.builtin_module_names:
        return True
    module = sys.modules.get(name) or sys.modules.get(top)
    file = getattr(module, "__file__", None)
    if file is None:
        return module is not None and top in sys.stdlib_module_names
    return _is_installed_file(file)


@functools.lru_cache(4096)
def _is_installed_file(file: str) -> bool:
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _installed_folders()) or not {"site-packages", "dist-packages"}.isdisjoint(
        path.parts
    )


@functools.cache
def _installed_folders() -> list[Path]:
    paths = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [Path(path).resolve() for path in (*paths, *site.getsitepackages())]


@functools.cache
def version(package: str) -> str:
    """The version of an installed package, "unknown" if it has none; Python's own for its library."""
    if package in sys.builtin_module_names or package in sys.stdlib_module_names or package == "ecnlab":
        return python()
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pass
    if isinstance(given := getattr(sys.modules.get(package), "__version__", None), str):
        return given
    names = importlib.metadata.packages_distributions().get(package, [])
    return " ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))) or "unknown"


def python() -> str:
    """The Python that runs, but for its corrections: `sum` of 3.12, for one, rounds otherwise than that of 3.11."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def file_of_module(module: types.ModuleType | None) -> Path | None:
    """The file of a module; none of a script or a notebook, which holds more than a class."""
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, "__name__", "__main__") == "__main__":
        return None
    path = Path(file)
    return path.resolve() if path.is_file() and path.suffix == ".py" else None
