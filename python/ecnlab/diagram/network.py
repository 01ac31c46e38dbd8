"""The boxes and lines of a network's picture: nodes, links, and hosts, each in its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ecnlab.scenarios import words

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

    from ecnlab.scenarios.load import Scenario

Tree = Mapping[str, Any]

FONT_FAMILY, FONT_SIZE = "DejaVu Sans", 11
LINE_HEIGHT, PADDING = 14.0, 6.0


@dataclass
class NetworkBox:
    """A box of the picture: `lines` are its text, and `full` is its tooltip.

    `kind` is "node", "link", "hosts", or "bend", which only keeps a line out of the way of boxes.
    """

    kind: str
    column: int
    lines: list[str] = field(default_factory=list)
    full: str = ""

    @property
    def width(self) -> float:
        """Width of the longest line, the first in bold, and a margin."""
        return max((text_width(line, bold=at == 0) for at, line in enumerate(self.lines)), default=0.0) + (
            2 * PADDING if self.lines else 0.0
        )

    @property
    def height(self) -> float:
        """Height of the lines of text, and a margin."""
        return len(self.lines) * LINE_HEIGHT + (2 * PADDING if self.lines else LINE_HEIGHT)


@dataclass(frozen=True)
class FlowGroupRoute:
    """A group of flows: its legend entry, and the boxes on its route."""

    name: str
    about: str
    way: list[int]


@dataclass(frozen=True)
class NetworkDrawing:
    """Boxes, lines between them as pairs of box numbers, and the groups' routes."""

    boxes: list[NetworkBox]
    lines: list[tuple[int, int]]
    groups: list[FlowGroupRoute]

    @staticmethod
    def from_scenario(scenario: Scenario) -> NetworkDrawing:
        """The network of a scenario."""
        return _NetworkBuilder(scenario).build()


def text_width(text: str, *, bold: bool = False) -> float:
    """Width of a text in the figures' font; a glyph that the font lacks counts as wide as it is high."""
    return sum(_letter_width(letter, bold) for letter in text)


@cache
def _letter_width(letter: str, bold: bool) -> float:
    from matplotlib.ft2font import LoadFlags

    font = _load_font("bold" if bold else "normal")
    if ord(letter) not in font.get_charmap():
        return float(FONT_SIZE)
    return float(font.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance) / 65536


@cache
def _load_font(weight: str) -> FT2Font:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    font = FT2Font(findfont(FontProperties(family=FONT_FAMILY, weight=weight)))  # not matplotlib's cached font, whose size it changes
    font.set_size(FONT_SIZE, 72)
    return font


class _NetworkBuilder:
    """Puts a scenario's parts into columns: nodes in the even ones, links and hosts between them."""

    def __init__(self, scenario: Scenario) -> None:
        tree = scenario.resolved
        self.links: Sequence[Tree] = tree["link"]
        self.changes: Sequence[Tree] = tree.get("change", [])
        self.flows: Sequence[Tree] = tree["flows"]
        self.routes = scenario.routes
        self.boxes: list[NetworkBox] = []
        self.lines: list[tuple[int, int]] = []
        self.layers = node_layers([(link["from"], link["to"]) for link in self.links])
        self.nodes = {
            node: self._add_box(NetworkBox("node", 2 * layer, [words.shorten_for_diagram(node)], node))
            for node, layer in self.layers.items()
        }
        self.chains = {link["name"]: self._add_link_boxes(link) for link in self.links}

    def build(self) -> NetworkDrawing:
        groups = [self._add_hosts_and_return_route(group) for group in self.flows]
        first = min(box.column for box in self.boxes)
        for box in self.boxes:
            box.column -= first
        return NetworkDrawing(self.boxes, self.lines, groups)

    def _add_box(self, box: NetworkBox) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _add_link_boxes(self, link: Tree) -> list[int]:
        """The boxes from a link's first node to its last: the link's box in the middle, bends around it."""
        start, end = (2 * self.layers[link[key]] for key in ("from", "to"))
        step = 1 if end > start else -1
        columns = list(range(start + step, end, step))
        middle = len(columns) // 2 // 2 * 2
        label_lines = words.diagram_label_lines_of_link(link, self.changes, rightwards=step > 0)
        between = [
            self._add_box(NetworkBox("link", column, label_lines, link["name"]) if at == middle else NetworkBox("bend", column))
            for at, column in enumerate(columns)
        ]
        chain = [self.nodes[link["from"]], *between, self.nodes[link["to"]]]
        self.lines += pairwise(chain)
        return chain

    def _add_hosts_and_return_route(self, group: Tree) -> FlowGroupRoute:
        route = self.routes[group["name"]][0]
        way: list[int] = []
        for name in route:
            chain = self.chains[name] if name in self.chains else self.chains[name.removesuffix(".reverse")][::-1]
            way += chain[1:] if way else chain
        count = f" ×{group['count']}" if group["count"] > 1 else ""
        if "access" in group:
            way = [self._add_hosts_beside_node(group, "access", f"{words.shorten_for_diagram(group['name'])}{count}", way[0], way[1]), *way]
        if "exit" in group:
            way = [
                *way,
                self._add_hosts_beside_node(
                    group, "exit", f"sink{'s' * (group['count'] > 1)} of {words.shorten_for_diagram(group['name'], 20)}", way[-1], way[-2]
                ),
            ]
        hops = ", ".join(words.shorten_for_diagram(name) for name in route[:4]) + (", …" if len(route) > 4 else "")
        return FlowGroupRoute(
            group["name"],
            f"{words.shorten_for_diagram(group['name'])}{count}: {words.transport_and_application_label(group)}; over {hops}",
            way,
        )

    def _add_hosts_beside_node(self, group: Tree, own: str, title: str, node: int, beyond: int) -> int:
        """Hosts beside a node, on the side opposite to the route."""
        column = self.boxes[node].column
        side = -1 if self.boxes[beyond].column > column else 1
        hosts = self._add_box(NetworkBox("hosts", column + side, [title, *words.text_lines_of_access_links(group[own])], group["name"]))
        self.lines.append((hosts, node))
        return hosts


def node_layers(links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Column of each node: the number of links of the longest path to it, ignoring links that close a cycle."""
    leaving: dict[str, list[str]] = {}
    for start, end in links:
        leaving.setdefault(start, []).append(end)
        leaving.setdefault(end, [])
    order = _topological_order(leaving)
    rank = {node: at for at, node in enumerate(order)}
    found = dict.fromkeys(leaving, 0)
    for node in order:
        for end in leaving[node]:
            if rank[end] > rank[node]:
                found[end] = max(found[end], found[node] + 1)
    return found


def _topological_order(leaving: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes in topological order, ignoring links that close a cycle; roots first, in the order of the file."""
    entered = {end for ends in leaving.values() for end in ends}
    roots = [node for node in leaving if node not in entered]
    done: dict[str, None] = {}
    seen: set[str] = set()
    for root in [*roots, *leaving]:
        stack = [(root, iter(leaving[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, ends = stack[-1]
            end = next((end for end in ends if end not in seen), None)
            if end is None:
                done[node] = None
                stack.pop()
            else:
                seen.add(end)
                stack.append((end, iter(leaving[end])))
    return list(reversed(done))
