"""What a picture says of links, queues and flows, in a few short words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ecnlab.catalog import congestion_control

Tree = Mapping[str, Any]

LONGEST, _LONGEST_QUEUE = 30, 44
_QUANTITY = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:e[-+]?\d+)?) (bps|s|B)\b")
_STEPS = {
    "bps": ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e6, "MB"), (1e3, "KB"), (1.0, "B")),
}
_MOST_OF_A_LIST = 3


def cut(text: str, longest: int = LONGEST) -> str:
    """A text that is no longer than a picture can bear."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quantity(value: Any) -> str:
    """A value in force as people write it: "10 Mbps" for "10000000 bps". Lists are cut after a few."""
    if isinstance(value, list):
        shown = ", ".join(quantity(one) for one in dict.fromkeys(map(str, value[:_MOST_OF_A_LIST])))
        return f"{shown}, …" if len(value) > _MOST_OF_A_LIST else shown
    return _QUANTITY.sub(_in_its_unit, str(value))


def line(link: Tree) -> str:
    """Rate and delay of a link."""
    rate = quantity(link["rate"]) if "rate" in link else "rate by a trace"
    return f"{rate}, {quantity(link['delay'])}"


def queue(tree: Tree) -> str:
    """A queue by its discipline, its AQM and its buffer."""
    if "queue" in tree:
        shaped = f" to {quantity(tree['rate'])}" if "rate" in tree else ""
        return f"{tree['discipline']}{shaped}: {queue(tree['queue'])}"
    aqm = tree.get("aqm", "")
    name = aqm["name"] if isinstance(aqm, Mapping) else aqm
    within = f"{tree['discipline']} with {name}" if "discipline" in tree and name else tree.get("discipline", name)
    return f"{within}, {quantity(tree['limit'])}"


def buffer(edge: Tree) -> str:
    """What packets wait in before an edge."""
    return queue(edge["queue"]) if "queue" in edge else f"buffer of {edge['limit']} packets"


def impairments(edge: Tree) -> list[str]:
    """What an edge does to packets before they wait."""
    found = [f"{key} {edge[key]}" for key in ("ecn", "loss", "loss_every") if edge.get(key) not in (None, "keep", 0, 0.0)]
    return found + [str(part["kind"]) for part in edge.get("impair", [])]


def link(tree: Tree, changes: Sequence[Tree], *, rightwards: bool) -> list[str]:
    """A link's own lines in its box, its name first."""
    name = cut(tree["name"], LONGEST - 2)
    said = [f"{name} →" if rightwards else f"← {name}", line(tree), cut(buffer(tree), _LONGEST_QUEUE)]
    said += [cut(word) for word in impairments(tree)]
    edges = {tree["name"], f"{tree['name']}.reverse"}
    if any(edges & set(change["link"]) for change in changes):
        said.append("changes in the run")
    return said + [cut(f"back: {word}", _LONGEST_QUEUE) for word in _back(tree)]


def own_links(tree: Tree) -> list[str]:
    """The lines of a group's own links."""
    spread = [f"+ up to {quantity(tree['spread'])}"] if quantity(tree["spread"]) != "0 s" else []
    return [cut(quantity(tree["rate"])), cut(quantity(tree["delay"])), *spread]


def traffic(group: Tree) -> str:
    """What carries a group's data, and what sends it."""
    tcp = group.get("tcp")
    if tcp is None:
        return f"UDP; {group['app']['kind']}"
    ecn = (", ECN, ECT(1)" if tcp.get("codepoint") == "ect1" else ", ECN") if tcp.get("ecn") else ""
    carrier = f"TCP {tcp['profile']} {congestion_control(tcp)}{ecn}"
    return f"{carrier}; {group['app']['kind']}"


def _back(tree: Tree) -> list[str]:
    """What of the way back is not like the link."""
    back = tree.get("reverse")
    if back is None:
        return ["none"]
    other = [line(back)] if line(back) != line(tree) else []
    return other + ([buffer(back)] if "queue" in back or back["limit"] != _USUAL_BUFFER else []) + impairments(back)


_USUAL_BUFFER = 1000


def _in_its_unit(found: re.Match[str]) -> str:
    number = float(found[1])
    factor, unit = next(((factor, unit) for factor, unit in _STEPS[found[2]] if number >= factor * (1 - 1e-9)), (1.0, found[2]))
    return f"{number / factor:.6g} {unit}"
