"""Runs in front of this machine's kernel, each a second or two of real time. Lateness is not checked, since the machine may be busy."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import ecnlab
from ecnlab.backends import doctor
from ecnlab.execution.jobs import Job

_REPORT = doctor.run_backend_checks()
_WHY = "; ".join(f"{check.name}: {check.found}" for check in _REPORT.checks if check.backend == "live" and check.needed and not check.works)
pytestmark = [pytest.mark.real_time, pytest.mark.skipif(not _REPORT.is_backend_usable("live"), reason=f"live does not work here: {_WHY}")]

# Late by seconds at most, as no run is.
LIVE = ecnlab.Live(lateness_budget_s=10.0)

TREE: dict[str, Any] = {
    "name": "real",
    "duration": "1.5 s",
    "measure_from": "0.5 s",
    "link": [
        {
            "name": "bottleneck",
            "from": "router",
            "to": "sink",
            "rate": "5 Mbps",
            "delay": "5 ms",
            "queue": {"aqm": "ecn", "limit": 100, "min_th": 2, "max_th": 20, "max_p": 0.5},
        }
    ],
    "flows": [
        {"name": "with", "count": 2, "from": "router", "to": "sink", "tcp": {"profile": "linux", "variant": "newreno", "ecn": True}},
        {"name": "without", "from": "router", "to": "sink", "tcp": {"profile": "linux", "variant": "cubic", "ecn": False}},
    ],
}
OWN_AQM_SCRIPT = """\
import sys

import ecnlab


class Mine(ecnlab.Aqm):
    \"\"\"Marks what it can.\"\"\"

    def on_arrival(self, packet):
        {body}
"""


def _scenario_tree(**changes: Any) -> dict[str, Any]:
    return {**TREE, **changes}


@pytest.fixture(scope="module")
def result() -> ecnlab.Result:
    return ecnlab.run(ecnlab.scenario(_scenario_tree(record={"rates": True})), [1], backend=LIVE)


def test_a_run_gives_the_tables_of_a_simulated_one(result: ecnlab.Result) -> None:
    simulated = ecnlab.run(ecnlab.scenario(_scenario_tree(record={"rates": True})), [1])
    assert result.tables == simulated.tables
    assert [result.table(name).columns for name in sorted(result.tables)] == [
        simulated.table(name).columns for name in sorted(simulated.tables)
    ]
    assert result.estimate("goodput_bps").mean > 1e6
    assert result.estimate("marks", group="with").mean > 0
    assert result.estimate("marks", group="without").mean == 0


def test_a_run_records_its_kernel_and_hosts(result: ecnlab.Result) -> None:
    about = result.host_record_by_seed[1]
    assert about["kernel"] == result.backend["kernel"] == os.uname().release
    assert [(group["name"], group["congestion_control"]) for group in about["groups"]] == [("with", "reno"), ("without", "cubic")]
    late = about["lateness_s"]
    assert 0 <= late["p50"] <= late["p99"] <= late["p99.9"] <= late["max"]
    assert about["lateness_budget_s"] == 10.0
    assert about["connections"]["opened"] == 3


def test_what_a_kernel_cannot_do_is_refused_by_name_before_anything_starts(small: ecnlab.Scenario) -> None:
    with pytest.raises(ecnlab.ScenarioError) as raised:
        ecnlab.run(small, [1], backend="live")
    assert [problem.place for problem in raised.value.problems] == ["flows.far.tcp.profile", "flows.near.tcp.profile"]


def test_a_run_over_its_lateness_budget_is_refused_with_its_lateness() -> None:
    with pytest.raises(ecnlab.RunsFailed) as raised:
        ecnlab.run(ecnlab.scenario(TREE), [1], backend=ecnlab.Live(lateness_budget_s=1e-9))
    assert [failure.kind for failure in raised.value.failures] == ["lateness"]


def test_a_capture_holds_real_packets_and_other_traces_are_refused(tmp_path: Path) -> None:
    scenario = ecnlab.scenario(TREE)
    with pytest.raises(ecnlab.UsageError, match="live writes pcapng"):
        ecnlab.run(scenario, [1], backend=LIVE, trace=tmp_path / "x.tr")
    ecnlab.run(scenario, [1], backend=LIVE, trace=tmp_path / "x.pcapng.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.pcapng.gz"]
    assert ecnlab.trace(tmp_path / "x.pcapng.gz").flows.height == 3


def test_a_run_that_is_stopped_ends_its_process() -> None:
    scenario = ecnlab.scenario(_scenario_tree(duration="60 s")).on_backend(LIVE)
    began = monotonic()
    with pytest.raises(ecnlab._core.Interrupted):  # type: ignore[attr-defined]
        Job(scenario, 1).run(lambda over_s: over_s > 0.2)
    assert monotonic() - began < 20
    assert _child_pids(os.getpid()) == []


def test_nothing_is_left_of_a_run_whose_process_is_killed(tmp_path: Path) -> None:
    script = f"import ecnlab; ecnlab.run(ecnlab.scenario({_scenario_tree(duration='60 s')!r}), [1], backend='live')"
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env=_environment()) as process:
        _wait_until(lambda: bool(_child_pids(process.pid)))
        (child,) = _child_pids(process.pid)
        sleep(0.5)
        process.send_signal(signal.SIGKILL)
        _wait_until(lambda: not Path(f"/proc/{child}").exists())
    assert list(tmp_path.iterdir()) == []


def test_an_aqm_of_a_file_stands_before_real_packets(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN_AQM_SCRIPT.format(body="return ecnlab.mark() if packet.capable else ecnlab.PASS"))
    result = ecnlab.run(_run_with_own_aqm(f"{tmp_path}/mine.py:Mine"), [1], backend=LIVE)
    assert result.estimate("marks", group="with").mean > 10


def test_an_aqm_that_raises_is_reported_with_its_exception(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN_AQM_SCRIPT.format(body="raise ValueError('no idea')"))
    with pytest.raises(ecnlab.AqmError, match="no idea"):
        ecnlab.run(_run_with_own_aqm(f"{tmp_path}/mine.py:Mine"), [1], backend=LIVE)
    (tmp_path / "mine.py").write_text(OWN_AQM_SCRIPT.format(body="raise KeyboardInterrupt"))
    with pytest.raises(ecnlab.Interrupted, match="0 of 1 runs had finished"):
        ecnlab.run(_run_with_own_aqm(f"{tmp_path}/mine.py:Mine"), [1], backend=LIVE)


def test_an_aqm_of_the_script_itself_is_found_if_the_script_guards_what_it_runs(tmp_path: Path) -> None:
    tree = _scenario_tree(link=[{**TREE["link"][0], "queue": {"aqm": "Mine", "limit": 100}}])
    body = f"""
    result = ecnlab.run(ecnlab.scenario({tree!r}, aqms=[Mine]), [1], backend=ecnlab.Live(lateness_budget_s=10.0))
    print(result.estimate("marks").mean > 10)
"""
    script = tmp_path / "script.py"
    script.write_text(
        OWN_AQM_SCRIPT.format(body="return ecnlab.mark() if packet.capable else ecnlab.PASS") + '\nif __name__ == "__main__":' + body
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=_environment(), check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
    script.write_text(OWN_AQM_SCRIPT.format(body="return ecnlab.mark() if packet.capable else ecnlab.PASS") + "\nif True:" + body)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=_environment(), check=False)
    assert "put what it runs under `if __name__" in done.stderr


@pytest.mark.parametrize(("seconds", "said"), [(0.1, "done\n"), (60, "cannot unshare the user namespace in a multi-threaded process")])
def test_a_thread_that_is_about_to_end_is_waited_for_before_there_is_a_namespace_of_users(seconds: float, said: str) -> None:
    """A thread that has ended but still exists, like the one that read a scenario: join returns before the kernel removes it."""
    script = f"""
import threading, time
from ecnlab import _core
threading.Thread(target=time.sleep, args=({seconds},), daemon=True).start()
_core.unshare_as_root()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=_environment(), check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this machine permits no namespaces of users")
    assert said in done.stdout + done.stderr


def test_a_user_without_permission_gets_a_remedy() -> None:
    script = f"""
import resource, ecnlab
scenario = ecnlab.scenario({TREE!r}).on_backend("live")
resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))
ecnlab.run(scenario, [1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=_environment(), check=False)
    assert "BackendError: live cannot be used here: Too many open files" in done.stderr
    assert "ecnlab doctor" in done.stderr


def _run_with_own_aqm(reference: str) -> ecnlab.Scenario:
    return ecnlab.scenario(_scenario_tree(link=[{**TREE["link"][0], "queue": {"aqm": "Mine", "limit": 100}}]), aqms=[reference])


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}


def _child_pids(pid: int) -> list[int]:
    """The processes of runs that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and b"ecnlab.execution.live_child" in command:
            found.append(int(stat.parent.name))
    return found


def _wait_until(true: Any) -> None:
    end = monotonic() + 20
    while not true():
        assert monotonic() < end
        sleep(0.02)


def test_what_queues_decided_in_real_time_they_decide_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN_AQM_SCRIPT.format(body="return ecnlab.mark() if self.random() < 0.05 else ecnlab.PASS"))
    ours = ecnlab.scenario(_scenario_tree(record={"arrivals": True}), {"link.bottleneck.queue.max_p": 0.2})
    link = {**TREE["link"][0], "queue": {"aqm": "Mine", "limit": 100}}
    mine = ecnlab.scenario(_scenario_tree(record={"arrivals": True}, link=[link]), aqms=[f"{file}:Mine"])
    for scenario, aqms in ((ours, []), (mine, [f"{file}:Mine"])):
        found = ecnlab.replay(ecnlab.run(scenario.on_backend(LIVE), seed=1), aqms=aqms)
        assert found.agrees
        assert found.queues[0].arrivals > 100
