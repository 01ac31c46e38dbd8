"""Notebook output of a scenario, a result, a sweep and a comparison."""

import tomllib
from html.parser import HTMLParser
from typing import Any

import pytest

import ecnlab as lab
from ecnlab.display import html
from ecnlab.display.cells import TextTable
from ecnlab.storage import summary
from helpers import SMALL

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=y>', "a & b", "'; drop", "\u202eback", "[bold]x[/]"]
_ALLOWED_TAGS = {"div", "p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td", "pre"}


class _TagCollector(HTMLParser):
    """Collects elements and texts, and checks that every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert all(name == "style" for name, _ in attrs)
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _require_escaped(name: str) -> dict[str, Any]:
    tree = tomllib.loads(SMALL)
    tree["name"] = name
    tree["flows"][0]["name"] = name
    tree["link"][0]["name"] = name
    return tree


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_are_text_and_nothing_else(name: str) -> None:
    if "\u202e" in name:
        reader = _TagCollector(html.tables_and_notes_to_html(name, [TextTable(name, [name, "x"], [[name, "1"]])], [name]))
        assert not any("\u202e" in text for text in reader.texts)
        return
    scenario = lab.scenario(_require_escaped(name))
    result = lab.run(scenario, seed=1)
    swept = lab.sweep(scenario, {f"flows.{name}.count": [1, 2]}, store=None)
    for shown in (scenario, result, swept, lab.compare(result, result)):
        reader = _TagCollector(shown._repr_html_())
        assert set(reader.tags) <= _ALLOWED_TAGS
        assert any(name in text for text in reader.texts)
        assert repr(shown).isprintable()


def test_a_result_shows_the_tables_that_the_command_prints(small_result: lab.Result) -> None:
    reader = _TagCollector(small_result._repr_html_())
    for table in summary.result_tables(small_result):
        assert table.title in reader.texts
        assert all(cell in reader.texts for row in table.rows for cell in row if cell)
    assert any("±" in text for text in reader.texts)


def test_a_scenario_shows_its_links_and_groups_and_prints_as_it_was_written(small: lab.Scenario) -> None:
    texts = _TagCollector(small._repr_html_()).texts
    assert {"bottleneck", "far", "near"} <= set(texts)
    assert str(small).splitlines()[0] == repr(small)
    assert SMALL.strip() in str(small)
    changed = small.changed({"flows.far.count": 7})
    assert str(changed).endswith("# changed: flows.far.count = 7")
    assert lab.scenario(tomllib.loads(SMALL)).__str__().count('"bottleneck"') > 0


def test_a_comparison_shows_what_differs(small: lab.Scenario) -> None:
    found = lab.compare(small, small.changed({"link.bottleneck.queue.max_p": 0.1}), seeds=3, store=None)
    texts = _TagCollector(found._repr_html_()).texts
    assert {"link.bottleneck.queue.max_p", "0.5", "0.1", "in short"} <= set(texts)
    assert len(repr(found)) < 300
    assert f"{len(found.differing_rows)} of {len(found.rows)} quantities differ" in repr(found)


def test_series_and_plots_say_what_is_there(small_result: lab.Result) -> None:
    assert repr(small_result.series) == "<Series of 'small': queue, band, gauge, rate, window, events, lockouts>"
    assert repr(small_result.plot).startswith("<Plots of 'small': queue, queue_delay, gauges, throughput, goodput,")
    bare = lab.run(lab.scenario(tomllib.loads(SMALL) | {"record": {}}), seed=1)
    assert repr(bare.series) == "<Series of 'small': none recorded>"
    assert "nothing to draw was recorded" in repr(bare.plot)
