"""Packetdrill scripts of Accurate ECN against a simulated host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import UsageError

#: Names of the scripts that are run. A kernel's folder has many of other subjects.
SCRIPT_PATTERN = "tcp_accecn_*.pkt"

#: Verdicts, in the order in which they are counted.
SCRIPT_VERDICTS = ("passed", "failed", "unsupported")

#: Bytes of the longest script that is read.
MAX_SCRIPT_BYTES = 1 << 20


@dataclass(frozen=True)
class ScriptOutcome:
    """Outcome of a script: passed, failed or unsupported, with the line of the script and the reason."""

    name: str
    verdict: str
    line: int | None
    why: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def run_scripts_of_folder(folder: Path, pattern: str = SCRIPT_PATTERN) -> list[ScriptOutcome]:
    """All scripts of a folder whose file name matches a pattern, sorted by name. Raises UsageError if there is none."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        what = f"contains no {pattern}" if folder.is_dir() else "is not a folder"
        raise UsageError(
            f"{folder}: {what}; fix: give the folder tools/testing/selftests/net/packetdrill of a kernel's source, "
            "Linux 7.0 or later, or --scripts PATTERN"
        )
    return [run_script(path) for path in paths]


def run_script(path: Path) -> ScriptOutcome:
    """Run one script. Raises UsageError if the file cannot be read."""
    try:
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise UsageError(f"{path}: has more than {MAX_SCRIPT_BYTES} bytes and is no script")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a packetdrill script: {error}") from None
    answer = json.loads(_core.packetdrill_script(text))
    return ScriptOutcome(path.stem, answer["verdict"], answer["line"], answer["why"])


def script_verdict_counts(outcomes: Sequence[ScriptOutcome]) -> dict[str, int]:
    """Number of scripts with each verdict."""
    return {verdict: sum(outcome.verdict == verdict for outcome in outcomes) for verdict in SCRIPT_VERDICTS}
