"""A sweep of the small scenario that runs in well under a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ecnlab
from helpers import SMALL

GRID: dict[str, Any] = {
    "scheme": {"RED": {"link.bottleneck.queue.aqm": "red", "flows.*.tcp.ecn": False}, "ECN": {}},
    "link.bottleneck.queue.max_p": [0.1, 0.5],
    "flows": {"values": [2, 6]},
}
DERIVED = {"flows.*.count": "flows / 2"}


@pytest.fixture(scope="session")
def swept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep over schemes, max_p and flows, three seeds."""
    place = tmp_path_factory.mktemp("swept")
    (place / "small.toml").write_text(SMALL)
    ecnlab.sweep(place / "small.toml", GRID, derived=DERIVED, seeds=3, store=place / "store", out=place / "out")
    return place / "out"


@pytest.fixture(scope="session")
def swept(swept_folder: Path) -> ecnlab.Sweep:
    return ecnlab.open_sweep(swept_folder)
