"""`ecnlab docs`: the pages of this version, which the package carries."""

from __future__ import annotations

from pathlib import Path

import click

SITE_ARCHIVE = Path(__file__).parents[1] / "site.zip"
_LABORATORY = "lab.html"
_DIGEST_DIGITS = 16


@click.command()
@click.option("--path", "print_path", is_flag=True, help="Print the folder of the pages and open nothing.")
def docs(print_path: bool) -> None:
    """Open the pages of this version in a browser.

    The package carries the pages, so that they need no network, and their search works offline. The first call unpacks them into the
    user's cache folder, or the one in ECNLAB_CACHE.
    """
    import webbrowser

    from ecnlab.errors import UsageError

    if not SITE_ARCHIVE.is_file():
        raise UsageError("docs: this checkout has no built pages; fix: run make site")
    folder = _unpack_site()
    first = folder / "index.html"
    if print_path:
        click.echo(folder)
    elif not webbrowser.open(first.as_uri()):
        raise UsageError(f"docs: no browser was found; fix: open {first.as_uri()} in one")


def _unpack_site() -> Path:
    """The folder of the pages, unpacked unless an earlier call has done so. Raises UsageError.

    The pages show the laboratory, which the package has once; it is added here.
    """
    from hashlib import sha256
    from zipfile import ZipFile

    from ecnlab import _core
    from ecnlab.browser import page
    from ecnlab.errors import UsageError
    from ecnlab.storage import atomic
    from ecnlab.storage.cache import cache_folder

    folder = cache_folder() / f"site-{sha256(SITE_ARCHIVE.read_bytes()).hexdigest()[:_DIGEST_DIGITS]}-{_core.BUILD}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned_partials(folder.parent, "site-*")
        with atomic.locked_partial(atomic.partial_path(folder), folder=True) as partial, ZipFile(SITE_ARCHIVE) as archive:
            archive.extractall(partial)
            if (page.FOLDER / page.MODULE).is_file():
                (partial / _LABORATORY).write_text(page.single_file(page.page_config(None)), encoding="utf-8", newline="\n")
            partial.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another call has unpacked them at the same time
            raise UsageError(f"{folder}: cannot be written ({error.strerror}); fix: set ECNLAB_CACHE to another folder") from None
    return folder
