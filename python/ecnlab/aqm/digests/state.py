"""The state of a digest: added parts, numbers of objects, and the path to the current value."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping, Set
from hashlib import sha256
from pathlib import Path
from typing import Any

from ecnlab.aqm.digests.origin import is_installed_file, is_installed_module, package_version
from ecnlab.aqm.source_files import file_of_module

FIX_FOR_VALUES = "give numbers, texts, arrays of numpy, or lists, dicts and sets of them, or make it in on_start and keep it on self"
FIX_FOR_LOCKS = "create it inside the hook or in on_start"
FIX_FOR_RANDOM_DRAWS = "draw with self.random(), whose stream belongs to the seed"
# Path to a value, outermost first: the previous location and a label.
Location = tuple[Any, str]
# A named value that has been added, and the state of the digest after it: of two digests the first unequal part names what differs.
Part = tuple[str, bytes]
# The content of a class's or module's file, and of what it imports from beside it.
FileContent = Callable[[Path, type | None], Iterable[bytes]]
_HEAP_TYPE_FLAG = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made as the program runs, as every class in Python is


class NotDigestible(Exception):
    """A value of which no digest can be taken; the text names it and has the fix."""


class DigestState:
    """The state of a digest, and what is added in the same way for every kind of value."""

    def __init__(self, content: FileContent, own: Set[str] = frozenset(), opened: Mapping[int, int] | None = None) -> None:
        """`content` gives what files hold; modules of the packages `own` are the user's own, even if they are installed."""
        self._file_content = content
        self._own_packages = own
        self._sha = sha256()
        self._enclosing_sets = dict(opened or {})
        # Numbers of added objects by id; the objects are kept alive so that no id is reused.
        self._number_by_id: dict[int, int] = {}
        self._kept_alive: list[object] = []
        self._added_texts: set[str] = set()
        # Sub-digests of tuples that have been added: "" after the first time, when what they hold had no numbers yet.
        self._tuple_digests: dict[int, str] = {}
        # Modules of the user's own, and the names in all functions: a function can get at a module in any way.
        self._modules: dict[int, types.ModuleType] = {}
        self._names_in_functions: set[str] = set()
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

    def add_value(self, value: Any, place: Location, names: Iterable[str] = ()) -> None:
        """Add a value; of a module of the user's own also the attributes called `names`. Raises NotDigestible."""
        raise NotImplementedError

    def _add_values(self, values: Iterable[Any], place: Location) -> None:
        members = list(values)
        self.add(str(len(members)))
        for member in members:
            self.add_value(member, place)

    def _add_origin(self, module: str) -> None:
        """Add where something is that is not the user's own: its package and the package's version."""
        self.add("from", module, package_version(module.partition(".")[0]))
        file = file_of_module(sys.modules.get(module))
        if module.partition(".")[0] == "ecnlab" and file is not None:
            self.add(file.read_bytes())

    def _is_installed_module(self, module: object) -> bool:
        """Whether a module is Python's, ecnlab's or an installed package's, and so known by name and version."""
        return is_installed_module(module) and str(module).partition(".")[0] not in self._own_packages

    def _is_installed_function(self, function: types.FunctionType) -> bool:
        """As `is_installed`; a file of the user's may have the name of a module of Python's."""
        module, file = function.__globals__.get("__name__"), function.__globals__.get("__file__")
        if not self._is_installed_module(module):
            return False
        is_of_module = function.__globals__ is vars(sys.modules.get(str(module), types))
        return is_of_module or not isinstance(file, str) or is_installed_file(file)

    def _is_installed_type(self, one: type) -> bool:
        """As `is_installed`; a class that a call makes may have the module of the caller, such as `types`."""
        if not self._is_installed_module(one.__module__):
            return False
        found: Any = sys.modules.get(one.__module__)
        for name in one.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is one or not one.__flags__ & _HEAP_TYPE_FLAG:
            return True
        functions = [value for value in vars(one).values() if isinstance(value, types.FunctionType)]
        return one.__module__ not in ("builtins", "types") and all(map(self._is_installed_function, functions))

    def _record_digest_of_part(self, name: str) -> None:
        self.parts.append((name, self._sha.digest()[:8]))

    def _assign_object_number(self, one: object) -> None:
        self._number_by_id[id(one)] = len(self._number_by_id)
        self._kept_alive.append(one)

    def _is_first_occurrence(self, one: object) -> bool:
        """Whether this object is added for the first time; if not, its number is."""
        if id(one) in self._number_by_id:
            self.add("number", str(self._number_by_id[id(one)]))
            return False
        self._assign_object_number(one)
        return True

    def _is_first_occurrence_of_text(self, text: str) -> bool:
        first = text not in self._added_texts
        self._added_texts.add(text)
        return first


def not_digestible_error(place: Location, what: str, fix: str) -> NotDigestible:
    """The error that the value at a place cannot be part of the key, with the fix."""
    texts = []
    at: Any = place
    while at is not None:
        at, text = at
        texts.append(text)
    return NotDigestible(f"{''.join(reversed(texts))} is {what}, whose value cannot be part of the key; fix: {fix}")


def type_name_with_article(kind: type) -> str:
    """The name of a type, with its article."""
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
