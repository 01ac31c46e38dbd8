from pathlib import Path

import pytest

import ecnlab
from ecnlab import _core
from ecnlab.runner import Progress, Request, run_all
from helpers import EXAMPLES


def test_two_runs_of_one_seed_have_the_same_fingerprint_and_tables(small: ecnlab.Scenario) -> None:
    first, second = ecnlab.run(small, 5), ecnlab.run(small, 5)
    assert first.fingerprints == second.fingerprints
    assert first.flows.equals(second.flows, null_equal=True)


def test_one_thread_and_many_give_the_same_fingerprints(small: ecnlab.Scenario) -> None:
    one, many = ecnlab.run(small, range(1, 9), threads=1), ecnlab.run(small, range(1, 9), threads=4)
    assert one.fingerprints == many.fingerprints


def test_unlike_seeds_have_unlike_fingerprints(small: ecnlab.Scenario) -> None:
    assert len(set(ecnlab.run(small, range(1, 6)).fingerprints.values())) == 5


def test_a_folder_gives_the_same_result_as_memory(small: ecnlab.Scenario, tmp_path: Path) -> None:
    stored, kept = ecnlab.run(small, [1, 2], out=tmp_path / "r"), ecnlab.run(small, [1, 2])
    assert stored.fingerprints == kept.fingerprints
    assert stored.summary().equals(kept.summary(), null_equal=True)


def test_seeds_that_the_folder_has_are_not_run_again(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2], out=tmp_path / "r")
    before = (tmp_path / "r" / "seed-1").stat().st_ino
    result = ecnlab.run(small, [1, 2, 3], out=tmp_path / "r")
    assert result.seeds == [1, 2, 3]
    assert (tmp_path / "r" / "seed-1").stat().st_ino == before


def test_a_result_holds_only_the_seeds_that_were_asked_for(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1, 2, 3], out=tmp_path / "r")
    assert ecnlab.run(small, 2, out=tmp_path / "r").seeds == [2]


def test_ctrl_c_leaves_the_finished_seeds_usable(small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def advance(self: Progress, finished: int) -> None:
        if finished:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "advance", advance)
    with pytest.raises(ecnlab.Interrupted, match=r"of 500 runs had finished") as raised:
        ecnlab.run(small, range(500), out=tmp_path / "r", threads=1)
    result = raised.value.result
    assert result is not None
    assert 1 <= len(result.seeds) < 500
    assert ecnlab.open_result(tmp_path / "r").fingerprints == result.fingerprints


def test_the_engine_stops_when_it_is_told_to() -> None:
    long = ecnlab.load(EXAMPLES / "ecn.toml", {"duration": "100000 s", "record.rates": False, "record.queue": "1000 s"})
    with pytest.raises(_core.Interrupted):
        long.core.run(1, lambda: True)


def test_results_come_in_the_order_of_the_requests(small: ecnlab.Scenario, small_file: Path) -> None:
    other = ecnlab.load(small_file, {"name": "other"})
    names = [result.name for result in run_all([Request(other, [1]), Request(small, [1, 2])])]
    assert names == ["other", "small"]


@pytest.mark.parametrize("seeds", [[], -1, 2**63, [1, -5]])
def test_seeds_out_of_range_are_refused(small: ecnlab.Scenario, seeds: object, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError):
        ecnlab.run(small, seeds, out=tmp_path / "r")  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()
