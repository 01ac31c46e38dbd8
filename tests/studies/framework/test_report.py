import base64
import dataclasses
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import ecnlab
from browser.module_of_build import write_module, write_small_laboratory
from ecnlab import _core
from ecnlab.browser import page as lab_page
from ecnlab.errors import ENGINE, Failure
from ecnlab.storage import atomic
from ecnlab.studies.framework import report, runner, verdicts
from ecnlab.studies.framework.claims import Claim, ClaimStatement, ClaimVerdict, claimed_above
from ecnlab.studies.framework.model import DrawnItemContent, ReportTable, RequiredScenario, ResultsByKey
from ecnlab.studies.framework.plan import StudyPlan
from ecnlab.studies.framework.runner import run_study
from tiny_study import CLAIMS, FIRST, GOODPUT, ITEMS, LOW, TINY, decide_claim, tree

SEEDS = [1, 2, 3]
_VOID_TAGS = {"meta", "img", "br", "hr", "link", "input", "col"}


class Page(HTMLParser):
    """A parser of the page that collects open tags, ids and link targets."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if len(told) != len(attrs):
            self.faults.append(f"<{tag}> says an attribute twice")
        self.ids.update([value for key, value in attrs if key == "id" and value])
        self.links += [value for key, value in attrs if key == "href" and value]
        self.sources += [value for key, value in attrs if key in ("src", "data", "xlink:href") and value]
        if tag not in _VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID_TAGS:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes what is not open (line {self.getpos()[0]})")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    run_study(TINY, folder / "out", SEEDS)
    return folder / "out"


@pytest.fixture(scope="module")
def html(out: Path) -> str:
    return (out / "report.html").read_text()


def _page_text(html: str) -> str:
    """The visible text of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL))


def test_the_page_is_sound_html(html: str) -> None:
    page = Page(html)
    assert (page.faults, page.open) == ([], [])
    assert [name for name, count in page.ids.items() if count > 1] == []


def test_every_link_leads_somewhere_within_the_page_or_to_a_file_beside_it(html: str, out: Path) -> None:
    page = Page(html)
    within = {link[1:] for link in page.links if link.startswith("#")}
    beside = [link for link in page.links if not link.startswith("#")]
    assert within <= set(page.ids)
    assert beside
    assert all((out / link.partition("#")[0]).is_file() for link in beside)


def test_the_page_stands_alone(html: str) -> None:
    assert not re.search(r"https?://|<script|<link|<iframe|url\(|@import", html)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in Page(html).sources)


def test_claims_stand_first_each_with_published_ours_ns_2_s_and_verdict(html: str) -> None:
    text = _page_text(html)
    assert "3 claims: 1 reproduced, 1 not reproduced, 1 undecided." in text
    assert re.search(
        r"T1 Something is delivered\. shown: goodput, which should be above 0\.5 Mbit/s "
        r"1\.75 Mbit/s 1\.\d{3} ± 0\.\d{3} Mbit/s 1\.900 Mbit/s ✓ reproduced",
        text,
    )
    assert text.index("T1 Something") < text.index("Figure 1.1: Goodput")


def test_a_claim_that_fails_shows_the_statement_that_breaks_it_and_why(html: str) -> None:
    text = _page_text(html)
    assert re.search(
        r"T2 Nothing is marked &amp; dropped\. shown: marks, which should be below 1 – [\d.]+ ± [\d.]+ – ✗ not reproduced", text
    )
    assert "Why, as 20 seeds show it. A queue that marks, marks." in text
    assert "2 statements: 1 supported, 1 contradicted" in text
    assert "How it is read. Nothing is less than 1." in text


def test_claims_lead_to_their_figures_and_back(html: str) -> None:
    claim = html[html.index('id="claim-T2"') : html.index('id="claim-T3"')]
    assert '<a href="#figure-1.2">1.2</a>.' in claim
    figure = html[html.index('id="figure-1.1"') : html.index('id="figure-1.2"')]
    assert '<a href="#claim-T1">T1 ✓ reproduced</a>' in figure
    assert '<a href="#claim-T3">T3 ? undecided</a>' in figure
    assert "claim-T2" not in figure


def test_a_figure_that_is_not_in_the_report_is_no_link(tmp_path: Path) -> None:
    html = run_study(TINY, tmp_path / "s", [1, 2], ["1.1"], ["T2"]).report.read_text()
    assert "<b>Read from</b> 1.2.</p>" in html


def test_questions_of_our_own_stand_under_a_heading_of_their_own(html: str) -> None:
    text = _page_text(html)
    assert text.index("Figure 1.2: Again") < text.index("Questions of our own No paper asks these")
    assert "1 question of our own: 1 holds." in text[text.index("Questions of our own No paper") :]


def test_questions_of_our_own_stand_first_where_no_paper_claims_anything(tmp_path: Path) -> None:
    study = dataclasses.replace(TINY, claims=[claim for claim in CLAIMS if claim.own])
    html = run_study(study, tmp_path / "s", SEEDS).report.read_text()
    page = Page(html)
    assert (page.faults, page.open, [name for name, count in page.ids.items() if count > 1]) == ([], [], [])
    text = _page_text(html)
    assert text.index("Questions of our own No paper asks these") < text.index("Figure 1.1: Goodput")
    assert "What the paper claims" not in text


def test_the_page_says_what_was_run_and_how_to_run_it_again(html: str) -> None:
    assert f"ecnlab {_core.VERSION}, engine build <code>{_core.BUILD}</code>, seeds 1..3." in html
    assert "<pre>ecnlab study run tiny --seeds 1..3</pre>" in html
    assert '<th scope="row"><code>link.queue.max_p</code></th><td>0.1 | 0.5</td>' in html
    result = ecnlab.run(ecnlab.scenario(LOW.scenario), seed=1)
    row = rf"<code>{result.hash[:16]}</code></td><td>1\.\.3</td><td></td><td><code>{result.fingerprints[1][:16]}</code>"
    assert re.search(row, html)


def test_a_run_of_few_seeds_says_so(html: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "This is a quick look: a full run has 20 seeds" in html
    monkeypatch.setattr(runner, "FULL_SEEDS", SEEDS)
    full = run_study(TINY, tmp_path / "s", SEEDS, claims=["T1", "T2"]).report.read_text()
    assert "quick look" not in full
    assert "Why. A queue that marks, marks." in _page_text(full)


def test_verdicts_are_saved_as_csv_and_json(out: Path) -> None:
    told = json.loads((out / "claims.json").read_text())
    assert (told["study"], told["build"], told["seeds"]) == ("tiny", _core.BUILD, SEEDS)
    assert [claim["verdict"] for claim in told["claims"]] == ["reproduced", "not reproduced", "undecided", "holds"]
    saved = pl.read_csv(out / "claims.csv")
    assert saved["claim"].to_list() == ["T1", "T2", "T2", "T3", "F1"]
    marks = ecnlab.run(ecnlab.scenario(LOW.scenario), SEEDS).estimate("marks")
    row = saved.row(2, named=True)
    assert (row["statement"], row["range"], row["standing"]) == ("marks", "below 1", "contradicted")
    assert (row["ours"], row["half_width"], row["n"]) == (pytest.approx(marks.mean), pytest.approx(marks.half_width), 3)


def test_long_tables_are_folded_and_short_ones_are_not(tmp_path: Path) -> None:
    def drawing(rows: int) -> Callable[[ResultsByKey], DrawnItemContent]:
        return lambda _results: DrawnItemContent(
            tables=[ReportTable(name, ["n"], [[str(n)] for n in range(rows)]) for name in ("one", "other")]
        )

    items = [dataclasses.replace(ITEMS[0], draw=drawing(rows), number=str(rows)) for rows in (4, 5)]
    html = run_study(dataclasses.replace(TINY, items=items, claims=[]), tmp_path / "s", [1]).report.read_text()
    assert [html.count(f"<summary>{name} (5 rows)</summary>") for name in ("one", "other")] == [1, 1]
    assert [html.count(f"<caption>{name}</caption>") for name in ("one", "other")] == [1, 1]
    assert "What the paper claims" not in html


HOSTILE = '<script>alert("x")</script> & </style> ‮ {{ title }} <!-- claims -->'


def test_hostile_words_are_nothing_but_words(tmp_path: Path) -> None:
    claim = Claim("X1", HOSTILE, [], [ClaimStatement(HOSTILE, GOODPUT, claimed_above(99))], reading=HOSTILE, why=HOSTILE, quote=HOSTILE)
    item = dataclasses.replace(ITEMS[0], title=HOSTILE, caption=HOSTILE, part=HOSTILE)
    study = dataclasses.replace(TINY, title=HOSTILE, summary=HOSTILE, source=HOSTILE, items=[item], claims=[claim])
    html = run_study(study, tmp_path / "s", [1, 2]).report.read_text()
    assert "<script" not in html
    page = Page(html)
    assert (page.faults, page.open) == ([], [])
    assert html.count("&lt;script&gt;") >= 9


def test_a_report_is_the_same_bytes_whatever_else_the_store_has(tmp_path: Path) -> None:
    fresh = run_study(TINY, tmp_path / "a", SEEDS, store=tmp_path / "fresh")
    ecnlab.run_all([ecnlab.Request(ecnlab.scenario(LOW.scenario | {"record": {"rates": True}}), [1, 2, 3, 4])], store=tmp_path / "full")
    again = run_study(TINY, tmp_path / "b", SEEDS, store=tmp_path / "full", processes=1)
    assert fresh.report.read_bytes() == again.report.read_bytes()
    for path in sorted((tmp_path / "a").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path


def test_what_depends_on_a_run_that_failed_is_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ecnlab.scenario(LOW.scenario).hash
    run_all = ecnlab.run_all

    def failing(requests: list[ecnlab.Request], **rest: object) -> ecnlab.Outcome:
        kept = [
            dataclasses.replace(request, seeds=[seed for seed in request.seeds if (request.scenario.hash, seed) != (bad, 2)])
            for request in requests
        ]
        return ecnlab.Outcome(run_all(kept, **rest).results, [Failure(bad, "small", 2, ENGINE, "out of <luck>")])

    monkeypatch.setattr("ecnlab.studies.framework.plan.run_all", failing)
    outcome = run_study(TINY, tmp_path / "s", [1, 2])
    assert outcome.left_out == ["Figure 1.1", "Figure 1.2", "T2", "T3"]
    assert [decision.claim.id for decision in outcome.decisions] == ["T1", "F1"]
    text = _page_text(outcome.report.read_text())
    assert "Not in this report, since they depend on them: Figure 1.1, Figure 1.2, T2, T3." in text
    assert "seed 2: out of &lt;luck&gt;" in text


def test_a_study_that_is_interrupted_while_it_draws_has_all_its_runs(tmp_path: Path) -> None:
    def raise_keyboard_interrupt(_results: ResultsByKey) -> DrawnItemContent:
        raise KeyboardInterrupt

    study = dataclasses.replace(TINY, items=[ITEMS[1], dataclasses.replace(ITEMS[0], draw=raise_keyboard_interrupt)])
    with pytest.raises(ecnlab.Interrupted, match="all runs had finished"):
        run_study(study, tmp_path / "s", SEEDS, all_setups=False, store=tmp_path / "store")
    assert not (tmp_path / "s" / "report.html").exists()
    run_study(dataclasses.replace(study, items=ITEMS), tmp_path / "s", SEEDS, all_setups=False, store=tmp_path / "store")
    assert len(ecnlab.Store(tmp_path / "store").batches.scenario_keys) == 2


def test_a_report_goes_into_no_folder_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("text")
    with pytest.raises(ecnlab.ResultsError, match=r"not empty \(thesis.tex\) and is not a report of the study tiny"):
        run_study(TINY, tmp_path / "thesis", SEEDS, store=tmp_path / "store")
    assert not (tmp_path / "store").exists(), "it is told before anything is run"
    run_study(TINY, tmp_path / "s", [1])
    with pytest.raises(ecnlab.ResultsError, match=r"not empty \(claims.csv\) and is not a report of the study other"):
        run_study(dataclasses.replace(TINY, name="other"), tmp_path / "s", [1])
    (tmp_path / "pictures" / "figures").mkdir(parents=True)
    (tmp_path / "pictures" / "figures" / "mine.svg").write_text("mine")
    with pytest.raises(ecnlab.ResultsError, match=r"not empty \(figures\)"):
        run_study(TINY, tmp_path / "pictures", [1])


def test_a_report_holds_no_figures_of_an_earlier_one_and_nothing_else_is_taken_out(tmp_path: Path) -> None:
    run_study(TINY, tmp_path / "s", [1])
    (tmp_path / "s" / "figures" / "mine.svg").write_text("mine")
    run_study(TINY, tmp_path / "s", [1], ["1.2"])
    there = {path.stem for path in (tmp_path / "s" / "figures").iterdir()}
    assert there == {"figure-1.2", "mine"}


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package's laboratory, which does not exist yet."""
    folder = tmp_path / "laboratory"
    monkeypatch.setattr(lab_page, "FOLDER", folder)
    return folder


def _links_to_laboratory(report: Path) -> list[str]:
    return [link for link in Page(report.read_text()).links if link.startswith("lab.html")]


def test_each_figure_links_to_the_laboratory_beside_the_report_with_one_of_its_runs(laboratory: Path, tmp_path: Path) -> None:
    write_small_laboratory(laboratory)
    report = run_study(TINY, tmp_path / "s", [1], store=tmp_path / "store").report
    written = tmp_path / "s" / "lab.html"
    assert written.read_text() == lab_page.single_file(lab_page.page_config(None))
    first, second = (link.removeprefix("lab.html#scenario=") for link in _links_to_laboratory(report))
    unpacked = [json.loads(zlib.decompress(base64.urlsafe_b64decode(link + "=" * (-len(link) % 4)), -15)) for link in (first, second)]
    assert unpacked == [FIRST.scenario, LOW.scenario]
    page = Page(report.read_text())
    assert (page.faults, page.open) == ([], [])

    before = written.stat().st_ino
    run_study(TINY, tmp_path / "s", [1], store=tmp_path / "store")
    assert written.stat().st_ino == before, "it is written once"


def test_a_report_has_no_links_without_a_laboratory_or_with_one_of_another_build_or_with_other_hosts(
    laboratory: Path, tmp_path: Path
) -> None:
    write_small_laboratory(laboratory)
    folder = tmp_path / "s"
    assert len(_links_to_laboratory(run_study(TINY, folder, [1], store=tmp_path / "store").report)) == 2
    study = dataclasses.replace(TINY, on_kernels=lambda tree: tree)
    on_kernels = run_study(study, tmp_path / "kernels", [1], kernel_hosts=True, store=tmp_path / "store").report
    assert _links_to_laboratory(on_kernels) == []
    write_module(laboratory, "0123456789abcdef")
    assert _links_to_laboratory(run_study(TINY, folder, [1], store=tmp_path / "store").report) == []
    assert not (folder / "lab.html").exists()
    assert "in the laboratory" not in _page_text((folder / "report.html").read_text())


@pytest.mark.parametrize("written", range(4))
def test_an_interrupted_report_leaves_whole_files_and_no_link_to_nothing_and_is_repeated(
    laboratory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    write_small_laboratory(laboratory)
    whole = run_study(TINY, tmp_path / "whole", [1], store=tmp_path / "store").report.parent
    names = ["claims.json", "claims.csv", "lab.html", "report.html"]
    write_unflushed, count = atomic.write_unflushed, itertools.count()

    def interrupted(path: Path, data: bytes) -> None:
        if any(name in path.name for name in names) and next(count) == written:
            write_unflushed(path, data[: len(data) // 2])
            raise KeyboardInterrupt
        write_unflushed(path, data)

    monkeypatch.setattr(atomic, "write_unflushed", interrupted)
    with pytest.raises(ecnlab.Interrupted):
        run_study(TINY, tmp_path / "s", [1], store=tmp_path / "store")
    left = {path.name: path.read_bytes() for path in (tmp_path / "s").glob("*.*")}
    assert left == {name: (whole / name).read_bytes() for name in names[:written]}
    again = run_study(TINY, tmp_path / "s", [1], store=tmp_path / "store").report
    assert again.read_bytes() == (whole / "report.html").read_bytes()


def test_a_claim_runs_only_the_scenarios_that_it_requires(tmp_path: Path) -> None:
    outcome = run_study(TINY, tmp_path / "s", SEEDS, claims=["t1"], all_setups=False, store=tmp_path / "store")
    batches = ecnlab.Store(tmp_path / "store").batches
    (key,) = batches.scenario_keys
    assert key == ecnlab.scenario(GOODPUT.need.scenario).hash
    assert [(d.claim.id, d.verdict) for d in outcome.decisions] == [("T1", ClaimVerdict.REPRODUCED)]
    assert not (tmp_path / "s" / "figures").exists()


def test_a_figure_comes_with_the_claims_that_its_runs_decide(tmp_path: Path) -> None:
    none = runner.select_from_study(TINY, SEEDS, ["1.2"])
    assert [claim.id for claim in none.claims] == []
    one = runner.select_from_study(TINY, [1], ["1.1"])
    assert [claim.id for claim in one.claims] == [claim.id for claim in CLAIMS], "with one seed the first one is every seed"
    outcome = run_study(TINY, tmp_path / "s", SEEDS, ["1.1"], store=tmp_path / "store")
    assert outcome.decisions == [], "seed 1 alone decides no claim"


def test_a_verdict_is_shown_by_the_statement_that_stands_in_its_way(out: Path) -> None:
    chosen = runner.select_from_study(TINY, SEEDS)
    results, _ = chosen.plan.run_missing(None)
    shown = [verdicts.deciding_statement(decide_claim(claim, results.__getitem__)).statement.text for claim in CLAIMS]
    assert shown == ["goodput", "marks", "one over the other", "twice"]


def test_the_parameters_in_force_tell_the_aqm_within_a_discipline_but_no_names() -> None:
    plan = StudyPlan(
        [
            RequiredScenario(
                tree() | {"link": [{**tree()["link"][0], "queue": {"discipline": "fq", "limit": 120, "aqm": {"name": "codel"}}}]}
            )
        ],
        [1],
    )
    told = dict(report._parameter_settings(plan.planned_scenarios))
    assert told["link.queue.aqm.name"] == "codel"
    assert not {"name", "link.name", "flows.name"} & set(told)
