"""`ecnlab lab`: its errors, the single file, and the server until Ctrl-C."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.module_of_build import write_module, write_small_laboratory
from ecnlab import _core
from ecnlab.browser import page
from ecnlab.browser.server import PageServer
from helpers import SMALL, Outcome

lab = importlib.import_module("ecnlab.cli.lab")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lab"
    write_small_laboratory(folder)
    monkeypatch.setattr(page, "FOLDER", folder)
    return folder


def test_a_page_that_was_not_built_is_one_error_with_its_fix(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path / "none")
    for options in ([], ["--out", tmp_path / "lab.html"], ["example:codel"]):
        done = command("lab", *options)
        assert (done.code, done.out) == (2, "")
        assert done.err == "lab: this installation has no page of the laboratory; fix: run make web in a checkout\n"
    assert not (tmp_path / "lab.html").exists()


def test_a_page_of_another_build_is_one_error(command: Callable[..., Outcome], folder: Path) -> None:
    write_module(folder, "0" * len(_core.BUILD))
    done = command("lab")
    assert done.code == 2
    assert done.err == f"lab: the page's engine is of build {'0' * 16}, and the package's of build {_core.BUILD}; fix: run make web\n"


def test_the_page_is_written_with_the_scenario(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "lab.html"
    done = command("lab", "example:codel", "--out", out)
    assert (done.code, done.out, done.err) == (0, f"page: {out}\n", "")
    assert '"scenario": {"name": "codel.toml"' in out.read_text()
    assert command("lab", "example:codel", "--out", out).code == 0, "the same page again"


def test_an_existing_file_with_another_content_is_kept(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "lab.html"
    out.write_text("mine")
    done = command("lab", "--out", out)
    assert (done.code, done.err) == (2, f"--out {out}: exists with another content; fix: remove it, or give another name\n")
    assert out.read_text() == "mine"
    assert (
        command("lab", "--out", tmp_path / "none" / "lab.html").err
        == f"--out {tmp_path / 'none' / 'lab.html'}: cannot be written: No such file or directory; "
        "fix: name a file in a folder that you can write to\n"
    )


def test_a_scenario_with_problems_is_refused_in_words(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(SMALL.replace("limit", "limmit"))
    done = command("lab", file, "--out", tmp_path / "lab.html")
    assert done.code == 2
    assert 'did you mean "limit"?' in done.err
    assert command("lab", tmp_path / "none.toml").code == 2
    assert not (tmp_path / "lab.html").exists()


def test_a_queue_of_a_kernel_is_refused(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "kernel.toml"
    file.write_text(SMALL.replace('{ aqm = "ecn", limit = 60, min_th = 5, max_th = 15, max_p = 0.5 }', '{ kernel = "fq_codel" }'))
    done = command("lab", file)
    assert done.code == 2
    assert "link.bottleneck.queue.kernel: the simulator has no kernel" in done.err


def test_a_single_file_has_no_server(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    for option in (["--port", "8000"], ["--no-browser"]):
        assert "fix: omit --port and --no-browser" in command("lab", "--out", tmp_path / "lab.html", *option).err


def test_the_page_is_served_until_ctrl_c(command: Callable[..., Outcome], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read: list[int] = []

    def open_as_a_text_browser_does(url: str) -> bool:
        """Returns after it has read the page."""
        opened.append(url)
        with urllib.request.urlopen(url, timeout=60) as answer:
            read.append(answer.status)
        return True

    def interrupted(serving: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", open_as_a_text_browser_does)
    monkeypatch.setattr(lab, "_wait_for_server_thread", interrupted)
    done = command("lab")
    assert done.code == 0
    assert read == [200]
    assert done.out == f"{opened[0]} (Ctrl-C ends the server)\n"
    assert opened[0].startswith("http://127.0.0.1:")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(opened[0])
    assert command("lab", "--no-browser").code == 0
    assert len(opened) == 1
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    assert "lab: no browser was found; fix: open http://127.0.0.1:" in command("lab").err


def test_a_scenario_from_a_pipe_is_in_the_page(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "lab.html"
    write = f"from pathlib import Path; from ecnlab.browser import page; page.FOLDER = Path({str(folder)!r})"
    script = f"{write}; Path({str(out)!r}).write_text(page.single_file(page.page_config(Path('/dev/stdin'))))"
    subprocess.run([sys.executable, "-c", script], input=SMALL.encode(), check=True)
    assert "[[flows]]" in out.read_text()


def test_a_scenario_with_a_byte_order_mark_opens(command: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "marked.toml"
    file.write_text(SMALL, encoding="utf-8-sig")
    done = command("lab", file, "--out", tmp_path / "lab.html")
    assert (done.code, done.err) == (0, "")


def test_a_file_name_that_is_not_utf_8_is_shown_with_a_replacement(folder: Path, tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.toml"))
    file.write_text(SMALL)
    config = page.page_config(file)
    assert config["scenario"]["name"] == "bad?.toml"
    page.single_file(config).encode()


def test_a_port_that_needs_rights_is_one_error(command: Callable[..., Outcome], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_server: PageServer) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(PageServer, "server_bind", refuse)
    done = command("lab", "--port", "80")
    assert (done.code, done.out) == (2, "")
    assert done.err == "--port 80: needs the rights of an administrator; fix: give a port from 1024 on, or none\n"


def test_port_80_has_names_without_a_port(folder: Path) -> None:
    with PageServer({}) as server:
        assert not server.is_own_name("127.0.0.1")
        server.server_address = ("127.0.0.1", 80)
        assert server.is_own_name("127.0.0.1")
        assert server.is_own_name("localhost:80")
        assert not server.is_own_name("example.org")
