import ast
from collections.abc import Iterator
from pathlib import Path

import ecnlab

PACKAGE = Path(ecnlab.__file__).parent

# Imports that are allowed inside functions: optional or slow libraries, modules of ours that need them, and modules of the
# standard library that would slow down the start of the command or that Windows lacks.
LATE = {
    "ctypes",
    "difflib",
    "glob",
    "hashlib",
    "html",
    "importlib",
    "jinja2",
    "markdown_it",
    "markupsafe",
    "distributed",
    "matplotlib",
    "random",
    "shutil",
    "statistics",
    "tomllib",
    "numba",
    "numpy",
    "polars",
    "scipy",
    "warnings",
    "fcntl",
    "resource",
    "pwd",
    "ecnlab.packet_traces.write",
    "ecnlab.aqm.compiled",
    "ecnlab.aqm.fingerprint",
    "ecnlab.aqm.plugins",
    "ecnlab.aqm.tracebacks",
    "ecnlab.plot.drawn",
}
# The command imports what a sub-command needs when it is run, since its help and shell completion import the module of each. A worker of
# a cluster may have another engine, or none.
EXEMPT = ("cli/", "execution/cluster.py")


def test_functions_import_only_what_is_optional_or_slow_to_import() -> None:
    assert list(_late_imports()) == []


def _late_imports() -> Iterator[tuple[str, int, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(EXEMPT):
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                yield from ((place, node.lineno, name) for node in ast.walk(function) for name in _modules(node) if not _may_be_late(name))


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _may_be_late(name: str) -> bool:
    return any(name == late or name.startswith(f"{late}.") for late in LATE)
