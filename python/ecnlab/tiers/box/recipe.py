"""What makes a kernel's source the box's kernel: edits, files of ours, and options, all of them data beside this file.

An edit has to find its place exactly once and an option has to stand in the finished configuration, so a kernel that has moved on is
refused with the place, and never built otherwise than it says. The files in `data` that go into the kernel are under its licence, GPL-2.0.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

from ecnlab.errors import TierError

DATA = Path(__file__).with_name("data")
_EDITS, _OPTIONS = "edits.toml", "box.config"
_LEFT_OUT = " is not set"


def digest() -> str:
    """A digest of all that the recipe consists of."""
    told = hashlib.sha256()
    for file in sorted(DATA.iterdir()):
        told.update(f"{file.name} {file.stat().st_size}\n".encode())
        told.update(file.read_bytes())
    return told.hexdigest()


def options() -> list[str]:
    """The lines of the configuration that the box asks for, those that something be left out among them."""
    return [line for line in (DATA / _OPTIONS).read_text().splitlines() if line.startswith("CONFIG_") or line.endswith(_LEFT_OUT)]


def change(tree: Path) -> None:
    """Do the edits in a kernel's source and add our files. Raises TierError with all that do not fit."""
    recipe = tomllib.loads((DATA / _EDITS).read_text())
    misfits = []
    for edit in recipe["edit"]:
        path = tree / edit["file"]
        text = path.read_text() if path.is_file() else ""
        found = text.count(edit["find"])
        if found == 1:
            path.write_text(text.replace(edit["find"], edit["put"]))
        else:
            misfits.append(f"{edit['file']}: the place of an edit is there {found} times, not once ({edit['why'].splitlines()[0]})")
    if misfits:
        raise TierError("\n".join(["this kernel is not one that the box's recipe fits:", *misfits]))
    for file in recipe["add"]:
        (tree / file["file"]).write_bytes((DATA / file["from"]).read_bytes())


def check(config: Path) -> None:
    """See that a finished configuration has every option of the recipe. Raises TierError."""
    has = set(config.read_text().splitlines())
    missing = [line for line in options() if line.startswith("CONFIG_") and line not in has]
    left_out = [line.removeprefix("# ").removesuffix(_LEFT_OUT) for line in options() if line.endswith(_LEFT_OUT)]
    unwanted = [f"{name}=y" for name in left_out if f"{name}=y" in has]
    if missing:
        raise TierError(f"the kernel's configuration has dropped options that the box needs: {', '.join(missing)}")
    if unwanted:
        raise TierError(f"the kernel's configuration has options that the box has no use for: {', '.join(unwanted)}")
