import re

import pytest

from ecnlab.names import file_name, printable

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
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}", file_name(text))


def test_a_plain_name_stays_as_it_is() -> None:
    assert [file_name(text) for text in ("bottleneck", "link_2", "a-b")] == ["bottleneck", "link_2", "a-b"]


def test_two_names_never_share_a_file() -> None:
    names = [*HOSTILE, "a.b", "a|b", "-a-b", "a-b-"]
    names += [file_name(name) for name in names if file_name(name) != name]
    assert len({file_name(name) for name in names}) == len(set(names))


def test_control_characters_are_printed_as_their_escapes() -> None:
    assert printable("a\x1b[2J\nb\0 é") == r"a\x1b[2J\nb\x00 é"
