import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ecnlab.validation import fingerprints
from helpers import Outcome

Command = Callable[..., Outcome]


def test_the_examples_have_the_recorded_fingerprints(command: Command) -> None:
    done = command("validate", "fingerprints", "--json")
    tree = json.loads(done.out)
    assert [one for one in tree["fingerprints"] if not one["equal"]] == []
    assert done.code == 0


def test_another_fingerprint_and_a_missing_one_are_listed(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = fingerprints.read_recorded_fingerprints()
    right, recorded["ecn"] = recorded["ecn"], "0" * 16
    del recorded["red"]
    monkeypatch.setattr(fingerprints, "RECORDED", tmp_path / "recorded.json")
    fingerprints.RECORDED.write_text(json.dumps(recorded))
    done = command("validate", "fingerprints")
    assert done.code == 1
    assert f"FAIL  ecn: {right}, recorded {'0' * 16}\n" in done.out
    assert "recorded none" in done.out
    assert f"{len(recorded) + 1} examples, {len(recorded) - 1} equal, 2 different" in done.out
