"""Replay: repeated decisions, the first difference, and traces that cannot be replayed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import ecnlab as lab
from ecnlab.errors import ResultsError, ScenarioError, UnknownName
from ecnlab.scenarios.load import scenario_from_toml_text
from helpers import EXAMPLES, SMALL, Outcome

THRESHOLD = f"{EXAMPLES / 'threshold.py'}:Threshold"
RECORDED = {"record.arrivals": True}


def small(queue: str, **more: Any) -> lab.Scenario:
    text = SMALL.replace('{ aqm = "ecn", limit = 60, min_th = 5, max_th = 15, max_p = 0.5 }', queue)
    return scenario_from_toml_text(text, RECORDED, **more)


@pytest.mark.parametrize(
    "queue",
    [
        '{ aqm = "ecn", limit = 60, min_th = 5, max_th = 15 }',
        '{ aqm = "pi2", limit = 60 }',
        '{ discipline = "fq", limit = 60 }',
        '{ discipline = "dualpi2", limit = 60 }',
    ],
)
def test_every_decision_is_replayed(queue: str) -> None:
    result = lab.run(small(queue), [1, 2])
    found = lab.replay(result)
    assert found.agrees
    assert [(one.seed, one.queue) for one in found.queues] == [(1, "bottleneck"), (2, "bottleneck")]
    assert found.queues[0].arrivals > 100


def test_any_reader_of_parquet_reads_what_was_recorded(tmp_path: Path) -> None:
    """Stored tables have the columns `key` and `seed` in front, which no table may have itself."""
    lab.run(small('{ discipline = "fq", limit = 60 }'), [1], out=tmp_path)
    stored = pl.read_parquet(tmp_path / "batch-*" / "arrivals.parquet")
    assert stored.drop("key").equals(lab.open_result(tmp_path).series.arrivals)
    assert stored.filter(pl.col("event") == "arrival")["value"].n_unique() > 1
    names = {column["name"] for table in json.loads(lab._core.columns()) for column in table["columns"]}  # type: ignore[attr-defined]
    assert not names & {"key", "seed"}


def test_a_seed_that_is_damaged_is_reported(tmp_path: Path) -> None:
    for seed in (1, 2):
        lab.run(small('{ aqm = "pi2", limit = 60 }'), [seed], out=tmp_path)
    journals = sorted(tmp_path.glob("batch-*/batch.json"))
    assert len(journals) == 2
    journals[0].write_text(journals[0].read_text()[:40])
    found = lab.replay(tmp_path)
    assert len(found.queues) == 1
    assert any("damaged" in warning.message for warning in found.warnings), found.warnings


def test_an_aqm_of_one_s_own_is_replayed_too() -> None:
    scenario = small('{ aqm = "Threshold", limit = 60, most = 8 }', aqms=[THRESHOLD])
    result = lab.run(scenario, [1])
    (one,) = lab.replay(result, aqms=[THRESHOLD]).queues
    assert one.difference is None
    assert one.marks > 0
    with pytest.raises(ScenarioError, match="Threshold"):
        lab.replay(result)


def test_an_aqm_of_one_s_own_is_replayed_at_each_queue_of_a_parking_lot_and_within_a_discipline() -> None:
    by_hand = f"{EXAMPLES / 'red_by_hand.py'}:RedByHand"
    for queue in ('{ aqm = "RedByHand", limit = 60 }', '{ discipline = "fq", limit = 60, aqm = { name = "RedByHand" } }'):
        changes = RECORDED | {"network.queue": queue, "duration": "3 s", "measure_from": "1 s"}
        result = lab.run(lab.load(EXAMPLES / "parking_lot.toml", changes, aqms=[by_hand]), [1])
        found = lab.replay(result, aqms=[by_hand])
        assert found.agrees
        assert [one.queue for one in found.queues] == ["hop1", "hop2", "hop3"]
        assert all(one.drops for one in found.queues)


def test_an_aqm_that_is_not_deterministic_is_found_at_its_first_different_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLS", "0")  # state outside the AQM's digest

    class Counting(lab.Aqm):
        """Marks depend on the number of calls since the start of the process."""

        test_params: ClassVar[dict[str, float]] = {}

        def on_arrival(self, arrival: Any) -> Any:
            calls = int(os.environ["CALLS"])
            os.environ["CALLS"] = str(calls + 1)
            return lab.mark() if calls % 97 == 50 else lab.PASS

    result = lab.run(small('{ aqm = "Counting", limit = 60 }', aqms=[Counting]), [1])
    (one,) = lab.replay(result, aqms=[Counting]).queues
    assert one.difference is not None
    assert one.difference.time_s > 0
    assert one.difference.recorded != one.difference.replayed


def test_what_cannot_be_replayed_is_refused(small_result: lab.Result) -> None:
    with pytest.raises(ResultsError, match=r"fix: run it with --record"):
        lab.replay(small_result)
    with pytest.raises(UnknownName, match="bottleneck"):
        lab.replay(small_result, queue="bottleneck2")
    result = lab.run(small('{ aqm = "ecn", limit = 60 }'), [1])
    with pytest.raises(UnknownName, match="seed"):
        lab.replay(result, seeds=[9])


def test_the_simulator_refuses_a_queue_of_a_kernel() -> None:
    scenario = small('{ kernel = "red", limit = 60000, ecn = true }')
    with pytest.raises(ScenarioError, match=r"link\.bottleneck\.queue\.kernel: the simulator has no kernel; fix: use --backend uml"):
        lab.run(scenario, [1])


def test_a_kernel_queue_among_others_is_skipped_and_reported() -> None:
    both = '{ aqm = "ecn", limit = 60, min_th = 5, max_th = 15 }\nreverse = { queue = { aqm = "droptail", limit = 20 } }'
    result = lab.run(small(both), [1, 2])
    header = result.header
    header["parameters"]["link"][0]["queue"] = {"kernel": "red"}
    found = lab.replay(result)
    assert found.agrees
    assert [(one.seed, one.queue) for one in found.queues] == [(1, "bottleneck.reverse"), (2, "bottleneck.reverse")]
    (told,) = [warning for warning in found.warnings if warning.place == "link.bottleneck.queue"]
    assert "is a kernel's" in told.message
    with pytest.raises(ResultsError, match=r'the queue "bottleneck" is a kernel\'s'):
        lab.replay(result, queue="bottleneck")


def test_the_command_says_what_is_the_same_and_leaves_with_one_at_a_difference(
    command: Callable[..., Outcome], small_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert command("run", small_file, "--record", "--seeds", 2, "--out", folder, "--quiet").code == 0
    told = command("replay", folder, "--seed", 2)
    assert told.code == 0
    assert "seed 2  bottleneck  identical decisions: " in told.out
    header = folder / "run.json"
    changed = header.read_text().replace('"max_p": 0.5', '"max_p": 0.25')
    assert changed != header.read_text()
    header.write_text(changed)
    told = command("replay", folder, "--json")
    assert told.code == 1
    found = json.loads(told.out)
    assert not found["agrees"]
    assert {1, 2} == {one["seed"] for one in found["queues"]}
    assert "differs at" in command("replay", folder, "--queue", "bottleneck").out
    refused = command("replay", folder, "--queue", "b")
    assert refused.code == 2
    assert "bottleneck" in refused.err
