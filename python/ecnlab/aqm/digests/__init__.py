"""Digests of Python values, functions and classes: by them a user's AQM is part of the key of its results.

Equal values have equal digests in every process, and unequal ones unequal digests. A digest covers

- numbers, texts, bytes, dates, paths, enumerations and regular expressions by kind and value, arrays of numpy by type, shape and content;
- containers by their members: dicts in their order, sets in none;
- instances of the user's own classes by class and attributes, those of dataclasses by class and fields;
- functions by their instructions, constants, defaults, closures, and by the globals that they name;
- classes by their attributes and bases, and by the file that they are in;
- modules and members of installed packages by name and version, the user's own modules by the file and by the attributes that are named.

Anything else raises `NotDigestible`, because two different values would get one digest.
"""

from __future__ import annotations

from ecnlab.aqm.digests.digest import AnyValueDigest
from ecnlab.aqm.digests.origin import package_version, python_version
from ecnlab.aqm.digests.state import NotDigestible, Part

__all__ = ["AnyValueDigest", "NotDigestible", "Part", "package_version", "python_version"]
