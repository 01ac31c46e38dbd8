import json
import re
from pathlib import Path

import pytest

import ecnlab
from ecnlab import studies
from ecnlab.studies.framework import cost, page, runner, update_page, verdicts
from ecnlab.studies.framework.claims import Claim, ClaimDecision, ClaimVerdict
from ecnlab.studies.framework.runner import run_study
from tiny_study import TINY

PAGE_TEXT = """\
# A study

## What was asked

Whether `<b>` is *bold*, see [the page](https://example.org/x).

| a | b |
| --- | --- |
| 1 | 2 |

<!-- claims -->
| old |
<!-- /claims -->

It was seen.
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "STUDY.md").write_text(PAGE_TEXT)
    monkeypatch.setattr(studies, "folder_of_study", lambda _name: tmp_path)
    return tmp_path


@pytest.mark.usefixtures("home")
def test_a_page_is_shown_without_its_title_its_claims_and_its_links() -> None:
    html = page.page_as_html("tiny")
    assert "<h3>What was asked</h3>" in html
    assert "<code>&lt;b&gt;</code> is <em>bold</em>, see the page." in html
    assert "<td>1</td>" in html
    assert "<p>It was seen.</p>" in html
    assert not re.search(r"A study|\bold\b|claims|https?:", html)


def test_a_study_without_a_page_has_none() -> None:
    assert page.page_as_html("nowhere") == ""


@pytest.mark.usefixtures("home")
def test_the_report_shows_the_page_of_the_study_and_of_which_run_it_speaks(tmp_path: Path) -> None:
    html = run_study(TINY, tmp_path / "s", [1]).report.read_text()
    assert html.index("Figure 1.2: Again") < html.index("<h3>What was asked</h3>") < html.index('id="provenance"')
    assert "seen in a full run, with 20 seeds; the claims and figures above are of seeds 1.</p>" in html


def test_the_report_gives_the_full_run_s_verdict_if_a_shorter_run_differs(home: Path, tmp_path: Path) -> None:
    out = run_study(TINY, tmp_path / "s", [1, 2, 3], claims=["T1", "T2", "T3"])
    told = json.loads((tmp_path / "s" / "claims.json").read_text())["claims"]
    assert [claim["verdict_in_full"] for claim in told] == [None, None, None], "no full run was written into the page"
    in_full = dict(zip(["T1", "T2", "T3"], ["not reproduced", "not reproduced", "reproduced"], strict=True))
    shown = [claim | {"verdict": in_full[claim["id"]]} for claim in told]
    (home / "STUDY.md").write_text(page.page_with_claims(PAGE_TEXT, shown))
    assert page.read_full_run_verdicts("tiny") == in_full
    assert [decision.verdict for decision in out.decisions] == ["reproduced", "not reproduced", "undecided"]
    again = run_study(TINY, tmp_path / "s", [1, 2, 3], claims=["T1", "T2", "T3"])
    why = re.findall(r'<p class="why"><b>(.*?)</b> (.*?)</p>', again.report.read_text())
    assert why == [
        ("With 20 seeds: not reproduced.", ""),
        ("Why, as 20 seeds show it.", "A queue that marks, marks."),
        ("With 20 seeds: reproduced.", ""),
    ]
    kept = json.loads((tmp_path / "s" / "claims.json").read_text())["claims"]
    assert {claim["id"]: claim["verdict_in_full"] for claim in kept} == in_full


def test_a_reason_is_not_given_where_the_full_run_has_none_to_give() -> None:
    claim = Claim("T", "It is so.", [], [], why="It is not so.")
    words = {"full": False, "seeds_in_full": 20}
    assert verdicts.why_claim_fails(ClaimDecision(claim, ClaimVerdict.UNDECIDED, []), {"T": ClaimVerdict.REPRODUCED}, **words) == (
        "With 20 seeds: reproduced.",
        "",
    )
    assert verdicts.why_claim_fails(ClaimDecision(claim, ClaimVerdict.REPRODUCED, []), {}, **words) == ("", "")
    reproduced, undecided = ClaimDecision(claim, ClaimVerdict.REPRODUCED, []), {"T": ClaimVerdict.UNDECIDED}
    assert verdicts.why_claim_fails(reproduced, undecided, **words) == ("With 20 seeds: undecided.", "It is not so.")
    depends = {"T": ClaimVerdict.DEPENDS}
    assert verdicts.why_claim_fails(reproduced, depends, **words) == ("With 20 seeds in all set-ups: depends.", "It is not so.")


def test_the_claims_of_a_full_run_are_written_into_the_page(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "find_study", lambda _name: TINY)
    costs = tmp_path / "costs.json"
    costs.write_text('{"item_s": 1.0, "machine": "a machine", "run_s": {}}')
    monkeypatch.setattr(cost, "COSTS", costs)
    monkeypatch.setattr(cost, "available_cores", lambda: 2)
    arguments = ["tiny", str(tmp_path / "s"), str(tmp_path / "store")]
    run_study(TINY, tmp_path / "s", runner.FULL_SEEDS, store=tmp_path / "store")
    assert cost.study_duration_text(TINY, 1000, 10) == "", "it was never measured"
    assert update_page.update_study_page(arguments) == 0
    text = (home / "STUDY.md").read_text()
    assert text.startswith(PAGE_TEXT[: PAGE_TEXT.index("| old |")])
    assert text.endswith("<!-- /claims -->\n\nIt was seen.\n")
    (row,) = re.findall(r"^\| T1 \| (.*) \|$", text, re.MULTILINE)
    says, statements, decides, published, ours, ns2, setups, verdict = row.split(" | ")
    assert (says, statements, decides) == ("Something is delivered.", "1 of 1 supported", "goodput: above 0.5 Mbit/s")
    assert re.fullmatch(r"1\.\d{3} ± 0\.\d{3} Mbit/s", ours)
    assert (published, ns2, setups, verdict) == ("1.75 Mbit/s", "1.900 Mbit/s", "", "**reproduced**")
    assert "| old |" not in text
    assert update_page.update_study_page(arguments) == 0
    assert (home / "STUDY.md").read_text() == text
    batches = ecnlab.Store(tmp_path / "store").batches
    took = [
        record.cpu_s
        for key in batches.scenario_keys
        for part in batches.parts_of_scenario(key)
        for record in part.seed_run_statistics.values()
    ]
    assert json.loads(costs.read_text())["run_s"] == {"tiny": round(sum(took) / len(took), 4)}
    assert re.fullmatch(r", about \d+ (s|min) on 2 cores of a machine", cost.study_duration_text(TINY, 1000, 10))


@pytest.mark.usefixtures("home")
def test_the_claims_of_a_quick_run_are_no_result_to_write_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(studies, "find_study", lambda _name: TINY)
    run_study(TINY, tmp_path / "s", [1, 2], claims=["T1"])
    assert update_page.update_study_page(["tiny", str(tmp_path / "s"), str(tmp_path / "store")]) == 2
    assert "is not a full run; fix: ecnlab study run tiny --out" in capsys.readouterr().err
    assert (tmp_path / "STUDY.md").read_text() == PAGE_TEXT


def test_a_page_without_a_place_for_claims_is_reported() -> None:
    with pytest.raises(ValueError, match="is missing the lines <!-- claims -->"):
        page.page_with_claims("# A study\n", [])


def test_what_was_not_published_or_measured_is_an_empty_cell(home: Path) -> None:
    told = {
        "id": "X",
        "sentence": "a | b",
        "verdict": "undecided",
        "decided_by": 0,
        "setups": [],
        "alternatives": {},
        "statements": [_statement_json()],
    }
    text = page.page_with_claims(PAGE_TEXT, json.loads(json.dumps([told])))
    assert "| X | a \\| b | 0 of 1 supported | s: above 0 % |  | 1.2 ± 0.3 % |  |  | **undecided** |" in text
    assert home.is_dir()


def _statement_json() -> dict[str, object]:
    numbers = {"published": None, "ours": 1.23, "half_width": 0.32, "ns2": None, "digits": 1}
    return {"statement": "s", "range": "above 0", "unit": "%", "standing": "spanned", **numbers}
