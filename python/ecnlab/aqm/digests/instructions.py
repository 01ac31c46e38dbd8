"""Names in the instructions of a function: globals, imported modules, and attributes read one from the other."""

from __future__ import annotations

import dataclasses
import dis
import functools
import types
from collections.abc import Mapping

_OPS_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


@dataclasses.dataclass(frozen=True)
class NamesInCode:
    """The names in a function's instructions, sorted: of globals, of modules that it imports, and all, attributes included.

    `chains` are the names that are read one from the other, such as ("np", "random", "rand"); "import " begins that of an imported module.
    """

    of_globals: list[str]
    imported: list[str]
    all: list[str]
    chains: list[tuple[str, ...]]


@functools.lru_cache(4096)
def names_in_function_code(code: types.CodeType) -> NamesInCode:
    """The names in a function's instructions, and in those of the functions inside it."""
    codes = [code]
    for one in codes:
        codes.extend(constant for constant in one.co_consts if isinstance(constant, types.CodeType))
    of_globals: set[str] = set()
    imported: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    for one in codes:
        steps = [step for step in dis.get_instructions(one) if step.opname not in ("EXTENDED_ARG", "CACHE", "NOP")]
        of_globals.update(step.argval for step in steps if step.opname in _OPS_OF_GLOBALS)
        modules = _modules_and_names_of_imports(steps)
        imported.update(module for module, _ in modules)
        chains.update(_attribute_chains(steps, dict(stored for _, names in modules for stored in names)))
        chains.update(chain for _, names in modules for _, chain in names)
    # A text may be an attribute's name, which getattr reads.
    texts = {text for one in codes for text in one.co_consts if isinstance(text, str) and text.isidentifier()}
    return NamesInCode(sorted(of_globals), sorted(imported), sorted(texts.union(*(one.co_names for one in codes))), sorted(chains))


def _modules_and_names_of_imports(steps: list[dis.Instruction]) -> list[tuple[str, list[tuple[str, tuple[str, ...]]]]]:
    """The modules that instructions import, with the names that these get and what each is: the module or an attribute."""
    found = []
    for at, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        # Before it the level, which is 0 or the number of dots, and the names after `import` are loaded.
        level, listed = steps[at - 2].argval, steps[at - 1].argval
        module = "." * level + step.argval
        names: list[tuple[str, tuple[str, ...]]] = []
        chain: tuple[str, ...] = (f"import {module if listed else module.partition('.')[0]}",)
        for after in steps[at + 1 :]:
            if after.opname == "IMPORT_FROM":
                chain = (f"import {module}", after.argval) if listed else (f"import {module}",)
            elif after.opname.startswith("STORE_"):
                names.append((after.argval, chain))
                if not listed or len(names) == len(listed):
                    break
            elif after.opname not in ("SWAP", "ROT_TWO", "POP_TOP"):
                break
        found.append((module, names))
        if listed:  # a name may be a module inside of a package
            found += [(f"{module}{'' if module.endswith('.') else '.'}{name}", []) for name in listed if name != "*"]
    return found


def _attribute_chains(steps: list[dis.Instruction], imported: Mapping[str, tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The names that are read one from the other; the first is a global's, a closure variable's or that of a module `imported`."""
    chains: set[tuple[str, ...]] = set()
    chain: tuple[str, ...] = ()
    for step in steps:
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = (*chain, step.argval)
            chains.add(chain)
        elif step.argval in imported and step.opname.startswith("LOAD_"):
            chain = imported[step.argval]
        elif step.opname in (*_OPS_OF_GLOBALS, "LOAD_DEREF"):
            chain = (step.argval,)
        else:
            chain = ()
    return chains


def package_for_relative_imports(function: types.FunctionType) -> str | None:
    """The package that a function's relative imports begin at."""
    names = function.__globals__
    package = names.get("__package__")
    return package if package is not None or "__path__" in names else str(names.get("__name__")).rpartition(".")[0] or None
