from pathlib import Path

import pytest

import ecnlab
from ecnlab.validate.rows import ERAS, read_table
from ecnlab.validate.tables import OWN_TABLES


@pytest.mark.parametrize("path", OWN_TABLES, ids=lambda path: path.stem)
def test_every_row_of_our_own_tables_is_a_sound_scenario(path: Path) -> None:
    table = read_table(path)
    assert len(table.rows) >= 22
    for row in table.rows:
        assert ecnlab.scenario(table.to_scenario(row)).duration_s == 100.0


def test_an_era_chooses_the_profile(tmp_path: Path) -> None:
    table = _table(tmp_path / "ch5.csv", "era,mode,n,maxp,seeds", "235,red,60,0.5,3", "21b7,ecn,60,0.8,5")
    new, old = (table.to_scenario(row) for row in table.rows)
    assert new["flows"][0]["tcp"]["profile"] == "ns2"
    assert new["flows"][0]["tcp"]["ecn"] is False
    assert old["flows"][0]["tcp"]["profile"] == "ns2-2001"
    assert old["link"][0]["queue"]["max_p"] == 0.8
    assert set(ERAS) == {"21b7", "235"}


def test_thresholds_in_a_row_are_used(tmp_path: Path) -> None:
    table = _table(tmp_path / "any.csv", "era,mode,n,maxp,minth,maxth,seeds", "21b7,ecn,60,0.5,20,60,3")
    tree = table.to_scenario(table.rows[0])
    assert (tree["link"][0]["queue"]["min_th"], tree["link"][0]["queue"]["max_th"]) == (20.0, 60.0)
    assert tree["flows"][0]["access"] == {"to": "router", "rate": "5.0 Mbps", "delay": "145 ms", "spread": "1 ns"}


def test_an_aecn_row_sets_count_balance_and_thresholds(tmp_path: Path) -> None:
    header = "count,sweep,flows,base_max_p,alpha,beta,robust_min_th,max_th,population,seeds"
    table = _table(tmp_path / "any.csv", header, "router,x,60,0.5,2.0,3.0,9,50,1,5")
    queue = table.to_scenario(table.rows[0])["link"][0]["queue"]
    assert (queue["count"], queue["balance"]) == ("router", "population")
    assert (queue["robust_min_th"], queue["max_th"], queue["alpha"], queue["beta"]) == (9.0, 50.0, 2.0, 3.0)


def test_a_file_of_no_known_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="cannot tell which network"):
        _table(tmp_path / "mine.csv", "era,mode,n,maxp,seeds", "235,red,60,0.5,3")


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="missing columns maxp, seeds"):
        _table(tmp_path / "ch4.csv", "era,mode,n", "235,red,60")


@pytest.mark.parametrize("line", ["1999,red,60,0.5,3", "235,blue,60,0.5,3", "235,red,sixty,0.5,3"])
def test_a_row_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    table = _table(tmp_path / "ch4.csv", "era,mode,n,maxp,seeds", line)
    with pytest.raises(ecnlab.UsageError, match=r"ch4\.csv:2: "):
        table.to_scenario(table.rows[0])


def _table(path: Path, *lines: str):
    path.write_text("\n".join(lines) + "\n")
    return read_table(path)
