"""A WebAssembly module without code, with the section that names a build."""

from __future__ import annotations

import gzip
from pathlib import Path

from ecnlab import _core
from ecnlab.browser import page


def module_of_build(build: str | None) -> bytes:
    header = b"\0asm\1\0\0\0"
    sections = [(0, _named(b"other", b"x" * 200)), *([] if build is None else [(0, _named(b"ecnlab-build", build.encode()))])]
    return header + b"".join(bytes([kind]) + _leb128(len(content)) + content for kind, content in sections)


def _named(name: bytes, content: bytes) -> bytes:
    return _leb128(len(name)) + name + content


def _leb128(value: int) -> bytes:
    """A number in LEB128."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low]) if rest == 0 else bytes([low | 0x80]) + _leb128(rest)


def write_module(folder: Path, build: str | None) -> None:
    """The compressed module of a laboratory, with the build that it names."""
    (folder / page.PACKED_MODULE).write_bytes(gzip.compress(module_of_build(build)))


def write_small_laboratory(folder: Path) -> None:
    """A laboratory of the package's build with the least that a page needs."""
    folder.mkdir()
    (folder / "lab.html").write_text('<script type="application/json" id="ecnlab-config">{}</script>\n<script src="engine.js"></script>\n')
    (folder / "engine.js").write_text("var engine;")
    (folder / "worker.js").write_text("var worker;")
    write_module(folder, _core.BUILD)
