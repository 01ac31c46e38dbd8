from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.font_manager import FontProperties, findfont, get_font

import ecnlab
from ecnlab import diagram
from ecnlab.diagram import network
from ecnlab.diagram.network import NetworkDrawing, text_width
from ecnlab.scenarios.words import queue_description, readable_parameter_value, send_burst_labels, shorten_for_diagram
from helpers import EXAMPLES

SVG = "{http://www.w3.org/2000/svg}"

Rectangle = tuple[float, float, float, float]


def _drawn_tree(tree: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(diagram.network_svg(ecnlab.scenario(tree)))


def _text_elements(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def _rectangles(root: ElementTree.Element) -> list[Rectangle]:
    found = [[float(box.get(key, "nan")) for key in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect") if box.get("x")]
    return [(x, y, x + width, y + height) for x, y, width, height in found]


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _link_tree(name: str, start: str, end: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "from": start, "to": end, "rate": "10 Mbps", "delay": "5 ms", "limit": 100} | rest


def _flow_tree(name: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "tcp": {"profile": "linux", "ecn": False}} | rest


def _scenario_tree(links: list[dict[str, Any]], flows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "drawn", "duration": "10 s", "link": links, "flows": flows}


MESH = _scenario_tree(
    [_link_tree(f"{a}{b}", a, b) for a, b in combinations("abcdef", 2)]
    + [_link_tree("twin", "a", "b"), _link_tree("back", "f", "a", one_way=True)],
    [
        _flow_tree(
            "far",
            count=5,
            access={"to": "a", "rate": "1 Gbps", "delay": "uniform 1 ms to 9 ms"},
            exit={"from": "f", "rate": "1 Gbps", "delay": "2 ms"},
        ),
        _flow_tree("round", **{"from": "b", "to": "e", "route": ["bc", "cd", "de"]}),
        _flow_tree("against", **{"from": "f", "to": "b"}),
    ],
)
HOSTILE = '<b> & "quotes" \ufffe ] ]> 日本語 ' + "x" * 60


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_is_drawn_with_all_its_links_and_groups_and_nothing_overlaps(path: Path) -> None:
    scenario = ecnlab.load(path)
    root = ElementTree.fromstring(diagram.network_svg(scenario))
    said = "\n".join(_text_elements(root))
    assert all(shorten_for_diagram(link["name"], 28) in said for link in scenario.resolved["link"])
    assert all(shorten_for_diagram(group) in said for group in scenario.group_names)
    _require_no_overlaps(root)


def test_a_mesh_with_twins_a_circle_and_flows_against_links_is_drawn_without_overlaps() -> None:
    _require_no_overlaps(_drawn_tree(MESH))


def _require_no_overlaps(root: ElementTree.Element) -> None:
    """No two boxes overlap, and all of them and all texts lie within the picture."""
    boxes = _rectangles(root)
    assert not any(_overlap(one, other) for one, other in combinations(boxes, 2))
    width, height = float(root.get("width", "nan")), float(root.get("height", "nan"))
    assert all(left >= 0 and top >= 0 and right <= width and bottom <= height for left, top, right, bottom in boxes)
    for text in root.iter(f"{SVG}text"):
        middle, wide = text.get("text-anchor") == "middle", text_width(text.text or "", bold=text.get("font-weight") == "bold")
        left = float(text.get("x", "nan")) - (wide / 2 if middle else 0)
        assert left >= 0
        assert left + wide <= width
        assert float(text.get("y", "nan")) <= height


def test_no_link_crosses_a_node() -> None:
    root = _drawn_tree(MESH)
    boxes = _rectangles(root)
    wires = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") in {"6", "1.6"}]
    for path in wires:
        words = (path.get("d") or "").replace("M", "L").split("L")[1:]
        points = [tuple(map(float, point.split())) for point in words if "H" not in point]
        for (x, y), (end_x, end_y) in pairwise(points):
            steps = [(x + (end_x - x) * at / 20, y + (end_y - y) * at / 20) for at in range(1, 20)]
            inside = [box for box in boxes for px, py in steps if box[0] < px < box[2] and box[1] < py < box[3]]
            ends = [
                box
                for box in boxes
                if any(box[0] - 0.1 <= px <= box[2] + 0.1 and box[1] <= py <= box[3] for px, py in ((x, y), (end_x, end_y)))
            ]
            assert all(box in ends for box in inside), (x, y, end_x, end_y)


def test_the_same_scenario_is_drawn_the_same() -> None:
    assert diagram.network_svg(ecnlab.scenario(MESH)) == diagram.network_svg(ecnlab.scenario(MESH))


def test_a_link_says_its_rate_its_delay_its_queue_its_impairments_and_how_the_way_back_differs() -> None:
    plain = {"aqm": "red", "limit": 60}
    link = _link_tree("l", "a", "b", queue=plain, loss=0.01, ecn="bleach", reverse={"rate": "1 Mbps", "limit": 7})
    del link["limit"]
    said = _text_elements(_drawn_tree(_scenario_tree([link], [_flow_tree("f", **{"from": "a", "to": "b"})])))
    wanted = ["l →", "10 Mbps, 5 ms", "red, 60 packets", "ecn bleach", "loss 0.01", "back: 1 Mbps, 5 ms", "back: buffer of 7 packets"]
    assert [line for line in said if line in wanted] == wanted
    one_way = _text_elements(
        _drawn_tree(
            _scenario_tree(
                [_link_tree("l", "a", "b"), _link_tree("m", "b", "a", one_way=True)], [_flow_tree("f", **{"from": "a", "to": "b"})]
            )
        )
    )
    assert "← m" in one_way
    assert one_way.count("back: none") == 1


def test_a_group_has_its_hosts_at_both_ends_and_a_line_in_the_legend() -> None:
    said = _text_elements(_drawn_tree(MESH))
    assert {"far ×5", "uniform 1 ms to 9 ms", "sinks of far"} <= set(said)
    assert "far ×5: TCP linux-6.1 cubic; bulk; over af" in said
    assert "round: TCP linux-6.1 cubic; bulk; over bc, cd, de" in said
    assert "against: TCP linux-6.1 cubic; bulk; over bf.reverse" in said


def test_groups_are_distinguished_without_colour() -> None:
    flows = [_flow_tree(f"g{at}", **{"from": "a", "to": "b"}) for at in range(20)]
    root = _drawn_tree(_scenario_tree([_link_tree("l", "a", "b")], flows))
    looks = [(path.get("stroke"), path.get("stroke-dasharray")) for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "1.6"]
    assert len(looks) == 2 * len(flows), "a way and its sample in the legend"
    assert len(set(looks)) == len(flows)
    assert len({dash for _, dash in looks}) == 5


def test_names_of_any_kind_are_drawn_as_text_and_cut() -> None:
    name = HOSTILE[:99]
    links = [_link_tree(name, name, "b")]
    root = _drawn_tree(_scenario_tree(links, [_flow_tree(name, **{"from": name, "to": "b", "route": [name]})]) | {"name": name})
    assert any(text.startswith('<b> & "quotes" \ufffd') and text.endswith("… →") for text in _text_elements(root))
    assert all(len(text) < 200 for text in _text_elements(root))
    _require_no_overlaps(root)


def test_wide_letters_take_the_room_that_they_need() -> None:
    assert text_width("日本") == 2 * 11, "as wide as they are high"


def test_many_groups_and_many_links_are_drawn() -> None:
    links = [_link_tree(f"l{at}", f"n{at}", f"n{at + 1}") for at in range(60)]
    flows = [_flow_tree(f"g{at}", access={"to": f"n{at}", "rate": "1 Gbps", "delay": "1 ms"}, to="n60") for at in range(60)]
    scenario = ecnlab.scenario(_scenario_tree(links, flows))
    assert len(NetworkDrawing.from_scenario(scenario).groups) == 60
    _require_no_overlaps(ElementTree.fromstring(diagram.network_svg(scenario)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("10000000 bps", "10 Mbps"),
        ("1500000 bps", "1.5 Mbps"),
        ("0.0000021 s", "2.1 us"),
        ("0 s", "0 s"),
        ("0.04 s", "40 ms"),
        ("normal 0.04 s, deviation 0.005 s", "normal 40 ms, deviation 5 ms"),
        ("64000 B", "64 KB"),
        ("120 packets", "120 packets"),
        (["0.001 s", "0.003 s"], "1 ms, 3 ms"),
        (["0.001 s", "0.001 s"], "1 ms"),
        (["1 s", "2 s", "3 s", "4 s"], "1 s, 2 s, 3 s, …"),
    ],
)
def test_values_are_shown_in_the_units_that_people_write(value: Any, shown: str) -> None:
    assert readable_parameter_value(value) == shown


def test_queue_labels_have_discipline_aqm_and_buffer() -> None:
    assert queue_description({"aqm": "ecn", "limit": "120 packets"}) == "ecn, 120 packets"
    assert queue_description({"discipline": "fq", "aqm": {"name": "codel"}, "limit": "1000 packets"}) == "fq with codel, 1000 packets"
    assert queue_description({"discipline": "dualpi2", "limit": "64000 B"}) == "dualpi2, 64 KB"
    inner = {"aqm": "ecn", "limit": "50 packets"}
    assert queue_description({"discipline": "cbq", "rate": "1500000 bps", "queue": inner}) == "cbq to 1.5 Mbps: ecn, 50 packets"


def test_a_group_is_labelled_with_its_congestion_control_and_codepoint() -> None:
    tcp = {"profile": "linux", "variant": "dctcp", "ect_codepoint": "ect1"}
    flows = [
        _flow_tree("low", tcp=tcp, **{"from": "a", "to": "b"}),
        _flow_tree("usual", tcp={"profile": "linux", "ecn": True}, **{"from": "a", "to": "b"}),
    ]
    texts = _text_elements(
        _drawn_tree(_scenario_tree([_link_tree("l", "a", "b", queue={"aqm": "step", "limit": 50, "threshold": 10}, limit=50) | {}], flows))
    )
    assert "low: TCP linux-6.1 dctcp, ECN, ECT(1); bulk; over l" in texts
    assert "usual: TCP linux-6.1 cubic, ECN; bulk; over l" in texts


def test_a_picture_has_the_font_of_the_figures_and_its_letters_own_widths() -> None:
    root = _drawn_tree(MESH)
    (family,) = {group.get("font-family") for group in root.iter(f"{SVG}g") if group.get("font-family")}
    assert family is not None
    assert family.startswith("'DejaVu Sans',")
    assert text_width("iiii") < text_width("mmmm") < text_width("mmmm", bold=True)
    assert text_width("mmmm") == pytest.approx(4 * 0.974 * 11, rel=0.01), "0.974 em, from the font's own table"


@pytest.mark.parametrize("name", ["parking_lot", "dumbbell"])
def test_the_way_of_a_group_ends_at_the_middle_of_its_hosts_where_their_link_does(name: str) -> None:
    root = ElementTree.fromstring(diagram.network_svg(ecnlab.load(EXAMPLES / f"{name}.toml")))
    hosts = [
        box
        for box, rect in zip(_rectangles(root), (r for r in root.iter(f"{SVG}rect") if r.get("x")), strict=True)
        if rect.get("stroke-dasharray") == "3 2"
    ]
    sides = {(round(x, 1), round((top + bottom) / 2, 1)) for left, top, right, bottom in hosts for x in (left, right)}
    starts = [(float(dot.get("cx", "nan")), float(dot.get("cy", "nan"))) for dot in root.iter(f"{SVG}circle")]
    ways = [
        path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "1.6" and "H" not in (path.get("d") or "")
    ]
    ends = [tuple(map(float, way.split("L")[-1].split())) for way in ways]
    wires = {
        tuple(map(float, end.split()))
        for path in root.iter(f"{SVG}path")
        if path.get("stroke-width") == "6"
        for end in (path.get("d") or "")[2:].split("L")
    }
    assert len(starts) == len(ends) > 0
    for point in (*starts, *ends):
        assert any(abs(point[0] - x) <= 0.11 and abs(point[1] - y) <= 0.11 for x, y in sides), point
        assert any(abs(point[0] - x) <= 0.11 and abs(point[1] - y) <= 0.11 for x, y in wires), point


def test_a_figure_that_is_drawn_between_changes_no_width() -> None:
    before = text_width("bottleneck")
    network._letter_width.cache_clear()
    for weight in ("normal", "bold"):
        get_font(findfont(FontProperties(family=network.FONT_FAMILY, weight=weight))).set_size(40, 300)
    assert text_width("bottleneck") == before


@pytest.mark.parametrize(
    ("bursts", "label"),
    [
        ({"period": "4 ms"}, "bursts every 4 ms"),
        ({"period": "500 us", "aggregate": 32}, "bursts of 32 packets every 500 us"),
        ({"period": "4 ms", "aggregate": "64 KB"}, "bursts of 64 KB every 4 ms"),
    ],
)
def test_a_link_in_bursts_says_so(bursts: dict[str, Any], label: str) -> None:
    link = _link_tree("one", "a", "b", queue={"aqm": "droptail", "limit": 100}, bursts=bursts)
    scenario = ecnlab.scenario(_scenario_tree([link], [_flow_tree("all", **{"from": "a", "to": "b"})]))
    assert send_burst_labels(scenario.resolved["link"][0]) == [label]
    assert send_burst_labels(scenario.resolved["link"][0]["reverse"]) == []
    assert label in _text_elements(ElementTree.fromstring(diagram.network_svg(scenario)))
