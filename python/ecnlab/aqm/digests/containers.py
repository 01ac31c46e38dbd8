"""Containers by their members: dicts in their order, sets in none."""

from __future__ import annotations

import collections
from hashlib import sha256
from typing import Any

from ecnlab.aqm.digests.state import DigestState, Location

SEQUENCES: tuple[type, ...] = (tuple, list, collections.deque)
MAPPINGS: tuple[type, ...] = (dict, collections.OrderedDict, collections.Counter, collections.defaultdict)
SETS: tuple[type, ...] = (set, frozenset)
SCALARS: tuple[type, ...] = (int, float, complex, str, bytes, bytearray)


class ContainerDigest(DigestState):
    """Adds containers."""

    def _add_members(self, value: Any, base: type, place: Location) -> None:
        self.add(base.__name__, str(base.__len__(value)))  # type: ignore[attr-defined]
        if base in MAPPINGS:
            if base is collections.defaultdict:
                self.add_value(value.default_factory, (place, ".default_factory"))
            for key, member in list(base.items(value)):  # type: ignore[attr-defined]
                self.add_value(key, (place, f", whose key {shortened_repr(key)}"))
                self.add_value(member, (place, f"[{shortened_repr(key)}]"))
            return
        if base is collections.deque:
            self.add(str(value.maxlen))
        for at, member in enumerate(list(base.__iter__(value))):  # type: ignore[attr-defined]
            self.add_value(member, (place, f"[{at}]"))

    def _add_tuple(self, value: tuple[Any, ...], place: Location) -> None:
        """Add a tuple by a sub-digest, which counts by content alone: one tuple twice has the value of two equal ones.

        After the first time all members have numbers, so its sub-digest stays the same and the tuple is not expanded again.
        """
        known = self._tuple_digests.get(id(value))
        if known:
            self.add("tuple", known)
            return
        self._kept_alive.append(value)
        outside, self._sha = self._sha, sha256()
        try:
            self._add_members(value, tuple, place)
        finally:
            inside, self._sha = self._sha, outside
        self.add("tuple", inside.hexdigest())
        if known == "":
            self._tuple_digests[id(value)] = inside.hexdigest()
        else:
            self._tuple_digests.setdefault(id(value), "")

    def _add_set(self, value: Any, place: Location) -> None:
        """Add a set's members, sorted by their digests; a reference back to the set is represented by its depth."""
        if id(value) in self._enclosing_sets:
            self.add("enclosing set", str(self._enclosing_sets[id(value)]))
            return
        opened = {**self._enclosing_sets, id(value): len(self._enclosing_sets)}
        digests = []
        for member in list(value):
            apart = type(self)(self._file_content, self._own_packages, opened)
            apart._modules, apart._names_in_functions = self._modules, self._names_in_functions
            apart.add_value(member, (place, f", whose member {shortened_repr(member)}"))
            digests.append(apart.hexdigest())
        self.add("frozenset" if isinstance(value, frozenset) else "set", str(len(digests)), *sorted(digests))


def shortened_repr(value: object) -> str:
    """A value as a short text, for the place of what it leads to."""
    text = repr(value) if type(value) in (*SCALARS, bool, tuple) else f"of type {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."
