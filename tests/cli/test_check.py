import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import Outcome
from own_aqms import RED_BY_HAND

Command = Callable[..., Outcome]

DROPS_ALL = """\
import ecnlab as lab

class DropsAll(lab.Aqm):
    def on_arrival(self, arrival):
        return lab.drop()
"""


@pytest.fixture
def drops_all(tmp_path: Path) -> Path:
    path = tmp_path / "drops_all.py"
    path.write_text(DROPS_ALL)
    return path


@pytest.mark.parametrize("aqm", ["red", RED_BY_HAND])
def test_an_aqm_that_keeps_every_rule_passes(command: Command, aqm: str) -> None:
    done = command("check", aqm)
    assert (done.code, done.err) == (0, "")
    assert "FAILS" not in done.out
    assert "RFC 7567" in done.out


def test_red_by_hand_is_judged_as_the_built_in_is(command: Command) -> None:
    theirs, mine = (json.loads(command("check", aqm, "--json").out) for aqm in ("red", RED_BY_HAND))
    assert [(rule["name"], rule["ok"]) for rule in theirs["checks"]] == [(rule["name"], rule["ok"]) for rule in mine["checks"]]


def test_an_aqm_that_breaks_a_rule_is_told_and_fails(command: Command, drops_all: Path) -> None:
    done = command("check", drops_all)
    assert done.code == 1
    assert "DropsAll: empty: The first packet to an empty queue passes." in done.err
    assert "FAILS" in done.out


def test_an_aqm_that_raises_is_told_with_its_traceback(command: Command, drops_all: Path) -> None:
    drops_all.write_text(DROPS_ALL.replace("return lab.drop()", "return lab.PASS if arrival.backlog.packets < 9 else 1 / 0"))
    done = command("check", drops_all, "--quiet")
    assert (done.code, done.out) == (1, "")
    assert "DropsAll: raises:" in done.err
    assert "ZeroDivisionError" in done.err
    assert "else 1 / 0" in done.err


def test_an_unknown_name_suggests_the_nearest(command: Command) -> None:
    done = command("check", "redd")
    assert done.code == 2
    assert "there is no AQM named 'redd'; did you mean 'red'?" in done.err
