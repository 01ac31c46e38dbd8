"""`ecnlab docs`: the pages of this version, which the package carries."""

from __future__ import annotations

from pathlib import Path

import click

from ecnlab.errors import UsageError

SITE_ARCHIVE = Path(__file__).parents[1] / "site.zip"
_LABORATORY = "lab.html"
_FOLDER_PREFIX = "site-"
_DIGEST_DIGITS = 16


@click.command()
@click.option("--path", "print_path", is_flag=True, help="Print the folder of the pages and open nothing.")
def docs(print_path: bool) -> None:
    """Open the pages of this version in a browser.

    The package carries the pages, so that they need no network, and their search works offline. The first call unpacks them into the
    user's cache folder, or the one in ECNLAB_CACHE, and removes those of other versions from it.
    """
    import webbrowser

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

    The pages show the laboratory, which the package has once; it is added here. A checkout may have none of the engine's build.
    """
    from hashlib import sha256

    from ecnlab.browser import page
    from ecnlab.storage import atomic
    from ecnlab.storage.cache import cache_folder

    try:
        archive, laboratory = SITE_ARCHIVE.read_bytes(), _laboratory_page_digest()
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be read ({error.strerror}); fix: install ecnlab again") from None
    digest = sha256(sha256(archive).digest() + (laboratory or b"")).hexdigest()[:_DIGEST_DIGITS]
    folder = cache_folder() / f"{_FOLDER_PREFIX}{digest}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned_partials(folder.parent, f"{_FOLDER_PREFIX}*")
        with atomic.locked_temporary_path(atomic.partial_path(folder), folder=True) as partial:
            _extract_archive(archive, partial)
            if laboratory is not None:
                (partial / _LABORATORY).write_text(page.single_file(page.page_config(None)), encoding="utf-8", newline="\n")
            atomic.rename_with_retries(partial, folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another call has unpacked them at the same time
            raise UsageError(f"{folder}: cannot be written ({error.strerror}); fix: set ECNLAB_CACHE to another folder") from None
    for other in folder.parent.glob(f"{_FOLDER_PREFIX}*"):
        if other != folder:
            atomic.remove_folder(other)  # it is renamed first, so that no process takes a half-removed folder for a whole one
    return folder


def _laboratory_page_digest() -> bytes | None:
    """A digest of everything that the page of the laboratory is made of; None if the package has none of its build. Raises OSError."""
    import json
    from hashlib import sha256

    from ecnlab.browser import page

    try:
        folder = page.require_page_folder()
    except UsageError:
        return None
    digest = sha256(json.dumps(page.page_config(None)).encode())
    for file in sorted(file for file in folder.iterdir() if file.is_file()):
        digest.update(sha256(file.name.encode()).digest() + sha256(file.read_bytes()).digest())
    return digest.digest()


def _extract_archive(archive: bytes, folder: Path) -> None:
    """Extract the pages. Raises UsageError if the archive is damaged, and OSError if the folder cannot be written."""
    import struct
    import zlib
    from io import BytesIO
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(BytesIO(archive)) as packed:
            packed.extractall(folder)
    except (BadZipFile, EOFError, RuntimeError, ValueError, struct.error, zlib.error) as error:
        # RuntimeError: a damaged entry may look encrypted, or compressed by an unknown method.
        message = (
            f"{SITE_ARCHIVE}: the archive of the pages is damaged ({error}); fix: run make site in a checkout, or install ecnlab again"
        )
        raise UsageError(message) from None
