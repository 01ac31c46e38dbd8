from pathlib import Path

import pytest

import ecnlab
from ecnlab.validation.rows import ERA_NAMES, ReferenceTable, read_tables
from ecnlab.validation.tables import REFERENCE_TABLES

RED_TABLE = "era,mode,n,maxp,seeds"
ROW = "235,red,60,0.5,3"
AECN = "count,sweep,flows,base_max_p,alpha,beta,robust_min_th,max_th,population,seeds"


@pytest.mark.parametrize("path", REFERENCE_TABLES, ids=lambda path: path.stem)
def test_every_row_of_our_own_tables_is_a_sound_scenario(path: Path) -> None:
    (table,) = read_tables([path])
    assert len(table.rows) >= 9
    assert {row.scenario.duration_s for row in table.rows} == {100.0}


def test_a_row_is_named_by_the_columns_that_tell_it_in_the_file_s_order() -> None:
    named = {table.name: table.row_label(table.rows[0]) for table in read_tables(REFERENCE_TABLES)}
    assert named["thesis-ch4"] == "era=21b7 mode=ecn n=120 maxp=0.1"
    assert named["thesis-ch4-maxp"] == "era=21b7 mode=ecn n=120 maxp=0.1 minth=10 maxth=30"
    assert named["thesis-aecn"].startswith("count=group sweep=aecn3_minth flows=120 ")
    assert named["amecn-ared"] == "workload=fig5 adaptive=0 mode=ecn gentle=1"


def test_an_era_chooses_the_profile(tmp_path: Path) -> None:
    new, old = (row.tree for row in _table_from(tmp_path / "ch5.csv", RED_TABLE, ROW, "21b7,ecn,60,0.8,5").rows)
    assert new["flows"][0]["tcp"]["profile"] == "ns2"
    assert new["flows"][0]["tcp"]["ecn"] is False
    assert old["flows"][0]["tcp"]["profile"] == "ns2-2001"
    assert old["link"][0]["queue"]["max_p"] == 0.8
    assert set(ERA_NAMES) == {"21b7", "235"}


def test_thresholds_in_a_row_are_used(tmp_path: Path) -> None:
    tree = _table_from(tmp_path / "any.csv", "era,mode,n,maxp,minth,maxth,seeds", "21b7,ecn,60,0.5,20,60,3").rows[0].tree
    assert (tree["link"][0]["queue"]["min_th"], tree["link"][0]["queue"]["max_th"]) == (20.0, 60.0)
    assert tree["flows"][0]["access"] == {"to": "router", "rate": "5.0 Mbps", "delay": "145 ms", "spread": "1 ns"}


def test_an_aecn_row_sets_count_balance_and_thresholds(tmp_path: Path) -> None:
    queue = _table_from(tmp_path / "any.csv", AECN, "router,x,60,0.5,2.0,3.0,9,50,1,5").rows[0].tree["link"][0]["queue"]
    assert (queue["count"], queue["balance"], queue["ratios"]) == ("router", "population", "whole")
    assert (queue["robust_min_th"], queue["max_th"], queue["alpha"], queue["beta"]) == (9.0, 50.0, 2.0, 3.0)


def test_a_row_of_two_way_traffic_has_its_queue_before_both_directions(tmp_path: Path) -> None:
    lines = ["workload,adaptive,mode,gentle,seeds,drops", "fig5,0,red,0,5,4545", "fig5,1,ecnstock,1,5,4406"]
    red, ared = (row.tree["link"][0] for row in _table_from(tmp_path / "any.csv", *lines).rows)
    assert red["queue"] == red["reverse"]["queue"]
    assert (red["queue"]["aqm"], red["queue"]["gentle"]) == ("red", False)
    assert (ared["queue"]["aqm"], ared["queue"]["adapt"], ared["queue"]["mark_limit"]) == ("ared", "arrivals", 0.1)


def test_a_queue_of_two_way_traffic_is_counted_with_its_acknowledgements(tmp_path: Path) -> None:
    table = _table_from(tmp_path / "any.csv", "workload,adaptive,mode,gentle,seeds", "fig5,0,red,0,5")
    values = table.columns.values(ecnlab.run(table.rows[0].scenario, [1]))
    assert set(values) == table.columns.compared
    data_alone = 1.5e6 / 8000 * 100
    assert values["arrivals"][0] > 1.5 * data_alone


def test_an_experiment_of_red_ecn_says_whether_bursts_of_datagrams_are_beside_the_flows(tmp_path: Path) -> None:
    header = "experiment,delay_ms,scheme,seeds"
    alone, beside = (row.tree for row in _table_from(tmp_path / "any.csv", header, "1,250,ecn,8", "2,25,red,8").rows)
    assert [group["name"] for group in alone["flows"]] == ["bulk"]
    assert [(group["name"], group["count"]) for group in beside["flows"]] == [("bulk", 10), ("bursts", 8)]
    assert (alone["link"][0]["delay"], alone["link"][1]["queue"]["aqm"], alone["flows"][0]["tcp"]["ecn"]) == ("250.0 ms", "ecn", True)


def test_a_target_delay_in_a_row_of_two_way_traffic_makes_the_thresholds(tmp_path: Path) -> None:
    lines = ["workload,adaptive,mode,gentle,target_delay_ms,seeds", "fig5,1,ecn,1,,5", "fig5,1,ecn,1,60,5"]
    fixed, made = (row.tree["link"][0]["queue"] for row in _table_from(tmp_path / "any.csv", *lines).rows)
    assert (fixed["min_th"], fixed["max_th"]) == (5, 15)
    assert (made["min_th"], made["max_th"], made["target_delay"]) == ("auto", "auto", "60 ms")


def test_a_column_of_red_ecn_may_have_its_other_name(tmp_path: Path) -> None:
    header = "experiment,delay_ms,scheme,seeds,mean_kbps,sd"
    (row,) = _table_from(tmp_path / "any.csv", header, "1,250,ecn,8,127.6,2.3").rows
    assert (row.line.cell_text("goodput_kbps"), row.line.cell_text("goodput_kbps_sd")) == ("127.6", "2.3")


HEADERS = {
    "": "mine-ch4.csv:1: the file is empty",
    RED_TABLE: "mine-ch4.csv:1: the table has no rows",
    f"era,mode,n\n{ROW}": "mine-ch4.csv:1: missing columns maxp, seeds",
    f"{RED_TABLE},maxp\n{ROW},0.5": "mine-ch4.csv:1: column maxp: occurs 2 times",
    f"{RED_TABLE},\n{ROW},": "mine-ch4.csv:1: a column has no name",
    f"{RED_TABLE},goodputs_mbps\n{ROW},9": "mine-ch4.csv:1: column goodputs_mbps: unknown; did you mean 'goodput_mbps'",
    f"{RED_TABLE},colour\n{ROW},blue": "mine-ch4.csv:1: column colour: unknown, and not compared",
    f'{RED_TABLE}\n235,"red': "mine-ch4.csv is not a CSV file in UTF-8: ",
}
CELLS = {
    "1999,red,60,0.5,3": "column era: '1999' is unknown; fix: use one of 21b7, 235",
    "235,blue,60,0.5,3": "column mode: 'blue' is unknown; fix: use one of red, ecn, ecnm",
    "235,red,sixty,0.5,3": "column n: 'sixty' must be a positive multiple of 3",
    "235,red,0,0.5,3": "column n: '0' must be a positive multiple of 3",
    "235,red,-3,0.5,3": "column n: '-3' must be",
    "235,red,10,0.5,3": "column n: '10' must be",
    f"235,red,{'9' * 5000},0.5,3": "column n: '9",
    "235,red,60,half,3": "column maxp: 'half' is not a number",
    "235,red,60,nan,3": "column maxp: nan must be finite and at least 0",
    "235,red,60,1.5,3": "link.bottleneck.queue.max_p: ",
    "235,red,60,0.5,0": "column seeds: '0' must be a positive whole number",
    "235,red,60,0.5,-1": "column seeds: '-1' must be",
    "235,red,60,0.5,": "column seeds: '' must be",
    "235,red,60,0.5": "4 cells under 7 columns",
    "235,red,60,0.5,3,9,1,7": "8 cells under 7 columns",
    "235,red,60,0.5,3,much,0": "column goodput_mbps: 'much' is not a number",
    "235,red,60,0.5,3,nan,0": "column goodput_mbps: nan must be finite",
    "235,red,60,0.5,3,1e999,0": "column goodput_mbps: 1e999 must be finite",
    "235,red,60,0.5,3,9,-0.1": "column goodput_mbps_sd: -0.1 must be finite and at least 0",
    "235,red,60,0.5,3,9,wide": "column goodput_mbps_sd: 'wide' is not a number",
    "235,red,60,0.5,1,9,0.1": "column goodput_mbps_sd: 0.1 must be 0 or empty: one seed has no spread",
}


@pytest.mark.parametrize("text", HEADERS, ids=ascii)
def test_a_header_that_cannot_be_meant_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine-ch4.csv"
    path.write_text(text)
    assert HEADERS[text] in _refusal_of([path])


@pytest.mark.parametrize("row", CELLS, ids=lambda row: row[:40])
def test_a_row_that_cannot_be_meant_is_refused_with_its_line_and_column(row: str, tmp_path: Path) -> None:
    path = tmp_path / "mine-ch4.csv"
    path.write_text(
        f"{RED_TABLE},goodput_mbps,goodput_mbps_sd\n{ROW},9,0.1\n\n{row}{'' if 'cells' in CELLS[row] else ',' * (6 - row.count(','))}\n"
    )
    refusal = _refusal_of([path])
    assert f"mine-ch4.csv:4: {CELLS[row]}" in refusal
    assert "ch4.csv:2" not in refusal


def test_all_errors_of_all_files_are_reported_together(tmp_path: Path) -> None:
    first, second = tmp_path / "a-ch4.csv", tmp_path / "b-ch5.csv"
    first.write_text(f"{RED_TABLE}\n1999,red,0,0.5,3\n235,red,60,0.5,none\n235,red\n")
    second.write_text(f"{RED_TABLE}\n")
    told = [line.split(": ")[0].split("/")[-1] for line in _refusal_of([first, second]).splitlines()]
    assert told == ["a-ch4.csv:2", "a-ch4.csv:2", "a-ch4.csv:3", "a-ch4.csv:4", "b-ch5.csv:1"]


def test_a_file_of_no_known_network_or_none_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{RED_TABLE}\n{ROW}\n")
    (tmp_path / "other-ch4.csv").write_bytes(b"\xff\xfe\x00")
    assert "cannot tell which network" in _refusal_of([tmp_path / "mine.csv"])
    assert "cannot read" in _refusal_of([tmp_path / "none-ch4.csv"])
    assert "cannot read" in _refusal_of([tmp_path])
    assert "is not a CSV file in UTF-8" in _refusal_of([tmp_path / "other-ch4.csv"])


def _refusal_of(paths: list[Path]) -> str:
    with pytest.raises(ecnlab.UsageError) as refused:
        read_tables(paths)
    return str(refused.value)


def _table_from(path: Path, *lines: str) -> ReferenceTable:
    path.write_text("\n".join(lines) + "\n")
    (table,) = read_tables([path])
    return table
