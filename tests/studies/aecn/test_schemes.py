import pytest

import ecnlab
from ecnlab import networks
from ecnlab.studies.aecn import STUDY, schemes
from ecnlab.studies.aecn.published import TABLE_5_1


@pytest.mark.parametrize("name", schemes.QUEUES)
@pytest.mark.parametrize("chapter", [networks.CHAPTER_4, networks.CHAPTER_5], ids=["chapter 4", "chapter 5"])
def test_every_scheme_on_every_network_is_a_sound_scenario(name: str, chapter: networks.Thesis) -> None:
    chosen = ecnlab.scenario(schemes.scheme(name, 60, 0.5, chapter))
    assert chosen.group_names == ["fragile", "average", "robust"]
    assert (chosen.duration_s, chosen.measure_from_s) == (100.0, 20.0)
    assert sum(group["count"] for group in chosen.resolved["flows"]) == 60


def test_the_sources_of_chapter_5_share_90_mbps() -> None:
    access = schemes.scheme("ECN", 60)["flows"][0]["access"]
    assert access == {"to": "router", "rate": "1.5 Mbps", "delay": "95 ms", "spread": "1 ns"}


def test_red_s_senders_speak_no_ecn() -> None:
    assert [flows["tcp"]["ecn"] for flows in schemes.scheme("RED", 60)["flows"]] == [False] * 3
    assert [flows["tcp"]["ecn"] for flows in schemes.scheme("AECN", 60)["flows"]] == [True] * 3


def test_the_figures_that_the_issue_names_are_there() -> None:
    numbers = {item.number for item in STUDY.items}
    assert numbers >= {"5.20", "5.29", "5.1", "5.5", "5.28", "4.14", "4.15", "5.24", "5.25", "5.26", "5.27"}


def test_every_scenario_of_the_study_is_sound() -> None:
    for item in STUDY.items:
        for need in item.needs.values():
            assert ecnlab.scenario(need.scenario).hash


def test_an_item_is_found_by_its_number_or_its_heading() -> None:
    assert [item.heading for item in STUDY.choose(["5.29"])] == ["Figure 5.29"]
    assert [item.heading for item in STUDY.choose(["Table 5.1"])] == ["Table 5.1"]
    with pytest.raises(ecnlab.UnknownName):
        STUDY.choose(["9.99"])


def test_the_published_table_has_four_rows_of_index_and_goodput() -> None:
    assert len(TABLE_5_1) == 4
    assert all(0 < jain < 1 and 8 < goodput < 10 for jain, goodput in TABLE_5_1.values())
