"""README-index.md: the README as a package index shows it, where links to files of the repository lead nowhere.

`python tools/index_readme.py` writes the file. Links within the repository become plain text, pictures are left out, a sentence names the
command that opens the pages of the installed package, and the package is installed from the index instead of a checkout.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README, INDEX_README = ROOT / "README.md", ROOT / "README-index.md"
_HEAD = "<!-- Written by `python tools/index_readme.py` from README.md; change that. -->\n\n"
_PAGES = "`ecnlab docs` opens all pages from the installed package: tutorials, how-to guides, reference, studies and validation.\n"
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n(\*[^*\n]*\*\n\n)?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)[^)]*\)")
_INSTALL_SECTION = re.compile(r"^## Install\n\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
_INSTALL = """## Install

    pip install ecnlab                  Python 3.11 or later
    ecnlab example                      lists the examples of the package
    ecnlab run example:ecn --out ecn    runs one of them
    ecnlab plot ecn                     draws its figures

`uvx ecnlab run example:ecn` runs it without an installation. `ecnlab doctor` shows what works on your machine and how to fix the rest.
The simulator needs no Linux; kernel hosts do. `ecnlab validate fingerprints` compares the runs of all examples with those of other systems.

"""
_PAGES_SECTION = re.compile(r"^## Pages\n\n.*?\n\n", re.MULTILINE | re.DOTALL)


def index_readme(readme: str) -> str:
    """The text for the index."""
    text = _INSTALL_SECTION.sub(_INSTALL, _PICTURE.sub("", readme))
    text = _PAGES_SECTION.sub(f"## Pages\n\n{_PAGES}\n", text)
    return _HEAD + _LINK.sub(r"\1", text)


if __name__ == "__main__":
    INDEX_README.write_text(index_readme(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
