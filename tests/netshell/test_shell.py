"""Shells end to end: the command, with real programs in its network namespaces."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

import ecnlab as package
from ecnlab.errors import ScenarioError, UsageError
from ecnlab.netshell import init
from ecnlab.netshell.attach import _refuse_root_unless_shell_owner, _shell_variables_of_process, run_in_running_shell
from ecnlab.netshell.live import highest_delay_queues_status_line, queue_rates_and_delays
from ecnlab.netshell.process import InitJob, ShellPrograms
from ecnlab.netshell.session import _NO_DEVICE_TEXT, _require_links_possible_in_shell
from ecnlab.scenarios.load import scenario_from_toml_text
from helpers import SMALL

pytestmark = pytest.mark.real_time

PYTHON = sys.executable
PACKAGE = Path(package.__file__).parent

# Connects to a closed port, which is refused after one round trip; prints the minimum of ten times, since the machine may be busy.
CLIENT_SCRIPT = """
import os, socket, time
def knock(address):
    began = time.monotonic()
    try:
        socket.create_connection((address, 9))
    except ConnectionRefusedError:
        return time.monotonic() - began
knock(os.environ[WHERE])
print(min(knock(os.environ[WHERE]) for _ in range(10)))
"""

# Server that sends the given number of bytes to each client.
SENDER_SCRIPT = """
import socket, sys
server = socket.create_server(("", 5001))
while True:
    connection, _ = server.accept()
    connection.sendall(bytes(int(sys.argv[1])))
    connection.close()
"""

# Client that reads to the end, and prints the duration and the number of packets with CE.
RECEIVER_SCRIPT = """
import socket, time
from pathlib import Path
began, count = time.monotonic(), 0
connection = socket.create_connection(("server", 5001))
while part := connection.recv(1 << 16):
    count += len(part)
names, values = [line.split() for line in Path("/proc/self/net/netstat").read_text().splitlines() if line.startswith("IpExt:")]
print(count, time.monotonic() - began, dict(zip(names, values))["InCEPkts"])
"""


# Runs a command in a mount namespace that imitates a machine with a resolver, a service and a session, whose sockets are in /run.
HOST_NETWORK_STATE = """
import socket, subprocess, sys
from pathlib import Path
def do(*words): subprocess.run(words, check=True)
folder = sys.argv[1]
do("mount", "-t", "tmpfs", "none", "/run")
do("cp", "-a", "/etc", folder)
do("mount", "--bind", f"{folder}/etc", "/etc")
for name in ("resolve", "user"): Path("/run", name).mkdir()
Path("/run/resolve/stub").write_text("nameserver 192.0.2.7\\n")
Path("/etc/resolv.conf").unlink()
Path("/etc/resolv.conf").symlink_to("../run/resolve/stub")
servers = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for server, path in zip(servers, ("/run/resolve/socket", "/run/user/display")):
    server.bind(path)
    server.listen()
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""

# Prints whether sockets have a listener, and the contents of resolv.conf.
NAMESPACE_SCRIPT = """
import socket, sys
from pathlib import Path
def listens(path):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
    except FileNotFoundError:
        return False
    return True
print(*map(listens, ("/run/resolve/socket", "/run/user/display")), Path("/etc/resolv.conf").read_text())
"""


# Devices that some kernels create in each network namespace.
TUN_DEVICES = ("tunl0", "sit0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6tnl0", "ip6gre0")


def ecnlab(*words: str, timeout: float = 60, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PYTHON, "-m", "ecnlab", *words], capture_output=True, text=True, timeout=timeout, **more)


@cache
def refusal() -> str:
    """The reason why this machine permits no shell; empty if it does."""
    tried = ecnlab("shell", "--rate", "1Gbps", "--", "true")
    return tried.stderr if tried.returncode == 2 else ""


@pytest.fixture(autouse=True)
def permitted(request: pytest.FixtureRequest) -> None:
    if "unprivileged" not in request.keywords and "pure" not in request.node.name and refusal():
        pytest.skip(refusal())


def knock(where: str = "ECNLAB_SERVER") -> list[str]:
    return [PYTHON, "-c", CLIENT_SCRIPT.replace("WHERE", repr(where))]


def test_the_exit_code_is_the_commands() -> None:
    assert ecnlab("shell", "--rate", "1Gbps", "--", "sh", "-c", "exit 7").returncode == 7
    assert ecnlab("shell", "--rate", "1Gbps", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_a_missing_command_is_reported() -> None:
    told = ecnlab("shell", "--rate", "1Gbps", "--", "no-such-program")
    assert (told.returncode, "cannot run 'no-such-program'" in told.stderr) == (2, True)


def test_a_command_that_cannot_enter_the_network_is_reported() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        job = InitJob(ShellPrograms(["true"], [], dict(os.environ), {}, ""), nothing, nothing, nothing, nothing)
        with pytest.raises(init.InitStartupError, match="cannot run 'true': its process cannot enter the client's network namespace"):
            init._start_program(job)
    finally:
        os.close(nothing)


# A process with threads, as after the use of polars, in which a fork is refused; opens a shell, and prints the command's exit code.
THREADED_SCRIPT = """
import sys, threading
def refuse(event, _arguments):
    if event in ("os.fork", "os.forkpty"):
        raise RuntimeError("a process with threads has forked")
sys.addaudithook(refuse)
threading.Thread(target=threading.Event().wait, daemon=True).start()
from ecnlab.scenarios.load import scenario_from_toml_text
from ecnlab.netshell import ShellSpec, LiveView, run_shell
print(run_shell(ShellSpec(lambda: scenario_from_toml_text(sys.argv[1]), ["sh", "-c", "exit 7"]), LiveView("off")).code)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a process with threads cannot enter a user namespace, which only root does without")
def test_a_process_with_threads_keeps_a_shell_without_a_fork() -> None:
    told = subprocess.run([PYTHON, "-W", "error", "-c", THREADED_SCRIPT, SMALL], capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("7\n", "")


def test_the_command_has_the_descriptors_and_the_environment_of_the_shell_around_it(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')\n")
    folders = [*filter(None, [os.environ.get("PYTHONPATH")]), "/no/such/folder"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders), "ECNLAB_ODD": "\udcff"}
    script = ["sh", "-c", 'echo "$PYTHONPATH $ECNLAB_ODD" >&3; ls /proc/self/fd']
    shell = [PYTHON, "-P", "-m", "ecnlab", "shell", "--rate", "1Gbps", "--quiet", "--"]
    runs = []
    for words in (script, [*shell, *script]):
        run = subprocess.run(["sh", "-c", 'exec "$@" 3>told', "sh", *words], capture_output=True, env=environment, cwd=tmp_path)
        runs.append((run.returncode, run.stdout, run.stderr, (tmp_path / "told").read_bytes()))
    assert runs[0] == runs[1]
    assert runs[0][2:] == (b"", f"{environment['PYTHONPATH']} ".encode() + b"\xff\n")


def test_a_server_that_exits_immediately_is_reported_with_its_output() -> None:
    told = ecnlab("shell", "--rate", "1Gbps", "--server", "sh -c 'echo no port; exit 3'", "--", "true")
    assert told.returncode == 2
    assert "exit code 3 before it listened" in told.stderr
    assert "no port" in told.stderr


def test_a_server_that_does_not_listen_is_reported_and_the_command_starts() -> None:
    told = ecnlab("shell", "--rate", "1Gbps", "--quiet", "--server", "sleep 60", "--", "echo", "started")
    assert (told.returncode, told.stdout) == (0, "started\n")
    assert "warning: the server 'sleep 60' does not listen after 5 s" in told.stderr


def test_a_shell_ends_at_once_when_it_is_terminated_while_a_server_starts() -> None:
    words = ["shell", "--rate", "1Gbps", "--quiet", "--server", "sleep 60.25", "--", "sleep", "30"]
    with subprocess.Popen([PYTHON, "-m", "ecnlab", *words], start_new_session=True) as shell:
        assert _wait_for(lambda: len(_run_with_options("sleep\x0060.25")) == 1)
        shell.terminate()
        assert shell.wait(timeout=20) == 128 + signal.SIGTERM
    assert _wait_for(lambda: not _run_with_options("sleep\x0060.25"))


@pytest.mark.parametrize("where", ["ECNLAB_SERVER", "ECNLAB_SERVER6"])
def test_a_round_trip_takes_both_delays(where: str) -> None:
    if where.endswith("6") and not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("this kernel has no IPv6")
    told = ecnlab("shell", "--rate", "1Gbps", "--delay", "10 ms", "--quiet", "--", *knock(where))
    assert 0.020 <= float(told.stdout) < 0.030


def test_shells_nest_and_a_packet_crosses_the_links_of_both() -> None:
    inner = [PYTHON, "-m", "ecnlab", "shell", "--rate", "1Gbps", "--delay", "10 ms", "--quiet", "--", *knock()]
    told = ecnlab("shell", "--rate", "1Gbps", "--delay", "10 ms", "--quiet", "--", *inner)
    assert 0.040 <= float(told.stdout) < 0.060, told.stderr


def test_two_shells_side_by_side_inside_of_one() -> None:
    inner = f"{PYTHON} -m ecnlab shell --rate 1Gbps --quiet -- sh -c 'echo $ECNLAB_LEVEL $ECNLAB_INSIDE; sleep 1'"
    told = ecnlab("shell", "--rate", "1Gbps", "--quiet", "--", "sh", "-c", f"{inner} & {inner} & wait")
    assert sorted(told.stdout.split()) == ["100.68.0.2", "100.72.0.2", "2", "2"], told.stderr


def test_a_download_takes_as_long_as_the_link_makes_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(200_000))
    fetch = (
        "import time, urllib.request as u; began = time.monotonic(); "
        "count = len(u.urlopen('http://server:8000/file').read()); print(count, time.monotonic() - began)"
    )
    server = f"{PYTHON} -m http.server 8000 --directory {tmp_path}"
    told = ecnlab("shell", "--rate", "1Mbps", "--delay", "50 ms", "--server", server, "--quiet", "--", PYTHON, "-c", fetch)
    count, seconds = told.stdout.split()
    # 139 packets of 1500 bytes, one round trip for the handshake and one for the request; a busy machine may take twice as long.
    alone = 200_000 / 1448 * 1500 * 8 / 1e6 + 0.2
    assert count == "200000"
    assert alone <= float(seconds) < 2 * alone


def test_of_the_machine_s_run_there_is_only_what_programs_need() -> None:
    kept = {"user", "lock", "shm", "current-system", "booted-system", "opengl-driver", "wrappers"}
    told = ecnlab("shell", "--rate", "1Gbps", "--quiet", "--", "ls", "-A", "/run")
    assert set(told.stdout.split()) == kept & {path.name for path in Path("/run").iterdir()}, told.stderr


@pytest.mark.parametrize("depth", [1, 2])
def test_devices_of_the_machine_are_not_even_seen(depth: int) -> None:
    """Root could change them in `/sys`."""
    words = [*["shell", "--rate", "1Gbps", "--quiet", "--", PYTHON, "-m", "ecnlab"] * (depth - 1), "shell", "--rate", "1Gbps", "--quiet"]
    told = ecnlab(*words, "--", "sh", "-c", "ls /sys/class/net; cat /sys/class/net/way/operstate; ls -d /sys/fs/cgroup/*")
    if "the machine's own /sys" in told.stderr:
        pytest.skip(told.stderr)
    devices, _, rest = told.stdout.partition("unknown\n")
    assert set(devices.split()) - set(TUN_DEVICES) == {"lo", "way"}, told.stderr
    assert set(rest.split()) == {str(path) for path in Path("/sys/fs/cgroup").glob("*")}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can make such a machine, with unshare")
def test_services_of_the_machine_cannot_be_reached_and_those_of_the_session_can(tmp_path: Path) -> None:
    look = [PYTHON, "-c", NAMESPACE_SCRIPT]
    machine = ["unshare", "--mount", PYTHON, "-c", HOST_NETWORK_STATE]
    shell = [PYTHON, "-m", "ecnlab", "shell", "--rate", "1Gbps", "--quiet", "--"]
    for within, reached in (([], "True True"), (shell, "False True"), ([*shell, *shell], "False True")):
        folder = tmp_path / str(len(within))
        folder.mkdir()
        told = subprocess.run([*machine, str(folder), *within, *look], capture_output=True, text=True, timeout=60)
        assert told.stdout == f"{reached} nameserver 192.0.2.7\n\n", told.stderr


def test_flows_of_the_file_send_too_where_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(SMALL)
    departures = {}
    for asked in ([], ["--background", "--pcap", str(tmp_path / "packets.pcapng")]):
        told = ecnlab("shell", str(file), *asked, "--json", "--", *knock()[:2], knock()[2] + "time.sleep(3)")
        end = json.loads(told.stderr.splitlines()[-1])["end"]
        assert end["exit_code"] == 0, told.stderr
        departures[bool(asked)] = next(row["departures"] for row in end["queues"] if row["queue"] == "bottleneck")
    assert departures[False] < 20 < 50 < departures[True]
    captured = ecnlab("trace", str(tmp_path / "packets.pcapng"), "--json")
    assert captured.returncode == 0, captured.stderr
    refused = ecnlab("shell", "--rate", "1Mbps", "--background", "--", "true")
    assert (refused.returncode, "--background: needs FILE, whose flows it starts; fix: give FILE" in refused.stderr) == (2, True)


def _mark_counts(*queue: str) -> tuple[dict[str, object], int, int]:
    """The final state of the inbound queue, with the bytes and the CE packets that passed it."""
    server = f"{PYTHON} -c '{SENDER_SCRIPT}' 3000000"
    told = ecnlab(
        "shell", "--rate", "10Mbps", "--delay", "10 ms", *queue, "--server", server, "--json", "--", PYTHON, "-c", RECEIVER_SCRIPT
    )
    end = json.loads(told.stderr.splitlines()[-1])["end"]
    count, _, marked = told.stdout.split()
    assert end["exit_code"] == 0
    return next(row for row in end["queues"] if row["queue"] == "path"), int(count), int(marked)


def test_every_mark_reaches_the_receiver() -> None:
    down, count, marked = _mark_counts("--aqm", "ecn")
    assert count == 3_000_000
    assert marked == down["marks"] > 0


def test_an_aqm_of_ones_own() -> None:
    own = Path(__file__).parents[2] / "examples" / "threshold.py"
    down, _, marked = _mark_counts("--aqm", f"{own}:Threshold", "--queue", "most=10")
    assert marked == down["marks"] > 0


def test_connections_may_go_without_ecn() -> None:
    down, _, marked = _mark_counts("--aqm", "ecn", "--no-ecn")
    assert (down["marks"], marked) == (0, 0)


def test_three_shells_at_a_time_do_not_meet(tmp_path: Path) -> None:
    def shell(number: int) -> subprocess.Popen[str]:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "who").write_text(str(number))
        fetch = "import time, urllib.request as u; time.sleep(1); print(u.urlopen('http://server:8000/who').read().decode())"
        server = f"{PYTHON} -m http.server 8000 --directory {folder}"
        words = ["shell", "--rate", "10Mbps", "--server", server, "--quiet", "--", PYTHON, "-c", fetch]
        return subprocess.Popen([PYTHON, "-m", "ecnlab", *words], stdout=subprocess.PIPE, text=True)

    assert [shell.communicate(timeout=60)[0].strip() for shell in [shell(number) for number in range(3)]] == ["0", "1", "2"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_it_is_killed(number: signal.Signals) -> None:
    mark = f"987{os.getpid()}.{int(number)}"
    devices = Path("/proc/net/dev").read_text().count(":")
    words = ["shell", "--rate", "10Mbps", "--quiet", "--", "sh", "-c", f"sleep {mark} & sleep {mark}"]
    with subprocess.Popen([PYTHON, "-m", "ecnlab", *words], start_new_session=True) as shell:
        assert _wait_for(lambda: len(_run_with_options(f"sleep\0{mark}")) == 2)
        assert Path("/proc/net/dev").read_text().count(":") == devices, "the machine's own network"
        shell.send_signal(number)
        code = shell.wait(timeout=30)
    assert code == (-9 if number == signal.SIGKILL else 128 + number)
    assert _wait_for(lambda: not _run_with_options(f"sleep\0{mark}"))


def _run_with_options(words: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found += [folder.name] if words.encode() in (folder / "cmdline").read_bytes() else []
        except OSError:
            continue
    return found


def _wait_for(holds: object, within: float = 20) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if holds():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def test_from_another_terminal(tmp_path: Path) -> None:
    words = ["shell", "--rate", "1Gbps", "--delay", "10 ms", "--quiet", "--", "sh", "-c", f"echo > {tmp_path}/there; sleep 60"]
    with subprocess.Popen([PYTHON, "-m", "ecnlab", *words]) as shell:
        assert _wait_for((tmp_path / "there").exists)
        told = {}
        for side in ("client", "server"):
            own = f"{PYTHON} -c 'import os; print(os.stat(\"/proc/self/ns/net\").st_ino)'"
            told[side] = ecnlab("shell", "attach", str(shell.pid), "--side", side, "--", "sh", "-c", f"{own}; exit 5")
        far = ecnlab("shell", "attach", str(shell.pid), "--", *knock())
        shell.terminate()
    assert [one.returncode for one in told.values()] == [5, 5]
    networks = {one.stdout.strip() for one in told.values()} | {str(Path("/proc/self/ns/net").stat().st_ino)}
    assert len(networks) == 3
    assert 0.020 <= float(far.stdout) < 0.030


def test_of_a_shell_s_variables_only_its_own_are_taken_and_only_where_they_are_sound() -> None:
    """A process of another user can have any environment, which must not choose the kernel that is run."""
    hostile = {
        "ECNLAB_CACHE": "/tmp/evil",
        "ECNLAB_WORKERS": "9",
        "LD_PRELOAD": "/tmp/evil.so",
        "PYTHONPATH": "/tmp/evil",
        "PATH": "/tmp/evil",
    }
    own = {"ECNLAB_CLIENT": "100.64.0.2", "ECNLAB_SERVER6": "fdec::6440:1", "ECNLAB_LEVEL": "2", "ECNLAB_NETWORK": "4026532000",
           "ECNLAB_LINK": "a b"}  # fmt: skip
    unsound = {"ECNLAB_SERVER": "$(reboot)", "ECNLAB_LEVEL": "x", "ECNLAB_NETWORK": "1;2", "ECNLAB_LINK": "a\nb"}
    for given, taken in ((hostile | own, own), (unsound, {})):
        with subprocess.Popen(["/bin/sleep", "60"], env=given) as process:
            try:
                assert _wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
                assert _shell_variables_of_process(process.pid) == taken
            finally:
                process.kill()


def test_a_shell_leaves_the_settings_of_the_one_around_it_as_they_are() -> None:
    settings = " ".join(f"/proc/sys/net/{name}" for name in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"))
    inner = f"{PYTHON} -m ecnlab shell --quiet --rate 1Gbps -- true"
    told = ecnlab("shell", "--rate", "1Gbps", "--quiet", "--", "sh", "-c", f"cat {settings}; echo; {inner}; cat {settings}")
    assert told.returncode == 0
    before, after = told.stdout.split("\n\n")
    assert before.split() == after.split()


def test_a_device_that_cannot_be_opened_is_no_reason_to_open_it_to_everybody() -> None:
    assert "chmod" not in _NO_DEVICE_TEXT


def test_a_process_that_keeps_no_shell_cannot_be_entered() -> None:
    told = ecnlab("shell", "attach", str(os.getpid()), "--", "true")
    assert (told.returncode, "is not an ecnlab shell" in told.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look at other users' shells")
def test_root_is_refused_the_shell_of_another_user_whose_mounts_it_would_run_as_root() -> None:
    with subprocess.Popen(["/bin/sleep", "60"], user=65534) as process:
        try:
            for pair in ((process.pid, os.getpid()), (os.getpid(), process.pid)):
                with pytest.raises(UsageError) as raised:
                    _refuse_root_unless_shell_owner(*pair)
                assert f"the shell of process {pair[0]} belongs to nobody (user ID 65534)" in str(raised.value)
                assert f"fix: sudo -u '#65534' ecnlab shell attach {pair[0]} -- ..." in str(raised.value)
        finally:
            process.kill()
    _refuse_root_unless_shell_owner(os.getpid(), os.getpid())


def test_a_shell_entered_from_a_directory_that_is_gone_gives_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(
        sys.modules["ecnlab.netshell.attach"], "_processes_on_server_and_client", lambda process: (os.getpid(), os.getpid())
    )
    with pytest.raises(UsageError, match="cannot read the working directory: No such file or directory; fix: "):
        run_in_running_shell(os.getpid(), "client", ["true"])


def test_a_capture_holds_both_sides_of_each_queue(tmp_path: Path) -> None:
    file = tmp_path / "shell.pcapng"
    assert ecnlab("shell", "--rate", "10Mbps", "--pcap", str(file), "--quiet", "--", *knock()).returncode == 0
    assert ecnlab("trace", "verify", str(file)).returncode == 0
    if shutil.which("tshark"):
        read = subprocess.run(["tshark", "-nr", file, "-Tfields", "-e", "frame.interface_name"], capture_output=True, text=True, check=True)
        assert set(read.stdout.split("\n")) - {""} == {f"{side} path{way}" for side in ("before", "after") for way in ("", ".reverse")}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_capture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "full.pcapng").symlink_to("/dev/full")
    told = ecnlab("shell", "--rate", "10Mbps", "--pcap", str(tmp_path / "full.pcapng"), "--quiet", "--", *knock())
    assert told.returncode == 2
    assert f"cannot write the capture {tmp_path}/full.pcapng: No space left on device" in told.stderr


def test_the_view_is_a_line_of_json_a_second(tmp_path: Path) -> None:
    file = tmp_path / "view"
    assert ecnlab("shell", "--rate", "10Mbps", "--json", "--view-to", str(file), "--", "sleep", "2.5").returncode == 0
    *looks, end = map(json.loads, file.read_text().splitlines())
    assert len(looks) >= 2
    assert [queue["name"] for queue in looks[0]["queues"]] == ["path", "path.reverse"]
    assert end["end"]["lateness_s"]["p50"] >= 0
    assert {"device_drops", "real_time_class"} <= end["end"].keys()
    assert "p99.9" in end["end"]["lateness_s"]


# A device that users may open, which some machines lack, and an interpreter and modules that users may read, in mounts that other
# processes do not see.
BECOME_NOBODY_SCRIPT = """
mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 &&
for folder in $KEPT; do mkdir -p "$ASIDE$folder" && mount --bind "$folder" "$ASIDE$folder"; done &&
for folder in $CLOSED; do mount -t tmpfs -o mode=755 none "$folder"; done &&
for folder in $KEPT; do mkdir -p "$folder" && mount --bind "$ASIDE$folder" "$folder"; done &&
cd /tmp && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"""


def _is_closed_to_others(folder: Path) -> list[Path]:
    """The outermost folder on the path that other users cannot enter, if any."""
    return [parent for parent in [*folder.parents][::-1] if not parent.stat().st_mode & 0o001][:1]


def test_users_without_privileges_keep_who_they_are_and_have_a_shell_all_the_same(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("takes root, and setpriv, to become somebody else")
    words = ["shell", "--rate", "1Gbps", "--delay", "10 ms", "--quiet", "--", "sh", "-c", "id -u; id -g; cat /proc/self/net/dev"]
    apart = ["unshare", "-m", "sh", "-c", BECOME_NOBODY_SCRIPT, "nobody", PYTHON, "-m", "ecnlab", *words]
    closed = {folder: _is_closed_to_others(folder) for folder in (Path(sys.prefix), Path(sys.base_prefix), PACKAGE.parent)}
    mounts = {
        "KEPT": " ".join(str(folder) for folder, outermost in closed.items() if outermost),
        "CLOSED": " ".join({str(parent) for outermost in closed.values() for parent in outermost}),
        "ASIDE": str(tmp_path),
    }
    told = subprocess.run(apart, capture_output=True, text=True, timeout=60, env=os.environ | mounts)
    if told.returncode == 2 and "needs namespaces" in told.stderr:
        pytest.skip(told.stderr)
    assert told.stdout.split()[:2] == ["65534", "65534"], told.stderr
    assert " way:" in told.stdout


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ([], "FILE: is missing, and so is --rate; fix: give one"),
        (["examples/dumbbell.toml", "--rate", "1Mbps"], "--rate: FILE defines the links; fix: omit FILE"),
        (["examples/dumbbell.toml", "--group", "x"], "unknown group 'x'"),
        (["--rate", "1Mbps", "--group", "x"], "--group: needs FILE, whose flows it names; fix: give FILE"),
        (["--rate", "1Mbps", "--server", ""], "is empty"),
        (["--rate", "1Mbps", "--pcap", "x.pcap"], "must end in .pcapng; fix: change the file extension"),
        (["--rate", "1Mbps", "--pcap", "/no/such/x.pcapng"], "cannot write '/no/such/x.pcapng': No such file or directory"),
        (["--rate", "fast"], "rate"),
        (["--rate", "1Mbps", "--cc", "no-such"], "the kernel has no congestion control 'no-such'"),
    ],
)
def test_refusals_have_a_remedy(words: list[str], remedy: str) -> None:
    told = ecnlab("shell", *words, "--", "true")
    assert told.returncode == 2
    assert remedy in told.stderr


def test_pure_rates_are_since_the_last_look() -> None:
    queue = {"name": "path", "direction": "down", "packets": 3, "bytes": 4500, "marked": 7, "dropped": 2}
    before = {"time_s": 1.0, "queues": [queue | {"departed": 0, "departed_bytes": 1000, "waits": 10, "waited_s": 1.0}]}
    now = {"time_s": 3.0, "queues": [queue | {"departed": 0, "departed_bytes": 251_000, "waits": 30, "waited_s": 1.4}]}
    [row] = queue_rates_and_delays(now, before)
    assert (row["rate_bps"], row["sojourn_s"], row["marks"]) == (1_000_000, 0.02, 7)
    assert highest_delay_queues_status_line([row]) == "down 1.00 Mbit/s 20.0 ms, 3 wait, 7 marks, 2 drops"


def test_links_that_a_shell_cannot_have_are_refused_by_name_before_it_starts() -> None:
    file = """
    name = "x"
    duration = "1 s"
    [[link]]
    name = "path"
    from = "a"
    to = "b"
    rate = "1 Mbps"
    delay = "1 ms"
    queue = { kernel = "fq_codel" }
    impair = [{ kind = "script", segments = [7] }]
    [[flows]]
    name = "one"
    from = "a"
    to = "b"
    tcp = { profile = "linux" }
    """
    with pytest.raises(ScenarioError) as refused:
        _require_links_possible_in_shell(scenario_from_toml_text(file))
    assert [problem.place for problem in refused.value.problems] == ["link.path.impair.0.segments", "link.path.queue.kernel"]
