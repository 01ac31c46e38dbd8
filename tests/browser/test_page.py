"""The page as a single file and as served: what is inlined, what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser.module_of_build import module_of_build, write_module
from ecnlab import _core
from ecnlab.browser import page
from ecnlab.browser.server import PageServer
from ecnlab.errors import ScenarioError, UsageError
from helpers import SMALL

PAGE = """<!DOCTYPE html>
<link rel="stylesheet" href="lab.css">
<script type="application/json" id="ecnlab-config">{}</script>
<script src="engine.js"></script>
<script src="lab.js"></script>
"""
FILES = {
    "lab.html": PAGE,
    "lab.css": "p { color: red }",
    "engine.js": "var engine = '\\\\1';",
    "lab.js": "var page;",
    "worker.js": "var worker;",
    "plot.LICENSE.txt": "MIT",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lab"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    write_module(folder, _core.BUILD)
    monkeypatch.setattr(page, "FOLDER", folder)
    return folder


def test_the_build_of_a_module_is_in_its_section() -> None:
    assert page.module_build(module_of_build("0123456789abcdef")) == "0123456789abcdef"
    assert page.module_build(module_of_build(None)) is None
    assert page.module_build(b"no module") is None
    assert page.module_build(module_of_build("0123456789abcdef")[:14]) in (None, "")


def test_the_single_file_has_everything_inline(folder: Path) -> None:
    text = page.single_file({"scenario": {"toml": 'name = "</script><!--"'}})
    assert "src=" not in text
    assert "href=" not in text
    assert [FILES[name] in text for name in FILES if name != "lab.html"] == [True] * 5
    config = re.search(r'id="ecnlab-config">([^<]*)</script>', text)
    assert config
    assert json.loads(config[1]) == {"scenario": {"toml": 'name = "</script><!--"'}}
    packed = re.search(r'id="ecnlab-wasm">([^<]*)</script>', text)
    assert packed
    assert gzip.decompress(base64.b85decode(packed[1].replace(",", "<"))) == module_of_build(_core.BUILD)
    worker = re.search(r'id="ecnlab-worker">([^<]*)</script>', text)
    assert worker
    assert worker[1] == FILES["worker.js"]
    assert f'<script id="ecnlab-engine">\n{FILES["engine.js"]}</script>' in text
    assert text == page.single_file({"scenario": {"toml": 'name = "</script><!--"'}}), "it is the same at each writing"


def test_a_script_that_would_end_its_element_is_a_fault(folder: Path) -> None:
    (folder / "lab.js").write_text("var end = '</script>';")
    with pytest.raises(ValueError, match=r"lab\.js contains </script"):
        page.single_file({})


def test_a_page_of_another_build_is_refused(folder: Path) -> None:
    write_module(folder, "0123456789abcdef")
    with pytest.raises(
        UsageError, match=rf"engine is of build 0123456789abcdef, and the package's of build {_core.BUILD}; fix: run make web"
    ):
        page.require_page_folder()
    write_module(folder, None)
    with pytest.raises(UsageError, match="engine is of no build"):
        page.require_page_folder()


@pytest.mark.parametrize(
    "damaged", [b"", b"no gzip", gzip.compress(module_of_build(_core.BUILD), mtime=0)[:-9]], ids=["empty", "no gzip", "truncated"]
)
def test_a_damaged_module_is_refused(folder: Path, damaged: bytes) -> None:
    (folder / page.PACKED_MODULE).write_bytes(damaged)
    with pytest.raises(UsageError, match=r"lab: the page is damaged: .*/ecnlab\.wasm\.gz: .*; fix: install ecnlab again, or run make web"):
        page.require_page_folder()


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("engine.js", None, "No such file or directory"),
        ("worker.js", None, "No such file or directory"),
        ("lab.js", b"var \xff", "it is not UTF-8 text"),
        ("lab.css", b"\xff", "it is not UTF-8 text"),
        ("lab.html", b"<!DOCTYPE html>", "its element for the configuration is missing"),
    ],
)
@pytest.mark.parametrize("use", [page.single_file, PageServer])
def test_a_damaged_file_of_the_page_is_named_with_the_fix(
    folder: Path, name: str, content: bytes | None, why: str, use: Callable[[dict[str, object]], object]
) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(UsageError) as refused:
        use({})
    assert (
        str(refused.value) == f"lab: the page is damaged: {folder / name}: {why}; fix: install ecnlab again, or run make web in a checkout"
    )


def test_the_configuration_has_all_packaged_scenarios_with_their_files() -> None:
    config = page.page_config(None)
    shown = {one["name"]: one for one in config["examples"]}
    assert (config["build"], config["scenario"]) == (_core.BUILD, None)
    assert set(shown["cellular"]["files"]) == {"cellular.trace"}
    assert shown["codel"]["files"] == {}
    assert len(shown) > 15


def test_the_configuration_has_the_scenario_of_the_file_and_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    assert page.page_config(tmp_path / "small.toml")["scenario"] == {"name": "small.toml", "toml": SMALL, "files": {}}
    (tmp_path / "bad.toml").write_text(SMALL.replace("[[flows]]", "[[flaws]]"))
    with pytest.raises(ScenarioError):
        page.page_config(tmp_path / "bad.toml")


@pytest.fixture
def server(folder: Path) -> Iterator[PageServer]:
    with PageServer({"scenario": None}) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def test_the_server_gives_the_page_and_its_files_alone(server: PageServer) -> None:
    with urllib.request.urlopen(server.url) as response:
        assert response.read().decode() == PAGE.replace("{}", '{"scenario": null}')
        assert response.headers["Content-Security-Policy"] == page.CONTENT_SECURITY_POLICY
    base = server.url.removesuffix("lab.html")
    with urllib.request.urlopen(base + "ecnlab.wasm") as response:
        assert (response.headers["Content-Type"], response.read()) == ("application/wasm", module_of_build(_core.BUILD))
    for path in ("nothing.js", "../_core.pyi", "lab/"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(base + path)
    foreign = urllib.request.Request(server.url, headers={"Host": "elsewhere.example"})
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(foreign)


def test_a_port_that_is_taken_is_one_error(server: PageServer) -> None:
    port = server.server_address[1]
    with pytest.raises(UsageError, match=rf"--port {port}: cannot be used: .*; fix: give another one, or none"):
        PageServer({}, int(port))
