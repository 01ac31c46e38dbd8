import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from ecnlab.errors import ResultsError, UsageError
from ecnlab.studies.framework import joined, page, runner
from ecnlab.studies.framework.runner import run_study, select_from_study
from tiny_study import TINY, tree

KERNEL_BACKENDS = replace(TINY, on_kernels=lambda scenario: {**scenario, "duration": "3 s"})


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The study with its own hosts, and with kernels as hosts; the second with one claim only."""
    home = tmp_path_factory.mktemp("reports")
    run_study(KERNEL_BACKENDS, home / "a", [1, 2])
    run_study(KERNEL_BACKENDS, home / "b", [1, 2, 3], claims=["T2"], kernel_hosts=True)
    return [home / "a", home / "b"]


def test_each_report_is_a_column_and_each_statement_a_row(reports: list[Path]) -> None:
    table = joined.reports_to_joined_table(reports)
    assert (table.study, list(table.header[:4])) == ("tiny", ["claim", "statement", "holds if", "published"])
    assert list(table.header[4:]) == ["sim, seeds 1,2", "sim with kernels' hosts, seeds 1..3"]
    rows = {row[0] or row[1]: row for row in table.rows}
    assert list(rows) == ["F1", "twice", "T1", "goodput", "T2", "marks", "T3", "one over the other"]
    assert rows["T1"][4:] == ["✓ reproduced (1 of 1)", ""]
    assert all("(1 of 2)" in cell for cell in rows["T2"][4:])
    assert rows["marks"][2] == "below 1"


def test_a_number_is_that_of_its_report(reports: list[Path]) -> None:
    table = joined.reports_to_joined_table(reports)
    told = json.loads((reports[0] / "claims.json").read_text())
    goodput = next(claim for claim in told["claims"] if claim["id"] == "T1")["statements"][0]
    row = next(row for row in table.rows if row[1] == "goodput")
    assert row[3] == "1.75 Mbit/s"
    assert row[4] == f"{goodput['ours']:.3f} ± {goodput['half_width']:.3f} Mbit/s ✓"


def test_a_table_is_written_as_csv_and_into_a_page(reports: list[Path]) -> None:
    table = joined.reports_to_joined_table(reports)
    assert [tuple(row) for row in csv.reader(StringIO(table.as_csv()))] == [tuple(row) for row in [table.header, *table.rows]]
    text = page.replace_marked_part("before\n<!-- backends -->\n| worn |\n<!-- /backends -->\nbehind\n", "backends", table.as_markdown())
    assert text.startswith("before\n<!-- backends -->\n\n| claim | statement |")
    assert text.endswith("|\n\n<!-- /backends -->\nbehind\n")
    assert "worn" not in text


def test_a_page_without_a_place_for_it_is_refused(reports: list[Path]) -> None:
    with pytest.raises(ValueError, match="<!-- backends -->"):
        page.replace_marked_part("nothing", "backends", joined.reports_to_joined_table(reports).as_markdown())


def test_the_page_of_a_study_gets_the_table(reports: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "STUDY.md").write_text("<!-- backends -->\n<!-- /backends -->\n")
    monkeypatch.setattr(page, "page_path", lambda _name: tmp_path / "STUDY.md")
    assert joined.write_joined_table_into_study_page([str(report) for report in reports]) == 0
    assert "| T1 | Something is delivered. |" in (tmp_path / "STUDY.md").read_text()
    assert joined.write_joined_table_into_study_page([]) == 2


def test_an_invalid_report_is_refused_with_a_remedy(reports: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="nowhere: there is no such folder; fix: name a folder that `ecnlab study run` has written"):
        joined.reports_to_joined_table([tmp_path / "nowhere"])
    with pytest.raises(ResultsError, match=r"cannot read .*: No such file or directory; fix: name a folder that `ecnlab study run`"):
        joined.reports_to_joined_table([tmp_path])
    (tmp_path / "claims.json").write_text("[")
    with pytest.raises(ResultsError, match=r"is damaged: .*; fix: run `ecnlab study run` again"):
        joined.reports_to_joined_table([tmp_path])
    (tmp_path / "claims.json").write_text("[]")
    with pytest.raises(ResultsError, match="study, seeds or claims are missing"):
        joined.reports_to_joined_table([*reports, tmp_path])
    with pytest.raises(UsageError, match="none was given"):
        joined.reports_to_joined_table([])


def test_reports_of_unlike_studies_are_refused(reports: list[Path], tmp_path: Path) -> None:
    told = json.loads((reports[0] / "claims.json").read_text())
    (tmp_path / "claims.json").write_text(json.dumps(told | {"study": "other"}))
    with pytest.raises(UsageError, match="these are of tiny, other"):
        joined.reports_to_joined_table([reports[0], tmp_path])


def test_kernels_hosts_are_simulated_where_that_is_asked_for() -> None:
    plain, rewritten = (select_from_study(KERNEL_BACKENDS, [1], claims=["T1"], kernel_hosts=hosts).plan for hosts in (False, True))
    assert [plan.planned_scenarios[0].scenario.duration_s for plan in (plain, rewritten)] == [_second_statements(), 3]
    assert (plain.is_rewritten, rewritten.is_rewritten) == (False, True)


def _second_statements() -> float:
    return float(str(tree()["duration"]).split()[0])


def test_a_study_without_such_hosts_says_so() -> None:
    with pytest.raises(UsageError, match="tiny has no scenarios for hosts with real kernels"):
        select_from_study(TINY, [1], kernel_hosts=True)


def test_the_report_says_whose_hosts_they_are_and_how_it_is_made_again(reports: list[Path]) -> None:
    html = (reports[1] / "report.html").read_text()
    assert "Hosts are simulated, and those to which kernels are set on other backends." in html
    assert "ecnlab study run tiny --kernel-hosts --seeds 1..3 --claim T2" in html
    assert f"With the study&#39;s own hosts, simulated, and {len(runner.FULL_SEEDS)} seeds" in html
