import ast
from pathlib import Path

import ecnlab

PACKAGE = Path(ecnlab.__file__).parent


def test_no_module_forks_since_a_process_may_have_threads() -> None:
    """A lock that another thread holds at a fork stays locked in the child for ever."""
    forks = {
        (path.name, node.lineno) for path in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())) if _is_fork_call(node)
    }
    assert forks == set()


def _is_fork_call(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="fork" | "forkpty"):
            return True
        case ast.ImportFrom(module="os", names=names):
            return any(alias.name in ("fork", "forkpty") for alias in names)
        case ast.Call(func=ast.Name(id="get_context") | ast.Attribute(attr="get_context"), args=arguments):
            return not any(isinstance(argument, ast.Constant) and argument.value in ("spawn", "forkserver") for argument in arguments)
    return False
