import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import Outcome
from own_aqms import RED_BY_HAND

Command = Callable[..., Outcome]

DROPPING_AQM = """\
import ecnlab as lab

class DropsAll(lab.Aqm):
    def on_arrival(self, arrival):
        return lab.drop()
"""


@pytest.fixture
def drops_all(tmp_path: Path) -> Path:
    path = tmp_path / "drops_all.py"
    path.write_text(DROPPING_AQM)
    return path


@pytest.mark.parametrize("aqm", ["red", RED_BY_HAND])
def test_an_aqm_that_keeps_every_rule_passes(command: Command, aqm: str) -> None:
    done = command("test-aqm", aqm)
    assert (done.code, done.err) == (0, "")
    assert "FAILS" not in done.out
    assert "RFC 7567" in done.out


def test_a_missed_bound_of_the_defaults_is_named(command: Command) -> None:
    duties = {duty["name"]: duty for duty in json.loads(command("test-aqm", "droptail", "--json").out)["duties"]}
    assert duties["defaults"]["verdict"] == "no"
    assert re.match(
        r"1 Mbps: \d+\.\d % full \(must be < 50 %\), 100 % used, .* % overflow \(must be < 0\.01 %\); 10 Mbps: ",
        duties["defaults"]["found"],
    )


def test_red_by_hand_is_judged_as_the_built_in_is(command: Command) -> None:
    theirs, mine = (json.loads(command("test-aqm", aqm, "--json").out) for aqm in ("red", RED_BY_HAND))
    assert [(rule["name"], rule["ok"]) for rule in theirs["checks"]] == [(rule["name"], rule["ok"]) for rule in mine["checks"]]


def test_an_aqm_that_breaks_a_rule_is_reported_and_fails(command: Command, drops_all: Path) -> None:
    done = command("test-aqm", drops_all)
    assert done.code == 1
    assert "DropsAll: empty-queue: The first packet to an empty queue passes." in done.err
    assert "FAILS" in done.out


def test_an_aqm_that_raises_is_reported_with_its_traceback(command: Command, drops_all: Path) -> None:
    drops_all.write_text(DROPPING_AQM.replace("return lab.drop()", "return lab.PASS if arrival.backlog.packets < 9 else 1 / 0"))
    done = command("test-aqm", drops_all, "--quiet")
    assert (done.code, done.out) == (1, "")
    assert "DropsAll: exceptions:" in done.err
    assert "ZeroDivisionError" in done.err
    assert "else 1 / 0" in done.err


def test_an_unknown_name_suggests_the_nearest(command: Command) -> None:
    done = command("test-aqm", "redd")
    assert done.code == 2
    assert "unknown AQM 'redd'; did you mean 'red'?" in done.err


@pytest.mark.parametrize("body", ["1 / 0", 'return "mark"'])
def test_rules_and_duties_that_an_aqm_which_raises_cannot_be_tried_on_are_not_judged(command: Command, drops_all: Path, body: str) -> None:
    drops_all.write_text(DROPPING_AQM.replace("return lab.drop()", body))
    done = command("test-aqm", drops_all, "--json")
    report = json.loads(done.out)
    assert done.code == 1
    assert {rule["name"]: rule["ok"] for rule in report["checks"] if rule["ok"] is not None} == {"exceptions": False}
    assert {duty["verdict"] for duty in report["duties"]} == {"not judged"}
    assert "could not be judged" not in done.err
    assert not re.search(r"\bok\b", command("test-aqm", drops_all).out)


def test_rules_that_were_tried_before_an_aqm_raises_are_judged(command: Command, drops_all: Path) -> None:
    body = "return lab.PASS if arrival.now_s < 59 else 1 / 0"  # only the last trial takes that long
    drops_all.write_text(DROPPING_AQM.replace("return lab.drop()", body))
    found = {rule["name"]: rule["ok"] for rule in json.loads(command("test-aqm", drops_all, "--json").out)["checks"]}
    assert (found["exceptions"], found["after-idle"], found["conservation"], found["empty-queue"]) == (False, None, True, True)


UNEQUAL_AQM = """\
import itertools
import ecnlab as lab

class Unequal(lab.Aqm):
    def on_start(self):
        STARTS[0] += 1
        self.every = 5 + STARTS[0] % 2
        self.count = 0

    def on_arrival(self, arrival):
        self.count += 1
        return lab.mark() if self.count % self.every == 0 else lab.PASS

STARTS = [0]
"""


def test_findings_of_a_rule_are_reported_as_text(command: Command, drops_all: Path) -> None:
    drops_all.write_text(UNEQUAL_AQM)
    done = command("test-aqm", drops_all)
    told = next(line for line in done.err.splitlines() if "Unequal: determinism" in line)
    assert re.search(r"default values: packet \d+: one run (marked|sent) packet \d+.*, an equal one (marked|sent) packet \d+", told)
    drops_all.write_text(
        DROPPING_AQM.replace("return lab.drop()", "self.level = float('nan'); return lab.PASS").replace(
            "    def", "    level: float = lab.gauge()\n\n    def"
        )
    )
    done = command("test-aqm", drops_all)
    assert re.search(r"operation \d+, .*, at \S+ s: it shows level = NaN; declared are level", done.err)
    for text in (told, done.err):
        assert not re.search(r"Some\(|None|Packet \{|Bytes\(|Packets\(|Span\(|Time\(|with :", text)


PRINTING_AQM = """\
import ecnlab as lab

print("read")

class Printing(lab.Aqm):
    def on_start(self):
        print("started")

    def on_arrival(self, arrival):
        return lab.PASS
"""


def test_what_an_aqm_prints_goes_to_standard_error(command: Command, tmp_path: Path, small_file: Path) -> None:
    path = tmp_path / "printing.py"
    path.write_text(PRINTING_AQM)
    done = command("test-aqm", path, "--json")
    assert json.loads(done.out)["name"] == "Printing"
    assert "read\nstarted\n" in done.err
    queue = 'link.bottleneck.queue={ aqm = "Printing", limit = 60 }'
    done = command("run", small_file, "--aqm", f"{path}:Printing", "--set", queue, "--json", "--out", tmp_path / "r")
    assert json.loads(done.out)["seeds"] == [1]
    assert "started\n" in done.err
