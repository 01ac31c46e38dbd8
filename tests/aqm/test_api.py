import json
import re
import threading
from typing import Any

import pytest

import ecnlab
from ecnlab import _core
from ecnlab.aqm import PASS, Aqm, Arrival, Idling, Line, TimerContext, Verdict, drop, exp, gauge, ln, mark, plugins, powi
from ecnlab.aqm.fingerprint import load_aqm_class
from helpers import EXAMPLES
from own_aqms import RED_BY_HAND, Departing, Grouping, Passes, Ticking, counted, run_with, scenario_with

_SIGNAL_QUANTITIES = ("marks", "drops", "drops_early", "drops_forced", "drops_overflow", "average_mean_packets")


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(
    ("built_in", "settings"),
    [
        ("red", ", min_th = 5, max_th = 15, max_p = 0.1"),
        ("red", ", min_th = 2, max_th = 6, max_p = 0.5, w_q = 0.02, mean_packet = '1000 B'"),
        ("ecn", ", min_th = 5, max_th = 15, max_p = 0.5"),
        ("ecn", ", min_th = 5, max_th = 60, max_p = 0.01"),
    ],
)
def test_red_by_hand_agrees_with_the_built_in_packet_by_packet(built_in: str, settings: str, seed: int) -> None:
    own = ", ecn = true" if built_in == "ecn" else ""
    theirs, mine = run_with(built_in, settings, seed), run_with(RED_BY_HAND, settings + own, seed)
    assert theirs.fingerprint == mine.fingerprint
    assert counted(theirs, *_SIGNAL_QUANTITIES) == counted(mine, *_SIGNAL_QUANTITIES)
    assert sum(counted(mine, "marks", "drops")) > 0


def test_red_by_hand_agrees_where_the_link_is_often_idle() -> None:
    changes = {"flows.*.tcp.max_rwnd": 8, "link.bottleneck.rate": "4 Mbps"}
    settings = ", min_th = 0.1, max_th = 1, max_p = 1, w_q = 0.5"
    theirs, mine = run_with("red", settings, **changes), run_with(RED_BY_HAND, settings, **changes)
    assert theirs.fingerprint == mine.fingerprint
    assert counted(mine, "drops")[0] > 0


def test_hooks_receive_the_arriving_packet() -> None:
    seen: list[Arrival] = []
    lines: list[Line] = []

    class Looking(Aqm):
        def on_start(self) -> None:
            lines.append(self.line)

        def on_arrival(self, arrival: Arrival) -> Verdict:
            seen.append(arrival)
            return PASS

    run_with(Looking)
    assert lines == [Line(2_000_000, 60, None)]
    assert {(one.size, one.ecn, one.capable, len(one.groups)) for one in seen} == {(1000, 2, True, 0), (1000, 0, False, 0)}
    assert all(one.now_s == pytest.approx(one.now_ps / 1e12, abs=1e-12) for one in seen)
    assert all(one.backlog.bytes == 1000 * one.backlog.packets for one in seen)
    assert {one.full for one in seen} == {True, False}
    assert all(one.full == (one.backlog.packets == 60) for one in seen)
    assert max(one.head_waited_s for one in seen) == pytest.approx(60 * 0.004, rel=0.05)
    assert len({one.flow for one in seen}) == 6
    assert 0.03 < max(one.rtt_s for one in seen) < 0.2


def test_an_on_departure_hook_marks_packets_by_sojourn_time() -> None:
    marks, early = counted(run_with(Departing), "marks", "drops_early")
    assert marks > 10
    assert counted(run_with(Passes), "marks", "drops_early") == [0, 0]
    assert early >= 0


def test_a_class_is_woken_at_its_deadlines_and_no_more_after_none() -> None:
    woken: list[float] = []

    class Counting(Ticking):
        def on_deadline(self, context: TimerContext) -> float | None:
            woken.append(context.now_s)
            return super().on_deadline(context)

    assert counted(run_with(Counting), "marks")[0] > 100
    assert woken == [0.5, 1.0, 1.5]


def test_a_class_with_groups_marks_and_drops_among_them() -> None:
    marks, early, forced = counted(run_with(Grouping), "marks", "drops_early", "drops_forced")
    assert min(marks, early + forced) > 0


def test_gauges_are_recorded_as_they_stand() -> None:
    assert set(run_with(Ticking).tables["series_gauge"].column("value")) == {0.0, 1.0, 2.0, 3.0}


def test_equal_seeds_give_equal_draws_and_other_seeds_others() -> None:
    drawn: list[list[float]] = []

    class Drawing(Aqm):
        def on_start(self) -> None:
            drawn.append([])

        def on_arrival(self, arrival: Arrival) -> Verdict:
            drawn[-1].append(self.random())
            return PASS

    for seed in (1, 1, 2):
        run_with(Drawing, seed=seed)
    first, again, other = drawn
    assert first == again
    assert first[:5] != other[:5]
    assert 0 <= min(first) <= max(first) < 1
    assert sum(first) / len(first) == pytest.approx(0.5, abs=0.05)


TUTORIAL_TEXT = (EXAMPLES.parent / "docs" / "how-to" / "custom-aqm.md").read_text()


def _tutorial_code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", TUTORIAL_TEXT, re.DOTALL)


def test_the_tutorials_smallest_aqm_is_the_example_and_works() -> None:
    path = EXAMPLES / "threshold.py"
    assert path.read_text().endswith(_tutorial_code_blocks()[0])
    marks, early = counted(run_with(f"{path}:Threshold", ", most = 10"), "marks", "drops_early")
    assert marks > 100
    assert early < marks
    assert all(
        rule["ok"] for rule in json.loads(_core.check_aqm(plugins.registry_entry_of_aqm(load_aqm_class(f"{path}:Threshold"))))["checks"]
    )


def test_what_the_tutorial_quotes_of_red_stands_in_the_example() -> None:
    example = {line.strip() for line in (EXAMPLES / "red_by_hand.py").read_text().splitlines()}
    quoted = [line.strip() for block in _tutorial_code_blocks()[2:] for line in block.splitlines() if line and "def " not in line]
    assert len(quoted) > 10
    assert [line for line in quoted if line not in example] == []


class Failing(Aqm):
    def on_start(self) -> None:
        self.seen = 0

    def on_arrival(self, arrival: Arrival) -> Verdict:
        self.seen += 1
        return PASS if self.seen < 100 else drop(self.seen // (self.seen - 100))


def test_an_exception_ends_the_run_with_its_traceback_and_the_packets_time() -> None:
    told = r"AQM Failing failed in on_arrival \(seed 7, at 0\.\d+ s, a packet of 1000 bytes of flow \d+\): ZeroDivisionError"
    with pytest.raises(ecnlab.AqmError, match=told) as raised:
        ecnlab.run(scenario_with(Failing), seed=7)
    error = raised.value
    assert (error.aqm, error.hook, error.seed, type(error.__cause__)) == ("Failing", "on_arrival", 7, ZeroDivisionError)
    assert "test_api.py" in error.traceback
    assert "self.seen // (self.seen - 100)" in error.traceback
    assert "site-packages" not in error.traceback


def test_an_exception_ends_the_runs_of_all_seeds_and_keeps_what_had_finished(tmp_path: Any) -> None:
    class FailsLater(Aqm):
        started = 0

        def on_start(self) -> None:
            type(self).started += 1
            self.bad = type(self).started > 3

        def on_arrival(self, arrival: Arrival) -> Verdict:
            if self.bad:
                raise LookupError("later")
            return PASS

    with pytest.raises(ecnlab.AqmError, match="LookupError: later"):
        ecnlab.run(scenario_with(FailsLater), 50, threads=1, out=tmp_path / "r")
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 2, 3]


def test_a_run_that_fails_leaves_nothing_behind_for_the_next() -> None:
    with pytest.raises(ecnlab.AqmError):
        ecnlab.run(scenario_with(Failing), seed=1, threads=1)
    assert ecnlab.run(scenario_with(Passes), seed=1, threads=1).seeds == [1]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("drop", "'drop' is not a verdict"),
        (None, "None is not a verdict"),
        (0, "0 is not a verdict"),
        (0.5, "0.5 is not a verdict"),
        (Verdict(17), "17 is not a verdict"),
        (mark(group=0), "unknown group 0: the class has groups = 0"),
    ],
)
def test_an_answer_that_is_not_a_verdict_ends_the_run(answer: Any, told: str) -> None:
    class Wrong(Aqm):
        def on_arrival(self, arrival: Arrival) -> Any:
            return answer

    with pytest.raises(ecnlab.AqmError, match=told):
        ecnlab.run(scenario_with(Wrong))


@pytest.mark.parametrize(
    ("due", "told"),
    [
        (-1.0, "the deadline -1 s is not a time; fix: give seconds since the start of the run, or None"),
        (float("nan"), "the deadline NaN s is not a time; fix: "),
        (float("inf"), "the deadline inf s is not a time; fix: "),
        (0.25, "the deadline 0.25 s is not later than now, 0.5 s; fix: give a later time since the start of the run, or None"),
        ("soon", "TypeError: 'soon' is not a deadline; fix: return a number of seconds since the start of the run, or None"),
        ((1, 2), r"TypeError: \(1, 2\) is not a deadline; fix: return a number"),
    ],
)
def test_a_deadline_that_is_not_a_later_time_ends_the_run(due: Any, told: str) -> None:
    class Early(Ticking):
        def on_deadline(self, context: TimerContext) -> Any:
            return due

    with pytest.raises(ecnlab.AqmError, match=rf"failed in on_deadline .*: {told}"):
        ecnlab.run(scenario_with(Early))


@pytest.mark.parametrize("due", ["soon", [0.1]])
def test_a_first_deadline_that_is_no_number_is_reported(due: Any) -> None:
    class Starting(Ticking):
        def on_start(self) -> Any:
            return due

    with pytest.raises(ecnlab.AqmError, match=r"failed in on_start \(seed 1\): TypeError: .* is not a deadline; fix: return a number"):
        ecnlab.run(scenario_with(Starting))


@pytest.mark.parametrize(("name", "hook"), [("level", "its gauges"), ("average", "on_arrival")])
def test_a_gauge_that_is_no_number_is_reported_by_its_name(name: str, hook: str) -> None:
    class Worded(Aqm):
        level: float = gauge(0.0)
        average: float = gauge(0.0)

        def on_arrival(self, arrival: Arrival) -> Verdict:
            setattr(self, name, "high")
            return PASS

    told = f"TypeError: the gauge {name} is 'high' and not a number; fix: set self.{name} to a number"
    with pytest.raises(ecnlab.AqmError, match=rf"failed in {hook} .*: {told}"):
        ecnlab.run(scenario_with(Worded))


class _Raising:
    """A number whose conversion fails in its own code."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __float__(self) -> float:
        raise self.error("from __float__")

    def __index__(self) -> int:
        raise self.error("from __index__")


@pytest.mark.parametrize("error", [RuntimeError, TypeError, KeyboardInterrupt])
@pytest.mark.parametrize("hook", ["on_start", "on_deadline", "gauge", "group"])
def test_an_exception_in_a_number_s_own_code_is_passed_on(error: type[BaseException], hook: str) -> None:
    class Converting(Ticking):
        groups = 2
        level: float = gauge(0.0)

        def on_start(self) -> Any:
            return _Raising(error) if hook == "on_start" else 0.5

        def on_deadline(self, context: TimerContext) -> Any:
            return _Raising(error) if hook == "on_deadline" else None

        def on_arrival(self, arrival: Arrival) -> Verdict:
            if hook == "gauge":
                self.level = _Raising(error)  # type: ignore[assignment]
            return PASS

        def group(self, packet: Any) -> Any:
            return _Raising(error) if hook == "group" else 0

    is_interrupt = error is KeyboardInterrupt
    message = "interrupted: 0 of 1 runs" if is_interrupt else f": {error.__name__}: from __{'index' if hook == 'group' else 'float'}__"
    with pytest.raises(ecnlab.Interrupted if is_interrupt else ecnlab.AqmError, match=message):
        ecnlab.run(scenario_with(Converting))


def test_a_deadline_may_be_any_number() -> None:
    class Whole:
        def __index__(self) -> int:
            return 1

    class Starting(Ticking):
        def on_start(self) -> Any:
            return Whole()

    ecnlab.run(scenario_with(Starting))


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (5, "unknown group 5: the class has groups = 2; fix: give a group from 0 to 1"),
        ("a", "'a' is not a group; fix: return a whole number from 0 to 1"),
    ],
)
def test_a_group_that_there_is_not_is_reported_with_the_groups_that_there_are(group: Any, told: str) -> None:
    class Grouped(Passes):
        groups = 2

        def group(self, packet: Any) -> Any:
            return group

    with pytest.raises(ecnlab.AqmError, match=rf"failed in group .*: {told}"):
        ecnlab.run(scenario_with(Grouped))


def test_errors_in_on_start_and_on_idle_are_reported_too() -> None:
    class Starting(Passes):
        def on_start(self) -> None:
            raise LookupError("start")

    class Idle(Passes):
        def on_idle(self, idling: Idling) -> None:
            self.drawn = self.random()

    with pytest.raises(ecnlab.AqmError, match=r"failed in on_start \(seed 1\): LookupError: start"):
        ecnlab.run(scenario_with(Starting))
    with pytest.raises(ecnlab.AqmError, match=r"failed in on_idle .*random\(\) works only in on_arrival"):
        ecnlab.run(scenario_with(Idle))


def test_at_a_departure_only_the_leaving_packet_can_be_meant() -> None:
    class Reaching(Passes):
        def on_departure(self, departure: Any) -> Verdict:
            return drop("front")

    with pytest.raises(ecnlab.AqmError, match="only the leaving packet"):
        ecnlab.run(scenario_with(Reaching))


def test_ctrl_c_takes_effect_while_a_hook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import _thread

    class Interrupting(Passes):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            if arrival.now_s > 2 and not interrupted:
                interrupted.append(True)
                _thread.interrupt_main()
            return PASS

    interrupted: list[bool] = []
    with pytest.raises(ecnlab.Interrupted, match="0 of 4 runs"):
        ecnlab.run(scenario_with(Interrupting, duration="3000 s"), 4, threads=2)


def test_several_threads_run_several_seeds_of_one_class() -> None:
    used: set[int] = set()

    class Threads(Passes):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            used.add(threading.get_ident())
            return PASS

    one, many = ecnlab.run(scenario_with(Threads), 6, threads=1), ecnlab.run(scenario_with(Threads), 6, threads=3)
    assert one.fingerprints == many.fingerprints
    assert len(used) > 1


def test_impossible_verdicts_are_refused_at_construction() -> None:
    for wrong, told in [
        (lambda: mark("loud"), "level = 'loud' must be one of"),
        (lambda: mark(cause="me"), "cause"),
        (lambda: drop("back"), "victim = 'back'"),
        (lambda: drop(-1), "at least 0"),
        (lambda: mark(group=-1), "at least 0"),
    ]:
        with pytest.raises(ValueError, match=told):
            wrong()


def test_verdicts_have_readable_representations() -> None:
    assert [repr(one) for one in (PASS, mark(), drop())] == ["<verdict PASS>", "<verdict mark>", "<verdict drop>"]


def test_the_functions_of_the_engine_are_there() -> None:
    assert (exp(1.0), ln(exp(2.0)), powi(0.5, 3)) == (pytest.approx(2.718281828459045), pytest.approx(2.0), 0.125)


def test_a_line_gives_the_transmission_time_of_a_packet() -> None:
    assert Line(1_500_000, 120, None).packet_time_ps(1000) == 5_333_333_333
    assert Line(400_000_000_000, 120, None).packet_time_ps(64) == 1_280


@pytest.mark.parametrize("number", [1.5, -1, 2**32])
def test_a_place_that_is_not_a_whole_number_within_bounds_is_refused(number: Any) -> None:
    with pytest.raises(ValueError, match=r"victim = .* must be a whole number"):
        drop(number)
    with pytest.raises(ValueError, match=r"group = .* must be a whole number"):
        mark(group=number)
