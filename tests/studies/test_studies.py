"""Checks of every study that can be run by name."""

import re

import pytest

import reference_pages
from ecnlab import studies
from ecnlab.studies.framework import judgements, page, runner
from ecnlab.studies.framework.claims import ClaimVerdict
from ecnlab.studies.framework.model import Study

CHOSEN = [studies.find_study(name) for name in studies.TITLES]
# The claims that no paper makes; all others have a quote.
OWN_QUESTIONS = {
    "aecn": [f"F{number}" for number in range(1, 14)],
    "rfc2884": [],
    "amecn": [],
    "red-ecn": ["G3"],
    "l4s": [f"L{number}" for number in range(1, 39)],
    "today": [f"T{number}" for number in range(1, 12)],
}
each = pytest.mark.parametrize("study", CHOSEN, ids=lambda study: study.name)


@each
def test_it_is_found_by_its_name_and_title(study: Study) -> None:
    assert studies.TITLES[study.name] == study.title


@each
def test_its_items_and_claims_have_names_of_their_own(study: Study) -> None:
    stems = [item.file_stem for item in study.items]
    ids = [claim.id.lower() for claim in study.claims]
    titles = [item.title for item in study.items]
    assert len(set(stems)) == len(stems)
    assert len(set(titles)) == len(titles)
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in (*stems, *ids)), "they are parts of addresses and of file names"


@each
def test_a_claim_makes_statements_and_is_read_from_items_of_the_study(study: Study) -> None:
    assert study.claims
    for claim in study.claims:
        assert claim.statements, claim.id
        assert claim.sentence.endswith("."), claim.id
        assert [study.find_item(number) for number in claim.figures], claim.id


@each
def test_the_demo_of_a_study_names_existing_items(study: Study) -> None:
    assert len(study.choose_items(study.demo)) == (len(study.demo) or len(study.items))


@each
def test_its_page_says_what_was_asked_and_has_a_place_for_its_claims(study: Study) -> None:
    text = page.page_path(study.name).read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[:2] == ["Question", "Results"]
    assert page.page_with_claims(text, [])


@each
def test_the_verdicts_on_its_page_are_those_of_its_claims(study: Study) -> None:
    assert list(page.read_full_run_verdicts(study.name)) in ([], [claim.id for claim in study.claims])


@each
def test_readers_have_judged_the_claims_as_they_are(study: Study) -> None:
    found = judgements.reader_judgements_of_study(study.name)
    claims = {claim.id: judgements.claim_digest(claim) for claim in judgements.claims_of_paper(study)}
    assert {id_: judged.digest for id_, judged in found.items()} == claims, "a claim has changed since readers saw it, or none has seen it"
    for judged in found.values():
        assert len(judged.words) == 2
        assert set(judged.words) <= {judgements.FAIR_WORD, judgements.STRICT_WORD, judgements.LOOSE_WORD}


@each
def test_only_questions_of_our_own_have_no_quote(study: Study) -> None:
    assert [claim.id for claim in study.claims if claim.own] == OWN_QUESTIONS[study.name]


@each
def test_a_claim_that_is_not_reproduced_has_a_reason(study: Study) -> None:
    in_full = page.read_full_run_verdicts(study.name)
    for claim in study.claims:
        assert in_full.get(claim.id, ClaimVerdict.REPRODUCED).is_supported or claim.why, claim.id


@each
def test_the_page_of_studies_counts_its_scenarios(study: Study) -> None:
    counts = [
        len(runner.select_from_study(study, runner.seeds_of_full_run(study), all_setups=every).plan.planned_scenarios)
        for every in (True, False)
    ]
    assert f"| {study.name} | {counts[0]} | {counts[1]} |" in (reference_pages.DOCS / "studies" / "index.md").read_text(encoding="utf-8")
