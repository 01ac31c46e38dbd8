"""Arrays of numpy and buffers, by type, shape and content, and by the memory that they share."""

from __future__ import annotations

import array
import importlib
import sys
from typing import Any

from ecnlab.aqm.digests.state import FIX_FOR_VALUES, DigestState, Location, not_digestible_error

_BUFFER_TYPES: tuple[type, ...] = (bytearray, memoryview, array.array)


class MemoryDigest(DigestState):
    """Adds arrays of numpy and buffers."""

    def _add_if_numpy_value(self, value: Any, place: Location) -> bool:
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
                self._add_shared_memory(value)
        else:
            return False
        return True

    def _add_shared_memory(self, value: Any) -> None:
        """Add which earlier value has the same memory, and where in it a view lies: a write to one of them changes both."""
        owner: Any = value
        while (inner := _memory_owner(owner)) is not None:
            owner = inner
        if isinstance(owner, bytes):  # nobody can write to it
            return
        if id(owner) not in self._number_by_id:
            self._assign_object_number(owner)
            return
        self.add("memory of", str(self._number_by_id[id(owner)]))
        self.add(repr(getattr(value, "strides", None)))
        if value is not owner:
            numpy = importlib.import_module("numpy")
            start, first = (numpy.asarray(one).__array_interface__["data"][0] for one in (value, owner))
            self.add(str(start - first))

    def _add_dtype(self, dtype: Any, place: Location) -> None:
        if dtype.hasobject:
            raise not_digestible_error(place, "an array of objects", FIX_FOR_VALUES)
        self.add("dtype", dtype.str, repr(dtype.descr), str(dtype.itemsize))


def _memory_owner(value: Any) -> Any:
    """The object whose memory an array or a view shows; None of one that has it itself, or of an owner without a buffer."""
    if isinstance(value, memoryview):
        return value.obj
    if hasattr(value, "__array_interface__") and hasattr(value, "strides"):
        return value.base if hasattr(value.base, "__array_interface__") or isinstance(value.base, (bytes, *_BUFFER_TYPES)) else None
    return None
