"""The page of frequently asked questions: short answers, each with a command or a link."""

import re

import pytest

import prose
import reference_pages

TEXT = (reference_pages.DOCS / "explanation" / "faq.md").read_text(encoding="utf-8")
ANSWERS = dict(re.findall(r"^### ([^\n]+)\n\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_there_are_questions_and_each_once() -> None:
    assert len(ANSWERS) == TEXT.count("\n### ") >= 25
    assert all(question.endswith("?") for question in ANSWERS)


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_short_and_names_a_command_or_a_page(question: str) -> None:
    answer = ANSWERS[question]
    assert 2 <= prose.count(answer).sentences <= 8
    assert "ecnlab " in answer or "](" in answer
