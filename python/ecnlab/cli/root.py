"""The root of the command: every sub-command by name, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from ecnlab.cli import EXIT_CODES

COMMANDS = {
    "run": "run:run",
    "sweep": "sweep:sweep",
    "compare": "compare:compare",
    "phase": "phase:phase",
    "plot": "plot:plot",
    "draw": "draw:draw",
    "check": "check:check",
    "trace": "trace:trace",
    "replay": "replay:replay",
    "shell": "shell:shell",
    "list": "catalog:list_",
    "show": "catalog:show",
    "schema": "catalog:schema",
    "study": "study:study",
    "doctor": "doctor:doctor",
    "validate": "validate:validate",
    "box": "box:box",
    "completion": "completion:completion",
}


class _Late(click.Group):
    """A group whose commands stand in modules of their own, so that none pays for another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"ecnlab.cli.{module}"), name)
        return command


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from ecnlab import _core

        click.echo(f"ecnlab {_core.VERSION} (build {_core.BUILD})")
        context.exit()


_EPILOG = "\b\n" + "\n".join(["Exit codes:", *(f"  {code:<4} {when}" for code, when in EXIT_CODES.items())])


@click.command(cls=_Late, epilog=_EPILOG, context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and the engine's build."
)
def root() -> None:
    """A laboratory for Explicit Congestion Notification and active queue management."""
