"""Tests that wait are in the group of real time, which parallel workers run one at a time: by the source, so that none is forgotten."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLOCKS = {"Timer", "monotonic", "perf_counter", "sleep"}
MARK = "real_time"


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.relative_to(TESTS).as_posix())
def test_what_waits_is_marked(path: Path) -> None:
    unmarked = set(unmarked_tests(path.read_text(encoding="utf-8")))
    assert unmarked == set(), f"mark them with pytest.mark.{MARK}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ndef test_a(): time.sleep(1)", ["test_a"]),
        ("from time import sleep\ndef until(): sleep(1)\n@pytest.fixture\ndef there(): until()\ndef test_a(there): pass", ["test_a"]),
        ("def test_a(): time.monotonic()\n@pytest.mark.real_time\ndef test_b(): time.monotonic()", ["test_a"]),
        ("pytestmark = [pytest.mark.real_time]\ndef test_a(): time.sleep(1)", []),
        ("SCRIPT = 'time.sleep(1)'\ndef test_a(): run(SCRIPT)", []),
    ],
)
def test_a_test_that_waits_through_a_helper_or_a_fixture_is_found(source: str, found: list[str]) -> None:
    assert list(unmarked_tests(source)) == found


def unmarked_tests(source: str) -> Iterator[str]:
    """The tests of a module that use a clock, directly or through functions of the module, without the mark."""
    body = ast.parse(source).body
    if any(isinstance(node, ast.Assign) and "pytestmark" in _names(node) and MARK in _names(node) for node in body):
        return
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    waiting = set(CLOCKS)
    while more := {name for name, node in functions.items() if name not in waiting and waiting & _names(node)}:
        waiting |= more
    for name, node in functions.items():
        if name.startswith("test_") and name in waiting and not any(MARK in _names(mark) for mark in node.decorator_list):
            yield name


def _names(tree: ast.AST) -> set[str]:
    """Names, attributes and parameters in a piece of source."""
    nodes = list(ast.walk(tree))
    return (
        {node.id for node in nodes if isinstance(node, ast.Name)}
        | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        | {node.arg for node in nodes if isinstance(node, ast.arg)}
    )
