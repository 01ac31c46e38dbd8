"""A part of the study on real kernels, through the public API, without results that depend on chance. It needs a UML kernel."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.backends.uml import kernels, process
from ecnlab.errors import BackendError
from ecnlab.studies.framework.runner import select_from_study
from ecnlab.studies.papers.rfc2884 import STUDY
from ecnlab.studies.papers.rfc2884.kernels import scenario_on_kernels
from ecnlab.studies.papers.rfc2884.testbed import competing_transactions_scenario
from helpers import Outcome


def built() -> kernels.BuiltKernel | None:
    try:
        return kernels.find_built_kernel()
    except BackendError:
        return None


KERNEL = built()
pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(KERNEL is None or not process.GUEST_PROGRAM.is_file(), reason="no UML kernel: `ecnlab uml build-kernel` builds it"),
]


def test_transactions_are_claimed_of_a_kernel_s_hosts_and_come_out_the_same_again(command: Callable[..., Outcome], tmp_path: Path) -> None:
    """R7 has the shortest runs of the study with a large gain of ECN."""
    store, report = tmp_path / "store", tmp_path / "report"
    done = command("study", "run", "rfc2884", "--backend", "uml", "--claim", "R7", "--seeds", "1..2", "--store", store, "--out", report)
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads((report / "claims.json").read_text())
    assert KERNEL is not None
    assert (told["backend"]["name"], told["backend"]["kernel"], told["kernel_hosts"]) == ("uml", KERNEL.name, True)
    (claim,) = told["claims"]
    assert (claim["id"], claim["verdict"] in ("reproduced", "not reproduced", "undecided")) == ("R7", True)
    assert [statement["n"] for statement in claim["statements"]] == [2] * 9
    # The direction of the RFC's findings. Over many seeds both are many standard deviations above these bounds.
    ours = {statement["statement"]: statement["ours"] for statement in claim["statements"]}
    assert ours["gain, high congestion, max_p 0.5"] > 0
    assert ours["rate with ECN, high congestion, max_p 0.5"] > ours["rate with ECN, high congestion, max_p 0.02"] > 0

    cell = competing_transactions_scenario(5, 10, 0.5)
    results, failures = select_from_study(STUDY, [1], claims=["R7"], backend="uml").plan.run_missing(store)
    again = ecnlab.run(ecnlab.scenario(scenario_on_kernels(cell.scenario)), seed=1, backend="uml")
    assert failures == []
    assert again.seed_run_statistics[0].fingerprint == results[cell].seed_run_statistics[0].fingerprint
    assert again.groups.equals(results[cell].groups)
