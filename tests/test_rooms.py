import ast
from pathlib import Path

import pytest

import ecnlab

PACKAGE = Path(ecnlab.__file__).parent

# A room, and the rooms that it must not look at.
FORBIDDEN = {
    "studies": {"validate", "cli"},
    "validate": {"studies", "cli"},
    "plots": {"studies", "validate", "cli"},
    "draw": {"studies", "validate", "cli", "plots", "results", "runner"},
    "networks": {"studies", "validate", "cli", "plots"},
    "sweeps": {"studies", "validate", "cli", "comparison"},
    "comparison": {"studies", "validate", "cli", "plots"},
    "analysis": {"studies", "validate", "cli", "plots", "results"},
    "runner": {"studies", "validate", "cli", "plots", "sweeps", "comparison"},
    "results": {"studies", "validate", "cli", "sweeps", "comparison"},
    "store": {"studies", "validate", "cli", "plots", "results", "runner"},
    "batches": {"studies", "validate", "cli", "plots", "results", "runner", "store", "scenarios"},
    "jobs": {"studies", "validate", "cli", "plots", "results", "runner", "store", "batches", "workers"},
    "workers": {"studies", "validate", "cli", "plots", "results", "runner", "store", "batches", "cluster"},
    "cluster": {"studies", "validate", "cli", "plots", "results", "runner", "store", "batches"},
    "tiers": {"studies", "validate", "cli", "plots", "results", "runner", "store", "batches", "workers", "sweeps", "comparison"},
    "atomic": {"studies", "validate", "cli", "plots", "results", "runner", "store", "batches", "scenarios", "tables"},
    "scenarios": {"studies", "validate", "cli", "plots", "results", "runner"},
}


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_looks_only_where_it_may(room: str) -> None:
    paths = sorted((PACKAGE / room).rglob("*.py")) or [PACKAGE / f"{room}.py"]
    seen = {(path.name, looked_at) for path in paths for looked_at in _rooms(ast.parse(path.read_text()))}
    assert {pair for pair in seen if pair[1] in FORBIDDEN[room]} == set()


def test_nothing_but_the_command_itself_looks_at_the_command() -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if "cli" not in path.relative_to(PACKAGE).parts and path.name != "__main__.py"]
    assert len(paths) > 20
    assert [path for path in paths if "cli" in _rooms(ast.parse(path.read_text()))] == []


def test_no_module_forks_since_a_process_may_have_threads() -> None:
    """A lock that another thread holds at a fork stays locked in the child for ever."""
    forks = {(path.name, node.lineno) for path in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())) if _forks(node)}
    assert forks == set()


def _forks(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="fork" | "forkpty"):
            return True
        case ast.ImportFrom(module="os", names=names):
            return any(alias.name in ("fork", "forkpty") for alias in names)
        case ast.Call(func=ast.Name(id="get_context") | ast.Attribute(attr="get_context"), args=arguments):
            return not any(isinstance(argument, ast.Constant) and argument.value in ("spawn", "forkserver") for argument in arguments)
    return False


def _rooms(tree: ast.Module) -> set[str]:
    """The rooms of the package that a file imports from, wherever it does so."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.split(".")[1] for name in found if name.startswith("ecnlab.")}
