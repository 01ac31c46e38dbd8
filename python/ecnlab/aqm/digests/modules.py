"""Modules: of installed packages by name and version, of the user by file and by the attributes that functions name."""

from __future__ import annotations

import types
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from ecnlab.aqm.digests.state import DigestState, Location
from ecnlab.aqm.source_files import file_of_module


class ModuleDigest(DigestState):
    """Adds modules."""

    def add_named_module_attributes(self) -> None:
        """Adds the attributes of user modules that any function names, however it reaches the module. Raises NotDigestible."""
        before = -1
        while before != len(self._added_texts):
            before = len(self._added_texts)
            for module in sorted(self._modules.values(), key=lambda one: (one.__name__, str(getattr(one, "__file__", "")))):
                self._add_attributes(module, sorted(self._names_in_functions & vars(module).keys()), ())

    def _add_module(self, module: types.ModuleType, place: Location, names: Iterable[str]) -> None:
        if self._is_installed_module(module.__name__):
            self.add("module", module.__name__)
            self._add_origin(module.__name__)
            return
        self.add("module")
        self._modules[id(module)] = module
        if self._is_first_occurrence(module):
            self._add_file_of(module, None)
        self._add_attributes(module, names, names)

    def _add_attributes(self, module: types.ModuleType, names: Iterable[str], inner: Iterable[str]) -> None:
        """Add a module's attributes `names`; of modules among these those called `inner`."""
        for name in names:
            if name in vars(module) and self._is_first_occurrence_of_text(f"module {id(module)}.{name}"):
                self.add(name)
                self.add_value(vars(module)[name], (None, f"{module.__name__}.{name}"), inner)
                self._record_digest_of_part(f"{module.__name__}.{name}")

    def _add_file_of(self, module: types.ModuleType, one: type | None) -> None:
        """Add the file of a module, and what it imports; an extension's file alone."""
        file = file_of_module(module)
        if file is not None:
            self._add_file(file, one)
        elif (other := getattr(module, "__file__", None)) is not None and module.__name__ != "__main__" and Path(other).is_file():
            self.add("file", sha256(Path(other).read_bytes()).digest())

    def _add_file(self, file: Path, one: type | None) -> None:
        content = sha256(b"".join(sha256(data).digest() for data in self._file_content(file, one))).hexdigest()
        if self._is_first_occurrence_of_text(f"file {content}"):
            self.add("file", content)
