"""Instances of classes by class and attributes."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import io
import random
import statistics
import threading
import types
import uuid
from typing import Any

from ecnlab.aqm.api import Verdict
from ecnlab.aqm.digests.containers import MAPPINGS, SCALARS, SEQUENCES, SETS, ContainerDigest
from ecnlab.aqm.digests.state import (
    FIX_FOR_LOCKS,
    FIX_FOR_RANDOM_DRAWS,
    FIX_FOR_VALUES,
    Location,
    not_digestible_error,
    type_name_with_article,
)

_LIBRARY_INSTANCES: tuple[type, ...] = (
    statistics.NormalDist,
    uuid.UUID,
    functools.partialmethod,
    types.SimpleNamespace,
    collections.ChainMap,
)
_LIBRARY_INSTANCES += (collections.UserDict, collections.UserList, collections.UserString, argparse.Namespace)
_LOCK_AND_STREAM_TYPES: tuple[type, ...] = (
    io.IOBase,
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Condition,
    threading.Event,
)


class InstanceDigest(ContainerDigest):
    """Adds instances."""

    def _add_instance(self, value: Any, place: Location) -> None:
        """Add an instance by its class and attributes."""
        kind = type(value)
        if isinstance(value, random.Random) or kind.__module__.startswith("numpy.random"):
            raise not_digestible_error(place, type_name_with_article(kind), FIX_FOR_RANDOM_DRAWS)
        if not (
            kind in (*_LIBRARY_INSTANCES, Verdict) or dataclasses.is_dataclass(kind) or not self._is_installed_type(kind)
        ) or not _has_no_hidden_c_state(kind):
            raise not_digestible_error(
                place, type_name_with_article(kind), FIX_FOR_LOCKS if isinstance(value, _LOCK_AND_STREAM_TYPES) else FIX_FOR_VALUES
            )
        if not self._is_first_occurrence(value):
            return
        self.add("instance")
        self.add_value(kind, place)
        for base in (*SEQUENCES, *MAPPINGS, *SETS, *SCALARS):
            if isinstance(value, base):
                self._add_container_part(value, base, place)
                break
        attributes = {
            **getattr(value, "__dict__", {}),
            **{name: getattr(value, name) for name in _slot_names(kind) if hasattr(value, name)},
        }
        self.add(str(len(attributes)))
        for name, attribute in sorted(attributes.items()):
            self.add(name)
            self.add_value(attribute, (place, f".{name}"))

    def _add_container_part(self, value: Any, base: type, place: Location) -> None:
        """Add what an instance of a subclass of a container, a number or a text holds as such."""
        if base in SCALARS:
            self.add(base.__name__, encode_builtin_scalar(value))
        elif base in SETS:
            self._add_set(value, place)
        else:
            self._add_members(value, base, place)


def encode_builtin_scalar(value: Any) -> bytes | str:
    """A number, a text or bytes, so that equal content gives equal bytes in every process."""
    if isinstance(value, (str, bytes, bytearray)):
        return str.__str__(value) if isinstance(value, str) else bytes(value)
    if isinstance(value, float):
        return float.hex(value)
    if isinstance(value, complex):
        return f"{value.real.hex()} {value.imag.hex()}"
    return hex(int.__index__(value))


def _slot_names(kind: type) -> list[str]:
    """The names of an instance's slots."""
    members = [(name, value) for base in kind.__mro__ for name, value in vars(base).items()]
    return sorted({name for name, value in members if isinstance(value, types.MemberDescriptorType)} - {"__dict__", "__weakref__"})


def _has_no_hidden_c_state(kind: type) -> bool:
    """Whether nothing of an instance is hidden: no base that is written in C has a state but those that can be read."""
    known = (*SEQUENCES, *MAPPINGS, *SETS, *SCALARS)
    most = object.__basicsize__ + 2 * tuple.__itemsize__
    for base in kind.__mro__:
        hidden = base.__basicsize__ > most + tuple.__itemsize__ * len(_slot_names(base)) and not any(issubclass(base, one) for one in known)
        if hidden and not (base in known or kind in _LIBRARY_INSTANCES):
            return False
    return True
