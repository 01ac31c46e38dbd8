import fast_path_table
from ecnlab.studies import TITLES


def test_the_page_has_the_share_of_each_example() -> None:
    text = fast_path_table.PAGE.read_text()
    rows = fast_path_table.example_rows()
    assert [row for row in rows if row not in text.splitlines()] == [], "run python tools/fast_path_table.py"


def test_the_page_has_the_share_of_each_study_and_of_nothing_else() -> None:
    text = fast_path_table.PAGE.read_text()
    rows = fast_path_table.example_rows()
    studies = [line for line in text.splitlines() if line.startswith("| study `")]
    assert [line.split("`")[1] for line in studies] == list(TITLES)
    assert fast_path_table.page_with_table(text, [*rows, *studies]) == text


def test_the_row_of_a_study_is_that_of_its_runs() -> None:
    assert fast_path_table.study_row("amecn") in fast_path_table.PAGE.read_text().splitlines(), "run python tools/fast_path_table.py"


def test_a_row_that_the_page_shows_otherwise_is_rewritten() -> None:
    text = fast_path_table.PAGE.read_text()
    rows = [line for line in text.splitlines() if (line.startswith("| ") and line.endswith(" % |")) or line.startswith("| study `")]
    stale = text.replace(rows[0], "| `none` | 7 % |")
    assert stale != text
    assert "| `none` | 7 % |" not in fast_path_table.page_with_table(stale, fast_path_table.example_rows())
