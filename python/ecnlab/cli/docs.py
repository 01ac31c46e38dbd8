"""`ecnlab docs`: the pages of this version, which the package carries."""

from __future__ import annotations

from pathlib import Path

import click

SITE = Path(__file__).parents[1] / "site"


@click.command()
@click.option("--path", "print_path", is_flag=True, help="Print the folder of the pages and open nothing.")
def docs(print_path: bool) -> None:
    """Open the pages of this version in a browser.

    The pages are files of the package: they need no network, and their search works offline.
    """
    import webbrowser

    from ecnlab.errors import UsageError

    first = SITE / "index.html"
    if not first.is_file():
        raise UsageError("docs: this checkout has no built pages; fix: run make site")
    if print_path:
        click.echo(SITE)
    elif not webbrowser.open(first.as_uri()):
        raise UsageError(f"docs: no browser was found; fix: open {first.as_uri()} in one")
