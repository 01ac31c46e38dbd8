"""A network's picture as SVG, written by hand: lines below, boxes above them, and the legend at the foot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from ecnlab.diagram.layout import BoxPosition
from ecnlab.diagram.network import FONT_FAMILY, FONT_SIZE, LINE_HEIGHT, PADDING, NetworkBox, NetworkDrawing, text_width
from ecnlab.scenarios import words

# Okabe and Ito's palette, safe for colour-blind readers; dashes distinguish more groups, and all groups in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "8 3", "2 3", "8 3 2 3", "14 4")

_MARGIN_PX, _TITLE_HEIGHT = 16.0, 34.0
_TRACK_SPACE, _TRACK_GAP = 24.0, 4.0
_LEGEND_SAMPLE_WIDTH = 46.0
# Attributes rather than a style sheet, which some SVG readers ignore.
_TEXT_COLOUR = f"""font-family="'{FONT_FAMILY}', Verdana, sans-serif" font-size="{FONT_SIZE}" fill="#000\""""
_BOX_COLOURS = {
    "node": 'fill="#ddd" stroke="#000" rx="8"',
    "link": 'fill="#fff" stroke="#000"',
    "hosts": 'fill="#fff" stroke="#777" stroke-dasharray="3 2"',
}
_LINK_STYLE = 'fill="none" stroke="#bbb" stroke-width="6"'

Point = tuple[float, float]


class NetworkSvgWriter:
    """Writer of a laid-out network as SVG."""

    def __init__(self, title: str, network: NetworkDrawing, places: Sequence[BoxPosition]) -> None:
        self.title = title
        self.network = network
        self.places = [
            BoxPosition(place.x + _MARGIN_PX, place.y + _MARGIN_PX + _TITLE_HEIGHT, place.left + _MARGIN_PX, place.right + _MARGIN_PX)
            for place in places
        ]

    def svg_text(self) -> str:
        """The complete SVG document."""
        right = max(place.right for place in self.places)
        foot = max(place.y + box.height / 2 for box, place in self._boxes_with_positions()) + 2 * LINE_HEIGHT
        legend = list(self._svg_legend(foot))
        widest = max(
            [
                right,
                _MARGIN_PX + text_width(words.shorten_for_diagram(self.title, 90), bold=True),
                *(_LEGEND_SAMPLE_WIDTH + _MARGIN_PX + text_width(g.about) for g in self.network.groups),
            ]
        )
        width, height = widest + _MARGIN_PX, foot + LINE_HEIGHT * 1.3 * len(self.network.groups) + _MARGIN_PX
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{_escape_xml_text(self.title)}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f"<g {_TEXT_COLOUR}>",
            _svg_text(_MARGIN_PX, _MARGIN_PX + FONT_SIZE, words.shorten_for_diagram(self.title, 90), bold=True),
            *self._svg_links(),
            *self._svg_routes(),
            *self._svg_boxes(),
            *legend,
            "</g></svg>",
        ]
        return "\n".join(parts) + "\n"

    def _boxes_with_positions(self) -> Iterator[tuple[NetworkBox, BoxPosition]]:
        return zip(self.network.boxes, self.places, strict=True)

    def _svg_links(self) -> Iterator[str]:
        """The links as broad grey lines."""
        for first, second in self.network.lines:
            yield f'<path {_LINK_STYLE} d="{_svg_path_data(self._route_points([first, second], 0.0))}"/>'

    def _svg_routes(self) -> Iterator[str]:
        """Each group's route as a line from a dot to an arrow, beside the lines of the other groups."""
        for number, group in enumerate(self.network.groups):
            points = self._route_points(group.way, self._track_offset(number))
            colour = COLOURS[number % len(COLOURS)]
            start, (before, end) = points[0], points[-2:]
            yield f"<g><title>{_escape_xml_text(group.name)}</title>"
            yield f'<path {_route_style(number)} d="{_svg_path_data(points)}"/>'
            yield f'<circle cx="{start[0]:.1f}" cy="{start[1]:.1f}" r="3" fill="{colour}"/>'
            yield f'<path fill="{colour}" d="{_svg_arrowhead_path_data(before, end)}"/></g>'

    def _track_offset(self, number: int) -> float:
        """Vertical offset of a group's line from the middle of a link."""
        groups = len(self.network.groups)
        return (number - (groups - 1) / 2) * min(_TRACK_GAP, _TRACK_SPACE / groups)

    def _route_points(self, way: Sequence[int], aside: float) -> list[Point]:
        """The points of a line over boxes: it enters each at one side, leaves it at the other, and is level within columns."""
        points: list[Point] = []
        for first, second in pairwise(way):
            rightwards = self.network.boxes[second].column > self.network.boxes[first].column
            points += self._points_to_column_end(first, aside, right=rightwards)
            points += reversed(self._points_to_column_end(second, aside, right=not rightwards))
        return points

    def _points_to_column_end(self, number: int, aside: float, *, right: bool) -> list[Point]:
        """From the side of a box to the end of its column. At hosts, which no other group shares, the offset is 0."""
        place, box = self.places[number], self.network.boxes[number]
        y = place.y + (0.0 if box.kind == "hosts" else max(-box.height / 2, min(aside, box.height / 2)))
        return [(place.x + box.width / 2 * (1 if right else -1), y), (place.right if right else place.left, y)]

    def _svg_boxes(self) -> Iterator[str]:
        for box, place in self._boxes_with_positions():
            if box.kind == "bend":
                continue
            left, top = place.x - box.width / 2, place.y - box.height / 2
            yield f"<g><title>{_escape_xml_text(box.full)}</title>"
            yield f'<rect {_BOX_COLOURS[box.kind]} x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
            for at, line in enumerate(box.lines):
                baseline = top + PADDING + LINE_HEIGHT * (at + 1) - 3
                yield _svg_text(place.x, baseline, line, bold=at == 0, middle=True)
            yield "</g>"

    def _svg_legend(self, top: float) -> Iterator[str]:
        for number, group in enumerate(self.network.groups):
            baseline = top + LINE_HEIGHT * 1.3 * (number + 0.8)
            line = f"M {_MARGIN_PX:.1f} {baseline - 4:.1f} H {_MARGIN_PX + _LEGEND_SAMPLE_WIDTH - 10:.1f}"
            yield f'<path {_route_style(number)} d="{line}"/>'
            yield _svg_text(_MARGIN_PX + _LEGEND_SAMPLE_WIDTH, baseline, group.about)


def _route_style(number: int) -> str:
    """The look of a group's line."""
    dash = DASHES[number % len(DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'fill="none" stroke-width="1.6" stroke="{COLOURS[number % len(COLOURS)]}"{dashes}'


def _svg_path_data(points: Sequence[Point]) -> str:
    return "M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _svg_arrowhead_path_data(before: Point, end: Point) -> str:
    """A small triangle that ends a line."""
    back = -7.0 if end[0] >= before[0] else 7.0
    (x, y) = end
    return f"M {x:.1f} {y:.1f} L {x + back:.1f} {y - 3.5:.1f} L {x + back:.1f} {y + 3.5:.1f} Z"


def _svg_text(x: float, baseline: float, text: str, *, bold: bool = False, middle: bool = False) -> str:
    looks = (' font-weight="bold"' if bold else "") + (' text-anchor="middle"' if middle else "")
    return f'<text x="{x:.1f}" y="{baseline:.1f}"{looks}>{_escape_xml_text(text)}</text>'


def _escape_xml_text(text: str) -> str:
    """Escape a text for XML."""
    return escape(
        "".join(letter if letter == " " or (letter.isprintable() and not _is_invalid_in_xml(letter)) else "\ufffd" for letter in text)
    )


def _is_invalid_in_xml(letter: str) -> bool:
    return ord(letter) & 0xFFFE == 0xFFFE or 0xD800 <= ord(letter) <= 0xDFFF
