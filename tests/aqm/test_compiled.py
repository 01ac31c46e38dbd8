import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ecnlab
from ecnlab import _core
from ecnlab.aqm import PASS, Aqm, Arrival, Departure, Idling, Packet, TimerContext, Verdict, drop, exp, ln, mark, plugins, powi
from ecnlab.aqm import compiled as native
from own_aqms import COMPILED_RED, RED_BY_HAND, Departing, Grouping, Ticking, counted, run_with, scenario_with


class CompiledDeparting(Departing, compiled=True):
    pass


class CompiledTicking(Ticking, compiled=True):
    pass


class CompiledGrouping(Grouping, compiled=True):
    pass


@pytest.mark.parametrize("seed", range(1, 4))
def test_compiled_red_agrees_with_the_built_in_packet_by_packet(seed: int) -> None:
    settings = ", min_th = 5, max_th = 15, max_p = 0.5"
    theirs, mine = run_with("ecn", settings, seed), run_with(COMPILED_RED, settings + ", ecn = true", seed)
    assert theirs.fingerprint == mine.fingerprint
    assert counted(theirs, "marks", "drops", "average_mean_packets") == counted(mine, "marks", "drops", "average_mean_packets")


@pytest.mark.parametrize(("plain", "compiled"), [(Departing, CompiledDeparting), (Ticking, CompiledTicking), (Grouping, CompiledGrouping)])
def test_a_class_does_the_same_in_plain_python_and_compiled(plain: type[Aqm], compiled: type[Aqm]) -> None:
    one, other = run_with(plain), run_with(compiled)
    assert one.fingerprint == other.fingerprint
    assert counted(one, "marks", "drops") == counted(other, "marks", "drops")


class Averaging(Aqm):
    """Changes its average at deadlines only."""

    average: float = ecnlab.gauge(unit="packets", doc="A number that grows with time.")

    def on_start(self) -> float | None:
        return 0.25

    def on_arrival(self, arrival: Arrival) -> Verdict:
        return PASS

    def on_deadline(self, context: TimerContext) -> float | None:
        self.average += 1.0
        return context.now_s + 0.25


class CompiledAveraging(Averaging, compiled=True):
    pass


@pytest.mark.parametrize("aqm", [Averaging, CompiledAveraging])
def test_an_average_that_a_deadline_changes_is_recorded_as_it_stands(aqm: type[Aqm]) -> None:
    tables = run_with(aqm).tables
    samples = zip(tables["series_queue"].column("time_s"), tables["series_queue"].column("average_packets"), strict=True)
    before_first_deadlines = [(time_s, average) for time_s, average in samples if time_s % 0.25 > 0.01]
    assert len(before_first_deadlines) > 10
    assert all(average == time_s // 0.25 for time_s, average in before_first_deadlines)


def test_compiled_gauges_are_recorded_as_they_stand() -> None:
    assert set(run_with(CompiledTicking).tables["series_gauge"].column("value")) == {0.0, 1.0, 2.0, 3.0}


class Keeping(Aqm):
    """Keeps numbers, arrays, and calls what compiled hooks may call."""

    whole: int = 3
    real: float = 0.5
    flag: bool = True

    def on_start(self) -> None:
        self.counts = np.zeros(4, "i8")
        self.recent = np.full(3, 0.5)
        self.seen = 0

    def place(self, flow: int, among: int = 4) -> int:
        return flow % among

    def on_arrival(self, arrival: Arrival) -> Verdict:
        self.seen += 1
        self.counts[self.place(arrival.flow)] += 1
        self.recent[self.seen % 3] = exp(ln(powi(self.real, self.whole)))
        if arrival.full:
            return drop(cause="overflow")
        if self.flag and self.counts[self.place(arrival.flow)] % 10 == 0:
            return mark(cause="forced") if self.recent.sum() < 2 else drop(int(arrival.backlog.packets) // 2)
        return PASS

    def on_idle(self, idling: Idling) -> None:
        self.recent[0] = idling.now_s

    def on_rate(self, rate_bps: int) -> None:
        self.whole = rate_bps // 1_000_000


class CompiledKeeping(Keeping, compiled=True):
    pass


def test_arrays_methods_and_the_engines_functions_work_compiled() -> None:
    one, other = run_with(Keeping), run_with(CompiledKeeping)
    assert one.fingerprint == other.fingerprint
    assert counted(other, "marks")[0] > 0


class Alternating(Aqm):
    """Counts packets in its classifier, and limits the backlog of every second group."""

    groups = 2

    def on_start(self) -> None:
        self.came = 0

    def group(self, packet: Packet) -> int:
        self.came += 1
        return self.came % 2

    def on_arrival(self, arrival: Arrival) -> Verdict:
        return drop() if arrival.groups[1].packets > 3 else PASS


class CompiledAlternating(Alternating, compiled=True):
    pass


def test_state_that_group_changes_is_the_same_in_plain_python_and_compiled() -> None:
    one, other = run_with(Alternating), run_with(CompiledAlternating)
    assert one.fingerprint == other.fingerprint
    assert counted(one, "drops") == counted(other, "drops") != [0]


class Summing(Aqm):
    """Sums all fields of all packets."""

    groups = 2
    total: float = ecnlab.gauge()

    def group(self, packet: Packet) -> int:
        return (packet.flow + packet.size + packet.ecn + (1 if packet.capable else 0) + int(100 * packet.rtt_s)) % 2

    def on_start(self) -> float | None:
        return 0.01

    def on_arrival(self, arrival: Arrival) -> Verdict:
        one, other = arrival.groups[0], arrival.groups[1]
        self.total += arrival.now_s + 1e-13 * arrival.now_ps + arrival.size / 3 + arrival.ecn / 7 + arrival.flow / 11
        self.total += (1 if arrival.capable else 0) / 13 + (1 if arrival.full else 0) / 17 + arrival.rtt_s * 3 + arrival.head_waited_s * 5
        self.total += arrival.backlog.packets / 19 + arrival.backlog.bytes / 23 + one.packets / 29 + one.bytes / 31 + other.packets / 37
        return PASS

    def on_departure(self, departure: Departure) -> Verdict:
        self.total += departure.now_s + 1e-13 * departure.now_ps + departure.size / 3 + departure.ecn / 7 + departure.flow / 11
        self.total += (1 if departure.capable else 0) / 13 + departure.rtt_s * 3 + departure.waited_s * 5
        self.total += departure.backlog.packets / 19 + departure.backlog.bytes / 23
        return PASS

    def on_deadline(self, context: TimerContext) -> float | None:
        self.total += context.now_s + 1e-13 * context.now_ps + context.head_waited_s * 5 + context.backlog.packets / 19
        self.total += context.backlog.bytes / 23
        return context.now_s + 0.01

    def on_idle(self, idling: Idling) -> None:
        self.total += idling.now_s + 1e-13 * idling.now_ps


class CompiledSumming(Summing, compiled=True):
    pass


def test_every_field_is_the_same_in_plain_python_and_compiled() -> None:
    one, other = (run_with(aqm).tables["series_gauge"].column("value") for aqm in (Summing, CompiledSumming))
    assert one == other
    assert one[0] < one[-1]


def test_each_instance_has_a_state_of_its_own() -> None:
    first, second = run_with(CompiledKeeping, seed=4), run_with(CompiledKeeping, seed=4)
    assert first.fingerprint == second.fingerprint


def test_a_compiled_hook_that_raises_ends_the_run_with_the_traceback_of_plain_python() -> None:
    class Dividing(Aqm, compiled=True):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            return PASS if 100 // (arrival.backlog.packets - 5) > -1000 else drop()

    with pytest.raises(ecnlab.AqmError, match=r"Dividing failed in on_arrival \(seed 1, at 0\.\d+ s.*ZeroDivisionError") as raised:
        ecnlab.run(scenario_with(Dividing))
    assert "100 // (arrival.backlog.packets - 5)" in raised.value.traceback


def test_an_index_beyond_an_array_is_an_error_and_not_a_wild_write() -> None:
    class Beyond(Aqm, compiled=True):
        def on_start(self) -> None:
            self.few = np.zeros(2)

        def on_arrival(self, arrival: Arrival) -> Verdict:
            self.few[arrival.backlog.packets] = 1.0
            return PASS

    with pytest.raises(ecnlab.AqmError, match="IndexError"):
        ecnlab.run(scenario_with(Beyond))


def _assert_compile_error(aqm: type[Aqm], told: str) -> None:
    with pytest.raises(ecnlab.AqmError) as raised:
        ecnlab.run(scenario_with(aqm))
    assert told in str(raised.value)


def test_what_would_be_cut_to_a_whole_number_is_refused() -> None:
    class Cut(Aqm, compiled=True):
        def on_start(self) -> None:
            self.average = 0

        def on_arrival(self, arrival: Arrival) -> Verdict:
            self.average = 0.5 * arrival.size  # type: ignore[assignment]
            return PASS

    _assert_compile_error(Cut, "self.average is an integer in on_start and a float in on_arrival; fix: start with 0.0")


def test_state_that_a_record_cannot_hold_is_refused() -> None:
    class Listing(Aqm, compiled=True):
        def on_start(self) -> None:
            self.flows: list[int] = []

        def on_arrival(self, arrival: Arrival) -> Verdict:
            return PASS

    _assert_compile_error(Listing, "self.flows: is a list, which numba cannot hold; fix: use numbers or numpy arrays of numbers")


def test_a_hook_that_forgets_to_answer_is_refused() -> None:
    class Silent(Aqm, compiled=True):
        def on_arrival(self, arrival: Arrival) -> Any:
            pass

    _assert_compile_error(Silent, "on_arrival: returned none, expected PASS, mark() or drop(); fix: return")


def test_a_number_that_is_not_a_verdict_ends_the_run() -> None:
    class Number(Aqm, compiled=True):
        def on_arrival(self, arrival: Arrival) -> Any:
            return 2

    _assert_compile_error(Number, "2 is not a verdict")


def test_numba_errors_are_reported_in_a_few_lines() -> None:
    class Uncompilable(Aqm, compiled=True):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            return PASS if self.absent else drop()  # type: ignore[attr-defined]

    _assert_compile_error(Uncompilable, "numba cannot compile Uncompilable.on_arrival")


@pytest.mark.parametrize("due", [-1.0, float("nan"), 0.25])
def test_a_compiled_deadline_that_is_not_a_later_time_ends_the_run(due: float) -> None:
    class Early(Aqm, compiled=True):
        def on_start(self) -> float | None:
            self.next_s = due
            return 0.5

        def on_arrival(self, arrival: Arrival) -> Verdict:
            return PASS

        def on_deadline(self, context: TimerContext) -> float | None:
            return self.next_s

    _assert_compile_error(Early, "the deadline ")


def test_without_numba_a_compiled_class_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    native._import_numba_with_extensions.cache_clear()
    with pytest.raises(ecnlab.UsageError, match=r"compiled=True: needs numba.*pip install 'ecnlab\[native\]'"):
        native._import_numba_with_extensions()
    monkeypatch.undo()
    native._import_numba_with_extensions.cache_clear()


def test_the_cost_of_each_form_can_be_asked() -> None:
    from ecnlab.aqm.fingerprint import load_aqm_class

    for subject in (
        "red",
        plugins.registry_entry_of_aqm(load_aqm_class(COMPILED_RED)),
        plugins.registry_entry_of_aqm(load_aqm_class(RED_BY_HAND)),
    ):
        assert 1 < _core.cost_of_aqm(subject, 1000) < 1e6


_RECORD_SCRIPT = """
import sys
import numba
import numpy as np

if "ecnlab" in sys.argv:
    from ecnlab.aqm import compiled
    compiled._import_numba_with_extensions()

record = np.rec.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")])[0]

@numba.njit
def known(one):
    return one.a + one.b

@numba.njit
def unknown(one):
    return one.c

print(known(record))
try:
    unknown(record)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_numba_resolves_records_of_others_as_it_does_without_us() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
    told = [
        subprocess.run([sys.executable, "-c", _RECORD_SCRIPT, *more], env=environment, capture_output=True, text=True, check=True).stdout
        for more in ([], ["ecnlab"])
    ]
    assert told[0] == told[1]
    assert told[0].startswith("3.0\n")
    assert "Error" in told[0]


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        (
            "grown",
            "self.state changes its shape in on_arrival, or another array replaces it; fix: write into it, as in self.state[:] = ",
        ),
        ("scaled", "self.state changes its shape in on_arrival, or another array replaces it"),
        ("number", "self.state is a number in on_start and becomes an array in on_arrival; fix: create an array"),
    ],
)
def test_an_array_that_another_one_replaces_is_refused_by_its_name(replaced: str, told: str) -> None:
    class Replacing(Aqm, compiled=True):
        def on_start(self) -> None:
            self.state: Any = 0 if replaced == "number" else np.zeros(4)

        if replaced == "scaled":

            def on_arrival(self, arrival: Arrival) -> Verdict:
                self.state = self.state * 2.0
                return PASS

        else:

            def on_arrival(self, arrival: Arrival) -> Verdict:
                self.state = np.zeros(10)
                return PASS

    _assert_compile_error(Replacing, told)
