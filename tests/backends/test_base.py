import io
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ecnlab
from bench_backend import MOST, Bench
from ecnlab import _core
from ecnlab.backends import base, lateness, live, registry, simulator
from ecnlab.backends.kernel_bugs import kernel_bug_warnings
from ecnlab.backends.uml.controls import BUILT_IN_CONTROLS
from ecnlab.cli import options
from ecnlab.comparison.model import DifferingParameter
from ecnlab.errors import Failure, Problem
from ecnlab.execution.cluster import Cluster
from ecnlab.execution.jobs import Job, run_job
from ecnlab.execution.runner import Request, run_all
from ecnlab.storage import store as stores
from ecnlab.studies.framework import runner as studies
from ecnlab.sweeps.plan import plan_sweep
from helpers import Outcome
from own_aqms import Passes, scenario_with
from tiny_study import TINY

LATENESS_SAMPLE = Bench(late_s=0.01)
Command = Callable[..., Outcome]


def test_a_scenario_is_on_the_simulator_and_keeps_its_key_there(small: ecnlab.Scenario) -> None:
    assert small.backend == simulator.SIMULATOR
    assert small.hash == small._core.hash
    assert small.on_backend("sim") is small


def test_an_aqm_in_python_is_refused_on_uml_at_its_link() -> None:
    refused = {
        problem.place: problem.message
        for problem in map(Problem.from_engine, _core.refusals(scenario_with(Passes)._core, "uml", BUILT_IN_CONTROLS, 4, False))
    }
    assert "which the backend uml cannot run" in refused["link.bottleneck.queue.aqm"]


def test_a_key_says_on_what_a_scenario_runs(small: ecnlab.Scenario) -> None:
    keys = {small.hash, small.on_backend(Bench()).hash, small.on_backend(Bench("7.2")).hash}
    assert len(keys) == 3
    assert len({len(key) for key in keys}) == 1
    assert small.on_backend(Bench()).on_backend("sim").hash == small.hash


def test_a_changed_or_pickled_scenario_stays_on_its_backend(small: ecnlab.Scenario) -> None:
    there = small.on_backend(Bench())
    assert there.changed({"flows.far.count": 2}).backend == Bench()
    assert pickle.loads(pickle.dumps(there)).hash == there.hash
    assert repr(there).endswith("on bench>")


def test_a_backend_is_chosen_by_its_name_and_a_strange_one_refused(small: ecnlab.Scenario) -> None:
    assert registry.resolve_backend("sim") == simulator.SIMULATOR
    with pytest.raises(ecnlab.UnknownName, match="unknown backend 'simulator'"):
        small.on_backend("simulator")
    with pytest.raises(ecnlab.UsageError, match="backend: must be sim"):
        small.on_backend(7)  # type: ignore[arg-type]


def test_a_result_has_its_backend_and_the_record_of_real_hosts(small: ecnlab.Scenario, tmp_path: Path) -> None:
    result = ecnlab.run(small, [1, 2], backend=Bench(), out=tmp_path / "r")
    assert result.backend == {"name": "bench", "kernel": "6.1"}
    assert {seed: about["kernel"] for seed, about in result.host_record_by_seed.items()} == {1: "6.1", 2: "6.1"}
    again = ecnlab.open_result(tmp_path / "r")
    assert (again.backend, again.host_record_by_seed) == (result.backend, result.host_record_by_seed)
    told = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert told["backend"] == result.backend
    assert told["about"]["2"]["lateness_s"]["p99"] == 1e-6


def test_a_simulated_result_has_no_record_of_hosts(small: ecnlab.Scenario, tmp_path: Path) -> None:
    result = ecnlab.run(small, [1], out=tmp_path / "r")
    assert (result.backend, result.host_record_by_seed) == ({"name": "sim"}, {})
    assert "about" not in json.loads((tmp_path / "r" / "summary.json").read_text())


def test_results_of_two_backends_do_not_meet_in_a_folder_or_a_store(small: ecnlab.Scenario, tmp_path: Path) -> None:
    ecnlab.run(small, [1], out=tmp_path / "r")
    with pytest.raises(ecnlab.ResultsError, match=r"another backend, sim instead of bench \(kernel 6.1\)"):
        ecnlab.run(small, [1], backend=Bench(), out=tmp_path / "r")
    there = small.on_backend(Bench())
    outcome = run_all([Request(small, [1, 2]), Request(there, [1])], store=tmp_path / "store")
    assert [result.seeds for result in outcome.results] == [[1, 2], [1]]
    assert stores.Store(tmp_path / "store").batches.scenario_keys == sorted([small.hash, there.hash])


def test_identities_that_differ_in_their_guest_program_alone_are_two_texts() -> None:
    here = {"name": "uml", "kernel": "7.2", "program": "1a"}
    texts = base.pair_of_distinct_identity_texts(here, {**here, "program": "2b"})
    assert texts == ("uml (kernel 7.2, program 1a)", "uml (kernel 7.2, program 2b)")
    assert base.pair_of_distinct_identity_texts(here, {**here, "kernel": "6.1"}) == ("uml (kernel 7.2)", "uml (kernel 6.1)")


def test_refusals_of_all_scenarios_are_reported_before_the_first_run(small: ecnlab.Scenario, tmp_path: Path) -> None:
    long = small.changed({"link.bottleneck.queue.limit": 999})
    with pytest.raises(ecnlab.ScenarioError, match="too long for the bench") as raised:
        ecnlab.run(long, [1], backend=Bench())
    assert raised.value.source == small.source
    with pytest.raises(ecnlab.ScenarioError) as several:
        run_all([Request(small.on_backend(Bench()), [1]), Request(long.on_backend(Bench()), [1])], store=tmp_path / "store")
    assert [problem.message for problem in several.value.problems] == ["too long for the bench (small)"]
    assert not list((tmp_path).glob("store/*/batch-*"))


def test_the_points_of_a_sweep_are_refused_together(small: ecnlab.Scenario) -> None:
    with pytest.raises(ecnlab.ScenarioError) as raised:
        plan_sweep(small.on_backend(Bench()), {"link.bottleneck.queue.limit": [60, 999], "flows.far.count": [1, 2]}, None, None)
    assert [problem.place for problem in raised.value.problems] == ["link.bottleneck.queue.limit"]
    assert "points 3,4" in raised.value.problems[0].message or "points 3..4" in raised.value.problems[0].message


def test_a_sweep_runs_on_a_backend_and_says_so(small: ecnlab.Scenario, tmp_path: Path) -> None:
    done = ecnlab.sweep(small, {"flows.far.count": [1, 2]}, backend=Bench(), store=None, out=tmp_path / "s")
    assert done.backend == {"name": "bench", "kernel": "6.1"}
    again = ecnlab.open_sweep(tmp_path / "s")
    assert (again.backend, again.about["lateness_s"]["p99"]) == (done.backend, 1e-6)


def test_a_late_run_is_refused_with_its_figures_and_the_others_are_kept(small: ecnlab.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ecnlab.RunsFailed) as raised:
        ecnlab.run(small, [1, 2, 3], backend=replace(LATENESS_SAMPLE, late_seeds=(2,)), out=tmp_path / "r")
    assert [(failure.seed, failure.kind) for failure in raised.value.failures] == [(2, "lateness")]
    assert "p99 10 ms" in str(raised.value)
    assert "budget of 1 ms" in str(raised.value)
    assert "--lateness-budget" in str(raised.value)
    assert ecnlab.open_result(tmp_path / "r").seeds == [1, 3]


def test_a_run_whose_packets_were_lost_before_the_router_is_refused(small: ecnlab.Scenario) -> None:
    failure = run_job(Job(small.on_backend(Bench(drops=3)), 1))
    assert isinstance(failure, Failure)
    assert failure.kind == "lateness"
    assert "the hosts' devices dropped 3 packets before it" in failure.message


def test_a_larger_budget_takes_a_late_run(small: ecnlab.Scenario) -> None:
    late = registry.replace_backend_parameters(LATENESS_SAMPLE, lateness_budget_s=0.02)
    assert ecnlab.run(small, [1], backend=late).seeds == [1]
    with pytest.raises(
        ecnlab.UsageError, match="lateness_budget_s: only the backend live runs in real time, not sim; fix: add --backend live"
    ):
        registry.replace_backend_parameters(simulator.SIMULATOR, lateness_budget_s=0.02)


def test_runs_in_real_time_follow_one_another_unless_threads_are_named(small: ecnlab.Scenario) -> None:
    MOST.clear()
    ecnlab.run(small, 4, backend=Bench())
    assert max(MOST) == 1
    MOST.clear()
    ecnlab.run(small, 8, backend=Bench(), threads=4)
    assert max(MOST) > 1


def test_a_cluster_refuses_backends_that_do_not_support_it(small: ecnlab.Scenario) -> None:
    with pytest.raises(ecnlab.UsageError, match="backend: bench is not supported on a cluster"):
        ecnlab.run(small, [1], backend=Bench(), workers=Cluster("tcp://127.0.0.1:1"))
    with pytest.raises(ecnlab.ClusterError):
        ecnlab.run(small, [1], backend=Bench(supports_cluster=True), workers=Cluster("tcp://127.0.0.1:1"))


def test_backend_identity_text_has_kernel_and_parameters_but_no_digest() -> None:
    told = {"name": "live", "kernel": "6.1", "program": "abc", "ip": 6, "lateness_budget_s": 0.0025}
    assert base.backend_identity_text(told) == "live (kernel 6.1, ip 6, lateness budget 2.5 ms)"
    assert base.backend_identity_text({"name": "sim"}) == "sim"


def test_a_comparison_names_the_backends_first(small: ecnlab.Scenario) -> None:
    found = ecnlab.compare(small, small.on_backend(Bench()), seeds=2, store=None)
    assert found.parameters == [DifferingParameter("backend", "sim", "bench (kernel 6.1)")]
    assert not any("all differences are chance" in note for note in found.notes)


def test_two_backends_are_compared_that_of_a_and_that_of_b(small: ecnlab.Scenario, tmp_path: Path) -> None:
    found = ecnlab.compare(small, small, backend=("sim", Bench()), seeds=2, store=None)
    assert (found.names, found.parameters) == (("sim", "bench"), [DifferingParameter("backend", "sim", "bench (kernel 6.1)")])
    assert found.rows
    assert all(row.difference.paired for row in found.rows)
    assert ecnlab.compare(small, small, backend=[Bench()] * 2, seeds=2, store=None).names == ("A", "B")
    result = ecnlab.run(small, [1], out=tmp_path / "r")
    with pytest.raises(ecnlab.UsageError, match="backend: 3 are given for two sides"):
        ecnlab.compare(small, small, backend=("sim", "sim", "sim"))
    for a, b, on in ((result, small, ("sim", "uml")), (result, result, "sim")):
        with pytest.raises(ecnlab.UsageError, match="backend: a side is a finished run"):
            ecnlab.compare(a, b, backend=on)
    assert ecnlab.compare(result, small, backend=Bench(), store=None).parameters == found.parameters


def test_a_study_runs_on_a_backend_with_its_scenarios_rewritten_for_kernels(tmp_path: Path) -> None:
    on_kernels = replace(TINY, on_kernels=lambda tree: {**tree, "duration": "4 s"})
    outcome = studies.run_study(on_kernels, tmp_path / "out", [1, 2], backend=Bench(), store=tmp_path / "store")
    assert not outcome.failures
    told = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert told["backend"] == {"name": "bench", "kernel": "6.1"}
    assert "bench (kernel 6.1)" in (tmp_path / "out" / "report.html").read_text()
    chosen = studies.select_from_study(on_kernels, [1], backend=Bench())
    assert {planned.scenario.duration_s for planned in chosen.plan.planned_scenarios} == {4.0}
    assert {planned.scenario.duration_s for planned in studies.select_from_study(on_kernels, [1]).plan.planned_scenarios} == {6.0}


def test_the_command_runs_a_scenario_on_the_backend_named(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("run", small_file, "--backend", "sim", "--out", tmp_path / "r", "--json")
    assert json.loads(done.out)["backend"] == {"name": "sim"}
    assert "unknown backend 'simm'" in command("run", small_file, "--backend", "simm").err
    assert "not sim; fix: add --backend live" in command("run", small_file, "--lateness-budget", "1ms").err
    refused = command("run", small_file, "--lateness-budget", "1")
    assert (refused.code, "is not a time above 0" in refused.err) == (2, True)


def test_a_sweep_file_names_a_backend(command: Command, small_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'scenario = "{small_file.name}"\nbackend = "nowhere"\n[grid]\n"flows.far.count" = [1, 2]\n')
    assert f"{file}: unknown backend 'nowhere'" in command("sweep", file).err
    file.write_text(file.read_text().replace("nowhere", "sim"))
    done = command("sweep", file, "--out", tmp_path / "s", "--store", tmp_path / "store", "--json")
    assert json.loads(done.out)["backend"] == {"name": "sim"}
    file.write_text(file.read_text().replace("backend =", "on ="))
    assert f"{file}: on: is now backend; fix: write backend" in command("sweep", file).err


def test_old_names_of_backends_lead_to_the_new_ones(command: Command, small: ecnlab.Scenario, small_file: Path, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="on= is now backend="):
        assert ecnlab.run(small, [1], on=Bench()).backend["name"] == "bench"
    with pytest.warns(DeprecationWarning, match="Scenario.on is now Scenario.on_backend"):
        assert small.on(Bench()).backend == Bench()
    with pytest.raises(ecnlab.UsageError, match="on: is the old name of backend"):
        ecnlab.compare(small, small, on="sim", backend="sim")
    with pytest.warns(DeprecationWarning, match=r"ecnlab\.Boxed is now ecnlab\.Uml"):
        assert ecnlab.Boxed is ecnlab.Uml
    with pytest.raises(ecnlab.UsageError, match="backend: 'boxed' is now 'uml'; fix: write 'uml'"):
        small.on_backend("boxed")
    done = command("run", small_file, "--on", "sim", "--out", tmp_path / "r")
    assert (done.code, "warning: --on is now --backend; fix: write --backend" in done.err) == (0, True)


def test_a_backend_accepts_changed_parameters_and_names_unsupported_ones() -> None:
    assert registry.replace_backend_parameters(Bench(), ip=6, kernel=None) == Bench(ip=6)
    assert registry.replace_backend_parameters(simulator.SIMULATOR, ip=None) is simulator.SIMULATOR
    with pytest.raises(ecnlab.UsageError, match=r"ip: .*not sim; fix: (.|\n)*kernel: .*not sim; fix: "):
        registry.replace_backend_parameters(simulator.SIMULATOR, ip=6, kernel="6.1")


def test_the_command_chooses_ip_and_kernel(command: Command, small_file: Path) -> None:
    assert options.backends_from_options(["live"], "6", None, "1ms") == [ecnlab.Live(ip=6, lateness_budget_s=0.001)]
    assert options.backends_from_options(["uml"], "6", "6.1", None) == [ecnlab.Uml(ip=6, kernel="6.1")]
    assert options.backends_from_options([], None, None, None) == []
    assert options.backends_from_options(["sim", "uml"], "6", "6.1", None) == [simulator.SIMULATOR, ecnlab.Uml(ip=6, kernel="6.1")]
    with pytest.raises(ecnlab.UsageError, match="kernel: only the backend uml takes a kernel, not sim; fix: add --backend uml"):
        options.backends_from_options(["sim", "live"], None, "6.1", None)
    for refused in (["run", small_file], ["sweep", small_file, "--vary", "flows.far.count=1,2"], ["compare", small_file]):
        assert "fix: add --backend uml" in command(*refused, "--kernel", "6.1").err
    assert "IP version, not sim" in command("study", "run", "rfc2884", "--ip", "6").err


def test_what_went_wrong_in_runs_that_are_kept_is_a_warning_with_its_seeds(small: ecnlab.Scenario, tmp_path: Path) -> None:
    result = ecnlab.run(small, [1, 2], backend=Bench(broken=2), out=tmp_path / "r")
    assert [warning.place for warning in result.warnings] == ["connections"]
    assert result.warnings[0].message.startswith("4 connections broke")
    assert result.warnings[0].message.endswith("(seeds 1,2)")
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["warnings"] == [vars(result.warnings[0])]
    hosts = {"groups": [{"opening_host": {"receive_buffer_drops": 3}, "answering_host": {"receive_buffer_drops": 4}}, {}]}
    told = kernel_bug_warnings({3: {"packets": {"refused": 5}}, 4: hosts})
    assert [(flaw.place, flaw.message[:10]) for flaw in told] == [("packets", "5 packets "), ("datagrams", "7 datagram")]
    assert told[1].message.endswith("(seed 4)")


def test_a_late_run_on_uml_is_reported_with_the_remedy_for_virtual_time() -> None:
    late = {"lateness_s": dict.fromkeys(lateness.PERCENTILES, 1.0), "lateness_budget_s": 0.1}
    with pytest.raises(lateness.LatenessExceeded, match="--backend uml"):
        lateness.require_lateness_within_budget({**late, "time": "real"})
    with pytest.raises(lateness.LatenessExceeded) as raised:
        lateness.require_lateness_within_budget({**late, "time": "virtual"})
    assert "--backend" not in str(raised.value)
    assert "lower rate" in str(raised.value)


def test_a_message_whose_length_is_damaged_is_the_end_of_messages() -> None:
    with pytest.raises(EOFError):
        live.receive_message(io.BytesIO(b"\xff" * 8 + b"short"))


def test_a_long_message_is_received_whole() -> None:
    value = bytes(range(256)) * 20_000
    pipe = io.BytesIO()
    live.send_message(pipe, value)
    pipe.seek(0)
    assert value == live.receive_message(pipe)
