"""Loading of user AQM classes from files, and digests of their sources, which are part of every result's key.

The digest covers the class with its bases, attributes and methods, and everything that these reference (see `digests`). For a class in a
file it also covers the file and the files in its folder that it imports, directly or indirectly.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import TypeGuard
from weakref import WeakKeyDictionary

from ecnlab import _core
from ecnlab.aqm import source_files
from ecnlab.aqm.api import Aqm
from ecnlab.aqm.digests import AnyValueDigest, NotDigestible, Part, package_version, python_version
from ecnlab.aqm.tracebacks import format_traceback_of_user_code
from ecnlab.errors import UnknownName, UsageError
from ecnlab.packaged_examples import resolve_example_in_reference

_REFERENCE_HINT = "fix: give FILE.py:CLASS, as in my_aqm.py:MyAqm"
_AQM_FOLDER = Path(__file__).parent
_loaded_modules: dict[tuple[Path, str], ModuleType] = {}
# The named parts of the last digests that were taken, by digest.
_parts_by_digest: dict[str, list[Part]] = {}
_MAX_REMEMBERED_DIGESTS = 64
_content_at_definition: WeakKeyDictionary[type, list[bytes]] = WeakKeyDictionary()


def load_aqm_class(reference: str) -> type[Aqm]:
    """The class that "FILE.py:CLASS" names; of a file with one AQM the name may be left out. Raises UsageError."""
    reference = resolve_example_in_reference(reference)
    file, _, name = reference.rpartition(":") if reference.count(":") and not reference.endswith(".py") else (reference, "", "")
    if not file.endswith(".py"):
        raise UsageError(f"{reference!r} is not an AQM in a file; {_REFERENCE_HINT}")
    module = _load_module_from_file(file)
    found = {key: one for key, one in vars(module).items() if is_aqm_class(one)}
    if name in found:
        aqm = found[name]
    elif name:
        if hasattr(module, name):
            raise UsageError(f"{name} in {file!r} is not a subclass of ecnlab.Aqm")
        raise UsageError(f"{file!r}: {UnknownName('AQM', name, found)}" if found else f"{file!r} has no subclass of ecnlab.Aqm")
    else:
        aqm = _single_aqm_class(file, {key: one for key, one in found.items() if one.__module__ == module.__name__})
    aqm.read_from = f"{Path(file).expanduser().resolve()}:{aqm.__name__}"
    return aqm


def class_digest(aqm: type[Aqm]) -> str:
    """SHA-256 of everything that a class's verdicts depend on, at the time of the call, since a script may change globals between runs.

    Raises UsageError if it references a value without a digest.
    """
    own = {base.__module__.partition(".")[0] for base in aqm.__mro__[:-1]} - {"ecnlab", *sys.stdlib_module_names}
    digest = AnyValueDigest(_content_of_class_file_and_imports, own)
    digest.add(python_version(), *_content_of_aqm_binding_code(aqm.compiled))
    try:
        digest.add_value(aqm, (None, aqm.__qualname__))
        digest.add_named_module_attributes()
    except NotDigestible as error:
        raise UsageError(f"{aqm.__qualname__}: {error}") from None
    except RecursionError:
        raise UsageError(f"{aqm.__qualname__}: a value that it reads is nested too deeply to be part of the key; fix: flatten it") from None
    found = digest.hexdigest()
    _parts_by_digest.pop(found, None)
    _parts_by_digest[found] = digest.parts
    if len(_parts_by_digest) > _MAX_REMEMBERED_DIGESTS:
        del _parts_by_digest[next(iter(_parts_by_digest))]
    return found


def first_changed_part_of_digest(before: str, after: str) -> str | None:
    """The first value that differs between two digests of this process; None if it is not known."""
    pairs = zip_longest(_parts_by_digest.get(before, ()), _parts_by_digest.get(after, ()))
    for one, other in pairs if before in _parts_by_digest and after in _parts_by_digest else ():
        if one != other:
            return (other or one)[0]
    return None


def _content_of_aqm_binding_code(compiled: bool) -> list[bytes]:
    """Sources and package versions of the Python code that calls a class, which the engine's build in the key does not cover."""
    files = ["api.py", "plugins.py", *(["compiled.py"] if compiled else [])]
    versions = [package_version(package).encode() for package in ("numba", "llvmlite") if compiled]
    return [_core.AQM_SOURCES, *((_AQM_FOLDER / file).read_bytes() for file in files), *versions]


def _content_of_class_file_and_imports(file: Path, one: type | None) -> list[bytes]:
    """The file's content when the class was defined, and the contents of files in its folder that it imports."""
    data = None if one is None else source_files.class_file_content_at_definition(one)
    if one is None or data is None:
        data = source_files.read_source_file_bytes(file)
        return [data, *_imported_sibling_files(file, data).values()]
    if one not in _content_at_definition:
        _content_at_definition[one] = [data, *_imported_sibling_files(file, data).values()]
    return _content_at_definition[one]


def _single_aqm_class(file: str, found: Mapping[str, type[Aqm]]) -> type[Aqm]:
    if len(found) != 1:
        has = f"several AQMs ({', '.join(sorted(found))})" if found else "no subclass of ecnlab.Aqm"
        raise UsageError(f"{file!r} has {has}; {_REFERENCE_HINT}")
    return next(iter(found.values()))


def is_aqm_class(one: object) -> TypeGuard[type[Aqm]]:
    """Whether this is a class of a user's AQM."""
    return isinstance(one, type) and issubclass(one, Aqm) and one is not Aqm


def _load_module_from_file(file: str) -> ModuleType:
    """Import a file as a module; repeated when the file has changed."""
    try:
        path = Path(file).expanduser().resolve()
        data = path.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cannot read {file!r}: {getattr(error, 'strerror', None) or error}") from None
    beside = _imported_sibling_files(path, data)
    everything = sha256(b"\0".join([data, *beside.values()])).hexdigest()
    key = (path, everything)
    if key not in _loaded_modules:
        name = f"ecnlab_aqm_{sha256(bytes(path) + everything.encode()).hexdigest()[:16]}"
        with _isolated_sibling_modules(path.parent, beside):
            _loaded_modules[key] = _execute_module(file, path, data, name)
    return _loaded_modules[key]


def _imported_sibling_files(file: Path, data: bytes) -> dict[Path, bytes]:
    """The files in a file's folder that it imports, directly or through each other, with what they say."""
    found: dict[Path, bytes] = {}
    waiting = [data]
    while waiting:
        for path in _directly_imported_files(waiting.pop(), file.parent):
            if path != file and path not in found:
                found[path] = source_files.read_source_file_bytes(path)
                waiting.append(found[path])
    return dict(sorted(found.items()))


def _directly_imported_files(data: bytes, folder: Path) -> Iterator[Path]:
    """The files of a folder that a source imports."""
    for module in _imported_modules(data):
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:depth])
            yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if parts[0] and path.is_file())


@lru_cache(256)
def _imported_modules(data: bytes) -> list[str]:
    """The modules that a source imports. One that cannot be parsed imports nothing; executing it says what is wrong."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return []
    modules: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules += [node.module or "", *(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)]
    return modules


@contextmanager
def _isolated_sibling_modules(folder: Path, beside: Mapping[Path, bytes]) -> Iterator[None]:
    """Let a file import files of its folder, even if other modules of the same names are imported."""
    names = {path.relative_to(folder).parts[0].removesuffix(".py") for path in beside}

    def pop_sibling_modules() -> dict[str, ModuleType]:
        mine = [name for name in sys.modules if name.split(".")[0] in names]
        return {name: sys.modules.pop(name) for name in mine}

    others = pop_sibling_modules()
    try:
        yield
    finally:
        pop_sibling_modules()
        sys.modules.update(others)


def _execute_module(file: str, path: Path, data: bytes, name: str) -> ModuleType:
    """Executes a file as a module. Files in its folder can be imported meanwhile, as from a script."""
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"cannot read {file!r}: it is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    linecache.checkcache(str(path))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a file that is changed within a second must be read again
    try:
        exec(compile(data, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"{file!r} cannot be imported:\n{format_traceback_of_user_code(error)}") from None
    finally:
        sys.dont_write_bytecode = written
        sys.path.remove(str(path.parent))
    return module
