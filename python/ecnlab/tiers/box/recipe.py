"""What makes a kernel's source the box's kernel: edits, files of ours, and options, all of them data beside this file.

One recipe is for all kernels; what only some of them need says which (`kernels` of an edit, `# 7.2` behind an option).
An edit has to find its place exactly once and an option has to stand in the finished configuration, so a kernel that has moved on is
refused with the place, and never built otherwise than it says. The files in `data` that go into the kernel are under its licence, GPL-2.0.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

from ecnlab.errors import TierError

DATA = Path(__file__).with_name("data")
_EDITS, _OPTIONS = "edits.toml", "box.config"
_LEFT_OUT = " is not set"


def options(kernel: str) -> list[str]:
    """The lines of the configuration that the box asks for in a kernel ("6.1"), those that something be left out among them."""
    found = []
    for line in (DATA / _OPTIONS).read_text().splitlines():
        option, _, kernels = line.partition("  # ")
        if (option.startswith("CONFIG_") or option.endswith(_LEFT_OUT)) and (not kernels or kernel in kernels.split(", ")):
            found.append(option)
    return found


def edits(kernel: str) -> list[dict[str, str]]:
    """What is changed in the source of a kernel ("6.1"): "why", "file", "find" and "put"."""
    recipe = tomllib.loads((DATA / _EDITS).read_text())
    return [edit for edit in recipe["edit"] if kernel in edit.get("kernels", [kernel])]


def added() -> list[tuple[str, bytes]]:
    """Files of ours that go into every kernel's source: their places, and what they hold."""
    recipe = tomllib.loads((DATA / _EDITS).read_text())
    return [(file["file"], (DATA / file["from"]).read_bytes()) for file in recipe["add"]]


def digest(kernel: str) -> str:
    """A digest of all that makes the source of a kernel ("6.1") the box's."""
    changes = [[edit["file"], edit["find"], edit["put"]] for edit in edits(kernel)]
    files = [[place, hashlib.sha256(content).hexdigest()] for place, content in added()]
    return hashlib.sha256(json.dumps([changes, files, options(kernel)]).encode()).hexdigest()


def change(tree: Path, kernel: str) -> None:
    """Do the edits in the source of a kernel ("6.1") and add our files. Raises TierError with all that do not fit."""
    misfits = []
    for edit in edits(kernel):
        path = tree / edit["file"]
        text = path.read_text() if path.is_file() else ""
        found = text.count(edit["find"])
        if found == 1:
            path.write_text(text.replace(edit["find"], edit["put"]))
        else:
            misfits.append(f"{edit['file']}: the place of an edit is there {found} times, not once ({edit['why'].splitlines()[0]})")
    if misfits:
        raise TierError("\n".join(["this kernel is not one that the box's recipe fits:", *misfits]))
    for place, content in added():
        (tree / place).write_bytes(content)


def check(config: Path, kernel: str) -> None:
    """See that a finished configuration of a kernel ("6.1") has every option of the recipe. Raises TierError."""
    has = set(config.read_text().splitlines())
    missing = [line for line in options(kernel) if line.startswith("CONFIG_") and line not in has]
    left_out = [line.removeprefix("# ").removesuffix(_LEFT_OUT) for line in options(kernel) if line.endswith(_LEFT_OUT)]
    unwanted = [f"{name}=y" for name in left_out if f"{name}=y" in has]
    if missing:
        raise TierError(f"the kernel's configuration has dropped options that the box needs: {', '.join(missing)}")
    if unwanted:
        raise TierError(f"the kernel's configuration has options that the box has no use for: {', '.join(unwanted)}")
