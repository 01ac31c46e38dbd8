"""The testbed's scenarios where hosts are real kernels: the nearest to its hosts that a kernel of today can be set to, and shorter runs.

Sysctls, socket options and route attributes set some properties of Linux 2.0 and 2.2: no SACK, or SACK without RACK, F-RTO and tail loss
probes; timestamps, the initial window, windows of 32 KB, and SYNs that offer ECN again. Other properties are those of the current kernel:
its timeouts (1 s before the first sample, then 200 ms at least), its acknowledgements and its proportional rate reduction.

Files are a fifth as long and the check of fairness half, since a kernel takes some hundred times as long for them as the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping

from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.model import ScenarioTree
from ecnlab.studies.papers.rfc2884.testbed import BULK_S, FAIRNESS_S, FILE_MB, HOST_TCP, START_S

FILE_DIVISOR, FAIRNESS_DIVISOR = 5, 2
# Run length by the length of a run of bulk transfers in the study: the slowest of the shorter files ends by then. Kernels without SACK, or
# the simulator's model of them, sometimes take much longer with ten congesting flows.
_BULK_DURATION_S = {BULK_S[2]: 120, BULK_S[5]: 200, BULK_S[10]: 800}

_QUIRKS = {"ecn_fallback": False}
_KERNEL_TCP = {"profile": "linux", "receive_window": "unlimited", "max_rwnd": 22, "quirks": _QUIRKS}
KERNEL_HOSTS: Mapping[str, Tree] = {
    "Reno": {
        **_KERNEL_TCP,
        "variant": "newreno",
        "frto": False,
        "initial_window": 2,
        "timestamps": False,
        "quirks": {**_QUIRKS, "header_size": "40 B", "ack_size": "40 B", "syn_size": "48 B"},
    },
    "SACK": {**_KERNEL_TCP, "variant": "sack", "initial_window": 2},
    "NewReno": {**_KERNEL_TCP, "variant": "newreno", "frto": False, "initial_window": 2},
}


def scenario_on_kernels(scenario: ScenarioTree) -> ScenarioTree:
    """A scenario of the testbed for backends whose hosts are real kernels."""
    flows = [_flow_group_on_kernels(flow) for flow in scenario["flows"]]
    title = str(scenario["name"]).replace(f"{FILE_MB} MB", f"{FILE_MB // FILE_DIVISOR} MB")
    return {**scenario, "name": title, "duration": _duration_on_kernels(scenario["duration"]), "flows": flows}


def _duration_on_kernels(duration: str) -> str:
    """Length of a run with kernels, from its length in the study."""
    seconds = int(duration.removesuffix(" s"))
    if seconds in _BULK_DURATION_S:
        return f"{START_S + _BULK_DURATION_S[seconds]} s"
    return f"{START_S + FAIRNESS_S // FAIRNESS_DIVISOR} s" if seconds == START_S + FAIRNESS_S else duration


def _flow_group_on_kernels(flow: ScenarioTree) -> Tree:
    tcp = {key: value for key, value in flow["tcp"].items() if key != "ecn"}
    hosts = next(name for name, settings in HOST_TCP.items() if settings == tcp)
    ecn = flow["tcp"]["ecn"]
    # A sender without ECN has no ECN parameters.
    quirks = {key: value for key, value in KERNEL_HOSTS[hosts]["quirks"].items() if ecn or key not in _QUIRKS}
    near = {**KERNEL_HOSTS[hosts], "quirks": quirks}
    app = flow["app"]
    if isinstance(app, Mapping) and app["kind"] == "file":
        app = {**app, "bytes": f"{FILE_MB // FILE_DIVISOR} MB"}
    return {**flow, "tcp": {**near, "ecn": ecn}, "app": app}
