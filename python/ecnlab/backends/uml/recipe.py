"""The recipe for a UML kernel: source edits, added files and configuration options, all in the folder `data`.

All kernels share one recipe; an edit or option for some kernels names them (`kernels` of an edit, `# 7.2` behind an option).
Each edit must match exactly once, and each option must be in the finished configuration; otherwise the build is refused with the place.
Files in `data` that go into the kernel have its licence, GPL-2.0.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

from ecnlab.errors import BackendError

DATA_FOLDER = Path(__file__).with_name("data")
_EDITS_FILE, _OPTIONS_FILE = "edits.toml", "box.config"
_OPTION_NOT_SET = " is not set"


def kernel_config_lines(kernel: str) -> list[str]:
    """The configuration lines of a UML kernel ("6.1"), also those that leave an option out."""
    found = []
    for line in (DATA_FOLDER / _OPTIONS_FILE).read_text().splitlines():
        option, _, kernels = line.partition("  # ")
        if (option.startswith("CONFIG_") or option.endswith(_OPTION_NOT_SET)) and (not kernels or kernel in kernels.split(", ")):
            found.append(option)
    return found


def source_edits(kernel: str) -> list[dict[str, str]]:
    """The edits of a kernel's source ("6.1"), each with "why", "file", "find" and "put"."""
    recipe = tomllib.loads((DATA_FOLDER / _EDITS_FILE).read_text())
    return [edit for edit in recipe["edit"] if kernel in edit.get("kernels", [kernel])]


def files_added_to_source() -> list[tuple[str, bytes]]:
    """Files added to every kernel's source: path and content."""
    recipe = tomllib.loads((DATA_FOLDER / _EDITS_FILE).read_text())
    return [(file["file"], (DATA_FOLDER / file["from"]).read_bytes()) for file in recipe["add"]]


def recipe_digest(kernel: str) -> str:
    """A digest of the recipe of a kernel ("6.1")."""
    changes = [[edit["file"], edit["find"], edit["put"]] for edit in source_edits(kernel)]
    files = [[place, hashlib.sha256(content).hexdigest()] for place, content in files_added_to_source()]
    return hashlib.sha256(json.dumps([changes, files, kernel_config_lines(kernel)]).encode()).hexdigest()


def apply_source_edits(tree: Path, kernel: str) -> None:
    """Apply all edits to a kernel's source ("6.1") and add files. Raises BackendError that lists all edits that do not match."""
    misfits = []
    for edit in source_edits(kernel):
        path = tree / edit["file"]
        text = path.read_text() if path.is_file() else ""
        found = text.count(edit["find"])
        if found == 1:
            path.write_text(text.replace(edit["find"], edit["put"]))
        else:
            misfits.append(f"{edit['file']}: the text of an edit occurs {found} times, not once ({edit['why'].splitlines()[0]})")
    if misfits:
        raise BackendError(
            "\n".join(["kernel source: the recipe's edits do not fit; fix: use a version that docs/how-to/uml.md lists:", *misfits])
        )
    for place, content in files_added_to_source():
        (tree / place).write_bytes(content)


def require_config_matches_recipe(config: Path, kernel: str) -> None:
    """Check that a kernel's finished configuration ("6.1") has every option of the recipe. Raises BackendError."""
    has = set(config.read_text().splitlines())
    missing = [line for line in kernel_config_lines(kernel) if line.startswith("CONFIG_") and line not in has]
    left_out = [line.removeprefix("# ") for line in kernel_config_lines(kernel) if line.endswith(_OPTION_NOT_SET)]
    unwanted = [option for line in left_out if (option := f"{line.removesuffix(_OPTION_NOT_SET)}=y") in has]
    if missing:
        raise BackendError(f"kernel configuration: required options were dropped: {', '.join(missing)}")
    if unwanted:
        raise BackendError(f"kernel configuration: unwanted options are set: {', '.join(unwanted)}")
