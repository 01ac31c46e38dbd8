import ast
from pathlib import Path

import ecnlab
from ecnlab import _core


def test_the_typed_stub_names_what_the_built_module_has() -> None:
    stub = ast.parse((Path(ecnlab.__file__).parent / "_core.pyi").read_text())
    assert _names(stub) == {name for name in dir(_core) if not name.startswith("_")}


def test_the_typed_stub_of_a_class_names_its_members() -> None:
    stub = ast.parse((Path(ecnlab.__file__).parent / "_core.pyi").read_text())
    for name in ("Scenario", "RunResult"):
        body = next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == name)
        members = {node.name for node in body.body if isinstance(node, ast.FunctionDef)}
        assert members == {member for member in dir(getattr(_core, name)) if not member.startswith("_")}


def _names(stub: ast.Module) -> set[str]:
    defined = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return defined | {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
