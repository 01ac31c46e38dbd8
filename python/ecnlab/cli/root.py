"""The root of the command: every sub-command by name, imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from ecnlab.cli import EXIT_CODES, version_text
from ecnlab.errors import UsageError

COMMANDS = {
    "example": "example:example",
    "init": "init:init",
    "run": "run:run",
    "sweep": "sweep:sweep",
    "compare": "compare:compare",
    "phase": "phase:phase",
    "plot": "plot:plot",
    "draw": "draw:draw",
    "test-aqm": "conformance:test_aqm",
    "trace": "trace:trace",
    "replay": "replay:replay",
    "shell": "shell:shell",
    "list": "catalog:list_catalog",
    "show": "catalog:show_entry",
    "schema": "catalog:print_scenario_schema",
    "study": "study:study",
    "doctor": "doctor:doctor",
    "validate": "validate:validate",
    "uml": "uml:uml",
    "completion": "completion:completion",
    "lab": "lab:lab",
    "docs": "docs:docs",
    "cite": "cite:cite",
}


# Former names of commands; the error message names the new one.
_RENAMED = {"check": "test-aqm", "box": "uml"}


class _LazyCommandGroup(click.Group):
    """A group that imports the module of a command on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _RENAMED:
            new = _RENAMED[cmd_name]
            raise UsageError(f"ecnlab {cmd_name}: is now ecnlab {new}; fix: run ecnlab {new}")
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"ecnlab.cli.{module}"), name)
        return command


def _print_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(version_text())
        context.exit()


_EPILOG = "\b\n" + "\n".join(["Exit codes:", *(f"  {code:<4} {when}" for code, when in EXIT_CODES.items())])


@click.command(cls=_LazyCommandGroup, epilog=_EPILOG, context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version and the engine's build."
)
def root() -> None:
    """A laboratory for Explicit Congestion Notification and active queue management."""
