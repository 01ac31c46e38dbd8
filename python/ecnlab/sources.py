"""Where a user's AQM comes from: classes read from files, and digests of their sources, which are part of every result's key.

The digest of a class in a file covers that file, and those in its folder that it imports, directly or through each other. A class of a
script or a notebook has no file of its own: its digest covers what it says itself, and the functions, classes and plain values beside it
that it names. Values that a method holds from outside, in a closure or as a default, are covered in both.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from weakref import WeakKeyDictionary

from ecnlab.aqm import Aqm, Gauge, Param
from ecnlab.errors import UnknownName, UsageError

_REMEDY = "give FILE.py:CLASS, as in my_aqm.py:MyAqm"
_modules: dict[tuple[Path, str], ModuleType] = {}
_digests: WeakKeyDictionary[type, str] = WeakKeyDictionary()
_files_at_birth: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()
_PLAIN = (int, float, complex, str, bytes, type(None))


def loaded(reference: str) -> type[Aqm]:
    """The class that "FILE.py:CLASS" names; of a file with one AQM the name may be left out. Raises UsageError."""
    file, _, name = reference.rpartition(":") if reference.count(":") and not reference.endswith(".py") else (reference, "", "")
    if not file.endswith(".py"):
        raise UsageError(f"{reference!r} names no AQM of a file: {_REMEDY}")
    module = _module(file)
    found: dict[str, type[Aqm]] = {key: one for key, one in vars(module).items() if _is_aqm(one)}
    if name in found:
        aqm = found[name]
    elif name:
        if hasattr(module, name):
            raise UsageError(f"{name} in {file!r} is no subclass of ecnlab.Aqm")
        raise UnknownName(f"AQM in {file!r}", name, found) if found else UsageError(f"{file!r} has no subclass of ecnlab.Aqm")
    else:
        aqm = _only(file, {key: one for key, one in found.items() if one.__module__ == module.__name__})
    aqm.read_from = f"{Path(file).expanduser().resolve()}:{aqm.__name__}"
    return aqm


def digest_of(aqm: type[Aqm]) -> str:
    """SHA-256 of what the class is made of."""
    if aqm in _digests:
        return _digests[aqm]
    source = _Source()
    source.add_class(aqm)
    digest = sha256(b"\0".join(source.parts)).hexdigest()
    if _file_of(aqm) is not None:  # a file may be changed while its classes are in use
        _digests[aqm] = digest
    return digest


def note_file(aqm: type[Aqm]) -> None:
    """Keep what the file of a class says as the class is made."""
    file = _file_of(aqm)
    if file is not None:
        _files_at_birth[aqm] = _bytes_of(file)


def _only(file: str, found: Mapping[str, type[Aqm]]) -> type[Aqm]:
    if len(found) != 1:
        has = f"several AQMs ({', '.join(sorted(found))})" if found else "no subclass of ecnlab.Aqm"
        raise UsageError(f"{file!r} has {has}: {_REMEDY}")
    return next(iter(found.values()))


def _is_aqm(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, Aqm) and one is not Aqm


def _module(file: str) -> ModuleType:
    """The module that a file makes; read anew when the file has changed."""
    try:
        path = Path(file).expanduser().resolve()
        data = path.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cannot read {file!r}: {getattr(error, 'strerror', None) or error}") from None
    beside = _files_beside(path, data)
    everything = sha256(b"\0".join([data, *beside.values()])).hexdigest()
    key = (path, everything)
    if key not in _modules:
        name = f"ecnlab_aqm_{sha256(bytes(path) + everything.encode()).hexdigest()[:16]}"
        with _own_modules(path.parent, beside):
            _modules[key] = _executed(file, path, data, name)
    return _modules[key]


def _files_beside(file: Path, data: bytes) -> dict[Path, bytes]:
    """The files in a file's folder that it imports, directly or through each other, with what they say."""
    found: dict[Path, bytes] = {}
    waiting = [data]
    while waiting:
        for path in _imported(waiting.pop(), file.parent):
            if path != file and path not in found:
                found[path] = _bytes_of(path)
                waiting.append(found[path])
    return dict(sorted(found.items()))


def _imported(data: bytes, folder: Path) -> Iterator[Path]:
    """The files of a folder that a source imports. One that cannot be parsed imports nothing; executing it says what is wrong."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "", *(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            for depth in range(1, len(parts) + 1):
                place = folder.joinpath(*parts[:depth])
                yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if parts[0] and path.is_file())


@contextmanager
def _own_modules(folder: Path, beside: Mapping[Path, bytes]) -> Iterator[None]:
    """Lets a file import its own files beside it, whatever others of the same names have been imported."""
    names = {path.relative_to(folder).parts[0].removesuffix(".py") for path in beside}

    def taken() -> dict[str, ModuleType]:
        mine = [name for name in sys.modules if name.split(".")[0] in names]
        return {name: sys.modules.pop(name) for name in mine}

    others = taken()
    try:
        yield
    finally:
        taken()
        sys.modules.update(others)


def _executed(file: str, path: Path, data: bytes, name: str) -> ModuleType:
    """Executes a file as a module. What stands beside it can be imported meanwhile, as from a script."""
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"cannot read {file!r}: it is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    linecache.checkcache(str(path))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a file that is changed within a second must be read again
    try:
        exec(compile(data, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"{file!r} cannot be imported:\n{told(error)}") from None
    finally:
        sys.dont_write_bytecode = written
        sys.path.remove(str(path.parent))
    return module


def told(error: BaseException) -> str:
    """An exception with its traceback, but for the frames of ecnlab itself."""
    inside = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(inside)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(error)]).rstrip()


class _Source:
    """Gathers what a class is made of, each part once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._seen: set[object] = set()

    def add_class(self, one: type) -> None:
        """The class and those that it is derived from."""
        for base in one.__mro__:
            if base in (object, Aqm) or not self._is_first(base):
                continue
            self._add(base.__qualname__)
            file = _file_of(base)
            if file is not None:
                self._add_file(file, _files_at_birth.get(base))
                for function in filter(None, (_function_of(value) for value in vars(base).values())):
                    self._add_held(function)
                continue
            for name, value in sorted(vars(base).items()):
                self._add_value(name, value)

    def _add_file(self, file: Path, data: bytes | None = None) -> None:
        """The file, and those in its folder that it imports."""
        if self._is_first(file):
            data = _bytes_of(file) if data is None else data
            self.parts.extend([data, *_files_beside(file, data).values()])

    def _add_value(self, name: str, value: object) -> None:
        """Something that has no file: a member of a class, or what a function names."""
        if name in ("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "__static_attributes__"):
            return
        self._add(name)
        function = _function_of(value)
        if function is not None:
            self._add_function(function)
        elif isinstance(value, type):
            if _file_of(value) is None and value.__module__ != "builtins":
                self.add_class(value)
        elif isinstance(value, (Param, Gauge, *_PLAIN)):
            self._add(repr(value))
        elif isinstance(value, (tuple, list, dict)) and self._is_first(id(value)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in items:
                self._add_value(str(key), item)
        elif callable(in_bytes := getattr(value, "tobytes", None)):  # an array
            self.parts.append(in_bytes())

    def _add_function(self, function: FunctionType) -> None:
        if not self._is_first(function):
            return
        try:
            self._add(inspect.getsource(function))
        except (OSError, TypeError):  # typed at a prompt: only its instructions are there
            self._add_code(function.__code__)
        self._add_held(function)
        if _file_of_module(sys.modules.get(function.__module__)) is None:
            for name in sorted(_names_in(function.__code__)):
                if name in function.__globals__:
                    self._add_value(name, function.__globals__[name])

    def _add_held(self, function: FunctionType) -> None:
        """What a function holds from where it was defined: values of a closure, and defaults."""
        if not self._is_first(("held", function)):
            return
        held = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
        for value in (*held, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._add_value(function.__name__, value)

    def _add_code(self, code: CodeType) -> None:
        self.parts.append(code.co_code)
        self._add(repr((code.co_names, code.co_varnames)))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add_code(constant)
            else:
                self._add(repr(constant))

    def _add(self, text: str) -> None:
        self.parts.append(text.encode("utf-8", "surrogatepass"))

    def _is_first(self, one: object) -> bool:
        first = one not in self._seen
        self._seen.add(one)
        return first


def _function_of(value: object) -> FunctionType | None:
    value = getattr(value, "__func__", value)
    return value if isinstance(value, FunctionType) else None


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _names_in(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _file_of(one: type) -> Path | None:
    """The file of a class's module; none of a script or a notebook, which holds more than the class."""
    return _file_of_module(sys.modules.get(one.__module__))


def _file_of_module(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    if file is None or getattr(module, "__name__", "__main__") == "__main__":
        return None
    path = Path(file)
    return path.resolve() if path.is_file() and path.suffix == ".py" else None


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None
