"""Runs on the backend uml. They need a kernel built with `ecnlab uml build-kernel`; test_build.py needs none."""

import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ecnlab as lab
from ecnlab.backends.uml import backend as uml_backend
from ecnlab.backends.uml import kernels
from ecnlab.backends.uml import process as machine
from ecnlab.errors import BackendError, ResultsError
from ecnlab.validation import kernel

pytestmark = pytest.mark.real_time


def built(name: str) -> kernels.BuiltKernel | None:
    try:
        return kernels.find_built_kernel(name)
    except BackendError:
        return None


KERNEL = built(kernels.DEFAULT_KERNEL)
NEWER_KERNEL = built("7.2")
HAS_PROGRAM = machine.GUEST_PROGRAM.is_file()
needs_newer = pytest.mark.skipif(
    NEWER_KERNEL is None or not HAS_PROGRAM, reason="no kernel 7.2 for the UML kernel: `ecnlab uml build-kernel --kernel 7.2`"
)
needs_uml_kernel = pytest.mark.skipif(KERNEL is None or not HAS_PROGRAM, reason="no UML kernel: `ecnlab uml build-kernel` builds it")

# Functions of libc without system calls, or with system calls of the host only to report a fault.
HARMLESS_IMPORTS = {
    "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__cxa_thread_atexit_impl", "__errno_location",
    "__gmon_start__", "__tls_get_addr", "__xpg_strerror_r", "abort", "bcmp", "calloc", "dl_iterate_phdr", "free", "getcwd", "getenv",
    "malloc", "memcmp", "memcpy", "memmove", "memset", "mmap64", "munmap", "posix_memalign", "pthread_key_create", "pthread_key_delete",
    "pthread_setspecific", "realloc", "realpath", "strlen",
}  # fmt: skip

# Symbols for the creation and joining of threads, which the program never does: its `pthread_create` refuses.
THREAD_FUNCTIONS = {
    "dlsym", "getauxval", "mprotect", "pause", "pthread_attr_destroy", "pthread_attr_getguardsize", "pthread_attr_getstack",
    "pthread_attr_init", "pthread_attr_setstacksize", "pthread_detach", "pthread_getattr_np", "pthread_join", "pthread_self",
    "pthread_setname_np", "sigaltstack", "sysconf",
}  # fmt: skip
MATH_FUNCTIONS = {"cbrt", "ceil", "cos", "exp", "exp2", "floor", "fmod", "log", "log10", "log1p", "log2", "pow", "sin", "sqrt"}


def scenario(queue: str = '{ aqm = "ecn", limit = 60, min_th = 5, max_th = 20, w_q = 0.01 }', more: str = "", duration_s: int = 12) -> Any:
    text = f"""
        name = "scenario"
        duration = "{duration_s} s"
        measure_from = "2 s"
        [[link]]
        name = "bottleneck"
        from = "a"
        to = "b"
        rate = "2 Mbps"
        delay = "10 ms"
        queue = {queue}
        [[flows]]
        name = "with"
        count = 2
        from = "a"
        to = "b"
        tcp = {{ profile = "linux", variant = "newreno", ecn = true }}
        [[flows]]
        name = "without"
        from = "a"
        to = "b"
        tcp = {{ profile = "linux", variant = "newreno", ecn = false }}
        {more}
    """
    return lab.scenario(tomllib.loads(text))


def job(**changes: Any) -> dict[str, Any]:
    return {"scenario": scenario(**changes).resolved, "seed": 1}


def run_on_uml(seed: int = 1, kernel: kernels.BuiltKernel | None = KERNEL, **changes: Any) -> Any:
    assert kernel is not None
    with machine.UmlJobRunner(kernel).run(job(**changes) | {"seed": seed}, seed) as done:
        return done.result


def packed_column(result: Any, table: str, name: str) -> list[float]:
    found = next(lab._core.Table([(*one[:2], bytes.fromhex(one[2]), one[3])]) for one in result["tables"][table] if one[0] == name)  # type: ignore[attr-defined]
    return list(found.column(name))


@pytest.mark.skipif(shutil.which("nm") is None or not HAS_PROGRAM, reason="binutils or the guest program is missing")
def test_nothing_of_the_program_speaks_to_the_machine_outside(tmp_path: Path) -> None:
    (tmp_path / machine.GUEST_FILE).write_bytes(machine.read_guest_program())
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", tmp_path / machine.GUEST_FILE], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    assert {name for name in names if not name.startswith("_Unwind_")} <= HARMLESS_IMPORTS | THREAD_FUNCTIONS | MATH_FUNCTIONS


@needs_uml_kernel
def test_equal_scenario_and_seed_give_equal_bytes_alone_and_side_by_side() -> None:
    """With links of 1 Gbps, where a microsecond more or less shows at once."""
    assert KERNEL is not None
    cellular = lab.load(Path(__file__).parents[3] / "examples" / "cellular.toml", {"duration": "20 s"}).resolved

    def uml_result_json(seed: int) -> str:
        assert KERNEL is not None
        with machine.UmlJobRunner(KERNEL).run({"scenario": cellular, "seed": seed}, seed) as done:
            return json.dumps(done.result)

    alone = uml_result_json(1)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(uml_result_json, [1] * 6)) == {alone}
    assert uml_result_json(2) != alone


@needs_uml_kernel
def test_draws_of_the_kernel_are_those_of_the_seed_whoever_listens_to_it() -> None:
    """A console over a pipe causes a signal at each read, which feeds the kernel's random number generator."""
    queue = '{ kernel = "choke", limit = 20, min = 5, max = 19, burst = 20 }'
    with ThreadPoolExecutor(6) as threads:
        told = list(threads.map(lambda _: json.dumps(run_on_uml(queue=queue)), range(24)))
    assert len(set(told)) == 1
    assert json.dumps(run_on_uml(2, queue=queue)) != told[0]


@needs_uml_kernel
def test_a_mark_of_the_router_is_a_mark_that_the_receiving_kernel_counts() -> None:
    whole = run_on_uml()
    groups = whole["about"]["groups"]
    assert groups[0]["answering_host"]["in_ce"] > 10
    assert [groups[1]["answering_host"]["in_ce"], groups[0]["answering_host"]["in_bad_checksums"]] == [0, 0]
    assert packed_column(whole, "groups", "marks")[1] == 0


@needs_uml_kernel
@pytest.mark.parametrize(
    "queue",
    [
        "red, limit = 90000, min = 7500, max = 30000, avpkt = 1500, burst = 20, ecn = true",
        "choke, limit = 60, min = 5, max = 20, burst = 20",
        "codel, ecn = true",
        "fq_codel, ecn = true",
        "pie, ecn = true",
        "fq_pie, ecn = true, ecn_prob = 50",
        'cake, rtt = "100 ms"',
        "fq, limit = 60",
        "sfq, limit = 60",
        'tbf, rate = "1 Mbps", burst = 3000, limit = 60000',
        "pfifo, limit = 40",
        "bfifo, limit = 60000",
        'htb, rate = "1 Mbps", burst = 3000, leaf = { kernel = "codel", ecn = true, limit = 60 }',
        'htb, rate = "4 Mbps", ceil = "1 Mbps", cburst = 3000, leaf = { kernel = "pfifo", limit = 30 }',
        'netem, delay = "20 ms", jitter = "2 ms", loss = 0.01, duplicate = 0.01, limit = 60',
        'netem, delay = "20 ms", reorder = 0.01, limit = 60',
    ],
)
def test_a_queue_of_the_kernel_stands_at_a_link_and_every_packet_is_accounted_for(queue: str) -> None:
    name, _, arguments = queue.partition(", ")
    result = run_on_uml(queue=f'{{ kernel = "{name}"{", " + arguments if arguments else ""} }}')
    arrivals, departures, drops = (packed_column(result, "queues", one)[0] for one in ("arrivals", "departures", "drops"))
    assert 0.8 * arrivals <= departures + drops <= arrivals + 300  # packets queued at the begin and at the end of the measured interval
    goodput = sum(packed_column(result, "groups", "goodput_bps"))
    assert 0.4e6 < goodput < 2.2e6  # data from before the measured interval counts when the gap before it is filled


@needs_uml_kernel
@pytest.mark.parametrize("duration", ["20 ms", "20.0001 ms", "20.0002 ms"])
def test_a_run_ends_although_a_packet_of_a_kernel_queue_leaves_between_its_end_and_the_clock(duration: str) -> None:
    # The clock is some 100 ns past the end, and transmissions of 1 us end at any time.
    tree = {
        "name": "end",
        "duration": duration,
        "measure_from": "0 s",
        "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Gbps", "delay": "10 us", "queue": {"kernel": "pfifo", "limit": 1000}}],
        "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "linux", "packet_size": "128 B", "max_rwnd": 400}}],
    }
    done = lab.run(lab.scenario(tree).on_backend(uml_backend.Uml()), seeds=[1])
    assert done.values("goodput_bps")[0] > 4e8


@needs_uml_kernel
def test_red_of_the_kernel_matches_linux_red_of_the_engine() -> None:
    shared = "min = 7500, max = 60000, avpkt = 1500, burst = 30, probability = 0.1, ecn = true, harddrop = true"
    ours = f'{{ aqm = "linux-red", limit = "150000 B", bandwidth = "auto", {shared} }}'
    theirs = f'{{ kernel = "red", limit = 150000, {shared} }}'

    def lengths(queue: str) -> list[float]:
        return [packed_column(run_on_uml(seed, queue=queue, duration_s=40), "queues", "length_mean_packets")[0] for seed in (1, 2, 3)]

    told = [lengths(ours), lengths(theirs)]
    means = [sum(one) / 3 for one in told]
    assert abs(means[0] / means[1] - 1) < 0.15


@needs_uml_kernel
@pytest.mark.parametrize("theirs", ["codel", "fq_codel"])
def test_codel_of_the_kernel_keeps_a_queue_as_short_as_ours(theirs: str) -> None:
    """The AQM does nothing while the backlog is below the device's MTU, so the MTU must be the link's packet size."""
    ours = {"codel": '{ aqm = "codel", limit = 1000 }', "fq_codel": '{ discipline = "fq", aqm = "codel", limit = 1000 }'}[theirs]
    told = [run_on_uml(queue=queue, duration_s=30) for queue in (ours, f'{{ kernel = "{theirs}", limit = 1000, ecn = true }}')]
    lengths = [packed_column(one, "queues", "length_mean_packets")[0] for one in told]
    assert 2 / 3 < lengths[0] / lengths[1] < 1.5
    assert all(packed_column(one, "queues", "drops_overflow")[0] == 0 for one in told)


@needs_uml_kernel
def test_ce_threshold_for_ect1_marks_what_the_kernel_marks() -> None:
    def marks(queue: str) -> list[float]:
        text = f"""
            name = "datagrams"
            duration = "20 s"
            measure_from = "2 s"
            [[link]]
            name = "bottleneck"
            from = "a"
            to = "b"
            rate = "2 Mbps"
            delay = "10 ms"
            queue = {{ {queue} }}
            [[flows]]
            name = "l4s"
            from = "a"
            to = "b"
            app = {{ kind = "cbr", rate = "0.6 Mbps" }}
            udp = {{ ecn = "ect1", packet_size = "500 B" }}
            [[flows]]
            name = "classic"
            from = "a"
            to = "b"
            app = {{ kind = "onoff", rate = "1.2 Mbps", on = "exponential 0.3 s", off = "exponential 0.3 s" }}
            udp = {{ ecn = "ect0", packet_size = "1000 B" }}
            [[flows]]
            name = "more_l4s"
            count = 3
            from = "a"
            to = "b"
            app = {{ kind = "onoff", rate = "0.6 Mbps", on = "exponential 0.2 s", off = "exponential 0.4 s" }}
            udp = {{ ecn = "ect1", packet_size = "1000 B" }}
        """
        assert KERNEL is not None
        job = {"scenario": lab.scenario(tomllib.loads(text)).resolved, "seed": 3}
        with machine.UmlJobRunner(KERNEL).run(job, 3) as done:
            return packed_column(done.result, "groups", "marks")

    shared = 'target = "900 ms", interval = "1 s", ecn = true, ce_threshold = "5 ms"'
    for ours, theirs, classic_marked in (
        ("", "", True),
        (', ce_threshold_selector = "ect1"', ', ce_threshold_selector = "0x01/0x03"', False),
    ):
        found = marks(f'discipline = "fq", limit = 1000, quantum = "1000 B", aqm = {{ name = "codel", {shared}{ours} }}')
        expected = marks(f'kernel = "fq_codel", limit = 1000, quantum = 1000, {shared}{theirs}')
        assert sum(expected) > 1000
        assert all(abs(one - other) <= 2 + 0.03 * other for one, other in zip(found, expected, strict=True)), (found, expected)
        assert (expected[1] > 100, found[1] > 100) == (classic_marked, classic_marked)


@needs_uml_kernel
@pytest.mark.parametrize(
    ("queue", "causes"),
    [
        ("red, limit = 20000, min = 7500, max = 30000, avpkt = 1500, burst = 20", {"early", "overflow"}),
        ("choke, limit = 12, min = 5, max = 11, burst = 40", {"early", "overflow"}),
        ("codel, limit = 8", {"early", "overflow"}),
        ("fq_codel, limit = 8", {"early", "overflow"}),
        ("pie, limit = 8", {"early", "overflow"}),
        ("fq_pie, limit = 12", {"early", "overflow"}),
        ('cake, rtt = "100 ms"', {"early"}),
        ('netem, delay = "20 ms", loss = 0.01, limit = 20', {"early", "overflow"}),
        ('netem, delay = "20 ms", loss = 0.01', {"early"}),
        ("pfifo, limit = 20", {"overflow"}),
        ('htb, rate = "1 Mbps", burst = 3000, leaf = { kernel = "pfifo", limit = 20 }', {"overflow"}),
    ],
)
def test_a_queue_of_the_kernel_says_why_it_drops(queue: str, causes: set[str]) -> None:
    name, _, arguments = queue.partition(", ")
    result = run_on_uml(queue=f'{{ kernel = "{name}", {arguments} }}', duration_s=30)
    assert {cause for cause in ("early", "forced", "overflow") if packed_column(result, "queues", f"drops_{cause}")[0]} == causes


@needs_newer
def test_runs_on_a_newer_kernel_are_the_same_with_the_same_seed() -> None:
    """With random draws of the kernel, and for two minutes."""
    queue = '{ kernel = "choke", limit = 12, min = 5, max = 11, burst = 40 }'
    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(lambda _: json.dumps(run_on_uml(kernel=NEWER_KERNEL, queue=queue, duration_s=120)), range(8)))
    assert len(set(told)) == 1
    assert json.loads(told[0])["about"]["kernel"].startswith("7.2.")


@needs_newer
def test_dualpi2_of_the_kernel_keeps_its_queue_short_and_says_why_it_drops() -> None:
    long = run_on_uml(kernel=NEWER_KERNEL, queue='{ kernel = "dualpi2", target = "15 ms", coupling_factor = 2 }', duration_s=30)
    assert packed_column(long, "queues", "length_mean_packets")[0] < 10
    assert packed_column(long, "queues", "drops_early")[0] > 10
    assert packed_column(long, "queues", "marks")[0] > 10
    assert packed_column(long, "queues", "drops_overflow")[0] == 0
    short = run_on_uml(kernel=NEWER_KERNEL, queue='{ kernel = "dualpi2", limit = 5 }', duration_s=30)
    assert packed_column(short, "queues", "drops_overflow")[0] > 10


def open_loop(queue: str) -> Any:
    """Bursts of unresponsive datagrams with ECT(1), before a link of 10 Mbit/s."""
    source = {"from": "a", "to": "b", "udp": {"packet_size": 1500, "ecn": "ect1"}}
    app = {"kind": "onoff", "rate": "4 Mbps", "on": "exponential 8 ms", "off": "exponential 60 ms"}
    link = {"name": "l", "from": "a", "to": "b", "rate": "10 Mbps", "delay": "5 ms", "queue": tomllib.loads(f"it = {queue}")["it"]}
    flows = [source | {"name": f"source {number}", "app": app} for number in range(8)]
    return lab.scenario({"name": "open loop", "duration": "20 s", "link": [link], "flows": flows, "record": {"arrivals": True}})


@dataclass(frozen=True)
class Judged:
    """A packet as a queue's record of arrivals has it: its sojourn time, what waited as it came and behind it as it left, and its mark."""

    sojourn_s: float
    before: int
    behind: int
    marked: bool
    together: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether it cannot be judged.

        Its sojourn time is within 20 us of the step, on which a clock in microseconds may decide otherwise; or it came in one moment with
        another packet, which an idle device sends before it takes the next, while the record has both arrivals first.
        """
        return self.together or abs(self.sojourn_s - 1e-3) < 20e-6

    def exceeds_threshold(self, th_len: int, at: str) -> bool:
        waits = self.before if at == "enqueue" else self.behind
        return self.sojourn_s > 1e-3 and waits + 1 > th_len


def judge_difference(result: lab.Result) -> list[Judged]:
    rows = result.series.arrivals.select("time_ps", "event", "number").rows()
    marked = {number for _, act, number in rows if act == "mark"}
    came: dict[int, tuple[int, int, bool]] = {}
    packets = []
    waiting, last_ps = 0, -1
    for time_ps, act, number in rows:
        if act == "arrival":
            came[number] = time_ps, waiting, time_ps == last_ps
            waiting, last_ps = waiting + 1, time_ps
        elif act == "departure":
            waiting -= 1
            since, before, together = came[number]
            packets.append(Judged((time_ps - since) * 1e-12, before, waiting, number in marked, together))
    return packets


@needs_newer
@pytest.mark.parametrize("th_len", [0, 1, 2])
def test_dualpi2_compares_the_length_with_its_threshold_at_enqueue_as_the_kernel_does(th_len: int) -> None:
    """No packet waits for 15 ms, so that the base law of the kernel, with the smallest gains that it takes, leaves p' at 0."""
    kernel = f'{{ kernel = "dualpi2", step_thresh = "1 ms", min_qlen_step = {th_len}, alpha = 0.004, beta = 0.004, limit = 1000 }}'
    base = 'discipline = "dualpi2", limit = 1000, alpha = 0, beta = 0, min_th = "1 ms", range = "0 s"'
    ours = {at: f'{{ {base}, th_len = {th_len}, th_len_at = "{at}" }}' for at in ("enqueue", "dequeue")}
    backend = lab.Uml(kernel="7.2")
    theirs, at_enqueue, at_dequeue = (
        judge_difference(lab.run(open_loop(queue).on_backend(backend), seed=1)) for queue in (kernel, *ours.values())
    )
    assert max(packet.sojourn_s for packet in theirs) < 15e-3
    clear = [packet for packet in theirs if not packet.is_ambiguous]
    assert len(clear) > 0.98 * len(theirs)
    assert sum(packet.marked for packet in clear) > 300
    assert [packet for packet in clear if packet.marked != packet.exceeds_threshold(th_len, "enqueue")] == []
    if th_len:
        assert sum(packet.marked != packet.exceeds_threshold(th_len, "dequeue") for packet in clear) > 100
    # The recurrence of the RFC is at 1 after the first certain mark, and marks from the second on.
    for at, packets in (("enqueue", at_enqueue), ("dequeue", at_dequeue)):
        others = [packet.marked for packet in packets if not packet.is_ambiguous and packet.marked != packet.exceeds_threshold(th_len, at)]
        assert others == [False], at
    # The same packets are marked, one for one, but the first.
    assert len(at_enqueue) == len(theirs)
    differ = [
        one.marked
        for one, other in zip(at_enqueue, theirs, strict=True)
        if not (one.is_ambiguous or other.is_ambiguous) and one.marked != other.marked
    ]
    assert differ == [False]


def progress_counter(tcp: str = 'ecn = true, ecn_echo = "accurate"') -> str:
    return f"""
        [[flows]]
        name = "counting"
        count = 2
        from = "a"
        to = "b"
        tcp = {{ profile = "linux", {tcp} }}
    """


@needs_newer
@pytest.mark.parametrize("variant", ["cubic", "dctcp"])
def test_hosts_that_agree_on_accurate_ecn_count_every_mark(variant: str) -> None:
    whole = run_on_uml(
        kernel=NEWER_KERNEL, more=progress_counter(f'variant = "{variant}", ecn = true, ecn_echo = "accurate"'), duration_s=20
    )
    connections = whole["about"]["connections"]
    assert (connections["opened"], connections["with_ecn"], connections["with_accurate_ecn"]) == (5, 4, 2)
    classic, _, accurate = whole["about"]["groups"]
    assert (classic["tcp_ecn"], accurate["tcp_ecn"]) == ([1, 2], [3, 5])
    came, counted = accurate["answering_host"]["in_ce"], accurate["opening_host"]["delivered_ce"]
    assert came > 30
    # The last ones may be on their way back when the run ends. A receiver that echoes until CWR returns more ECEs for fewer marks.
    assert came - 8 <= counted <= came
    assert classic["opening_host"]["delivered_ce"] > 1.2 * classic["answering_host"]["in_ce"]
    # Both kinds answer marks about as often as they come: not with every packet whose flags happen to be set.
    groups = dict(zip(("with", "without", "counting"), packed_column(whole, "groups", "ecn_reactions"), strict=True))
    marks = dict(zip(("with", "without", "counting"), packed_column(whole, "groups", "marks"), strict=True))
    assert 0.2 * marks["counting"] < groups["counting"] <= marks["counting"]
    assert 0.2 * marks["with"] < groups["with"] <= marks["with"]


@needs_newer
def test_dupthresh_loss_detection_is_refused_on_kernels_without_it() -> None:
    asked = scenario(more=progress_counter('variant = "sack"'))
    with pytest.raises(lab.ScenarioError, match=r"flows\.counting\.tcp\.loss_detection: kernel 7\.2 .* --kernel 6\.1 or --kernel 6\.12"):
        lab.run(asked.on_backend(lab.Uml(kernel="7.2")), seed=1)


@needs_uml_kernel
def test_hosts_that_count_marks_are_refused_where_there_are_none() -> None:
    asked = scenario(more=progress_counter())
    where = r"flows\.counting\.tcp\.ecn_echo: accurate: .* --backend uml --kernel 7\.2"
    with pytest.raises(lab.ScenarioError, match=where):
        lab.run(asked.on_backend("uml"), seed=1)
    if (image := NEWER_KERNEL) is not None:
        cases = {"cases": True}
        with machine.UmlJobRunner(image).run({"scenario": asked.resolved, "seed": 1} | cases, 1) as done:
            assert any("ecn_echo" in place for place, *_ in done.result["refused"])


@needs_uml_kernel
def test_a_queue_that_another_kernel_has_is_refused_with_its_name() -> None:
    with pytest.raises(
        lab.ScenarioError, match=r"link\.bottleneck\.queue\.kernel: kernel 6\.1 does not have dualpi2; fix: use --kernel 7\.2"
    ):
        lab.run(scenario(queue='{ kernel = "dualpi2" }').on_backend("uml"), seed=1)


@needs_uml_kernel
def test_red_below_a_shaper_stays_above_its_threshold_for_good_when_it_empties_and_at_a_link_it_does_not() -> None:
    """sch_red ends an idle spell with a packet that it drops; below a shaper it is not dequeued again, so no new idle period begins."""
    more = '[[flows]]\nname = "many"\ncount = 9\nfrom = "a"\nto = "b"\ntcp = { profile = "linux", variant = "newreno" }\n'
    red = "limit = 400000, min = 15000, max = 45000, avpkt = 1000, wlog = 8, probability = 0.1, ecn = true, harddrop = true"
    alone, below = (
        sum(
            packed_column(
                run_on_uml(queue=f'{{ kernel = "red", {red}, child = {child} }}', more=more, duration_s=30), "groups", "goodput_bps"
            )
        )
        for child in ("false", "true")
    )
    assert below < 0.2e6
    assert alone > 1.5e6


@needs_uml_kernel
def test_hosts_speak_ipv6() -> None:
    assert KERNEL is not None
    with machine.UmlJobRunner(KERNEL).run(job() | {"family": 6}, 1) as done:
        assert done.result["about"]["family"] == "IPv6"
        assert sum(packed_column(done.result, "groups", "goodput_bps")) > 1.5e6


@needs_uml_kernel
def test_a_capture_is_one_that_the_trace_command_reads(tmp_path: Path) -> None:
    lab.run(scenario().on_backend("uml"), seed=1, trace=tmp_path / "run.pcapng.zst")
    flows = lab.trace(tmp_path / "run.pcapng.zst").flows
    assert flows.height >= 3


@needs_uml_kernel
@pytest.mark.parametrize("variant", ["newreno", "sack"])
def test_connections_are_recorded_as_cases_in_which_the_simulated_hosts_agree(tmp_path: Path, variant: str) -> None:
    buffer = 'receive_window = "fixed", receive_buffer = "1 MB", receive_buffer_max = "1 MB", max_rwnd = 1000'
    asked = lab.scenario(
        tomllib.loads(f"""
            name = "some"
            duration = "6 s"
            [[link]]
            name = "shared"
            from = "a"
            to = "b"
            rate = "2 Mbps"
            delay = "10 ms"
            queue = {{ aqm = "ecn", limit = 60, min_th = 5, max_th = 20, w_q = 0.01 }}
            [[link]]
            name = "own"
            from = "c"
            to = "d"
            rate = "5 Mbps"
            delay = "10 ms"
            impair = [{{ kind = "script", packets = [40, 43, 90] }}]
            reverse = {{ rate = "1 Tbps" }}
            [[flows]]
            name = "both"
            count = 2
            from = "a"
            to = "b"
            tcp = {{ profile = "linux", ecn = true, {buffer} }}
            [[flows]]
            name = "alone"
            from = "c"
            to = "d"
            tcp = {{ profile = "linux", variant = "{variant}", initial_window = 2, {buffer} }}
            app = {{ kind = "file", bytes = "400 KB" }}
        """)
    )
    run = lab.run(asked, seed=1, backend="uml", trace=tmp_path / "some.cases")
    assert run.host_record_by_seed[1] == lab.run(asked, seed=1, backend="uml").host_record_by_seed[1]
    told = {
        outcome.name: [judgement.verdict for judgement in outcome.judgements]
        for outcome in kernel.replay_kernel_cases_of_folder(tmp_path / "some.cases")
    }
    shared = ["exact", "exact", "not comparable"]
    assert told == {"some-both-0": shared, "some-both-1": shared, "some-alone-0": ["exact", "exact", "exact"]}


@needs_uml_kernel
@pytest.mark.parametrize("rto_min_ms", [20, 50, 200, 1000])
def test_the_smallest_timeout_is_the_hosts_and_ends_a_transfer_whose_last_segments_are_lost(tmp_path: Path, rto_min_ms: int) -> None:
    """The last four of 40 segments are lost, and so is the tail loss probe: only the RTO repairs that."""
    asked = lab.scenario(
        tomllib.loads(f"""
            name = "tail"
            duration = "5 s"
            [[link]]
            name = "path"
            from = "a"
            to = "b"
            rate = "100 Mbps"
            delay = "5 ms"
            impair = [{{ kind = "script", packets = [38, 39, 40, 41, 42] }}]
            reverse = {{ rate = "1 Tbps" }}
            [[flows]]
            name = "one"
            from = "a"
            to = "b"
            tcp = {{ profile = "linux", rto_min = "{rto_min_ms} ms" }}
            app = {{ kind = "file", bytes = "57920 B" }}
        """)
    )
    took = {
        on: lab.run(asked, seed=1, backend=on, **({"trace": tmp_path / "tail.cases"} if on == "uml" else {})).groups["transaction_mean_s"][
            0
        ]
        for on in ("sim", "uml")
    }
    # Ticks of 4 ms lie elsewhere in the kernel's run, and timers from 252 ms on are rounded up to 32 ms. Judged below with the kernel's
    # own ticks, every packet is the same.
    assert took["uml"] == pytest.approx(took["sim"], abs=4e-3 if rto_min_ms < 252 else 32e-3)
    (file,) = (tmp_path / "tail.cases").iterdir()
    case = json.loads(gzip.decompress(file.read_bytes()))
    rto, srtt, backoff = (case["state_columns"].index(column) for column in ("rto_us", "srtt_us", "backoff"))
    beyond_us = [state[rto] - state[srtt] for state in case["states"] if state[backoff] == 0]
    # `__tcp_set_rto`: beyond the round trip it has the larger of the smallest timeout, in ticks, and the deviation.
    smallest_us = -(-rto_min_ms // 4) * 4000
    assert smallest_us <= min(beyond_us) < smallest_us + 4000
    (outcome,) = kernel.replay_kernel_cases_of_folder(tmp_path / "tail.cases")
    assert [judgement.verdict for judgement in outcome.judgements] == ["exact", "exact", "exact"]


@needs_uml_kernel
def test_what_a_recorded_host_answers_is_sent_behind_the_request_that_it_acknowledges(tmp_path: Path) -> None:
    """A request arrives at its host right after an ACK, and the next read from the host covers one turn."""
    asked = lab.scenario(
        tomllib.loads("""
            name = "kept"
            duration = "6 s"
            [[link]]
            name = "path"
            from = "a"
            to = "b"
            rate = "10 Mbps"
            delay = "5 ms"
            impair = [{ kind = "script", packets = [4, 20, 33] }]
            reverse = { rate = "1 Tbps" }
            [[flows]]
            name = "one"
            from = "a"
            to = "b"
            tcp = { profile = "linux" }
            app = { kind = "exchange", request = "900 B", response = "6 KB", count = 20, connection = "keep" }
        """)
    )
    lab.run(asked, seed=1, backend="uml", trace=tmp_path / "kept.cases")
    (outcome,) = kernel.replay_kernel_cases_of_folder(tmp_path / "kept.cases", ["receiver"])
    assert outcome.judgements[0].verdict == "exact"


@needs_uml_kernel
@pytest.mark.parametrize(
    "app", ['kind = "exchange", think = "50 s"', 'kind = "exchange", connection = "keep", think = "50 s"', 'kind = "web"']
)
def test_an_application_that_waits_for_its_user_is_not_locked_out(app: str) -> None:
    asked = lab.scenario(
        tomllib.loads(f"""
            name = "idle"
            duration = "60 s"
            [network]
            topology = "dumbbell"
            rate = "20 Mbps"
            delay = "10 ms"
            queue = {{ aqm = "codel", limit = 500 }}
            [[flows]]
            name = "idle"
            count = 2
            from = "left"
            to = "right"
            tcp = {{ profile = "linux", ecn = true }}
            app = {{ {app} }}
        """)
    )
    for on in ("sim", "uml"):
        group = lab.run(asked, seed=1, backend=on).groups
        assert [group["lockouts"][0], group["transactions"][0] > 0] == [0, True]


@needs_uml_kernel
def test_a_connection_that_never_opened_is_recorded_and_judged(tmp_path: Path) -> None:
    asked = lab.scenario(
        tomllib.loads("""
            name = "never"
            duration = "4 s"
            [[link]]
            name = "path"
            from = "a"
            to = "b"
            rate = "10 Mbps"
            delay = "10 ms"
            reverse = { rate = "1 Tbps", impair = [{ kind = "script", packets = [1, 2, 3, 4, 5, 6, 7, 8] }] }
            [[flows]]
            name = "one"
            from = "a"
            to = "b"
            tcp = { profile = "linux" }
        """)
    )
    lab.run(asked, seed=1, backend="uml", trace=tmp_path / "never.cases")
    (outcome,) = kernel.replay_kernel_cases_of_folder(tmp_path / "never.cases")
    assert outcome.name == "never-one-0"
    assert [judgement.verdict for judgement in outcome.judgements] == ["exact", "exact", "exact"]


@needs_uml_kernel
def test_of_cases_that_cannot_be_written_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(*_: object, **__: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(uml_backend.gzip, "compress", raise_disk_full)
    with pytest.raises(ResultsError, match="No space left on device; the partial file was removed"):
        lab.run(scenario(duration_s=3), [1], backend="uml", trace=tmp_path / "some.cases")
    assert list(tmp_path.iterdir()) == []


@needs_uml_kernel
def test_as_many_connections_as_a_group_may_have() -> None:
    """Each takes two descriptors, of which a process of the UML kernel has 4096 unless it asks for more."""
    flows = lab.scenario(scenario(duration_s=3).resolved, {"flows.with.count": 6000})
    assert flows.on_backend("uml").backend.run(flows, 1, None, None).about["connections"]["asked"] == 6001


@needs_uml_kernel
def test_what_no_case_holds_is_refused_by_its_place(tmp_path: Path) -> None:
    asked = scenario(more='[[flows]]\nname = "many"\nfrom = "a"\nto = "b"\ntcp = { profile = "linux", pacing = true }\n')
    with pytest.raises(lab.ScenarioError, match=r"flows\.many\.tcp\.pacing: a case cannot contain it"):
        lab.run(asked, seed=1, backend="uml", trace=tmp_path / "some.cases")
    assert not (tmp_path / "some.cases").exists()


@needs_uml_kernel
def test_what_a_kernel_cannot_do_is_refused_by_its_place_before_anything_starts() -> None:
    with pytest.raises(lab.ScenarioError, match=r"link\.bottleneck\.queue\.colour"):
        lab.run(scenario(queue='{ kernel = "codel", colour = "red" }').on_backend("uml"), seed=1)
    with pytest.raises(lab.ScenarioError, match=r"link\.bottleneck\.queue\.kernel: the simulator has no kernel"):
        lab.run(scenario(queue='{ kernel = "codel" }'), seed=1)


@needs_uml_kernel
@pytest.mark.parametrize("queue", ['{ kernel = "sfq", divisor = 7 }', '{ kernel = "fq_codel", flows = 0 }'])
def test_queue_parameters_refused_by_the_kernel_are_reported_by_their_place(queue: str) -> None:
    with pytest.raises(lab.ScenarioError, match=r"link\.bottleneck\.queue: the kernel's queue \"\w+\": Invalid argument"):
        lab.run(scenario(queue=queue), seed=1, backend="uml")


@needs_uml_kernel
def test_the_progress_callback_is_called_and_may_stop_the_run() -> None:
    told: list[float] = []
    assert KERNEL is not None
    with machine.UmlJobRunner(KERNEL).run(job(), 1, lambda over_s: told.append(over_s) or False):  # type: ignore[func-returns-value]
        pass
    assert told == sorted(told)
    assert 10 < told[-1] <= 12
    with pytest.raises(machine.UmlStoppedByCallback), machine.UmlJobRunner(KERNEL).run(job(), 1, lambda _: True):
        pass


@needs_uml_kernel
def test_an_invalid_job_fails_with_the_output_of_the_guest() -> None:
    assert KERNEL is not None
    with (
        pytest.raises(machine.UmlCrashed, match="missing field `seed`"),
        machine.UmlJobRunner(KERNEL).run({"scenario": job()["scenario"]}, 1),
    ):
        pass


@needs_uml_kernel
def test_nothing_is_left_behind_of_a_process_that_was_killed(tmp_path: Path) -> None:
    text = "import json, ecnlab as lab; lab.run(lab.scenario(json.load(open('long.json'))).on_backend('uml'), seed=1)"
    (tmp_path / "long.json").write_text(json.dumps(scenario(duration_s=20_000).resolved))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "uml").symlink_to(kernels.kernels_folder())
    environment = os.environ | {"ECNLAB_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen([sys.executable, "-c", text], env=environment, cwd=tmp_path)
    running: list[str] = []
    for _ in range(600):
        running = _is_running(tmp_path)
        if running or child.poll() is not None:
            break
        time.sleep(0.05)
    assert running  # two while the kernel tries out what it may
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    for _ in range(200):
        if not _is_running(tmp_path):
            break
        time.sleep(0.05)
    assert _is_running(tmp_path) == []


def _is_running(folder: Path) -> list[str]:
    """The UML processes whose jobs are in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, where = (process / "cmdline").read_bytes(), str((process / "cwd").readlink())
        except OSError:
            continue
        if b"time-travel=inf-cpu" in command and where.startswith(str(folder)):
            found.append(process.name)
    return found
