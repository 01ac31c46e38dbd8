import numpy as np

from ecnlab.frames import to_frames


def test_indices_become_names_and_the_seed_comes_first() -> None:
    tables = {
        "events": {
            "time_s": np.array([0.5, 1.5]),
            "queue": np.array([1, 0], dtype=np.uint32),
            "kind": np.array([0, 1], dtype=np.uint8),
            "cause": np.array([2, 1], dtype=np.uint8),
        }
    }
    frame = to_frames(tables, ["far"], ["west", "east"], 7)["events"]
    assert frame.columns == ["seed", "time_s", "queue", "kind", "cause"]
    assert frame.rows() == [(7, 0.5, "east", "mark", "overflow"), (7, 1.5, "west", "drop", "forced")]


def test_an_empty_table_keeps_its_columns() -> None:
    frame = to_frames({"lockouts": {"flow": np.array([], dtype=np.uint32), "start_s": np.array([])}}, [], [], 1)["lockouts"]
    assert frame.columns == ["seed", "flow", "start_s"]
    assert frame.height == 0
