"""A scenario as tables: times, links with their queues, and groups of flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecnlab.display.cells import TextTable
from ecnlab.scenarios import words


def scenario_tables(tree: Mapping[str, Any], duration_s: float, measure_from_s: float) -> list[TextTable]:
    """The main parameters of a scenario: times, links with their queues, and groups of flows."""
    links = [
        [link["name"], f"{link['from']} to {link['to']}", words.rate_and_delay_of_link_text(link), words.queue_or_buffer_description(link)]
        for link in tree["link"]
    ]
    groups = [[group["name"], str(group["count"]), words.transport_and_application_label(group)] for group in tree["flows"]]
    link_words, group_words = ["link", "from, to", "rate, delay", "queue"], ["group", "flows", "transport; application"]
    return [
        TextTable("", ["duration", "measured from"], [[f"{duration_s:g} s", f"{measure_from_s:g} s"]]),
        TextTable("links", link_words, links, link_words),
        TextTable("groups of flows", group_words, groups, [word for word in group_words if word != "flows"]),
    ]
