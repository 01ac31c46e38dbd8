"""The examples in the package: scenarios, sweeps and AQMs, which every command reads as `example:NAME`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecnlab.errors import UnknownName, UsageError

PREFIX = "example:"
FOLDER = Path(__file__).with_name("examples")
_SUFFIXES = (".toml", ".py")


@dataclass(frozen=True)
class Example:
    """An example: its name as in `example:NAME`, its kind (scenario, sweep, AQM or script), its file and its title."""

    name: str
    kind: str
    path: Path
    title: str


def examples() -> list[Example]:
    """All examples: scenarios, then sweeps, then Python files, each by name."""
    files = [*sorted(FOLDER.glob("*.toml")), *sorted(FOLDER.glob("sweeps/*.toml")), *sorted(FOLDER.glob("*.py"))]
    return [Example(_example_name(file), _example_kind(file), file, _example_title(file)) for file in files]


def resolve_example(path: str | Path) -> Path:
    """The file that `example:NAME` names, and any other path as it is.

    NAME is the path of a file in the folder of examples, whose ending .toml or .py may be omitted. Raises UsageError.
    """
    text = str(path)
    if not text.startswith(PREFIX):
        return Path(path)
    name = text.removeprefix(PREFIX)
    for candidate in (name, *(name + suffix for suffix in _SUFFIXES)):
        file = FOLDER / candidate
        if file.is_file() and FOLDER.resolve() in file.resolve().parents:
            return file
    raise UsageError(f"{text}: {UnknownName('example', name, [example.name for example in examples()])}")


def resolve_example_in_reference(reference: str) -> str:
    """The reference FILE.py:CLASS of `example:NAME` or `example:NAME:CLASS`, and any other reference as it is. Raises UsageError."""
    if not reference.startswith(PREFIX):
        return reference
    name, _, aqm = reference.removeprefix(PREFIX).partition(":")
    file = str(resolve_example(PREFIX + name))
    return f"{file}:{aqm}" if aqm else file


def files_of_example(name: str) -> list[Path]:
    """The file of an example and those that it names, relative to the folder of examples. Raises UsageError."""
    found: list[Path] = []
    waiting = [resolve_example(PREFIX + name)]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.append(file)
            waiting += _files_named_in(file)
    return [file.relative_to(FOLDER) for file in found]


def _files_named_in(file: Path) -> Iterator[Path]:
    """The files that a scenario or a sweep names."""
    if file.suffix == ".toml":
        import tomllib

        for text in _strings_in_toml(tomllib.loads(file.read_text(encoding="utf-8"))):
            named = (file.parent / text.partition(".py:")[0]).resolve() if text else file
            if ".py:" in text:
                named = named.with_suffix(".py")
            if named.is_file() and FOLDER.resolve() in named.parents:
                yield FOLDER / named.relative_to(FOLDER.resolve())


def _strings_in_toml(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _strings_in_toml(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _strings_in_toml(value)


def _example_name(file: Path) -> str:
    return file.relative_to(FOLDER).with_suffix("").as_posix()


def _example_kind(file: Path) -> str:
    if file.suffix == ".toml":
        return "sweep" if file.parent != FOLDER else "scenario"
    return "AQM" if "Aqm)" in file.read_text(encoding="utf-8") else "script"


def _example_title(file: Path) -> str:
    """A scenario's title, the first line of a sweep's comment, or the first line of a Python file's docstring."""
    import tomllib

    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    if file.parent == FOLDER:
        return str(tomllib.loads(text)["name"])
    return text.partition("\n")[0].removeprefix("#").strip()
