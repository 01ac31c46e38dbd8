import pytest

from ecnlab.cli.text import fold_text, pad_text, text_width


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("网络", 4), ("e\u0301", 1), ("Ä", 1), ("", 0)])
def test_wide_characters_take_two_columns_and_combining_marks_none(text: str, columns: int) -> None:
    assert text_width(text) == columns


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("", 5, [""]),
        ("one two three", 7, ["one two", "three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a bcdefg h", 4, ["a", "bcde", "fg h"]),
        ("网络网络", 5, ["网络", "网络"]),
    ],
)
def test_text_is_folded_at_blanks_and_within_words_where_it_must(text: str, room: int, lines: list[str]) -> None:
    assert fold_text(text, room) == lines
    assert all(text_width(line) <= room for line in lines)


def test_padding_counts_columns() -> None:
    assert pad_text("网", 4) == "网  "
    assert pad_text("7", 3, right=True) == "  7"
