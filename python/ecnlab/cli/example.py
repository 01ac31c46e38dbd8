"""`ecnlab example`: the examples of the package, listed or written as files."""

from __future__ import annotations

from pathlib import Path

import click

from ecnlab.cli import options, output
from ecnlab.display.cells import TextTable
from ecnlab.errors import UsageError

_COLUMNS = ("name", "kind", "title")


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Write all examples.")
@click.option(
    "--out", type=options.NonEmptyPath(path_type=Path, file_okay=False), metavar="DIR", help="The folder of the files (default: this one)."
)
@options.json_option
def example(name: str | None, everything: bool, out: Path | None, as_json: bool) -> None:
    """List the examples, or write one as a file.

    Every command that reads a file also reads `example:NAME`. With NAME the file is written into this folder, together with the files
    that it uses, so that you can change it. An existing file with other content is not overwritten.

    \b
    ecnlab run example:ecn
    ecnlab example ecn
    """
    from ecnlab import packaged_examples

    found = packaged_examples.examples()
    if name is None and not everything:
        if out is not None:
            raise UsageError("--out: no example is named; fix: name one, or add --all")
        if as_json:
            output.print_json([{column: getattr(one, column) for column in _COLUMNS} for one in found])
        else:
            output.print_tables([TextTable("", _COLUMNS, [(one.name, one.kind, one.title) for one in found], words=_COLUMNS)])
            output.print_line("ecnlab example NAME writes a file; every command reads example:NAME")
        return
    if name is not None and everything:
        raise UsageError(f"--all: already covers {name}; fix: omit one of the two")
    names = [one.name for one in found] if name is None else [name.removeprefix(packaged_examples.PREFIX)]
    files = list(dict.fromkeys(file for one in names for file in packaged_examples.files_of_example(one)))
    written = _write_files(files, packaged_examples.FOLDER, out or Path())
    if as_json:
        output.print_json([str(path) for path in written])
        return
    for path in written:
        output.print_line(f"written: {path}")


def _write_files(files: list[Path], source: Path, folder: Path) -> list[Path]:
    """Copies the files into the folder; copies none if it would overwrite a different file. Raises UsageError."""
    from ecnlab.storage.atomic import write_atomically

    content = {folder / file: (source / file).read_bytes() for file in files}
    taken = [path for path, data in content.items() if path.exists() and not (path.is_file() and path.read_bytes() == data)]
    if taken:
        remedy = "fix: remove it, or choose another folder with --out"
        raise UsageError("\n".join(f"{path}: exists with another content; {remedy}" for path in taken))
    for path, data in content.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    return list(content)
