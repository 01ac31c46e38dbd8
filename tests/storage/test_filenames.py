import re

import pytest

from ecnlab.storage.filenames import escape_unprintable, safe_file_name

HOSTILE = [
    "a/b",
    "../../etc",
    "a b",
    "a-b",
    "",
    ".",
    "-",
    "x" * 300,
    "x" * 299,
    "[x]",
    "x^2_$",
    "a\x1b[2J",
    "a\nb",
    "é",
    "名前",
    "con/",
    "a:b",
    "\ud800",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_file_name_is_short_and_has_only_plain_letters(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_-]{0,59}", safe_file_name(text))


def test_a_plain_name_stays_as_it_is() -> None:
    assert [safe_file_name(text) for text in ("bottleneck", "link_2", "a-b")] == ["bottleneck", "link_2", "a-b"]


def test_two_names_never_share_a_file() -> None:
    names = [*HOSTILE, "a.b", "a|b", "-a-b", "a-b-"]
    names += [safe_file_name(name) for name in names if safe_file_name(name) != name]
    assert len({safe_file_name(name) for name in names}) == len(set(names))


def test_names_that_differ_in_case_have_files_that_differ_where_case_does_not_count() -> None:
    names = ["Far", "far", "FAR", "fAr", "far-" + safe_file_name("Far").removeprefix("far-").upper()]
    assert len({safe_file_name(name).lower() for name in names}) == len(names)
    assert safe_file_name("far") == "far"


def test_the_digest_of_a_changed_name_has_64_bits() -> None:
    assert re.fullmatch(r"a-b-[0-9a-f]{16}", safe_file_name("a b"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [/nope] a$\\frac$b _x", "plain [/nope] a$\\frac$b _x"),
        ("bell\x07, escape\x1b[31m", "bell\\x07, escape\\x1b[31m"),
        ("line\nfeed", "line\\nfeed"),
        ("turned \u202ednuor", "turned \\u202ednuor"),
        ("half \ud800", "half \\ud800"),
        ("Netz\u00a0Ä 网络", "Netz\u00a0Ä 网络"),
    ],
)
def test_only_what_is_no_printable_character_is_escaped(text: str, shown: str) -> None:
    assert escape_unprintable(text) == shown
