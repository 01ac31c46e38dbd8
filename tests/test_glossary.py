"""The glossary is short, in order, and about words that the pages use."""

import re

import pytest

import prose
import reference_pages

GLOSSARY = reference_pages.DOCS / "reference" / "glossary.md"
ENTRIES: dict[str, str] = dict(
    re.findall(r"^## ([^\n]+)\n\n(.*?)(?=\n+^## |\Z)", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)
OTHER_PAGES = "\n".join(page.read_text(encoding="utf-8") for page in sorted(reference_pages.DOCS.rglob("*.md")) if page != GLOSSARY)


def test_the_glossary_has_at_most_sixty_terms_in_alphabetical_order() -> None:
    headings = re.findall(r"^## (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert list(ENTRIES) == headings == sorted(headings, key=str.lower)
    assert 20 <= len(headings) <= 60


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_is_used_on_another_page_with_this_spelling(term: str) -> None:
    begins = term[0] if term[1:2].isupper() or term[-1].isupper() or "'" in term else f"[{term[0]}{term[0].lower()}]"
    assert re.search(rf"(?<![\w-]){begins}{re.escape(term[1:])}(?:s|ies)?(?![\w-])", OTHER_PAGES), "no page uses it"


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_has_one_or_two_sentences(term: str) -> None:
    assert 1 <= prose.count(ENTRIES[term]).sentences <= 2


def test_nearly_all_terms_name_a_source_or_a_page() -> None:
    without = [term for term, text in ENTRIES.items() if not re.search(r"RFC \d|\b(?:19|20)\d\d\b|\]\(|\(7\)", text)]
    assert len(without) <= len(ENTRIES) / 4, without
