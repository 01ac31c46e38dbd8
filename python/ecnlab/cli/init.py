"""`ecnlab init`: a new project folder."""

from __future__ import annotations

from pathlib import Path

import click

from ecnlab.cli import options, output
from ecnlab.errors import UsageError

TEMPLATE = Path(__file__).parents[1] / "templates" / "project"
# A file whose name begins with a dot would apply to this repository.
_RENAMED_FILES = {"gitignore": ".gitignore"}


@click.command()
@click.argument("name", type=options.PATH)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def init(name: Path, quiet: bool) -> None:
    """Create a folder with a scenario, a sweep and a notebook.

    NAME is the new folder. Every file in it runs as it is.
    """
    from ecnlab.storage.atomic import locked_temporary_path, partial_path, rename_with_retries

    if name.exists() or name.is_symlink():
        raise UsageError(f"{name}: exists; fix: choose the name of a new folder")
    try:
        with locked_temporary_path(partial_path(name), folder=True) as partial:
            for file in sorted(TEMPLATE.iterdir()):
                (partial / _RENAMED_FILES.get(file.name, file.name)).write_bytes(file.read_bytes())
            rename_with_retries(partial, name)
    except OSError as error:
        raise UsageError(f"{name}: cannot be created: {error.strerror}") from None
    if not quiet:
        output.print_line(f"created: {name}")
        output.print_line(f"next: cd {name}; ecnlab run scenario.toml --seeds 5 --plot")
