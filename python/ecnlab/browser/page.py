"""The page of the laboratory with a scenario in it, served or as a single file.

`make web` builds the folder of the page: the engine as a WebAssembly module, compressed by gzip, and the files of `web/`. The module's
section `ecnlab-build` holds the digest of the engine's sources. A module of other sources is refused, since its results would have other
keys.

In a single file all scripts and styles are inline: a browser opens it without a server. The module is gzip in base 85, which is 6 % shorter
than base64. Scripts have no lines of comments and no indents there, but for the texts of AQMs, which the page shows.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

from ecnlab import _core
from ecnlab.errors import UsageError
from ecnlab.packaged_examples import examples
from ecnlab.scenarios.load import Scenario, load

FOLDER = Path(__file__).parents[1] / "lab"
PAGE, MODULE, ENGINE, WORKER, AQM_TEXTS = "lab.html", "ecnlab.wasm", "engine.js", "worker.js", "aqm.js"
PACKED_MODULE = f"{MODULE}.gz"
# Scripts, styles, images and connections come from the page's own server or the page itself; the module may be compiled, no text evaluated.
CONTENT_SECURITY_POLICY = "default-src 'self' 'unsafe-inline' blob: data: 'wasm-unsafe-eval'"

_MAGIC_NUMBER = b"\0asm"
_BUILD_SECTION = "ecnlab-build"
_CONFIG = re.compile(r'(<script type="application/json" id="ecnlab-config">)[^<]*(</script>)')
_STYLE = re.compile(r'<link rel="stylesheet" href="([^"/]+\.css)" */?>')
_COMMENT_LINE_OR_INDENT = re.compile(r"^[ \t]*(?://.*|/\*\*.*\*/)\n|^[ \t]+", re.MULTILINE)
_SCRIPT = re.compile(r'<script src="([^"/]+\.js)"></script>')


def require_page_folder() -> Path:
    """The folder of the built page. Raises UsageError if it was not built, is damaged, or is from other sources of the engine."""
    if not (FOLDER / PACKED_MODULE).is_file() or not (FOLDER / PAGE).is_file():
        raise UsageError("lab: this installation has no page of the laboratory; fix: run make web in a checkout")
    build = module_build(read_module())
    if build != _core.BUILD:
        found = f"of build {build}" if build else "of no build"
        raise UsageError(f"lab: the page's engine is {found}, and the package's of build {_core.BUILD}; fix: run make web")
    text = _read_text(PAGE)
    if len(_CONFIG.findall(text)) != 1:
        raise _damage_error(PAGE, "its element for the configuration is missing")
    for name in [*_STYLE.findall(text), *_SCRIPT.findall(text), WORKER]:
        _read_text(name)
    return FOLDER


def read_module() -> bytes:
    """The WebAssembly module of the engine. Raises UsageError if the file is damaged."""
    try:
        module = gzip.decompress((FOLDER / PACKED_MODULE).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise _damage_error(PACKED_MODULE, error) from None
    if not module.startswith(_MAGIC_NUMBER):
        raise _damage_error(PACKED_MODULE, "it is no WebAssembly module")
    return module


def _read_text(name: str) -> str:
    """A text file of the page. Raises UsageError if it is missing or damaged."""
    try:
        return (FOLDER / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _damage_error(name, "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error) from None


def _damage_error(name: str, cause: OSError | EOFError | zlib.error | str) -> UsageError:
    why = getattr(cause, "strerror", None) or cause
    return UsageError(f"lab: the page is damaged: {FOLDER / name}: {why}; fix: install ecnlab again, or run make web in a checkout")


def module_build(module: bytes) -> str | None:
    """The digest of the engine's sources in a WebAssembly module; None if it has none."""
    at = 8
    if not module.startswith(_MAGIC_NUMBER):
        return None
    while at < len(module):
        kind = module[at]
        length, begin = _read_leb128(module, at + 1)
        if kind == 0:
            name_length, name_begin = _read_leb128(module, begin)
            if module[name_begin : name_begin + name_length] == _BUILD_SECTION.encode():
                return module[name_begin + name_length : begin + length].decode("ascii", "replace")
        at = begin + length
    return None


def _read_leb128(module: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and the place after it."""
    value = shift = 0
    while at < len(module):
        byte = module[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at


def page_config(file: Path | None) -> dict[str, Any]:
    """What the page reads: version, build, the packaged scenarios, and the scenario of `file`. Raises ScenarioError, UsageError."""
    packaged = [one for one in examples() if one.kind == "scenario"]
    shown = [{"name": one.name, "title": one.title, **_scenario_and_file_texts(load(one.path), one.path)} for one in packaged]
    scenario = (
        None
        if file is None
        else {"name": file.name.encode("utf-8", "replace").decode(), **_scenario_and_file_texts(_load_simulatable_scenario(file), file)}
    )
    return {"version": _core.VERSION, "build": _core.BUILD, "examples": shown, "scenario": scenario, "seed": None}


def _load_simulatable_scenario(file: Path) -> Scenario:
    """The scenario of a file, if the simulator runs it. Raises ScenarioError, UsageError."""
    scenario = load(file)
    if refusals := scenario.refusals():
        raise UsageError("\n".join(refusal.as_text(str(file)) for refusal in refusals))
    return scenario


def _scenario_and_file_texts(scenario: Scenario, file: Path) -> dict[str, Any]:
    """A scenario's text, and the text of each file that it names, by name."""
    # The text that was checked: a pipe cannot be read twice.
    text = scenario.text.removeprefix("\ufeff")
    return {"toml": text, "files": {name: (file.parent / name).read_text(encoding="utf-8") for name in scenario.file_names}}


def served_page(config: dict[str, Any]) -> str:
    """The page for a server that also has the other files of the folder."""
    require_page_folder()
    return _with_config(_read_text(PAGE), config)


def single_file(config: dict[str, Any]) -> str:
    """The page with everything in it."""
    folder = require_page_folder()
    page = _with_config(_read_text(PAGE), config)
    page = _STYLE.sub(lambda found: f"<style>\n{_read_element_content(found[1], '</style')}</style>", page)
    page = _SCRIPT.sub(lambda found: _inline_script_element(found[1]), page)
    # The digit "<" would begin a tag; a comma is no digit.
    module = base64.b85encode((folder / PACKED_MODULE).read_bytes()).decode("ascii").replace("<", ",")
    worker = _COMMENT_LINE_OR_INDENT.sub("", _read_element_content(WORKER, "</script"))
    licences = "\n\n".join(f"{path.name}\n\n{path.read_text(encoding='utf-8')}" for path in sorted(folder.glob("*LICENSE*")))
    inline = "".join(
        f'<script type="text/plain" id="{name}">{text}</script>\n'
        for name, text in (("ecnlab-worker", worker), ("ecnlab-wasm", module), ("ecnlab-licences", licences))
    )
    marker = '<script type="application/json" id="ecnlab-config">'
    return page.replace(marker, inline + marker, 1)


def _inline_script_element(name: str) -> str:
    """A script as an element; the worker takes that of the engine by its identifier."""
    identifier = ' id="ecnlab-engine"' if name == ENGINE else ""
    text = _read_element_content(name, "</script")
    return f"<script{identifier}>\n{text if name == AQM_TEXTS else _COMMENT_LINE_OR_INDENT.sub('', text)}</script>"


def _read_element_content(name: str, end: str) -> str:
    """A file that becomes the content of an element, which `end` would end."""
    text = _read_text(name)
    if end in text:
        raise ValueError(f"{name} contains {end}, which ends an element of the page")
    return text


def _with_config(page: str, config: dict[str, Any]) -> str:
    # No element ends within the text, whatever a scenario holds.
    text = json.dumps(config, ensure_ascii=False).replace("<", "\\u003c")
    return _CONFIG.sub(lambda found: f"{found[1]}{text}{found[2]}", page)
