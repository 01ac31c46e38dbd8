"""Rewritten pages keep the limits of prose, and the counters find the intended phrases."""

import pytest

import prose

LONG = "Word" + " word" * 35 + "."
FINE = "The queue marks a packet. "


def test_each_page_keeps_the_limits() -> None:
    pages = {page: prose.count(page.read_text(encoding="utf-8")) for page in prose.all_pages()}
    exceeded = {str(page): problems for page, counted in pages.items() if (problems := counted.exceeded(spare=1))}
    assert exceeded == {}, "python tools/prose.py shows the sentences"
    assert prose.sum_of_counts(list(pages.values())).exceeded(spare=1) == []


def test_each_page_that_explains_has_a_picture() -> None:
    explaining = [page for page in prose.all_pages() if page.relative_to(prose.ROOT).as_posix().startswith(prose.FOLDERS_WITH_PICTURES)]
    assert [page.name for page in explaining if not prose.has_picture(page.read_text(encoding="utf-8"))] == []


def test_a_page_of_every_folder_is_read() -> None:
    read = {page.relative_to(prose.ROOT).as_posix() for page in prose.all_pages()}
    assert {
        "README.md",
        "docs/examples/l4s.md",
        "docs/how-to/lab.md",
        "python/ecnlab/reference/l4s/README.md",
        "crates/queue/README.md",
    } <= read


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (FINE, []),
        (LONG, ["long"]),
        (" ".join(["word"] * 35) + ".", []),
        ("What the queue marks is counted.", ["opener"]),
        ("Whose packets are these?", []),
        ("That which is marked is counted.", ["opener", "idiom"]),
        ("Whatsoever happens, the queue marks.", []),
        (FINE + "Where packets wait is a queue.", ["opener"]),
        ("It drops in place of marking.", ["idiom"]),
        ("A mark is no loss, and nobody sees it.", ["idiom", "idiom"]),
        ("There is no longer a queue of packets.", []),
        ("The host has not enough memory.", ["idiom"]),
        ("The host has not changed the window.", []),
        ("The table says which queue marks.", ["idiom"]),
        (f"- {LONG}\n- {LONG}\n", ["long", "long"]),
        ("- one of the queues\n" * 20, []),
        (f"1. What is marked stays marked.\n\n   {LONG}\n", ["opener", "long"]),
        (f"    {LONG}\n\n```text\n{LONG}\n```\n\n# {LONG}\n\n> {LONG}\n\n<!-- {LONG} -->\n\n| {LONG} |\n| --- |\n| {LONG} |\n", []),
        ("`" + "code " * 40 + "` marks a packet.", []),
        ("[" + "word " * 36 + "](page.md) ends.", ["long"]),
        ("See e.g. " + "RFC " * 35 + "for it.", ["long"]),
        (" ".join(["word"] * 20) + ": " + " ".join(["Word"] * 20), []),
        (" ".join(["word"] * 20) + ": " + " ".join(["word"] * 20), ["long"]),
    ],
)
def test_a_text_has_these_findings(text: str, kinds: list[str]) -> None:
    assert [finding.kind for finding in prose.count(text).findings] == kinds


def test_a_finding_names_its_line_and_better_words() -> None:
    (finding,) = prose.count(f"# Page\n\n{FINE}\n\nIt drops in place of marking.\n").findings
    assert (finding.line, finding.better) == (5, "in place of -> instead of")


@pytest.mark.parametrize(
    ("kind", "bad", "allowed"), [("long", LONG, 2), ("opener", "What it marks is lost.", 1), ("idiom", "All are alike.", 1)]
)
def test_a_text_of_a_hundred_sentences_may_have_so_many(kind: str, bad: str, allowed: int) -> None:
    def exceeded(times: int) -> list[str]:
        return prose.count(f"{bad} " * times + FINE * (100 - times)).exceeded()

    assert exceeded(allowed) == []
    assert exceeded(allowed + 1) == [f"{allowed + 1} {kind} in 100 sentences, where {allowed} in 100 are allowed"]


def test_one_finding_is_spared_in_a_short_text() -> None:
    short = prose.count("All are alike. " + FINE)
    assert short.exceeded(spare=1) == []
    assert short.exceeded() == ["1 idiom in 2 sentences, where 1 in 100 are allowed"]
    assert prose.sum_of_counts([short, short]).exceeded(spare=1) == ["2 idiom in 4 sentences, where 1 in 100 are allowed"]


@pytest.mark.parametrize(
    ("text", "has"), [("![a](a.svg)", True), ("[![a](a.svg)](b.md)", True), ("`![a](a.svg)`", False), ("    ![a](a.svg)", False)]
)
def test_a_picture_is_seen(text: str, has: bool) -> None:
    assert prose.has_picture(text) is has
