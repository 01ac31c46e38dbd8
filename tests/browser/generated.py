"""Scenarios drawn from the registry, for comparing the engine in a browser with the native one.

A number determines a scenario. Parameters come from their usual ranges, so some scenarios contradict themselves: then both engines must
report the same problems.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from typing import Any

from ecnlab.scenarios import catalog
from ecnlab.scenarios.catalog import CatalogEntry, Parameter

_APPS = ("bulk", "arrivals", "cbr", "exchange", "onoff", "poisson", "telnet", "transactions", "video", "web")
_DATAGRAM_APPS = ("cbr", "onoff", "poisson")
# An application whose flows come and go is alone in its group.
_SINGLE_APPS = ("arrivals", "exchange", "transactions", "web")


def scenario_json(number: int) -> str:
    """The scenario of a number, as JSON."""
    rng = random.Random(number)
    queue = _queue(rng)
    rate, delay = f"{_between(rng, 1e6, 2e7):.0f} bps", f"{_between(rng, 0.001, 0.05):.6f} s"
    tree: dict[str, Any] = {
        "name": f"generated {number}",
        "duration": f"{rng.uniform(2, 4):.3f} s",
        "measure_from": f"{rng.uniform(0, 0.9):.3f} s",
        "flows": [_group(rng, name) for name in ("one", "two", "three")[: rng.randint(1, 3)]],
        "record": {
            "queue": "20 ms",
            "window": "50 ms",
            "rates": True,
            "rates_interval": f"{rng.choice((100, 250, 1000))} ms",
            "events": True,
        },
    }
    if rng.random() < 0.5:
        tree["network"] = {"topology": "dumbbell", "rate": rate, "delay": delay, "queue": queue}
        for group in tree["flows"]:
            group |= {"from": "left", "to": "right"}
    else:
        link = {"name": "bottleneck", "from": "r", "to": "s", "rate": rate, "delay": delay, "queue": queue}
        if rng.random() < 0.5:
            link["impair"] = [{"kind": "loss", "rate": 0.01}, {"kind": "reorder", "rate": 0.02, "delay": "3 ms"}]
        if rng.random() < 0.3:
            tree["change"] = [{"at": "1 s", "link": "bottleneck", "rate": f"{_between(rng, 1e6, 2e7):.0f} bps"}]
        tree["link"] = [link]
        for group in tree["flows"]:
            access = {"to": "r", "rate": "100 Mbps", "delay": f"{_between(rng, 0.0005, 0.05):.6f} s", "spread": "1 ms"}
            group |= {"to": "s", "access": access}
    return json.dumps(tree)


def _queue(rng: random.Random) -> dict[str, Any]:
    aqm, limit = rng.choice(catalog.entries("aqm")), rng.randint(20, 200)
    if rng.random() < 0.7:
        return _with_drawn_parameters(rng, {"aqm": aqm.name, "limit": limit}, aqm.parameters)
    name = rng.choice(("dualpi2", "fq", "drr", "sfq"))
    return _with_drawn_parameters(rng, {"discipline": name, "limit": limit}, _entry("discipline", name).parameters)


def _entry(kind: str, name: str) -> CatalogEntry:
    return next(entry for entry in catalog.entries(kind) if entry.name == name)


def _group(rng: random.Random, name: str) -> dict[str, Any]:
    kind = rng.choice(_APPS)
    app: dict[str, Any] = {"kind": kind}
    if kind == "arrivals":
        app |= {"load": round(rng.uniform(0.1, 0.9), 3), "rate": "5 Mbps"}
    count = 1 if kind in _SINGLE_APPS else rng.randint(1, 5)
    group: dict[str, Any] = {"name": name, "count": count, "start": f"{rng.uniform(0, 1):.6f} s", "app": app}
    if kind in _DATAGRAM_APPS and rng.random() < 0.7:
        return group | {"udp": {"ecn": "ect0"} if rng.random() < 0.3 else {}}
    profile = rng.choice(catalog.entries("tcp"))
    tcp = {"profile": profile.name, "ecn": rng.random() < 0.6}
    if rng.random() < 0.3:
        tcp |= {"ecn": True, "ecn_response": "dctcp", "ecn_echo": "dctcp"}
    return group | {"tcp": _with_drawn_parameters(rng, tcp, profile.parameters, 0.1)}


def _with_drawn_parameters(
    rng: random.Random, table: dict[str, Any], parameters: Iterable[Parameter], share: float = 0.3
) -> dict[str, Any]:
    """The table with values from their usual ranges for some of these parameters."""
    drawn = {one.name: _usual_value(rng, one) for one in parameters if one.usual and not one.read_when and rng.random() < share}
    return drawn | table


def _usual_value(rng: random.Random, parameter: Parameter) -> Any:
    assert parameter.usual
    low, high = parameter.usual.min, parameter.usual.max
    value = _between(rng, low, high) if parameter.usual.scale == "log" else rng.uniform(low, high)
    if parameter.kind.startswith("time"):
        return f"{value:.9f} s"
    if parameter.kind.startswith("rate"):
        return f"{value:.0f} bps"
    return round(value) if parameter.kind.startswith(("whole number", "amount")) else round(value, 6)


def _between(rng: random.Random, low: float, high: float) -> float:
    """Uniform on a logarithmic scale."""
    return low * math.exp(rng.random() * math.log(high / low))
