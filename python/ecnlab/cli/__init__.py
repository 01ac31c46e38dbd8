"""The command `ecnlab`. Whatever a command needs is imported when it runs, so that --help is there at once."""

from __future__ import annotations

import sys

import typer

from ecnlab.cli import catalog, run, study, validate
from ecnlab.errors import EcnlabError, Interrupted

app = typer.Typer(
    help="A laboratory for Explicit Congestion Notification and active queue management.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("list")(catalog.list_)
app.command("show")(catalog.show)
app.command("schema")(catalog.schema)
app.add_typer(study.app, name="study")
app.add_typer(validate.app, name="validate")


def main() -> None:
    """Run the command; an error that ecnlab raises becomes its text on standard error and exit code 2 (130 for Ctrl-C)."""
    try:
        app()
    except Interrupted as error:
        _leave(str(error), 130)
    except EcnlabError as error:
        _leave(str(error), 2)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


def _leave(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)
