"""Classes by their attributes and bases, and by the file that they are in."""

from __future__ import annotations

import inspect
import sys
import types
from enum import Enum

from ecnlab.aqm.api import Aqm
from ecnlab.aqm.digests.modules import ModuleDigest
from ecnlab.aqm.digests.origin import is_installed_module
from ecnlab.aqm.digests.state import Location

# Attributes that Python adds to every class, without effect on instances.
_ATTRIBUTES_OF_EVERY_CLASS = {
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


class ClassDigest(ModuleDigest):
    """Adds classes."""

    def _add_type(self, one: type, place: Location) -> None:
        if self._is_installed_type(one):
            self.add("type", one.__qualname__)
            self._add_origin(one.__module__)
        elif self._is_first_occurrence(one):
            self._add_class(one)

    def _add_class(self, one: type) -> None:
        """Add a class of the user's own: its attributes, its bases, and the file that it is in."""
        self.add("class", one.__qualname__)
        module = sys.modules.get(one.__module__)
        if module is not None and not is_installed_module(one.__module__):
            self._add_file_of(module, one)
        place = (None, f"the class {one.__name__}")
        if type(one) is not type:
            self.add_value(type(one), place)
        self._add_values(one.__bases__, place)
        self.add(_field_types_text(one))
        for name, value in list(vars(one).items()):
            if name not in _ATTRIBUTES_OF_EVERY_CLASS and not _is_excluded_attribute(one, name, value):
                self.add(name)
                self.add_value(value, (None, name if _is_function(value) else f"the class attribute {one.__name__}.{name}"))
                self._record_digest_of_part(
                    f"{one.__name__}.{name}" if _is_function(value) else f"the class attribute {one.__name__}.{name}"
                )
        for name, field in vars(one).get("__dataclass_fields__", {}).items():
            if field.metadata:
                self.add("metadata", name)
                self.add_value(field.metadata, (None, f"the metadata of the field {one.__name__}.{name}"))
                self._record_digest_of_part(f"the metadata of the field {one.__name__}.{name}")
        if issubclass(one, Enum):
            self._add_members_of_enum(one)

    def _add_members_of_enum(self, one: type[Enum]) -> None:
        for name, member in one.__members__.items():
            own = {key: value for key, value in vars(member).items() if key not in ("_value_", "_name_", "__objclass__", "_sort_order_")}
            self.add(name, str(member.name))
            self.add_value(member._value_, (None, f"{one.__name__}.{name}"))
            self.add_value(own, (None, f"{one.__name__}.{name}.__dict__"))
            self._record_digest_of_part(f"{one.__name__}.{name}")


def _is_function(value: object) -> bool:
    return isinstance(value, (types.FunctionType, staticmethod, classmethod, property))


def _is_excluded_attribute(one: type, name: str, value: object) -> bool:
    """Whether an attribute is the place of an AQM's file, whose content counts, or one that Enum makes: members count by their values."""
    if issubclass(one, Aqm) and name == "read_from":
        return True
    return issubclass(one, Enum) and not _is_function(value) and (name in one.__members__ or name[0] == name[-1] == "_")


def _field_types_text(one: type) -> str:
    """The types of a class's fields, which say what kind of parameter each is."""
    try:
        found = inspect.get_annotations(one)
    except Exception:  # the reading of its fields tells
        return "unreadable"
    return repr([(name, kind.__qualname__ if isinstance(kind, type) else str(kind)) for name, kind in found.items()])
