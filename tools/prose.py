"""Counts what makes a page hard to read: long sentences, sentences that begin with a free relative, and idioms of another language.

`python tools/prose.py PAGE ...` prints each finding with its line and the shares of each page; without pages, of all of the project. It
exits with 1 if a page or all of them together exceed a limit.

Only paragraphs and items of lists are read, each by itself; code, tables, headings, quotations and comments are not. A name in code counts
as one word. A sentence ends at a full stop, a question or exclamation mark, and at a colon or semicolon before a capital.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
# Folders of the project that have pages, apart from the root folder.
FOLDERS = ("benches", "crates", "docs", "fuzz", "python", "tests")
# Not written by hand, or not of this project.
_OTHER_FOLDERS = {"site", "target", "node_modules"}
# Folders in which each page explains, and so has a picture.
FOLDERS_WITH_PICTURES = ("docs/tutorials", "docs/how-to", "docs/explanation", "docs/reference/queues")

MAX_WORDS = 35
# The largest number of each finding in 100 sentences. A page may have one of each, however short it is.
LIMITS = {"long": 2.0, "opener": 1.0, "idiom": 1.0}

_OPENERS = ("what", "who", "whose", "whom", "where", "whoever", "whatever", "that which", "of what", "of those", "of these")
# Phrases that are hard to read for an engineer, with their replacements.
_IDIOMS = {
    r"(is|are|was|were) told": "reports",
    r"tells? of": "reports",
    r"what would do": "fix",
    r"is no (?!longer\b|more\b|need\b)\w+": "is not a",
    r"has not\b(?! \w+ed\b)": "does not have",
    r"alike": "identical, equally",
    r"unlike (?=\w+ \w+ (times|flows)\b)": "heterogeneous, different",
    r"in place of": "instead of",
    r"of (its|one's) own": "a separate, its own",
    r"to be had": "available",
    r"once more": "again",
    r"anew": "again",
    r"leave (it|them) away": "omit",
    r"leaves? out": "omit",
    r"stands? (in|at|for|beside|between|on)": "is",
    r"whatever": "any",
    r"besides": "also",
    r"all that": "all",
    r"that which": "the",
    r"nobody": "nothing, no process",
    r"none of (it|them)": "not",
    r"by (counting|time)": "by DupThresh, by RACK",
    r"asked (of|for)": "requested",
    r"judges?": "checks",
    r"held against": "validated against",
    r"goes (on|to|out|along)": "continues, leaves",
    r"comes? (to|out|in|along)": "arrives",
    r"taken (off|up|along)": "removed",
    r"(table|page|file|line|message|note|figure)s? says?": "lists, shows",
}
_OPENER = re.compile(rf"(?:{'|'.join(_OPENERS)})\b", re.IGNORECASE)
_IDIOM_PATTERNS = [(re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), better) for phrase, better in _IDIOMS.items()]
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|al|Fig|Sec|No|pp?|ch|[A-Z])\.)$")
_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')]))\s+(?=[A-Z0-9"'(])|(?<=[:;])\s+(?=[A-Z(])""")
_WORD = re.compile(r"[\w'’-]+")
_CODE = "Code"


@dataclass(frozen=True)
class Finding:
    """A sentence to be rewritten, with the first line of its paragraph; for an idiom also the words and their replacement."""

    line: int
    kind: str
    sentence: str
    better: str = ""


@dataclass(frozen=True)
class Count:
    """The sentences of some text, and the findings in them."""

    sentences: int
    findings: tuple[Finding, ...]

    def of(self, kind: str) -> int:
        """Number of findings of a kind."""
        return sum(finding.kind == kind for finding in self.findings)

    def exceeded(self, spare: int = 0) -> list[str]:
        """A line for each kind above its limit; `spare` findings are allowed in a short text."""
        return [
            f"{self.of(kind)} {kind} in {self.sentences} sentences, where {limit:g} in 100 are allowed"
            for kind, limit in LIMITS.items()
            if self.of(kind) > max(spare, limit * self.sentences / 100)
        ]


def count(text: str) -> Count:
    """The sentences and findings of a page in Markdown."""
    found = [(line, sentence) for line, block in _blocks(text) for sentence in sentences(block)]
    return Count(len(found), tuple(finding for line, sentence in found for finding in _findings(line, sentence)))


def sum_of_counts(counts: Sequence[Count]) -> Count:
    """The count of several pages."""
    return Count(sum(one.sentences for one in counts), tuple(finding for one in counts for finding in one.findings))


def sentences(block: str) -> list[str]:
    """The sentences of a paragraph, without labels of fewer than three words."""
    found: list[str] = []
    for part in _END.split(block):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [sentence for sentence in found if len(_WORD.findall(sentence)) > 2]


def has_picture(text: str) -> bool:
    """Whether a page shows a picture."""
    return any(token.type == "image" for block in MarkdownIt("commonmark").parse(text) for token in block.children or ())


def all_pages() -> list[Path]:
    """All pages of the project; their prose must meet the limits."""
    found = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    return sorted(page for page in found if _OTHER_FOLDERS.isdisjoint(page.relative_to(ROOT).parts))


def _findings(line: int, sentence: str) -> Iterator[Finding]:
    if len(_WORD.findall(sentence)) > MAX_WORDS:
        yield Finding(line, "long", sentence)
    if _OPENER.match(sentence) and not sentence.rstrip().endswith("?"):
        yield Finding(line, "opener", sentence)
    for pattern, better in _IDIOM_PATTERNS:
        for match in pattern.finditer(sentence):
            yield Finding(line, "idiom", sentence, f"{match[0]} -> {better}")


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The text of each paragraph and item, with its first line."""
    quoted, opened = 0, ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "inline" and opened == "paragraph_open" and not quoted and token.map is not None:
            yield token.map[0] + 1, "".join(map(_plain, token.children or ()))
        opened = token.type


def _plain(token: Token) -> str:
    if token.type == "code_inline":
        return _CODE
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type == "text" else ""


def main(arguments: Sequence[str]) -> int:
    """Print the findings and the shares; returns the exit code."""
    counts = {page: count(page.read_text(encoding="utf-8")) for page in map(Path, arguments or all_pages())}
    for page, counted in counts.items():
        for finding in counted.findings:
            better = f" ({finding.better})" if finding.better else ""
            print(f"{page}:{finding.line}: {finding.kind}{better}: {finding.sentence}")
    for page, counted in counts.items():
        print(f"{page}: {counted.sentences} sentences, {', '.join(f'{counted.of(kind)} {kind}' for kind in LIMITS)}")
    problems = [f"{page}: {problem}" for page, counted in counts.items() for problem in counted.exceeded(spare=1)]
    problems += [f"all pages: {problem}" for problem in sum_of_counts(list(counts.values())).exceeded(spare=1)]
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
