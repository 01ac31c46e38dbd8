"""Packet-exact cases: one flow, all packet events of ns-2 compared with ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ecnlab import _core
from ecnlab.errors import UsageError

CASES_FOLDER = Path(__file__).parent.parent / "reference" / "ns2" / "packet-exact"


@dataclass(frozen=True)
class PacketCaseOutcome:
    """Result of one case: compared events, and the first difference if any."""

    name: str
    ok: bool
    events: int
    difference: str | None


def compare_packet_cases_of_folder(folder: Path) -> list[PacketCaseOutcome]:
    """All cases (*.json) of a folder, sorted by name. Raises UsageError if there is none, or for invalid files."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise UsageError(f"{folder}: contains no *.json case" if folder.is_dir() else f"{folder}: is not a folder")
    outcomes: list[PacketCaseOutcome] = []
    problems: list[str] = []
    for path in paths:
        try:
            outcomes.append(compare_packet_case(path))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return outcomes


def compare_packet_case(path: Path) -> PacketCaseOutcome:
    """One case. Raises UsageError if the file is not a case."""
    try:
        answer = json.loads(_core.packet_exact(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a packet-exact case: {error}") from None
    return PacketCaseOutcome(answer["name"], answer["ok"], answer["events"], answer["difference"])
