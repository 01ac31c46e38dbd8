import pytest

from ecnlab.cli.table import render_lines
from ecnlab.cli.text import text_width
from ecnlab.display.cells import TextTable


def _table_lines(table: TextTable, room: int = 80, encoding: str = "utf-8") -> list[str]:
    return list(render_lines(table, room, encoding))


def _cells_of_line(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines if line[0] in "│┃"]


def test_words_stand_left_and_numbers_right() -> None:
    assert _table_lines(TextTable("title", ["what", "value"], [["a", "1.5"], ["longer", "12.25"]])) == [
        "title",
        "┏━━━━━━━━┳━━━━━━━┓",
        "┃ what   ┃ value ┃",
        "┡━━━━━━━━╇━━━━━━━┩",
        "│ a      │   1.5 │",
        "│ longer │ 12.25 │",
        "└────────┴───────┘",
    ]


def test_where_lines_cannot_be_drawn_they_are_typed() -> None:
    assert _table_lines(TextTable("", ["a"], [["b"]]), encoding="ascii") == ["+---+", "| a |", "+===+", "| b |", "+---+"]


def test_words_are_folded_where_there_is_no_room() -> None:
    lines = _table_lines(
        TextTable("", ["name", "meaning"], [["min_th", "below this average nothing is marked"]], ["name", "meaning"]), room=32
    )
    assert max(map(text_width, lines)) <= 32
    assert [row[0] for row in _cells_of_line(lines)] == ["name", "min_th", ""]
    assert " ".join(row[1] for row in _cells_of_line(lines)[1:]) == "below this average nothing is marked"


def test_numbers_without_room_go_into_a_further_table_with_the_words_repeated() -> None:
    names = [f"group-{number}" for number in range(10)]
    table = TextTable("many", ["quantity", "unit", *names], [["goodput", "Mbit/s", *("1.25 ± 0.25" for _ in names)]], ["quantity", "unit"])
    lines = _table_lines(table, room=60)
    assert max(map(text_width, lines)) <= 60
    heads = [row for row in _cells_of_line(lines) if row[0] == "quantity"]
    assert len(heads) == 5
    assert all(head[:2] == ["quantity", "unit"] for head in heads)
    assert [name for head in heads for name in head[2:]] == names


@pytest.mark.parametrize("name", ["[/nope]", "[draft 3]", "x^2_$", "网络" * 40, "n" * 300, "\x1b[31mred", "a\nb"])
def test_a_name_can_hold_anything(name: str) -> None:
    lines = _table_lines(TextTable(name, ["what", name], [[name, "1"]]), room=70)
    assert len({text_width(line) for line in lines if line[0] in "┏┃┡│└"}) == 1
    assert max(map(text_width, lines)) <= 70
    assert all(line.isprintable() for line in lines)
    told = "".join(row[0] for row in _cells_of_line(lines) if row[0] != "what")
    assert name.encode("unicode_escape").decode() in told or name in told
