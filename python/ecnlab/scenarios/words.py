"""Short labels of links, queues and flows in diagrams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ecnlab.scenarios.catalog import congestion_control_name

Tree = Mapping[str, Any]

MAX_LABEL_LENGTH, _MAX_QUEUE_LABEL_LENGTH = 30, 44
_QUANTITY_IN_FORCE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:e[-+]?\d+)?) (bps|s|B)\b")
_DISPLAY_STEPS = {
    "bps": ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e6, "MB"), (1e3, "KB"), (1.0, "B")),
}
_MAX_LIST_ITEMS = 3


def shorten_for_diagram(text: str, longest: int = MAX_LABEL_LENGTH) -> str:
    """Truncate a text for a diagram."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def readable_parameter_value(value: Any) -> str:
    """A parameter's value with a readable unit: "10 Mbps" for "10000000 bps". Lists are truncated."""
    if isinstance(value, list):
        shown = ", ".join(readable_parameter_value(one) for one in dict.fromkeys(map(str, value[:_MAX_LIST_ITEMS])))
        return f"{shown}, …" if len(value) > _MAX_LIST_ITEMS else shown
    return _QUANTITY_IN_FORCE.sub(_replace_by_readable_unit, str(value))


def rate_and_delay_of_link_text(link: Tree) -> str:
    """Rate and delay of a link as text."""
    rate = readable_parameter_value(link["rate"]) if "rate" in link else "rate by a trace"
    return f"{rate}, {readable_parameter_value(link['delay'])}"


def queue_description(tree: Tree) -> str:
    """Discipline, AQM and buffer of a queue."""
    if "queue" in tree:
        shaped = f" to {readable_parameter_value(tree['rate'])}" if "rate" in tree else ""
        return f"{tree['discipline']}{shaped}: {queue_description(tree['queue'])}"
    aqm = tree.get("aqm", "")
    name = aqm["name"] if isinstance(aqm, Mapping) else aqm
    within = f"{tree['discipline']} with {name}" if "discipline" in tree and name else tree.get("discipline", name)
    return f"{within}, {readable_parameter_value(tree['limit'])}"


def queue_or_buffer_description(edge: Tree) -> str:
    """The buffer or queue of a directed link."""
    return queue_description(edge["queue"]) if "queue" in edge else f"buffer of {edge['limit']} packets"


def send_burst_labels(edge: Tree) -> list[str]:
    """The bursts of a directed link, if it sends in bursts."""
    bursts = edge.get("bursts")
    if bursts is None:
        return []
    aggregate = readable_parameter_value(bursts["aggregate"])
    unit = "" if " " in aggregate else " packets"
    size = "" if aggregate == "off" else f" of {aggregate}{unit}"
    return [f"bursts{size} every {readable_parameter_value(bursts['period'])}"]


def impairment_labels(edge: Tree) -> list[str]:
    """The impairments of a directed link."""
    found = [f"{key} {edge[key]}" for key in ("ecn", "loss", "loss_every") if edge.get(key) not in (None, "keep", 0, 0.0)]
    return found + [str(part["kind"]) for part in edge.get("impair", [])]


def diagram_label_lines_of_link(tree: Tree, changes: Sequence[Tree], *, rightwards: bool) -> list[str]:
    """The lines of a link's label, beginning with its name."""
    name = shorten_for_diagram(tree["name"], MAX_LABEL_LENGTH - 2)
    lines = [
        f"{name} →" if rightwards else f"← {name}",
        rate_and_delay_of_link_text(tree),
        shorten_for_diagram(queue_or_buffer_description(tree), _MAX_QUEUE_LABEL_LENGTH),
    ]
    lines += [shorten_for_diagram(word, _MAX_QUEUE_LABEL_LENGTH) for word in send_burst_labels(tree)]
    lines += [shorten_for_diagram(word) for word in impairment_labels(tree)]
    edges = {tree["name"], f"{tree['name']}.reverse"}
    if any(edges & set(change["link"]) for change in changes):
        lines.append("changes in the run")
    return lines + [shorten_for_diagram(f"back: {word}", _MAX_QUEUE_LABEL_LENGTH) for word in _reverse_difference_labels(tree)]


def text_lines_of_access_links(tree: Tree) -> list[str]:
    """The lines of the label of a group's access links."""
    spread = [f"+ up to {readable_parameter_value(tree['spread'])}"] if readable_parameter_value(tree["spread"]) != "0 s" else []
    return [
        shorten_for_diagram(readable_parameter_value(tree["rate"])),
        shorten_for_diagram(readable_parameter_value(tree["delay"])),
        *spread,
    ]


def transport_and_application_label(group: Tree) -> str:
    """Transport protocol and application of a group."""
    tcp = group.get("tcp")
    if tcp is None:
        return f"UDP; {group['app']['kind']}"
    ecn = (", ECN, ECT(1)" if tcp.get("ect_codepoint") == "ect1" else ", ECN") if tcp.get("ecn") else ""
    carrier = f"TCP {tcp['profile']} {congestion_control_name(tcp)}{ecn}"
    return f"{carrier}; {group['app']['kind']}"


def _reverse_difference_labels(tree: Tree) -> list[str]:
    """Parameters of the reverse direction that differ from the link's."""
    back = tree.get("reverse")
    if back is None:
        return ["none"]
    other = [rate_and_delay_of_link_text(back)] if rate_and_delay_of_link_text(back) != rate_and_delay_of_link_text(tree) else []
    buffer = [queue_or_buffer_description(back)] if "queue" in back or back["limit"] != _DEFAULT_BUFFER_PACKETS else []
    return other + buffer + send_burst_labels(back) + impairment_labels(back)


_DEFAULT_BUFFER_PACKETS = 1000


def _replace_by_readable_unit(found: re.Match[str]) -> str:
    number = float(found[1])
    factor, unit = next(((factor, unit) for factor, unit in _DISPLAY_STEPS[found[2]] if number >= factor * (1 - 1e-9)), (1.0, found[2]))
    return f"{number / factor:.6g} {unit}"
