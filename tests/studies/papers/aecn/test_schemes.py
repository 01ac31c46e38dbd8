import pytest

import ecnlab
from ecnlab.scenarios import networks
from ecnlab.studies.papers.aecn import STUDY, schemes
from ecnlab.studies.papers.aecn.published import TABLE_5_1
from ecnlab.studies.papers.aecn.table import JAIN_DEFINITIONS


@pytest.mark.parametrize("name", schemes.QUEUE_OF_SCHEME)
@pytest.mark.parametrize("chapter", [networks.CHAPTER_4, networks.CHAPTER_5], ids=["chapter 4", "chapter 5"])
def test_every_scheme_on_every_network_is_a_sound_scenario(name: str, chapter: networks.ThesisNetworkParameters) -> None:
    chosen = ecnlab.scenario(schemes.scheme_scenario(name, 60, 0.5, chapter))
    assert chosen.group_names == ["fragile", "average", "robust"]
    assert (chosen.duration_s, chosen.measure_from_s) == (100.0, 20.0)
    assert sum(group["count"] for group in chosen.resolved["flows"]) == 60


def test_the_sources_of_chapter_5_share_90_mbps() -> None:
    access = schemes.scheme_scenario("ECN", 60)["flows"][0]["access"]
    assert access == {"to": "router", "rate": "1.5 Mbps", "delay": "95 ms", "spread": "1 ns"}


def test_red_s_senders_speak_no_ecn() -> None:
    assert [flows["tcp"]["ecn"] for flows in schemes.scheme_scenario("RED", 60)["flows"]] == [False] * 3
    assert [flows["tcp"]["ecn"] for flows in schemes.scheme_scenario("AECN", 60)["flows"]] == [True] * 3


def test_every_scenario_of_the_study_is_sound() -> None:
    for item in STUDY.items:
        for need in item.needs.values():
            assert ecnlab.scenario(need.scenario).hash


def test_settings_take_the_place_of_the_thesis_own_and_stand_in_the_title() -> None:
    tree = schemes.scheme_scenario("ECN", 60, 0.2, networks.CHAPTER_4, min_th=20, max_th=60)
    queue = tree["link"][0]["queue"]
    assert (queue["min_th"], queue["max_th"], queue["max_p"], queue["limit"], queue["w_q"]) == (20, 60, 0.2, 120, 0.002)
    assert tree["name"] == "ECN, chapter 4, 60 flows, max_p 0.2, min_th 20, max_th 60"


def test_a_need_is_one_object_for_all_that_ask_for_it() -> None:
    assert schemes.required_scheme_scenario("ECN", 60, 0.5) is schemes.scheme_measure("goodput_bps", "ECN", 60, 0.5).need
    assert schemes.required_scheme_scenario("ECN", 60, 0.5) is not schemes.required_scheme_scenario("ECN", 60, 0.5, networks.CHAPTER_4)


def test_a_quantity_knows_what_ns2_measured_of_the_same_scheme() -> None:
    assert schemes.scheme_measure("goodput_first_bps", "RED", 60, 0.2, networks.CHAPTER_4).known == pytest.approx(9.1137e6, rel=1e-3)
    assert schemes.scheme_measure("delay_mean_s", "ECN", 60, group="fragile").known == pytest.approx(0.121, abs=0.01)
    assert schemes.scheme_measure("jain_1s_throughput", "AECN, alpha 1", 60).known == pytest.approx(0.723, abs=0.005)
    assert schemes.scheme_measure("jain_1s_throughput", "AECN, alpha 1", 60, alpha=1.5).known is None


def test_ns2_has_no_number_where_it_measured_something_else() -> None:
    assert schemes.ns2_row_of_scheme("RED", 120, 0.2, networks.CHAPTER_4, min_th=5, max_th=15) is None
    assert schemes.ns2_row_of_scheme("RED", 60, 0.5, networks.CHAPTER_5, limit=60) is None
    assert schemes.ns2_row_of_scheme("AECN", 60, 0.5, networks.CHAPTER_4) is None


def test_an_item_is_found_by_its_number_or_its_heading() -> None:
    assert [item.heading for item in STUDY.choose_items(["5.29"])] == ["Figure 5.29"]
    assert [item.heading for item in STUDY.choose_items(["Table 5.1"])] == ["Table 5.1"]
    with pytest.raises(ecnlab.UnknownName):
        STUDY.choose_items(["9.99"])


def test_the_published_table_has_four_rows_of_index_and_goodput() -> None:
    assert len(TABLE_5_1) == 4
    assert all(0 < jain < 1 and 8 < goodput < 10 for jain, goodput in TABLE_5_1.values())


def test_jain_s_index_is_over_throughput_and_the_nearest_to_table_5_1() -> None:
    distances = {}
    for definition in JAIN_DEFINITIONS:
        rows = {key: schemes.ns2_row_of_scheme(*key, 0.5, networks.CHAPTER_5) for key in TABLE_5_1}
        found = {key: row.estimate_of_quantity(definition) for key, row in rows.items() if row is not None}
        if all(mean is not None for mean in found.values()):
            distances[definition] = sum((mean.mean - TABLE_5_1[key][0]) ** 2 for key, mean in found.items() if mean is not None)
    assert len(distances) >= 5
    assert min(distances, key=lambda definition: distances[definition]) == schemes.JAIN == "jain_1s_throughput"
