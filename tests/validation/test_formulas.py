import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import reference_pages
from ecnlab.storage.results import Result
from ecnlab.validation import formula_page, laws
from ecnlab.validation.formula_checks import formula_checks, recorded_ns2_packet_rates_by_agent_and_loss
from ecnlab.validation.formulas import AGREES, FAILS, FormulaCheck, judge_formula_check, run_formula_checks
from ecnlab.validation.samples import SampleStatistics

PAGE = reference_pages.DOCS / "trust" / "formulas.md"


def _check_of(slack: float | None, ns2: SampleStatistics | None = None) -> FormulaCheck:
    return FormulaCheck("law", "here", "1", 10.0, slack, {}, Result.seeds.fget, ns2=ns2)


def test_the_quick_set_agrees() -> None:
    failed = [
        (o.check.formula, o.check.setting, o.difference, o.allowed)
        for o in run_formula_checks(formula_checks(quick=True))
        if o.verdict != AGREES
    ]
    assert not failed


def test_the_laws_give_what_their_papers_print() -> None:
    assert [round(laws.reno_link_utilisation(f), 3) for f in (0.048, 1.0)] == [0.784, 1.0]
    assert [round(1.2 / 1.2247 * laws.reno_window(p)) for p in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)] == [12, 38, 120, 379, 1200]
    assert [round(laws.cubic_mean_window(p, 0.1)) for p in (1e-4, 1e-6)] == [187, 5926]
    assert laws.pftk_rate(0.02, 0.1, 0.4) == pytest.approx(73.24, abs=0.05)
    assert laws.dctcp_mark_fraction(50.0) == 0.2
    assert laws.dctcp_queue_amplitude(85.0, 40.0, 1) == pytest.approx(math.sqrt(250) / 2)


def test_a_formula_allows_its_slack_and_what_chance_explains() -> None:
    assert judge_formula_check(_check_of(0.5), [10.4]).verdict == AGREES
    assert judge_formula_check(_check_of(0.5), [10.6]).verdict == FAILS
    spread = judge_formula_check(_check_of(0.5), [10.5, 10.7])
    assert spread.verdict == AGREES
    assert spread.allowed == pytest.approx(0.5 + 63.6567 * 0.1, rel=1e-4)


def test_where_ns_2_judges_the_formula_is_only_shown() -> None:
    outcome = judge_formula_check(_check_of(None, SampleStatistics(20.0, 0.1, 20)), [20.1, 20.0])
    assert (outcome.verdict, round(outcome.difference, 6)) == (AGREES, 0.05)
    assert judge_formula_check(_check_of(None, SampleStatistics(20.0, 0.1, 20)), [10.0, 10.1]).verdict == FAILS
    with pytest.raises(ValueError, match="no expected value"):
        judge_formula_check(_check_of(None), [10.0])


def test_ns_2_must_be_as_near_as_the_formula_where_both_are_given() -> None:
    assert judge_formula_check(_check_of(0.5, SampleStatistics(10.2, 0.0, 1)), [10.4]).verdict == AGREES
    assert judge_formula_check(_check_of(0.5, SampleStatistics(9.8, 0.0, 1)), [10.4]).verdict == FAILS


def test_checks_have_names_of_their_own_and_the_quick_ones_are_among_them() -> None:
    names = [(check.formula, check.setting) for check in formula_checks()]
    assert len(set(names)) == len(names)
    assert {(check.formula, check.setting) for check in formula_checks(quick=True)} < set(names)
    assert all(sample.n == 20 for sample in recorded_ns2_packet_rates_by_agent_and_loss().values())


def _is_page_current_except_measurements(text: str, checks: Iterable[FormulaCheck]) -> bool:
    """Whether a page has the current text and a row for each check; measured values are ignored."""
    before, after = formula_page.TEXT_FILE.read_text(encoding="utf-8").split("TABLE\n")
    known = [f"| {' | '.join(formula_page.formula_check_cells(check))} | " for check in checks]
    rows = [line for line in text.removeprefix(before).removesuffix(after).splitlines() if line.startswith("| ")][2:]
    same_rows = len(rows) == len(known) and all(row.startswith(start) for row, start in zip(rows, known, strict=True))
    return text.startswith(before) and text.endswith(after) and same_rows


def test_the_page_is_of_today_s_checks() -> None:
    assert _is_page_current_except_measurements(PAGE.read_text(encoding="utf-8"), formula_checks()), (
        "run ecnlab validate formulas --write docs/trust/formulas.md"
    )


def test_a_stale_page_is_noticed() -> None:
    listed = [replace(check, slack=1.0, ns2=None) for check in formula_checks()[:3]]
    page = formula_page.formula_page([judge_formula_check(check, [check.predicted]) for check in listed])
    assert _is_page_current_except_measurements(page, listed)
    assert not _is_page_current_except_measurements(page, listed[:2])
    assert not _is_page_current_except_measurements(page, [*listed[:2], replace(listed[2], predicted=0.5)])
    assert not _is_page_current_except_measurements(page.replace("Mathis", "Matthis"), listed)


def test_every_source_of_the_table_is_in_the_package() -> None:
    assert Path(formula_page.TEXT_FILE).is_file()
