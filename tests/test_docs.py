import json
import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import command_page
import ecnlab
import reference_pages
from ecnlab import _core
from ecnlab.scenarios import catalog
from helpers import EXAMPLES, Outcome

DOCS = reference_pages.DOCS
README = DOCS.parent / "README.md"
FIRST_RUN = DOCS / "tutorials" / "first-run.md"


def test_the_pages_are_what_the_engine_declares() -> None:
    assert reference_pages.write_or_check_pages(["--check"]) == 0, "run python tools/reference_pages.py"


def test_a_stale_or_missing_page_is_reported_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "parameters.md"
    assert reference_pages.write_or_check_pages(["--check", "--file", str(page)]) == 1
    assert reference_pages.write_or_check_pages(["--file", str(page)]) == 0
    assert reference_pages.write_or_check_pages(["--check", "--file", str(page)]) == 0
    page.write_text(page.read_text().replace("min_th", "min_tj"))
    assert reference_pages.write_or_check_pages(["--check", "--file", str(page)]) == 1
    assert "is stale" in capsys.readouterr().err


def test_the_page_of_quirks_has_every_quirk_once_and_what_each_profile_changes() -> None:
    text = reference_pages.QUIRKS_PAGE.read_text()
    first, *others = catalog.entries("tcp")
    assert all(text.count(f"\n## `{profile.name}`: ") == 1 for profile in (first, *others))
    for quirk in first.quirks:
        changing = sum({one.name: one.default for one in profile.quirks}[quirk.name] != quirk.default for profile in others)
        assert text.count(f"\n| `{quirk.name}` |") == 1 + changing


def test_a_column_that_the_page_of_measures_says_otherwise_is_rewritten() -> None:
    text = reference_pages.MEASURES_PAGE.read_text()
    assert reference_pages.measures_page(text.replace("| `rtt_mean_s` | s |", "| `rtt_mean_s` | h |")) == text


def test_a_rule_and_a_column_that_the_page_of_traces_says_otherwise_are_rewritten() -> None:
    text = reference_pages.TRACES_PAGE.read_text()
    assert (
        reference_pages.traces_page(
            text.replace("| `no-cwr` | 6.1.2 |", "| `no-cwr` | 9.9 |").replace("| `ce` | packets |", "| `ce` | h |")
        )
        == text
    )


def test_a_phase_effect_that_the_page_shows_otherwise_is_rewritten() -> None:
    text = reference_pages.PHASE_PAGE.read_text()
    assert "| `examples/phase.toml` | 1 | 1 |" in text
    assert reference_pages.phase_page(text.replace("| `examples/phase.toml` | 1 | 1 |", "| `examples/phase.toml` | 1 | 0 |")) == text


ENTRIES = [entry for kind in ("aqm", "discipline") for entry in catalog.entries(kind)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_aqm_and_discipline_has_a_page_that_the_index_links(entry: catalog.CatalogEntry) -> None:
    link = re.search(rf"^\| \[`{entry.name}`\]\((\S+)\) ", (reference_pages.QUEUES_FOLDER / "index.md").read_text(), re.MULTILINE)
    assert link is not None, f"no page in docs/reference/queues has the line <!-- parameters {entry.name} -->"
    assert f"<!-- parameters {entry.name} -->\n" in (reference_pages.QUEUES_FOLDER / link[1]).read_text()


def test_a_page_of_a_queue_gets_the_table_and_the_end_of_it_where_it_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n<!-- parameters red -->\n\nBetween.\n\n<!-- parameters ecn -->\n\nAfter.\n")
    pages = reference_pages.queue_pages(tmp_path)
    text = pages[page]
    assert [text.count(f"`{name}`") for name in ("min_th", "probability")] == [2, 2], "once declared, once named; a gauge of each"
    assert text.index("Between.") > text.index("<!-- end of parameters -->")
    assert text.endswith("<!-- end of parameters -->\n\nAfter.\n")
    assert reference_pages.queue_page(text) == text
    assert reference_pages.queue_page(text.replace("| `0.1` |", "| `0.7` |")) == text
    assert "[`ecn`](page.md)" in pages[tmp_path / "index.md"]
    with pytest.raises(ecnlab.UnknownName, match="did you mean 'red'"):
        reference_pages.queue_page("<!-- parameters redd -->\n")


def test_every_duty_of_every_aqm_has_a_verdict_and_figures() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|((?: [^|]+ \|){5})$", reference_pages.DUTIES_PAGE.read_text(), re.MULTILINE)
    for entry in catalog.entries("aqm"):
        verdicts, figures = (cells for name, cells in rows if name == entry.name)
        assert set(verdicts.replace(" ", "").strip("|").split("|")) <= {"yes", "partly", "no"}
        assert figures.count("% used") == 3


def _queue_config_lines() -> list[str]:
    """Every line of a page that defines a queue in TOML."""
    pages = (page.read_text() for page in sorted(DOCS.rglob("*.md")))
    return sorted({line for text in pages for line in re.findall(r"^\s*(queue = \{.*\})$", text, re.MULTILINE)})


@pytest.mark.parametrize("line", _queue_config_lines())
def test_a_queue_that_a_page_shows_is_one(line: str) -> None:
    link = {"name": "l", "from": "a", "to": "b", "rate": "10 Mbps", "delay": "1 ms", **tomllib.loads(line)}
    flows = {"name": "f", "from": "a", "to": "b", "tcp": {"profile": "rfc", "ecn": True}}
    shown = ecnlab.scenario({"name": "shown", "duration": "1 s", "link": [link], "flows": [flows]})
    is_kernels = "kernel" in link["queue"]  # the simulator does not have the kernel's queues
    assert [problem.place for problem in shown.refusals()] == ["link.l.queue.kernel"] * is_kernels
    if not is_kernels:
        assert ecnlab.run(shown).table("queues")["arrivals"][0] > 0


def test_no_column_lists_its_words_twice() -> None:
    texts = (shown.read_text() for shown in (reference_pages.MEASURES_PAGE, reference_pages.TRACES_PAGE))
    assert [words for text in texts for words in re.findall(r"^\| `\w+` .*(\(`[^)]*`\)) \1 \|$", text, re.MULTILINE)] == []


def test_every_series_is_named_in_the_page_of_measures() -> None:
    members = {name for name, value in vars(ecnlab.storage.results.RecordedSeries).items() if isinstance(value, property)}
    text = (reference_pages.MEASURES_PAGE).read_text().partition("## Series")[2].partition("<!--")[0]
    assert set(re.findall(r"`(?:result\.series)?\.(\w+)`", text)) == members


def test_every_column_of_a_result_is_defined_in_the_page_of_measures() -> None:
    small = {
        "name": "columns",
        "duration": "2 s",
        "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", "queue": {"aqm": "droptail", "limit": 10}}],
        "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "ns2"}}],
        "record": {"queue": "100 ms", "window": "100 ms", "rates": True, "events": True},
    }
    result = ecnlab.run(ecnlab.scenario(small))
    columns = {column for name in result.tables for column in result.table(name).columns}
    defined = set(re.findall(r"`(\w+)`", (reference_pages.MEASURES_PAGE).read_text()))
    assert columns | result.tables <= defined


def test_every_key_of_a_scenario_is_described_in_the_pages_of_scenarios() -> None:
    schema = json.loads(_core.schema())
    root = schema["properties"]
    link, flows = root["link"]["items"]["properties"], root["flows"]["items"]["properties"]
    sections = [root, link, link["reverse"]["properties"], flows, flows["access"]["properties"], root["record"]["properties"]]
    text = "".join(page.read_text() for page in reference_pages.SCENARIO_PAGES)
    described = set(re.findall(r"^\| `(\w+)` ", text, re.MULTILINE))
    assert {key for section in sections for key in section} <= described


def test_the_page_of_the_command_is_its_own_help() -> None:
    assert command_page.write_or_check_command_reference(["--check"]) == 0, "run python tools/command_page.py"


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's first scenario, as the working directory."""
    text = re.search(r"```toml\n(name = .*?)```", README.read_text(), re.DOTALL)
    assert text is not None
    (tmp_path / "first.toml").write_text(text[1])
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("first")
def test_the_first_scenario_prints_what_the_tutorial_and_the_readme_show(
    command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    page = FIRST_RUN.read_text(encoding="utf-8")
    begun = page.index("    two groups of flows, one RED queue that marks: ")
    printed = command("run", "first.toml", "--seeds", "5", "--out", "first").out
    assert printed == textwrap.dedent(page[begun:].split("\n\n")[0]) + "\n"
    cells = [_cells(line, "│") for line in printed.splitlines()]
    shown = [_cells(line, "|") for line in README.read_text(encoding="utf-8").splitlines() if "±" in line and line.startswith("|")]
    assert len(shown) == 5
    printed_numbers = [_without_empty(line) for line in cells]
    assert [row for row in shown if _without_empty(row) not in printed_numbers] == []


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in line.strip(f" {separator}").split(separator)]


def _without_empty(cells: list[str]) -> list[str]:
    """The cells with a value, without the unit 1, which a table of one unit omits."""
    return [cell for cell in cells if cell not in {"-", "1"}]


def test_the_mistakes_that_the_tutorial_shows_are_reported_so(command: Callable[..., Outcome], first: Path) -> None:
    file = first / "first.toml"
    file.write_text(file.read_text().replace("max_th = 30", "min_tj = 10, max_th = 8"))
    assert textwrap.indent(command("run", "first.toml").err, "    ") in FIRST_RUN.read_text(encoding="utf-8")


def test_the_readme_and_the_tutorial_have_the_same_scenario() -> None:
    one, other = (re.search(r"```toml\n(name = .*?)```", page.read_text(encoding="utf-8"), re.DOTALL) for page in (README, FIRST_RUN))
    assert one is not None
    assert other is not None
    assert one[1] == other[1]
