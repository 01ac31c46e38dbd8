from typing import Any, ClassVar

import pytest

import ecnlab
from ecnlab.aqm import PASS, Aqm, Arrival, Verdict, plugins
from ecnlab.scenarios.load import scenario_from_toml_text
from helpers import SMALL
from own_aqms import QUEUE, Passes, counted, run_with, scenario_with


def _aqm_class_with(python_name: str = "Mine", /, **members: Any) -> type[Aqm]:
    """A class that lets packets pass, with these members; annotations under their own name."""
    return type(python_name, (Passes,), members)


def test_fields_with_a_type_and_a_value_are_parameters() -> None:
    found: dict[str, Any] = {}

    class Typed(Passes):
        number: float = 0.5
        count: int = 3
        flag: bool = True
        word: str = ecnlab.param("a", choices=("a", "b"))
        text: str = "x"
        auto: float | None = None
        target: float = ecnlab.param("15 ms", unit="s", bounds=(0.001, 1))
        delay: float = ecnlab.param(0.25, unit="s")
        rate: float = ecnlab.param("10 Mbps", unit="bit/s")
        aside: ClassVar[int] = 7
        untyped = 8
        _own: int = 9

        def on_start(self) -> None:
            found.update({name: value for name, value in vars(self).items() if name != "random"})

    names = ("number", "count", "flag", "word", "text", "auto", "target", "delay", "rate")
    run_with(Typed)
    assert [found[name] for name in names] == [0.5, 3, True, "a", "x", None, 0.015, 0.25, 10_000_000]
    assert not {"aside", "untyped", "_own"} & found.keys()
    run_with(Typed, ', number = 2, count = 4, flag = false, word = "b", text = "y", auto = 1, target = "2 ms", rate = "1 Gbps"')
    assert [found[name] for name in names] == [2.0, 4, False, "b", "y", 1.0, 0.002, 0.25, 1_000_000_000]


def test_values_out_of_a_parameters_bounds_are_refused_all_at_once_with_their_place() -> None:
    class Bounded(Passes):
        p: float = ecnlab.param(0.1, bounds=(0, 1))
        n: int = ecnlab.param(1, bounds=(1, 5), unit="packets")

    with pytest.raises(ecnlab.ScenarioError) as raised:
        scenario_with(Bounded, ", p = 1.5, n = 2.5, q = 1")
    told = str(raised.value)
    assert "queue.p: 1.5 must be 0 .. 1" in told
    assert "queue.n: 2.5 must be a whole number, 1 .. 5" in told
    assert "queue.q: unknown key" in told


def test_values_that_contradict_each_other_are_refused_by_the_classs_own_check() -> None:
    class Checked(Passes):
        low: float = 1
        high: float = 2

        def check(self) -> dict[str, str]:
            return {"low": f"{self.low} must be below high {self.high}"} if self.low >= self.high else {}

    assert scenario_with(Checked).hash
    with pytest.raises(ecnlab.ScenarioError, match=r"queue\.low: 3\.0 must be below high 2\.0"):
        scenario_with(Checked, ", low = 3")


def test_a_check_that_raises_is_reported_as_a_problem() -> None:
    class Raising(Passes):
        low: float = 1

        def check(self) -> dict[str, str]:
            raise LookupError("nothing there")

    with pytest.raises(ecnlab.ScenarioError, match=r"queue\.low: the check of Raising raised LookupError: nothing there"):
        scenario_with(Raising)


def test_a_class_marks_unless_its_flag_ecn_is_off() -> None:
    class Switched(Passes):
        ecn: bool = True

    class Drops(Passes):
        marks = None

    warned = "no queue on the way marks"
    assert [
        any("mark" in one.message for one in scenario.warnings)
        for scenario in (scenario_with(Switched), scenario_with(Switched, ", ecn = false"), scenario_with(Drops), scenario_with(Passes))
    ] == [False, True, True, False], warned


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: type("Empty", (Aqm,), {}), "Empty: on_arrival is missing"),
        (
            lambda: _aqm_class_with(on_depature=lambda self, departure: None),
            "Mine: unknown hook 'on_depature'; did you mean 'on_departure'?",
        ),
        (
            lambda: _aqm_class_with(__init__=lambda self: None),
            "Mine: has an __init__, where parameters and line are not set yet; fix: set its state in on_start",
        ),
        (lambda: _aqm_class_with(name="a b"), "'a b' cannot be a name in scenarios"),
        (lambda: _aqm_class_with("Größe"), "'Größe' cannot be a name in scenarios"),
        (lambda: _aqm_class_with(name="x" * 65), "at most 64"),
        (lambda: _aqm_class_with(name=3), "3 cannot be a name in scenarios"),
        (lambda: _aqm_class_with(groups=2), "require each other"),
        (lambda: _aqm_class_with(groups=-1), "groups = -1 must be"),
        (lambda: _aqm_class_with(groups=17, group=lambda self, packet: 0), "groups = 17 must be at most 16"),
        (lambda: _aqm_class_with(marks="loud"), 'marks = "loud" must be'),
        (lambda: _aqm_class_with(marks=False), "marks = False must be"),
        (lambda: _aqm_class_with(test_params={"none": 1}), "test_params: unknown parameter none"),
        (lambda: _aqm_class_with(test_params=[1]), "test_params must be a dict"),
        (lambda: _aqm_class_with(limit=5, __annotations__={"limit": int}), "the field 'limit' has a name that every AQM uses"),
        (lambda: _aqm_class_with(random=5, __annotations__={"random": int}), "the field 'random' has a name that every AQM uses"),
        (
            lambda: _aqm_class_with(p=ecnlab.param(5, bounds=(0, 1)), __annotations__={"p": float}),
            "p: its default is invalid: 5 must be 0 .. 1",
        ),
        (lambda: _aqm_class_with(p=ecnlab.param(5, bounds=(1, 0)), __annotations__={"p": float}), "p: bounds"),
        (lambda: _aqm_class_with(p=ecnlab.param(5, bounds=3), __annotations__={"p": float}), "p: bounds = 3 must be two numbers"),
        (lambda: _aqm_class_with(p="x", __annotations__={"p": float}), "p: default 'x' must be float"),
        (lambda: _aqm_class_with(p=True, __annotations__={"p": int}), "p: default True must be int"),
        (lambda: _aqm_class_with(p=None, __annotations__={"p": float}), "p: a default of None needs the type float | None"),
        (
            lambda: _aqm_class_with(p=[], __annotations__={"p": list}),
            "p: <class 'list'> cannot be a parameter's type; fix: use float, int, bool or str",
        ),
        (lambda: _aqm_class_with(p=-1, __annotations__={"p": int}), "p: its default is invalid"),
        (lambda: _aqm_class_with(p=1, __annotations__={"p": "Missing"}), "the type of one of its fields cannot be read"),
        (lambda: _aqm_class_with("red"), 'the name "red" of an AQM is taken'),
    ],
)
def test_a_class_that_is_not_a_valid_aqm_is_refused_with_the_reason(made: Any, told: str) -> None:
    with pytest.raises(ecnlab.UsageError) as raised:
        scenario_from_toml_text(SMALL, aqms=[made()])
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("aqms", "told"),
    [
        (Passes, "must be a list of AQM classes"),
        ("x.py:Y", "must be a list of AQM classes"),
        (5, "must be a list of AQM classes"),
        ([int], "the class int is not a subclass of ecnlab.Aqm"),
        ([Aqm], "the class Aqm is not a subclass"),
        ([Passes()], "is not a subclass of ecnlab.Aqm"),
        ([_aqm_class_with("Twice"), _aqm_class_with("Twice")], "two AQMs have the name 'Twice'"),
    ],
)
def test_an_invalid_list_of_aqms_is_refused(aqms: Any, told: str) -> None:
    with pytest.raises(ecnlab.UsageError, match=told):
        scenario_from_toml_text(SMALL, aqms=aqms)


def test_a_class_may_be_called_otherwise_than_in_python() -> None:
    class Mine(Passes):
        name = "my-own"

    assert scenario_with(Mine, name="my-own").resolved["link"][0]["queue"]["aqm"] == "my-own"


def test_an_aqm_that_no_queue_has_is_warned_of() -> None:
    made = scenario_from_toml_text(SMALL, aqms=[Passes])
    assert ["the scenario has no queue with the AQM Passes" in warning.message for warning in made.warnings] == [True]
    assert not any("Passes" in warning.message for warning in scenario_with(Passes).warnings)


def test_a_stored_scenario_says_what_it_needs_when_the_class_is_missing() -> None:
    resolved = scenario_with(Passes).resolved
    with pytest.raises(ecnlab.ScenarioError, match=r'unknown AQM "Passes".*a user-defined AQM needs --aqm FILE:CLASS'):
        ecnlab.scenario(resolved)
    assert ecnlab.scenario(resolved, aqms=[Passes]).hash == scenario_with(Passes).hash


def test_the_same_class_without_and_with_another_has_the_same_key() -> None:
    text = SMALL.replace('aqm = "ecn", limit = 60, min_th = 5, max_th = 15, max_p = 0.5', 'aqm = "Passes", limit = 60')
    other = _aqm_class_with("Other")
    assert scenario_from_toml_text(text, aqms=[Passes]).hash == scenario_from_toml_text(text, aqms=[other, Passes]).hash
    assert scenario_from_toml_text(SMALL, aqms=[Passes]).hash == scenario_from_toml_text(SMALL).hash


def test_two_queues_have_instances_of_their_own() -> None:
    kept: list[Aqm] = []

    class Instance(Passes):
        def on_start(self) -> None:
            kept.append(self)

    second = '[[link]]\nname = "second"\nfrom = "sink"\nto = "far end"\nrate = "1 Mbps"\ndelay = "1 ms"\n'
    text = SMALL.replace("[[flows]]", second + 'queue = { aqm = "Instance", limit = 60 }\n\n[[flows]]', 1).replace(
        'to = "sink"\naccess', 'to = "far end"\naccess'
    )
    made = scenario_from_toml_text(text, {QUEUE: '{ aqm = "Instance", limit = 60 }'}, aqms=[Instance])
    made._core.run(1)
    assert len(kept) == 2
    assert kept[0] is not kept[1]


def test_a_class_stands_inside_a_discipline_too() -> None:
    class Counted(Passes):
        def on_arrival(self, arrival: Arrival) -> Verdict:
            return ecnlab.mark() if arrival.backlog.packets > 2 else PASS

    queue = '{ discipline = "fifo", limit = 60, aqm = { name = "Counted" } }'
    run = scenario_from_toml_text(SMALL, {QUEUE: queue}, aqms=[Counted])._core.run(1)
    assert counted(run, "marks")[0] > 0


def test_the_catalog_describes_a_user_class_as_a_builtin_aqm() -> None:
    entry = plugins.registry_entry_of_aqm(Passes)
    assert (entry.name, len(entry.digest)) == ("Passes", 64)


def test_test_params_takes_plain_numbers_in_the_unit_of_the_default() -> None:
    class Busy(Passes):
        target: float = ecnlab.param(0.005, unit="s")
        rate: float = ecnlab.param("10 Mbps", unit="bit/s")
        most: int = 3
        test_params: ClassVar[dict[str, Any]] = {"target": 0.002, "rate": 5_000_000, "most": 1}

    about = plugins._aqm_declaration(Busy, "")
    assert dict(about["test_params"]) == {"target": "0.002 s", "rate": "5000000 bps", "most": "1"}
    assert plugins.registry_entry_of_aqm(Busy).name == "Busy"


def test_the_old_names_of_test_values_and_of_a_deadline_s_argument_work_with_a_warning() -> None:
    class Old(Aqm):
        busy: ClassVar[dict[str, Any]] = {"most": 1}
        most: int = 20

        def on_arrival(self, arrival: Arrival) -> Verdict:
            return PASS

    with pytest.warns(DeprecationWarning, match="Old.busy is now test_params"):
        about = plugins._aqm_declaration(Old, "")
    assert about["test_params"] == [("most", "1")]
    with pytest.warns(DeprecationWarning, match=r"ecnlab\.aqm\.Expiry is now TimerContext"):
        assert ecnlab.aqm.Expiry is ecnlab.aqm.TimerContext
