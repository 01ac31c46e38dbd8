"""Packet-exact cases: one flow, all packet events of ns-2 compared with ours."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

from ecnlab import _core
from ecnlab.errors import UsageError
from ecnlab.packet_traces import ns2
from ecnlab.validation.case_files import case_files, outcomes_of_cases, read_case_text

CASES_FOLDER = ns2.REFERENCE / "packet-exact"


@dataclass(frozen=True)
class PacketCaseOutcome:
    """Result of one case: compared events, and the first difference if any."""

    name: str
    ok: bool
    events: int
    difference: str | None


def compare_packet_cases_of_folder(folder: Path) -> list[PacketCaseOutcome]:
    """All cases (*.json, *.json.gz) of a folder, sorted by name. Raises UsageError if there is none, or for invalid files."""
    return outcomes_of_cases(case_files(folder), compare_packet_case)


def compare_packet_case(path: Path) -> PacketCaseOutcome:
    """One case. Raises UsageError if the file is not a case."""
    try:
        answer = json.loads(_core.packet_exact(read_case_text(path)))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} is not a packet-exact case: {error}") from None
    return PacketCaseOutcome(answer["name"], answer["ok"], answer["events"], answer["difference"])
