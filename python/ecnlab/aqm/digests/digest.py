"""The digest of any value: each kind is added by the module of that kind."""

from __future__ import annotations

import types
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ecnlab.aqm.digests.classes import ClassDigest
from ecnlab.aqm.digests.containers import SCALARS
from ecnlab.aqm.digests.functions import FunctionDigest
from ecnlab.aqm.digests.instances import InstanceDigest, encode_builtin_scalar
from ecnlab.aqm.digests.library import StandardLibraryDigest
from ecnlab.aqm.digests.state import Location


class AnyValueDigest(ClassDigest, FunctionDigest, InstanceDigest, StandardLibraryDigest):
    """A digest that grows by what is added to it."""

    def add_value(self, value: Any, place: Location, names: Iterable[str] = ()) -> None:
        """Add a value; of a module of the user's own also the attributes called `names`. Raises NotDigestible."""
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented:
            self.add("constant", repr(value))
        elif kind in SCALARS or kind is bool:
            self.add(kind.__name__, encode_builtin_scalar(value))
            if kind is bytearray:
                self._add_shared_memory(value)
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
        elif not (
            self._add_if_standard_library_value(value, place)
            or self._add_if_wrapped_or_builtin_callable(value, place)
            or self._add_if_numpy_value(value, place)
        ):
            self._add_instance(value, place)
