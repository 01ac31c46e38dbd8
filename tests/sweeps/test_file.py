from pathlib import Path

import pytest

from ecnlab.errors import UsageError
from ecnlab.sweeps.file import SweepFile, is_sweep_file, read_sweep_file

WHOLE_FILE = """\
name = "schemes"
scenario = "../small.toml"
seeds = "1..3,7"
tables = ["flows"]
aqms = ["own/my_aqm.py:Mine"]

[set]
duration = "9 s"

[grid]
"link.bottleneck.queue.max_p" = [0.1, 0.5]
flows = { values = "2..6 step 2" }

[grid.scheme]
RED = { "link.bottleneck.queue.aqm" = "red" }

[derived]
"flows.*.count" = "flows / 2"

[[point]]
scheme = "RED"
label = "alone"
"""


def test_a_sweep_file_defines_all_parts_of_a_sweep(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(WHOLE_FILE)
    assert is_sweep_file(path)
    assert read_sweep_file(path) == SweepFile(
        path,
        name="schemes",
        scenario=tmp_path / "../small.toml",
        seeds=[1, 2, 3, 7],
        tables=["flows"],
        aqms=[str(tmp_path / "own/my_aqm.py:Mine")],
        changes={"duration": "9 s"},
        grid={
            "link.bottleneck.queue.max_p": [0.1, 0.5],
            "flows": {"values": "2..6 step 2"},
            "scheme": {"RED": {"link.bottleneck.queue.aqm": "red"}},
        },
        derived={"flows.*.count": "flows / 2"},
        points=[{"scheme": "RED", "label": "alone"}],
    )


def test_what_a_sweep_file_leaves_out_is_as_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "load.toml"
    path.write_text('scenario = "small.toml"\nseeds = 2\n')
    assert read_sweep_file(path) == SweepFile(path, "load", tmp_path / "small.toml", [1, 2], aqms=[])


def test_a_scenario_is_no_sweep_file(small_file: Path, tmp_path: Path) -> None:
    assert not is_sweep_file(small_file)
    assert not is_sweep_file(tmp_path / "nowhere.toml")
    (tmp_path / "torn.toml").write_text("scenario = ")
    assert not is_sweep_file(tmp_path / "torn.toml")


def test_all_errors_of_a_sweep_file_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        'scenario = "s.toml"\nsceeds = 3\ngrid = 3\nseeds = "x"\ntables = [3]\npoint = "a"\n[set]\nlink.bottleneck.rate = "1 Mbps"\n'
    )
    with pytest.raises(UsageError) as refused:
        read_sweep_file(path)
    told = str(refused.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in told)
    for part in ("did you mean 'seeds'", "grid: must be a table", "point: must be a list", "tables: must be a list of texts", "seeds: "):
        assert part in str(refused.value)
    assert 'set: link: is a table, not a value; fix: write the whole key in quotes, as in "link.bottleneck.rate" = ...' in str(
        refused.value
    )
    assert len(told) == 6
