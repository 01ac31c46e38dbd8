from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from helpers import EXAMPLES, Outcome

Command = Callable[..., Outcome]

FILE = str(EXAMPLES / "dumbbell.toml")


def test_the_picture_stands_in_the_folder_under_the_scenario_s_name(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("draw", FILE)
    assert (done.code, done.out) == (0, "network: dumbbell.svg\n")
    assert ElementTree.fromstring((tmp_path / "dumbbell.svg").read_text()).tag.endswith("svg")


def test_overrides_show_in_the_picture(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "net.svg"
    done = command("draw", FILE, "--set", "network.rate=3Mbps", "--set", "flows.many.count=7", "--out", str(out), "--quiet")
    assert (done.code, done.out) == (0, "")
    text = out.read_text()
    assert "3 Mbps, 10 ms" in text
    assert "many ×7" in text


def test_what_cannot_be_drawn_or_written_is_refused_and_nothing_is_written(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "net.svg"
    unsound = command("draw", FILE, "--set", "network.rate=0Mbps", "--out", str(out))
    assert unsound.code == 2
    assert "network.rate" in unsound.err
    assert not out.exists()
    nowhere = command("draw", FILE, "--out", str(tmp_path / "none" / "net.svg"))
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err
