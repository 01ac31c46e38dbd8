import re

import pytest

from ecnlab import Result, UnknownName
from ecnlab.scenarios import catalog


def test_every_kind_has_entries_with_a_title_and_a_source() -> None:
    for kind in catalog.KINDS:
        entries = catalog.entries(kind)
        assert entries
        assert all(entry.kind == kind and entry.title and entry.source for entry in entries)
    assert len(catalog.entries()) == sum(len(catalog.entries(kind)) for kind in catalog.KINDS)


def test_an_entry_knows_its_parameters() -> None:
    (red,) = catalog.find("red")
    min_th = next(parameter for parameter in red.parameters if parameter.name == "min_th")
    assert red.kind == "aqm"
    assert "packets" in min_th.unit
    assert min_th.doc
    assert min_th.source


def test_a_profile_says_which_parameters_it_sets() -> None:
    (linux,) = catalog.find("linux")
    assert next(parameter for parameter in linux.parameters if parameter.name == "congestion_control").is_set
    assert not all(parameter.is_set for parameter in linux.parameters)


def test_the_sections_of_a_scenario_file_have_their_keys() -> None:
    sections = {section.name: section for section in catalog.entries("section")}
    duration = next(parameter for parameter in sections["scenario"].parameters if parameter.name == "duration")
    assert duration.required
    assert {"link", "link.queue", "flows", "record"} <= set(sections)


def test_a_parameter_that_is_not_always_read_says_when() -> None:
    (linux,) = catalog.find("linux")
    assert any(parameter.read_when for parameter in linux.parameters)
    assert not all(parameter.read_when for parameter in linux.parameters)


def test_every_table_and_column_says_what_it_is() -> None:
    for table in catalog.tables():
        assert table.doc
        assert all(column.doc and column.kind in {"real", "count", "index", "name"} for column in table.columns)
    assert {column.name: column.words for column in catalog.table("events").columns}["kind"] == ("mark", "drop")


def test_the_tables_of_a_run_are_those_that_are_declared(small_result: Result) -> None:
    for name in small_result.tables:
        declared = [column.name for column in catalog.table(name).columns]
        assert small_result.table(name).columns == ["seed", *declared]


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("fq_codel", 'write queue = { discipline = "fq", limit = 10240, aqm = "codel" }'),
        ("pfifo", 'write queue = { aqm = "droptail", limit = 1000 }'),
        ("ns3::FqCoDelQueueDisc", 'discipline = "fq"'),
        ("netem", "impair = "),
        ("bbr", 'write congestion_control = "bbr" in tcp, and use --backend uml or live'),
    ],
)
def test_a_name_of_another_tool_is_answered_with_its_form_here(name: str, fix: str) -> None:
    with pytest.raises(UnknownName, match=f"{re.escape(name)}'; fix: .*{re.escape(fix)}"):
        catalog.find(name)


def test_a_name_or_kind_that_is_not_there_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'newreno'"):
        catalog.find("newrenno")
    with pytest.raises(UnknownName, match="did you mean 'groups'"):
        catalog.table("group")
    with pytest.raises(UnknownName, match="did you mean 'aqm'"):
        catalog.entries("aqn")
