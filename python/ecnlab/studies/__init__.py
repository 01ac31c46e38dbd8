"""The studies that `ecnlab study` reproduces."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ecnlab.errors import require_known_name

if TYPE_CHECKING:
    from ecnlab.studies.framework.model import Study

TITLES = {
    "aecn": "AECN: fair marking for flows with heterogeneous RTTs",
    "rfc2884": "RFC 2884: ECN on Linux hosts, for bulk transfers and transactions",
    "amecn": "AMECN: marks of two levels, and a probability that follows the load",
    "red-ecn": "When ECN helps RED: light load, and datagrams beside the flows",
    "l4s": "L4S: shares of Prague and CUBIC, published and beside Linux hosts",
    "today": "The papers' questions asked again: current hosts and queues",
}


def find_study(name: str) -> Study:
    """The study of that name. Raises UnknownName."""
    require_known_name("study", name, TITLES)
    study: Study = import_module(f"ecnlab.studies.papers.{_module_name(name)}").STUDY
    return study


def folder_of_study(name: str) -> Path:
    """The folder of a study's files."""
    return Path(__file__).parent / "papers" / _module_name(name)


def _module_name(name: str) -> str:
    return name.replace("-", "_")
