"""Each input of each corpus passes its target (`fuzz/targets.py`); the Rust targets are tested in `fuzz/tests`."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_targets", FUZZ / "targets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


targets = load()


@pytest.mark.parametrize("name", targets.TARGETS)
def test_every_input_passes_its_target(name: str) -> None:
    inputs = sorted((FUZZ / "corpus" / name).iterdir())
    assert 3 <= len(inputs) <= 120
    assert sum(path.stat().st_size for path in inputs) <= 120_000
    for path in inputs:
        targets.TARGETS[name](path.read_bytes())


def test_the_sound_batch_is_read() -> None:
    from ecnlab.storage.segments import StoredBatch

    batch = StoredBatch.open(targets._folder({}))
    assert batch.is_whole()
    assert list(batch.parts[0].read("total").column("seed")) == [1, 2]


def test_a_valid_result_of_the_guest_is_a_run() -> None:
    ran = targets.ran_on_uml((FUZZ / "corpus" / "uml_result" / "run").read_bytes())
    assert list(ran.tables["total"].column("x")) == [1]
