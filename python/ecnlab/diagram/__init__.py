"""A scenario's network as a picture: nodes, links with their queues, and the flows' routes.

    from ecnlab import diagram, load

    Path("net.svg").write_text(diagram.svg(load("example:dumbbell")), encoding="utf-8")

The picture is drawn left to right, in columns, so that no label covers another: a link is a box between its two nodes, and the hosts of a
group are boxes beside the node that they are connected to. A group's route is a line with its own colour and dashes, listed in the legend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecnlab.diagram.layout import place_boxes
from ecnlab.diagram.network import NetworkDrawing
from ecnlab.diagram.picture import NetworkSvgWriter

if TYPE_CHECKING:
    from ecnlab.scenarios.load import Scenario

__all__ = ["svg"]


def network_svg(scenario: Scenario) -> str:
    """The network of a scenario as SVG. The same scenario gives the same text."""
    network = NetworkDrawing.from_scenario(scenario)
    return NetworkSvgWriter(scenario.name, network, place_boxes(network.boxes, network.lines)).svg_text()
