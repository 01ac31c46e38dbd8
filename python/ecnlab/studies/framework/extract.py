"""Export of a study's scenarios as files that users can run, change and compare."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import tomli_w

from ecnlab.errors import ResultsError
from ecnlab.scenarios.load import Scenario
from ecnlab.storage.atomic import write_atomically
from ecnlab.storage.filenames import safe_file_name


def scenario_as_toml(scenario: Scenario) -> str:
    """The text of a scenario file with the same key."""
    return tomli_w.dumps(json.loads(scenario.text))


def write_scenario_files(scenarios: Sequence[Scenario], folder: Path) -> list[Path]:
    """Write each scenario into the folder, named by its title, with a number after equal titles. Returns the paths in order.

    A file that is there under such a name is replaced. Raises ResultsError (disk).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{stem}.toml" for stem in _file_stems(scenarios)]
        for path, scenario in zip(paths, scenarios, strict=True):
            write_atomically(path, scenario_as_toml(scenario).encode())
    except OSError as error:
        raise ResultsError(f"cannot write scenarios into {folder}: {error.strerror or error}") from None
    return paths


def _file_stems(scenarios: Sequence[Scenario]) -> Iterator[str]:
    met: Counter[str] = Counter()
    for scenario in scenarios:
        stem = safe_file_name(re.sub(r"[^A-Za-z0-9_]+", "-", scenario.name).strip("-"))
        met[stem] += 1
        yield stem if met[stem] == 1 else f"{stem}-{met[stem]}"
