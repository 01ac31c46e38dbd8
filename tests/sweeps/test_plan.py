from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ecnlab
from ecnlab.errors import ScenarioError, UsageError
from ecnlab.sweeps.axes import distinct_values, parse_grid_axes
from ecnlab.sweeps.plan import SweepPlan, plan_sweep
from helpers import EXAMPLES

MAX_P = "link.bottleneck.queue.max_p"
SCHEMES = {"RED": {"link.bottleneck.queue.aqm": "red", "flows.*.tcp.ecn": False}, "ECN": {}}


def _planned_values(base: ecnlab.Scenario, grid: Any = None, points: Any = None, derived: Any = None) -> SweepPlan:
    return plan_sweep(base, grid, points, derived)


def _queue_of_point(scenario: ecnlab.Scenario) -> dict[str, Any]:
    return dict(scenario.resolved["link"][0]["queue"])


def test_a_grid_has_every_combination_the_last_axis_fastest(small: ecnlab.Scenario) -> None:
    made = _planned_values(small, {MAX_P: [0.1, 0.5], "scheme": SCHEMES})
    assert [point.values for point in made.points] == [{"max_p": p, "scheme": s} for p in (0.1, 0.5) for s in ("RED", "ECN")]
    assert [(_queue_of_point(point.scenario)["aqm"], _queue_of_point(point.scenario)["max_p"]) for point in made.points] == [
        ("red", 0.1),
        ("ecn", 0.1),
        ("red", 0.5),
        ("ecn", 0.5),
    ]
    assert {point.scenario.resolved["flows"][0]["tcp"]["ecn"] for point in made.points if point.values["scheme"] == "RED"} == {False}


def test_listed_points_follow_the_grid_and_leave_out_what_they_do_not_name(small: ecnlab.Scenario) -> None:
    points = [{MAX_P: 0.9, "scheme": "RED"}, {"link.bottleneck.queue.limit": 33, "label": "small"}]
    made = _planned_values(small, {MAX_P: [0.1], "scheme": SCHEMES}, points)
    assert [axis.name for axis in made.axes] == ["max_p", "scheme", "limit", "label"]
    assert made.points[2].values == {"max_p": 0.9, "scheme": "RED", "limit": None, "label": None}
    assert made.points[3].values == {"max_p": None, "scheme": None, "limit": 33, "label": "small"}
    assert _queue_of_point(made.points[3].scenario) == {**_queue_of_point(small), "limit": "33 packets"}
    assert made.points[3].values_as_text == "limit = 33, label = small"


def test_values_of_numpy_are_as_python_s_own(small: ecnlab.Scenario) -> None:
    made = _planned_values(small, {MAX_P: np.array([0.1, 0.3, 0.5])}, [{MAX_P: np.float64(0.7), "flows.far.count": np.int64(2)}])
    assert [axis.values for axis in made.axes] == [(0.1, 0.3, 0.5, 0.7), (2,)]
    assert {type(value) for axis in made.axes for value in axis.values} == {float, int}
    assert made.points[3].scenario.resolved["flows"][0]["count"] == 2


def test_values_may_depend_on_a_point_s(small: ecnlab.Scenario) -> None:
    derived = {"flows.*.count": "flows / 2", "flows.*.access.rate": lambda point: f"{6 / point['flows']} Mbps"}
    made = _planned_values(small, {"flows": {"values": "2..6 step 4"}}, derived=derived)
    groups = [point.scenario.resolved["flows"] for point in made.points]
    assert [[group["count"] for group in of] for of in groups] == [[1, 1], [3, 3]]
    assert [[group["access"]["rate"] for group in of] for of in groups] == [[["3000000 bps"]] * 2, [["1000000 bps"]] * 2]


def test_one_axis_may_set_several_keys_to_one_value(small: ecnlab.Scenario) -> None:
    made = _planned_values(small, {"each": {"keys": ["flows.far.count", "flows.near.count"], "values": np.array([1, 4])}})
    assert [[group["count"] for group in point.scenario.resolved["flows"]] for point in made.points] == [[1, 1], [4, 4]]


def test_a_table_is_written_before_what_stands_in_it_whatever_the_order_of_the_axes(small: ecnlab.Scenario) -> None:
    queues = {"small": {"link.bottleneck.queue": {"aqm": "ecn", "limit": 20, "min_th": 4, "max_th": 12}}}
    for grid in ({MAX_P: [0.3], "size": queues}, {"size": queues, MAX_P: [0.3]}):
        found = _queue_of_point(_planned_values(small, grid).points[0].scenario)
        assert (found["limit"], found["max_p"]) == ("20 packets", 0.3)


def test_a_column_is_called_by_the_end_of_its_key_unless_that_is_taken(small: ecnlab.Scenario) -> None:
    grid = {"flows.far.count": [1], "flows.near.count": [2], MAX_P: [0.1], "link.bottleneck.queue": [{"aqm": "droptail", "limit": 9}]}
    made = _planned_values(small, {key: grid[key] for key in ("flows.far.count", "flows.near.count", MAX_P)})
    assert [axis.name for axis in made.axes] == ["flows.far.count", "flows.near.count", "max_p"]
    assert [axis.name for axis in _planned_values(small, {"link.bottleneck.queue": grid["link.bottleneck.queue"]}).axes] == [
        "link.bottleneck.queue"
    ]


def test_all_problems_of_all_points_are_reported_together_with_their_points(small: ecnlab.Scenario) -> None:
    with pytest.raises(ScenarioError) as refused:
        _planned_values(small, {MAX_P: [0.1, 1.5], "flows.far.count": [2, -1]})
    assert [problem.place for problem in refused.value.problems] == ["flows.far.count", MAX_P]
    assert [problem.message.split(" (")[1] for problem in refused.value.problems] == [
        "points 2,4: count = -1)",
        "points 3,4: max_p = 1.5)",
    ]
    assert str(refused.value).count(str(small.source)) == 2


def test_an_unknown_key_is_reported_once(small: ecnlab.Scenario) -> None:
    with pytest.raises(ScenarioError) as refused:
        _planned_values(small, {"link.bottlneck.rate": ["1 Mbps", "2 Mbps"]})
    assert len(refused.value.problems) == 1
    assert "point" not in refused.value.problems[0].message


def test_a_long_list_of_values_is_searched_for_repeated_ones_without_comparing_all_pairs() -> None:
    compared = []

    class ComparedText(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str.__eq__(self, other)

    values = [ComparedText(at) for at in range(300)]
    assert distinct_values(values) == values
    compared.clear()
    (axis,) = parse_grid_axes({"a": values})
    assert len(axis.values) == 300
    assert len(compared) < 3 * 300
    for repeated in ([1, 2, 2, 3], [1, 2, 3, 2], [[0], [2], 3, [2]], [2, 2]):
        with pytest.raises(UsageError, match=r"2\]? is given twice"):
            parse_grid_axes({"a": repeated})


@pytest.mark.parametrize(
    ("grid", "messages"),
    [
        ({}, ["no parameter is varied"]),
        ({MAX_P: []}, [f"grid: {MAX_P}: has no value"]),
        ({MAX_P: 0.1, "a": 3}, [f"grid: {MAX_P}: 0.1 is not a list", "grid: a: 3 is not a list"]),
        ({MAX_P: [0.1, 0.1]}, ["0.1 is given twice"]),
        ({MAX_P: "0.1..0.5"}, ["needs a step"]),
        (
            {"link": {"bottleneck": {"queue": {"max_p": [0.1]}}}},
            ['is a table, not a value; fix: write the whole key in quotes, as in "link.bottleneck.queue.max_p"'],
        ),
        ({"scheme": {"RED": {"flows": {"far": {"count": 3}}}}}, ['"flows.far.count"']),
        ({"scheme": {"RED": 3}}, ["write it as"]),
        ({"x": {"values": [1], "kye": "a"}}, ["write it as"]),
        ({"x": {"values": [1], "keys": [3]}}, ["keys must be texts"]),
        ({"seed": [1, 2]}, ["grid: seed: cannot be varied, because each seed runs at every point; fix: choose seeds with --seeds"]),
        ({"name": ["a", "b"]}, ["grid: name: is the scenario's title, which changes no result"]),
        ({"band": ["a"], "group": ["b"]}, ["grid: band: is not a key of a scenario", "grid: group: is not a key"]),
        ({"sd": {"key": MAX_P, "values": [0.1]}}, ["grid: sd: is the name of a column of the tables; fix: choose another name"]),
        ({MAX_P: [0.1], "p": {"key": MAX_P, "values": [0.2]}}, [f"both set {MAX_P}"]),
        ({"a": {"values": range(1000)}, "b": {"values": range(1000)}}, ["1000 x 1000 are 1000000 points"]),
        ([1], ["must be a dict"]),
    ],
)
def test_a_grid_that_cannot_be_read_is_refused(small: ecnlab.Scenario, grid: Any, messages: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        _planned_values(small, grid)
    assert [message for message in messages if message not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("points", "derived", "message"),
    [
        ([{}], None, "must be a list of dicts"),
        ({MAX_P: 0.1}, None, "must be a list of dicts"),
        (
            [{"link": {"bottleneck": {"delay": "1 ms"}}}],
            None,
            'point 1: link: is a table, not a value; fix: write the whole key in quotes, as in "link.bottleneck.delay"',
        ),
        ([{"scheme": "REDD"}], None, "unknown value REDD; fix: use one of RED, ECN"),
        (None, {"flows.*.count": "flow / 2"}, "derived: flows.*.count: unknown parameter of the sweep 'flow'"),
        (None, {"flows.*.count": lambda point: point["flow"]}, "derived: flows.*.count: KeyError: 'flow'"),
        (None, {"flows.*.count": 3}, "3 is not an expression"),
        (None, {"flows.*.tcp.ecn": "1"}, "is set by the axis scheme too"),
        (None, ["flows"], "must be a dict"),
    ],
)
def test_points_and_rules_that_cannot_be_read_are_refused(small: ecnlab.Scenario, points: Any, derived: Any, message: str) -> None:
    with pytest.raises((UsageError, ScenarioError)) as refused:
        _planned_values(small, {"scheme": SCHEMES}, points, derived)
    assert message in str(refused.value)


def test_all_errors_of_derived_values_are_reported_together(small: ecnlab.Scenario) -> None:
    rules = {
        "flows.far.count": "flow / 2",
        "flows.near.count": "__import__('os')",
        "link.bottleneck.queue.limit": "flows.__class__",
        "link.bottleneck.queue.max_th": "flows + 1",
        "link.bottleneck.queue.max_threshold": "flows + 1",
    }
    with pytest.raises(ScenarioError) as refused:
        _planned_values(small, {"flows": {"values": [20, 40]}}, derived=rules)
    told = str(refused.value).splitlines()
    assert len(told) == 4
    assert [key for key in rules if not any(f"{key}:" in line for line in told)] == ["link.bottleneck.queue.max_th"]
    assert not any("points" in line for line in told), "they are wrong at every point"


def test_a_warning_is_reported_once_with_its_points(small: ecnlab.Scenario) -> None:
    made = _planned_values(small, {"scheme": {**SCHEMES, "half": {"flows.far.tcp.ecn": False}}, MAX_P: [0.1, 0.5]})
    odd = [warning for warning in made.warnings if "ecn" in warning.message.lower() and "point" in warning.message]
    everywhere = [warning for warning in small.warnings if warning in made.warnings]
    assert everywhere == small.warnings
    assert len({warning.message for warning in made.warnings}) == len(made.warnings)
    assert all("points " in warning.message for warning in odd)


def test_an_aqm_of_one_s_own_need_stand_in_a_queue_at_one_point_only(small_file: Path) -> None:
    with_user_aqm = ecnlab.load(small_file, aqms=[f"{EXAMPLES / 'threshold.py'}:Threshold"])
    own = {"link.bottleneck.queue": {"aqm": "Threshold", "limit": 60}}
    assert any("no queue with the AQM" in warning.message for warning in _planned_values(with_user_aqm, {MAX_P: [0.1, 0.2]}).warnings)
    assert not any(
        "no queue with the AQM" in warning.message for warning in _planned_values(with_user_aqm, {"aqm": {"own": own, "ecn": {}}}).warnings
    )


def test_points_with_the_same_scenario_are_reported(small: ecnlab.Scenario) -> None:
    made = _planned_values(small, {"alias": {"a": {}, "b": {}}, MAX_P: [0.1, 0.2]})
    assert [warning.message for warning in made.warnings if warning.place == "points"] == [
        "1,3 are the same scenario; 2,4 are the same scenario; fix: let a key or [derived] use the parameters that differ, or omit points"
    ]
