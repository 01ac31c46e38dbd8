"""`ecnlab cite`: the entry of a bibliography for this version, and for the runs of a result."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("result", metavar="[RESULT_DIR]", required=False, type=click.Path(path_type=Path))
def cite(result: Path | None) -> None:
    """Print a BibTeX entry for this version.

    With a results folder the entry also has the key of its scenario, the seeds and the build that ran them. Equal key, build and seeds
    give equal results on the simulator.
    """
    from ecnlab import _core
    from ecnlab.cli import output

    version, build = _core.VERSION, _core.BUILD
    notes = []
    if result is not None:
        from ecnlab.storage.results import open_result

        opened = open_result(result)
        version, build = opened.header["engine"], opened.header["build"]
        notes = [f"scenario {opened.hash}", f"seeds {_ranges(opened.seeds)}"]
    for line in _bibtex(version, build, notes):
        output.print_line(line)


def _bibtex(version: str, build: str, notes: list[str]) -> list[str]:
    fields = {
        "title": "{ecnlab}: a laboratory for {Explicit Congestion Notification} and active queue management",
        "author": "{The ecnlab authors}",
        "version": version,
        "note": "; ".join([f"build {build}", *notes]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return [f"@software{{ecnlab-{version},", *lines, "}"]


def _ranges(seeds: list[int]) -> str:
    """Seeds as a text, consecutive ones as a range: "1 to 5, 9"."""
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and parts[-1][-1] == seed - 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ", ".join(" to ".join(map(str, part)) for part in parts)
