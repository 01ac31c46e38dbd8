"""`ecnlab cite`: an entry for a bibliography, for this version or for a stored result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from ecnlab.cli import options, output
from ecnlab.errors import ResultsError


@click.command()
@click.argument("result", metavar="[DIR]", required=False, type=options.PATH)
def cite(result: Path | None) -> None:
    """Print an entry for biblatex, for this version or for a result.

    DIR is the folder of a run, a sweep or a study's report. The entry then has the build that computed it, the seeds, and for a run the key
    of its scenario. Equal key, build and seeds give equal results on the simulator.
    """
    from ecnlab import _core

    label, version, build, notes = (_core.VERSION, _core.VERSION, _core.BUILD, []) if result is None else _identity_of_result(result)
    for line in _biblatex_lines(label, version, build, notes):
        output.print_line(line)


def _identity_of_result(folder: Path) -> tuple[str, str, str, list[str]]:
    """Label, version, build and notes for the folder of a run, a sweep or a report. Raises ResultsError."""
    from ecnlab.storage.results import open_result
    from ecnlab.sweeps.folder import is_sweep_folder, open_sweep

    if is_sweep_folder(folder):
        about = open_sweep(folder).about
        notes = [f"sweep {about['name']}, {about['points']} points", f"seeds {_seed_ranges_text(about['seeds'])}"]
        return f"sweep-{about['name']}", about["engine"], about["build"], notes
    if (folder / "claims.json").is_file():
        return _identity_of_report(folder / "claims.json")
    opened = open_result(folder)
    notes = [f"scenario {opened.hash}", f"seeds {_seed_ranges_text(opened.seeds)}"]
    return opened.hash[:8], opened.header["engine"], opened.header["build"], notes


def _identity_of_report(file: Path) -> tuple[str, str, str, list[str]]:
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
        notes = [f"study {about['study']}", f"seeds {_seed_ranges_text(about['seeds'])}"]
        return f"study-{about['study']}", str(about["engine"]), str(about["build"]), notes
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{file}: cannot be read: {error}; fix: run the study again") from None


def _biblatex_lines(label: str, version: str, build: str, notes: list[str]) -> list[str]:
    fields = {
        "title": "{ecnlab}: a laboratory for {Explicit Congestion Notification} and active queue management",
        "author": "{The ecnlab authors}",
        "version": version,
        "note": "; ".join([f"build {build}", *notes]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return [f"@software{{ecnlab-{label},", *lines, "}"]


def _seed_ranges_text(seeds: Sequence[int]) -> str:
    """Seeds as a text, consecutive ones as a range: "1 to 5, 9"."""
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and parts[-1][-1] == seed - 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ", ".join(" to ".join(map(str, part)) for part in parts)
