"""`ecnlab lab`: the laboratory in the browser."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import click

from ecnlab.cli import options, output
from ecnlab.errors import UsageError


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=options.PATH, callback=options.resolve_example_argument)
@options.out_option("FILE", "Write the page as one file, which needs no server.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the server on 127.0.0.1 (default: a free one).")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def lab(file: Path | None, out: Path | None, port: int | None, no_browser: bool) -> None:
    """Open a scenario in the browser.

    Change a parameter and see the queue.

    The engine runs in the page itself. FILE is a scenario; without it the page begins with the packaged examples. The server is reachable
    from this machine alone; Ctrl-C ends it. With --out the page becomes one file that a browser opens, offline and without ecnlab.

    \b
    ecnlab lab example:codel
    ecnlab lab scenario.toml --out lab.html
    """
    from ecnlab.browser import page

    page.require_page_folder()
    config = page.page_config(file)
    if out is not None:
        if port is not None or no_browser:
            raise UsageError("--out: writes a file and starts no server; fix: omit --port and --no-browser")
        _write_new_file(out, page.single_file(config).encode())
        output.print_line(f"page: {out}")
        return
    from ecnlab.browser.server import PageServer

    with PageServer(config, port or 0) as server:
        output.print_line(f"{server.url} (Ctrl-C ends the server)")
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            # A browser in the terminal needs the page before this call returns.
            if not no_browser:
                _open_browser(server.url)
            _wait_for_server_thread(serving)
        except KeyboardInterrupt:
            server.shutdown()


def _wait_for_server_thread(serving: Thread) -> None:
    serving.join()


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        output.print_to_stderr(f"lab: no browser was found; fix: open {url} in one")


def _write_new_file(path: Path, content: bytes) -> None:
    """Writes a file; one with another content is kept. Raises UsageError."""
    from ecnlab.storage.atomic import write_atomically

    if path.exists() and not (path.is_file() and path.read_bytes() == content):
        raise UsageError(f"--out {path}: exists with another content; fix: remove it, or give another name")
    try:
        write_atomically(path, content)
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written: {error.strerror}; fix: name a file in a folder that you can write to") from None
