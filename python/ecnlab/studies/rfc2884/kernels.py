"""The testbed's scenarios where hosts are real kernels: the nearest to its hosts that a kernel of today can be set to, and shorter runs.

Of Linux 2.0 and 2.2 a kernel keeps what sysctls, socket options and route attributes reach: no SACK, or SACK without RACK, F-RTO and probes
for the tail; timestamps, the first window, windows of 32 KB, and SYNs that offer ECN again. Its timeouts (1 s before the first sample, then
200 ms at least), its acknowledgements and its proportional rate reduction are its own.

Files are a fifth as long and the check of fairness half, since a kernel takes some hundred times as long for them as the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecnlab.networks import Tree
from ecnlab.studies.rfc2884.testbed import BULK_S, FAIRNESS_S, FILE_MB, HOSTS, START_S

FILES, FAIRNESS = 5, 2
# By how long a run of bulk transfers is in the study: until when the slowest of the shorter files is through. Kernels without SACK, or the
# simulator's likeness of them, take much longer now and then beside ten congesting flows.
_BULK_S: Mapping[int, int] = {BULK_S[2]: 120, BULK_S[5]: 200, BULK_S[10]: 800}

_PLAIN: Tree = {"profile": "linux", "receive_window": "any", "max_window": 22, "ecn_fallback": False}
KERNEL_HOSTS: Mapping[str, Tree] = {
    "Reno": {
        **_PLAIN,
        "variant": "newreno",
        "frto": False,
        "initial_window": 2,
        "timestamps": False,
        "header": "40 B",
        "ack_size": "40 B",
        "first_packet_size": "48 B",
    },
    "SACK": {**_PLAIN, "variant": "sack", "initial_window": 2},
    "NewReno": {**_PLAIN, "variant": "newreno", "frto": False, "initial_window": 2},
}


def on_kernels(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """A scenario of the testbed, as it is where hosts are real kernels."""
    flows = [_group(flow) for flow in scenario["flows"]]
    title = str(scenario["name"]).replace(f"{FILE_MB} MB", f"{FILE_MB // FILES} MB")
    return {**scenario, "name": title, "duration": _shorter(scenario["duration"]), "flows": flows}


def _shorter(duration: str) -> str:
    """How long a run is there, from how long it is."""
    seconds = int(duration.removesuffix(" s"))
    if seconds in _BULK_S:
        return f"{START_S + _BULK_S[seconds]} s"
    return f"{START_S + FAIRNESS_S // FAIRNESS} s" if seconds == START_S + FAIRNESS_S else duration


def _group(flow: Mapping[str, Any]) -> Tree:
    tcp = {key: value for key, value in flow["tcp"].items() if key != "ecn"}
    hosts = next(name for name, settings in HOSTS.items() if settings == tcp)
    ecn = flow["tcp"]["ecn"]
    # Who has no ECN reads no parameter of it.
    near = {key: value for key, value in KERNEL_HOSTS[hosts].items() if ecn or key != "ecn_fallback"}
    app = flow["app"]
    if isinstance(app, Mapping) and app["kind"] == "file":
        app = {**app, "bytes": f"{FILE_MB // FILES} MB"}
    return {**flow, "tcp": {**near, "ecn": ecn}, "app": app}
