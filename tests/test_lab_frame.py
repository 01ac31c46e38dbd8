"""The laboratory on the pages of the site: frames of explorables, and links that hold a scenario."""

import base64
import json
import re
import zlib

import pytest

import ecnlab
import explorables
import lab_frame
import links
from ecnlab import studies
from ecnlab.browser import links as links_to_lab


def unpacked(text: str) -> str:
    return zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), -15).decode()


def test_a_packed_text_is_read_back_and_needs_no_quoting() -> None:
    text = 'name = "β"\n' * 50
    packed = links_to_lab.packed(text)
    assert (unpacked(packed), re.fullmatch(r"[\w-]+", packed) is not None) == (text, True)
    assert len(packed) < len(text) / 5


def test_the_comment_of_an_explorable_becomes_a_frame_and_a_link() -> None:
    lines = list(lab_frame.with_lab(["before", "<!-- explorable why-ecn -->", "after"]))
    assert (lines[0], lines[-1]) == ("before", "after")
    shown = "\n".join(lines)
    assert 'src="../lab.html#explorable=why-ecn&amp;frame"' in shown
    assert '<a href="../lab.html#explorable=why-ecn">' in shown


def test_the_comment_of_an_example_becomes_a_link() -> None:
    lines = list(lab_frame.with_lab(["![Length](figures/codel-queue.svg)", "<!-- run of codel -->"]))
    assert [line for line in lines if "lab.html" in line] == [
        '<p><a href="../lab.html#example=codel">Open this run in the laboratory</a></p>'
    ]


@pytest.mark.parametrize("name", studies.TITLES)
def test_the_links_of_a_study_hold_valid_scenarios_of_its_figures(name: str) -> None:
    (shown,) = lab_frame.links_of_study(name)
    scenarios = [json.loads(unpacked(packed)) for packed in re.findall(r'#scenario=([\w-]+)"', shown)]
    needs = [need.scenario for item in studies.find_study(name).items for need in item.needs.values()]
    assert len(scenarios) >= 5
    assert all(scenario in needs for scenario in scenarios)
    assert ecnlab.scenario(scenarios[0]).hash


def test_every_page_of_a_study_has_the_place_of_its_links() -> None:
    for name in studies.TITLES:
        assert f"\n<!-- runs of {name} -->\n" in (links.ROOT / "docs" / "studies" / f"{name}.md").read_text(encoding="utf-8")


def test_the_comments_of_the_pages_are_those_of_explorables() -> None:
    found = [
        name
        for page in (links.ROOT / "docs").rglob("*.md")
        for name in re.findall(r"^<!-- explorable (\S+) -->$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(found) == sorted(explorables.PAGES)
