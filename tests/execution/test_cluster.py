"""A real scheduler and two workers as processes on the loopback interface."""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import ecnlab
from ecnlab.execution import cluster
from ecnlab.execution.progress import ProgressLine

pytestmark = pytest.mark.real_time

_PACKAGE = Path(ecnlab.__file__).parent.parent
_SLOW_AQM = {"duration": "600 s", "record.queue": "off", "record.window": "off", "record.events": False, "record.rates": False}
_WORKER_ENDING_AQM = """\
import os

import ecnlab


class Deadly(ecnlab.Aqm):
    def on_arrival(self, packet):
        os._exit(1)
"""

# A job that dask repeats there stays lost for a while.
_SLOW_CORE_OF_ANOTHER_BUILD = """\
from time import sleep


def __getattr__(name):
    sleep(0.3)
    return "0123456789abcdef"
"""

# A machine that is busy takes long to start a process that imports dask.
_PATIENCE_S = 60

_STARTED: list[subprocess.Popen[bytes]] = []


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _start_scheduler(tmp_path_factory.mktemp("scheduler")) as (_, address):
        yield address


@pytest.fixture
def workers(scheduler: str, started: ExitStack) -> list[subprocess.Popen[bytes]]:
    """Two workers; killed ones are replaced, also one that is still ending when its scheduler has already lost it."""
    from distributed import Client

    with Client(scheduler, timeout=_PATIENCE_S) as client:
        until = monotonic() + _PATIENCE_S
        while True:
            _STARTED[:] = [worker for worker in _STARTED if worker.poll() is None]
            while len(_STARTED) < 2:
                _STARTED.append(started.enter_context(_start_worker(scheduler)))
            if len(client.nthreads()) == 2 and all(worker.poll() is None for worker in _STARTED):
                return list(_STARTED)
            assert monotonic() < until
            sleep(0.05)


@pytest.fixture
def idle_scheduler(scheduler: str) -> str:
    """The scheduler without workers, whichever tests have run before."""
    for worker in _STARTED:
        worker.kill()
        worker.wait()
    _wait_for(scheduler, 0)
    return scheduler


@pytest.fixture(scope="module")
def started() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class _WithoutKernel:
    """A job whose backend cannot be used where it is unpacked."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _raise_without_kernel, ()


def _raise_without_kernel() -> None:
    raise ecnlab.BackendError("kernel: 6.1 is not built yet")


def test_a_worker_that_cannot_use_the_backend_says_which_it_is() -> None:
    told = cluster.run_packed_job("key", pickle.dumps(_WithoutKernel()))
    assert isinstance(told, ecnlab.BackendError)
    assert str(told) == f"a worker on {socket.gethostname()} cannot run it: kernel: 6.1 is not built yet"


def test_a_scheduler_without_workers_or_none_at_all_is_one_clear_error(
    idle_scheduler: str, small: ecnlab.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(ecnlab.ClusterError, match="has no worker; fix: start some with 'dask worker tcp://"):
        ecnlab.run(small, workers=ecnlab.Cluster(idle_scheduler))
    with pytest.raises(ecnlab.ClusterError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1 .*start one with 'dask scheduler'"):
        ecnlab.run(small, workers=ecnlab.Cluster("tcp://127.0.0.1:1"))


def test_without_dask_the_remedy_is_reported(small: ecnlab.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ecnlab.ClusterError, match=r"pip install 'ecnlab\[cluster\]'"):
        ecnlab.run(small, workers=ecnlab.Cluster("tcp://127.0.0.1:1"))


@pytest.mark.parametrize("address", ["", 8786, "nonsense", "tcp://node1", "tcp://node1:"])
def test_an_invalid_address_is_refused(address: Any) -> None:
    with pytest.raises(ecnlab.UsageError, match="must be the address of a dask scheduler"):
        ecnlab.Cluster(address)


def test_a_trace_is_written_on_this_machine(small: ecnlab.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.UsageError, match="trace: not supported on a cluster; fix: run locally"):
        ecnlab.run(small, workers=ecnlab.Cluster("tcp://127.0.0.1:1"), trace=tmp_path / "run.tr")


def test_a_user_s_aqm_that_raises_on_a_worker_is_reported_as_in_a_local_run(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "faulty.py").write_text(_WORKER_ENDING_AQM.replace("os._exit(1)", 'raise KeyError("no such packet")'))
    faulty = ecnlab.load(small_file, {"link.bottleneck.queue": {"aqm": "Deadly", "limit": 60}}, aqms=[f"{tmp_path}/faulty.py:Deadly"])
    with pytest.raises(ecnlab.AqmError, match=r"Deadly failed in on_arrival \(seed 2.*no such packet"):
        ecnlab.run(faulty, seed=2, workers=ecnlab.Cluster(scheduler))


def test_an_interrupt_in_a_hook_ends_the_runs_and_no_worker(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, small: ecnlab.Scenario, tmp_path: Path
) -> None:
    (tmp_path / "faulty.py").write_text(_WORKER_ENDING_AQM.replace("os._exit(1)", "raise KeyboardInterrupt"))
    faulty = ecnlab.load(small_file, {"link.bottleneck.queue": {"aqm": "Deadly", "limit": 60}}, aqms=[f"{tmp_path}/faulty.py:Deadly"])
    with pytest.raises(ecnlab.Interrupted, match="0 of 1 runs had finished"):
        ecnlab.run(faulty, seed=2, workers=ecnlab.Cluster(scheduler))
    assert ecnlab.run(small, 3, workers=ecnlab.Cluster(scheduler)).fingerprints == ecnlab.run(small, 3).fingerprints
    assert all(worker.poll() is None for worker in workers)


def test_a_worker_of_another_build_is_reported_before_the_first_run(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small: ecnlab.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_ENGINE_BUILD", "0123456789abcdef")
    with pytest.raises(
        ecnlab.ClusterError, match=r"not every worker has this build of the engine, 0123456789abcdef:(?s:.*)install the same"
    ):
        ecnlab.run(small, workers=ecnlab.Cluster(scheduler))


def test_ctrl_c_keeps_finished_runs_and_frees_the_cluster(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small: ecnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(self: ProgressLine, done: float) -> None:
        if done >= 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ProgressLine, "show_done_count", show)
        with pytest.raises(ecnlab.Interrupted, match="of 300 runs had finished"):
            ecnlab.run(small, 300, out=tmp_path / "r", workers=ecnlab.Cluster(scheduler))
    finished = ecnlab.open_result(tmp_path / "r")
    assert 3 <= len(finished.seeds) < 300
    assert ecnlab.run(small, 3, workers=ecnlab.Cluster(scheduler)).fingerprints == ecnlab.run(small, 3).fingerprints


def test_a_sweep_has_the_same_bytes_on_a_cluster_as_on_one_core(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, tmp_path: Path
) -> None:
    grid = {"link.bottleneck.queue.max_p": [0.1, 0.5], "flows.far.count": [1, 2]}
    ecnlab.sweep(small_file, grid, seeds=3, store=tmp_path / "far", out=tmp_path / "a", workers=ecnlab.Cluster(scheduler))
    ecnlab.sweep(small_file, grid, seeds=3, store=tmp_path / "near", out=tmp_path / "b", threads=1)
    written = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert {"sweep.json", "groups.parquet", "summary.csv"} <= set(written)
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}


def test_two_workers_of_which_one_is_killed_give_what_one_core_gives(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenarios = [ecnlab.load(small_file, {**_SLOW_AQM, "link.bottleneck.queue.max_p": max_p}) for max_p in (0.1, 0.5)]
    requests = [ecnlab.Request(scenario, range(1, 9)) for scenario in scenarios]

    def show(self: ProgressLine, done: float) -> None:
        if done >= 2 and workers[0].poll() is None:
            assert done < 10
            workers[0].kill()
            workers[0].wait()

    with monkeypatch.context() as patched:
        patched.setattr(ProgressLine, "show_done_count", show)
        outcome = ecnlab.run_all(requests, store=tmp_path / "store", workers=ecnlab.Cluster(scheduler))
    assert workers[0].returncode == -signal.SIGKILL
    assert outcome.failures == []
    alone = ecnlab.run_all(requests, threads=1)
    for ours, theirs in zip(alone.results, outcome.results, strict=True):
        assert ours.fingerprints == theirs.fingerprints
        assert all(ours.table(name).equals(theirs.table(name), null_equal=True) for name in ours.tables)


@pytest.mark.parametrize("others_stay", [True, False])
def test_a_worker_of_another_build_that_comes_later_takes_no_run_away(
    scheduler: str,
    workers: list[subprocess.Popen[bytes]],
    started: ExitStack,
    small_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    others_stay: bool,
) -> None:
    other = tmp_path / "ecnlab"
    other.mkdir()
    (other / "__init__.py").touch()
    (other / "_core.py").write_text(_SLOW_CORE_OF_ANOTHER_BUILD)
    request = ecnlab.Request(ecnlab.load(small_file, _SLOW_AQM), range(1, 25))
    strangers: list[subprocess.Popen[bytes]] = []

    def show(self: ProgressLine, done: float) -> None:
        if done >= 2 and not strangers:
            assert done < 12
            strangers.append(stack.enter_context(_start_worker(scheduler, package=tmp_path)))
            _wait_for(scheduler, 3)
            if not others_stay:
                _wait_until_idle(scheduler)  # so that unfetched results are lost with the workers
                for worker in workers:
                    worker.kill()
                    worker.wait()
                _STARTED.append(started.enter_context(_start_worker(scheduler)))

    with ExitStack() as stack, monkeypatch.context() as patched:
        patched.setattr(ProgressLine, "show_done_count", show)
        outcome = ecnlab.run_all([request], workers=ecnlab.Cluster(scheduler))
        assert strangers[0].poll() is None
    assert outcome.failures == []
    assert outcome.results[0].fingerprints == ecnlab.run_all([request], threads=1).results[0].fingerprints


def test_a_run_that_takes_its_workers_along_is_a_failure(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "deadly.py").write_text(_WORKER_ENDING_AQM)
    deadly = ecnlab.load(small_file, {"link.bottleneck.queue": {"aqm": "Deadly", "limit": 60}}, aqms=[f"{tmp_path}/deadly.py:Deadly"])
    outcome = ecnlab.run_all([ecnlab.Request(deadly, [1])], workers=ecnlab.Cluster(scheduler))
    (failure,) = outcome.failures
    assert (failure.key, failure.seed, failure.kind) == (deadly.hash, 1, "worker")
    assert "no worker could run it" in failure.message
    assert outcome.results[0].seeds == []


def test_a_run_that_takes_its_workers_along_costs_no_other_run(
    scheduler: str, workers: list[subprocess.Popen[bytes]], small_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deadly.py").write_text(_WORKER_ENDING_AQM)
    deadly = ecnlab.load(small_file, {"link.bottleneck.queue": {"aqm": "Deadly", "limit": 60}}, aqms=[f"{tmp_path}/deadly.py:Deadly"])
    others = [ecnlab.load(small_file, {"link.bottleneck.queue.max_p": max_p}) for max_p in (0.1, 0.2, 0.3, 0.4)]
    requests = [ecnlab.Request(one, [1] if one is deadly else [1, 2]) for one in (*others[:2], deadly, *others[2:])]
    with _start_worker(scheduler, nanny=True):
        _wait_for(scheduler, 3)
        outcome = ecnlab.run_all(requests, workers=ecnlab.Cluster(scheduler))
    assert [(failure.key, failure.kind) for failure in outcome.failures] == [(deadly.hash, "worker")]
    assert [result.seeds for result in outcome.results] == [[1, 2], [1, 2], [], [1, 2], [1, 2]]
    assert capfd.readouterr().err == ""


def test_a_lost_scheduler_ends_the_command_in_one_line_and_finished_runs_are_stored(
    small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_TIMEOUT_S", 3.0)
    with _start_scheduler(tmp_path) as (process, address), _start_worker(address):

        def show(self: ProgressLine, done: float) -> None:
            if done >= 2:
                process.kill()
                process.wait()

        _wait_for(address, 1)
        monkeypatch.setattr(ProgressLine, "show_done_count", show)
        with pytest.raises(ecnlab.ClusterError, match="was lost; finished runs are stored; fix: run the same command again"):
            ecnlab.run(ecnlab.load(small_file, _SLOW_AQM), 200, out=tmp_path / "r", workers=ecnlab.Cluster(address))
    assert 2 <= len(ecnlab.open_result(tmp_path / "r").seeds) < 200
    assert capfd.readouterr().err == ""


@contextmanager
def _start_scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler and its address."""
    file = folder / "scheduler.json"
    with _start_process("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file) as process:
        from distributed import Client

        with Client(scheduler_file=str(file), timeout=_PATIENCE_S) as client:
            address = client.scheduler.address
        yield process, address


@contextmanager
def _start_process(module: str, *arguments: object, package: Path = _PACKAGE) -> Iterator[subprocess.Popen[bytes]]:
    settings = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1", "PYTHONPATH": str(package)}
    asked = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, arguments)]
    process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _start_worker(scheduler: str, package: Path = _PACKAGE, *, nanny: bool = False) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A worker; with a nanny one that is started again when it dies."""
    options = ("--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--nanny" if nanny else "--no-nanny")
    return _start_process("dask_worker", scheduler, *options, package=package)


def _wait_for(scheduler: str, workers: int) -> None:
    from distributed import Client

    with Client(scheduler, timeout=_PATIENCE_S) as client:
        until = monotonic() + _PATIENCE_S
        while len(client.nthreads()) != workers:
            assert monotonic() < until
            sleep(0.05)


def _wait_until_idle(scheduler: str) -> None:
    from distributed import Client

    with Client(scheduler, timeout=_PATIENCE_S) as client:
        until = monotonic() + _PATIENCE_S
        while any(client.processing().values()):
            assert monotonic() < until
            sleep(0.05)
