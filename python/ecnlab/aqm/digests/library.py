"""Values of Python's standard library: dates, paths, patterns, ranges, type aliases and the like."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import fractions
import logging
import operator
import re
import struct
import types
import typing
import zoneinfo
from pathlib import PurePath
from typing import Any

from ecnlab.aqm.digests.containers import MAPPINGS, SEQUENCES, SETS, ContainerDigest
from ecnlab.aqm.digests.memory import MemoryDigest
from ecnlab.aqm.digests.state import Location

# Types that are written in C, or have caches, and whose __reduce__ gives all of their value.
_REDUCIBLE: tuple[type, ...] = (
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
_ALIAS_TYPES: tuple[type, ...] = (types.UnionType, types.GenericAlias, type(typing.List[int]), type(typing.Union[int, str]))  # noqa: UP006, UP007
# Values of which there is one: what a method that a dataclass got has as a default.
_SENTINEL_TYPES: tuple[type, ...] = (type(dataclasses.MISSING), type(dataclasses._HAS_DEFAULT_FACTORY))  # type: ignore[attr-defined]


class StandardLibraryDigest(ContainerDigest, MemoryDigest):
    """Adds containers and values of the standard library."""

    def _add_if_standard_library_value(self, value: Any, place: Location) -> bool:
        """Add containers and values of the standard library; whether it was one."""
        kind = type(value)
        if kind in SETS:
            self._add_set(value, place)
        elif kind is tuple:
            self._add_tuple(value, place)
        elif kind in SEQUENCES or kind in MAPPINGS:
            if self._is_first_occurrence(value):
                self._add_members(value, kind, place)
        elif kind in (range, slice):
            self.add(kind.__name__)
            self._add_values((value.start, value.stop, value.step), place)
        elif kind is types.MappingProxyType:
            self.add("mapping proxy")
            self._add_members(dict(value), dict, place)
        elif kind is array.array:
            self.add("array", value.typecode, value.tobytes())
            self._add_shared_memory(value)
        elif kind is memoryview:
            self.add("memoryview", value.format, repr(value.shape), value.tobytes())
            self._add_shared_memory(value)
        elif kind is re.Pattern:
            self.add("pattern", str(value.flags))
            self.add_value(value.pattern, place)
        elif kind is decimal.Decimal:
            self.add("decimal", repr(value.as_tuple()))
        elif isinstance(value, PurePath) and self._is_installed_module(kind.__module__):
            self.add("path", kind.__name__, str(value))
        elif kind is zoneinfo.ZoneInfo and value.key is not None:
            self.add("zone", value.key)
        elif kind is logging.Logger:  # what it logs changes no packet
            self.add("logger", value.name)
        elif kind is datetime.datetime:
            self.add("datetime", value.replace(tzinfo=None).isoformat(), str(value.fold))
            self.add_value(value.tzinfo, (place, ".tzinfo"))
        elif kind in _REDUCIBLE:
            self.add("reduced", kind.__name__)
            self._add_values(value.__reduce__()[1], place)
        elif isinstance(value, _ALIAS_TYPES):
            self.add("alias")
            self._add_values((typing.get_origin(value), *typing.get_args(value)), place)
        elif kind in _SENTINEL_TYPES:
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
