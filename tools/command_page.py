"""docs/reference/command.md, written from the command's own help.

`python tools/command_page.py` writes the page; with `--check` it compares the page and exits with 1 if it is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ecnlab.cli import EXIT_CODES
from ecnlab.cli.root import root

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command.md"

_HELP_WIDTH = 110
_PAGE_HEAD = """<!-- Written by `python tools/command_page.py` from the command's own help; change that, not this page. -->

# The command

`ecnlab COMMAND --help` prints the help of a command, which this page repeats.
[First run](../tutorials/first-run.md) introduces the most important ones.

Tables and JSON are written to standard output; warnings, errors and, on a terminal, the progress to standard error.
Names are printed unchanged, except that control characters are escaped.
If the output's encoding does not have lines and `±`, `ecnlab` prints `|`, `+` and `+-` instead.
"""


def command_reference_markdown() -> str:
    """The whole page."""
    codes = ["| exit code | when |", "| --- | --- |", *(f"| {code} | {when} |" for code, when in EXIT_CODES.items())]
    parts = (f"## `{path}`\n\n```text\n{help_text}\n```\n" for path, help_text in _help_sections(root, None, "ecnlab"))
    return "\n".join([_PAGE_HEAD, "\n".join(codes) + "\n", *parts])


def _help_sections(command: click.Command, parent: click.Context | None, name: str) -> Iterator[tuple[str, str]]:
    """The path and the help of a command and of its sub-commands."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_HELP_WIDTH, **command.context_settings)
    yield context.command_path, command.get_help(context)
    for below, found in getattr(command, "subcommands_by_name", {}).items():
        yield from _help_sections(found, parent, f"{name} {below}")
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None, below
            yield from _help_sections(found, context, below)


def write_or_check_command_reference(arguments: Sequence[str]) -> int:
    """Write the page, or compare it; returns the exit code."""
    if "--check" not in arguments:
        PAGE.write_text(command_reference_markdown(), encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != command_reference_markdown():
        print(f"{PAGE} is stale: run python tools/command_page.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(write_or_check_command_reference(sys.argv[1:]))
