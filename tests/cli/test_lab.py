"""`ecnlab lab`: its errors, the single file, and the server until Ctrl-C."""

from __future__ import annotations

import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from ecnlab import _core
from ecnlab.browser import page
from ecnlab.browser.server import PageServer
from helpers import SMALL, Outcome

PAGE = '<script type="application/json" id="ecnlab-config">{}</script>\n<script src="engine.js"></script>\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "lab.html").write_text(PAGE)
    (folder / "engine.js").write_text("var engine;")
    (folder / "worker.js").write_text("var worker;")
    build = b"\x0cecnlab-build" + _core.BUILD.encode()
    (folder / "ecnlab.wasm").write_bytes(b"\0asm\1\0\0\0\0" + bytes([len(build)]) + build)
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
    module = (folder / "ecnlab.wasm").read_bytes()
    (folder / "ecnlab.wasm").write_bytes(module.replace(_core.BUILD.encode(), b"0" * len(_core.BUILD)))
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
        == f"--out {tmp_path / 'none' / 'lab.html'}: cannot be written: No such file or directory\n"
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
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or True)

    def interrupted(server: PageServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", interrupted)
    done = command("lab")
    assert done.code == 0
    assert done.out == f"{opened[0]} (Ctrl-C ends the server)\n"
    assert opened[0].startswith("http://127.0.0.1:")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(opened[0])
    assert command("lab", "--no-browser").code == 0
    assert len(opened) == 1
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    assert "lab: no browser was found; fix: open http://127.0.0.1:" in command("lab").err
