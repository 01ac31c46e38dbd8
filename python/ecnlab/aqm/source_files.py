"""The files that classes of users come from, as they were when the class was made."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from weakref import WeakKeyDictionary

from ecnlab.errors import UsageError

_content_at_definition: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()


def remember_class_file_content(made: type) -> None:
    """Keep the content of a class's file as the class is made."""
    file = file_of_module(sys.modules.get(made.__module__))
    if file is not None:
        _content_at_definition[made] = read_source_file_bytes(file)


def class_file_content_at_definition(made: type) -> bytes | None:
    """The content of a class's file when the class was made; None of a script or a notebook."""
    return _content_at_definition.get(made)


def file_of_module(module: ModuleType | None) -> Path | None:
    """The file of a module; none of a script or a notebook, which holds more than a class."""
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, "__name__", "__main__") == "__main__":
        return None
    path = Path(file)
    return path.resolve() if path.is_file() and path.suffix == ".py" else None


def read_source_file_bytes(file: Path) -> bytes:
    """The content of a file. Raises UsageError."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None
