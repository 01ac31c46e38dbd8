import pytest

from ecnlab import UnknownName, catalog


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
    assert next(parameter for parameter in linux.parameters if parameter.name == "congestion").is_set
    assert not all(parameter.is_set for parameter in linux.parameters)


def test_a_name_or_kind_that_is_not_there_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'newreno'"):
        catalog.find("newrenno")
    with pytest.raises(UnknownName, match="did you mean 'aqm'"):
        catalog.entries("aqn")
