"""A shell session: two network namespaces, the links between them, a command and its servers."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from subprocess import Popen
from threading import Thread
from typing import Any

from ecnlab import _core
from ecnlab.aqm.tracebacks import aqm_error_from_exception
from ecnlab.backends.base import require_linux
from ecnlab.errors import BackendError, Problem, ScenarioError, UsageError, require_known_name
from ecnlab.netshell import process
from ecnlab.netshell.live import LiveView
from ecnlab.scenarios.load import Scenario

_SNAPSHOT_INTERVAL_S = 0.1
_HOSTS_FILE = Path("/etc/hosts")
_HOSTS_LINE_MARK = "# of ecnlab shell"

# Host names of both ends, each followed by its former name (until November 2026).
_CLIENT, _SERVER = "client inside", "server outside"

_NO_NAMESPACES_TEXT = (
    "shell: user namespaces are disabled ({why}); fix: enable kernel.unprivileged_userns_clone, or run as root with its capabilities; "
    "ecnlab doctor shows more"
)
_NO_DEVICE_TEXT = (
    "shell: /dev/net/tun cannot be opened ({why}); fix: as root, modprobe tun; where the device belongs to a group (ls -l /dev/net/tun), "
    "add the user to it; ecnlab doctor shows more"
)


@dataclass(frozen=True)
class ShellSpec:
    """Parameters of a shell.

    Attributes
    ----------
    scenario : callable
        Returns the scenario; called after the process has entered its user namespace, since it may not have other threads before.
    group : str or None
        The group of flows whose path the shell uses; the first one if None.
    command : sequence of str
        Command on the client; if empty, the user's login shell.
    servers : sequence of sequence of str
        Commands on the server.
    ecn : bool
        Whether connections request and accept ECN.
    congestion_control : str or None
        Default congestion control of connections.
    seed : int
        Seed of the links' random numbers.
    capture : Path or None
        Capture file with each packet before and after each queue (pcapng).
    background : bool
        Whether the scenario's flows are simulated as cross traffic on the same links.
    """

    scenario: Callable[[], Scenario]
    command: Sequence[str] = ()
    group: str | None = None
    servers: Sequence[Sequence[str]] = ()
    ecn: bool = True
    congestion_control: str | None = None
    seed: int = 1
    capture: Path | None = None
    background: bool = False


@dataclass(frozen=True)
class ShellResult:
    """Results of a shell.

    Attributes
    ----------
    code : int
        The command's exit code; 128 and the signal's number if a signal ended it.
    seconds : float
        Duration of the shell.
    tables : Mapping of str to Table
        Tables as for a run; those of queues cover the whole duration.
    about : Mapping
        Packets that were read, written and dropped outside of queues, and the lateness of departures in seconds.
    scenario : Scenario
        The scenario of its links.
    """

    code: int
    seconds: float
    tables: Mapping[str, _core.Table]
    about: Mapping[str, Any]
    scenario: Scenario


def run_shell(spec: ShellSpec, view: LiveView, began: Callable[[Scenario], None] = lambda _scenario: None) -> ShellResult:
    """Run a shell until its command ends.

    `began` is called with the checked scenario. Raises BackendError if the machine does not permit shells, UsageError, ScenarioError, and
    AqmError if a user AQM fails.
    """
    require_linux("shell")
    within = _enclosing_shell_subnet()
    _acquire_capabilities(within)
    scenario = spec.scenario()
    _require_links_possible_in_shell(scenario)
    began(scenario)
    shell = _create_namespaces(scenario, spec, within)
    with _SignalForwarder() as signals:
        first, told = _start_init_process(shell, _programs_to_run(scenario, spec, shell))
        signals.first = first
        try:
            _start_packet_forwarding(shell, spec)
            hindrance = _read_startup_error(told)
            _show_samples_until_process_ends(shell, first, view)
        except BaseException:
            first.kill()
            first.wait()
            raise
        finally:
            os.close(told)
            view.close()
        code = first.wait()
    look = json.loads(shell.latest_snapshot_json() or '{"time_s": 0.0}')
    tables, about = _stop_and_collect_tables(shell, spec)
    if hindrance:
        raise UsageError(hindrance)
    return ShellResult(code if code >= 0 else process.EXIT_SIGNALLED - code, look["time_s"], tables, json.loads(about), scenario)


def _enclosing_shell_subnet() -> str | None:
    """The network of the shell in which this process runs; None outside of shells."""
    place, network = os.environ.get("ECNLAB_PLACE"), os.environ.get("ECNLAB_NETWORK")
    # The variables alone are no proof: they may be inherited by a process in another network.
    return place if place and network == str(Path("/proc/self/ns/net").stat().st_ino) else None


def _acquire_capabilities(within: str | None) -> None:
    if within and not _core.has_capabilities():
        raise UsageError("shell: the outer shell belongs to another user; fix: start this one as that user")
    try:
        _core.gain_capabilities()
    except OSError as error:
        raise BackendError(_NO_NAMESPACES_TEXT.format(why=error.strerror or error)) from None


def _require_links_possible_in_shell(scenario: Scenario) -> None:
    """Check that a shell supports the scenario's links. Raises ScenarioError."""
    refused = [Problem.from_engine(parts) for parts in _core.refusals(scenario._core, "shell")]
    if refused:
        raise ScenarioError(refused, scenario.source)


def _create_namespaces(scenario: Scenario, spec: ShellSpec, within: str | None) -> _core.Shell:
    names = scenario.group_names
    if spec.group is not None:
        require_known_name("group", spec.group, names)
    group = 0 if spec.group is None else names.index(spec.group)
    try:
        return _core.Shell(scenario._core, group, spec.ecn, spec.congestion_control, within, spec.background)
    except OSError as error:
        why = str(error)
        if "/dev/net/tun" in why:
            raise BackendError(_NO_DEVICE_TEXT.format(why=why)) from None
        if spec.congestion_control and "route" in why:
            raise UsageError(
                f"--cc: the kernel has no congestion control {spec.congestion_control!r}; fix: {_congestion_controls_hint()}"
            ) from None
        raise BackendError(f"cannot create network namespaces: {why}; fix: run ecnlab doctor") from None


def _congestion_controls_hint() -> str:
    try:
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    except OSError:
        return "load its module"
    return f"use one of {', '.join(known)}, or load its module, as in modprobe tcp_dctcp"


def _programs_to_run(scenario: Scenario, spec: ShellSpec, shell: _core.Shell) -> process.ShellPrograms:
    (inside, outside), *sixth = shell.addresses
    level = int(os.environ.get("ECNLAB_LEVEL", "0")) + 1 if _enclosing_shell_subnet() else 1
    own = {"ECNLAB_CLIENT": inside, "ECNLAB_LEVEL": str(level), "ECNLAB_PLACE": shell.place, "ECNLAB_LINK": scenario.name}
    far = {"ECNLAB_SERVER": outside}
    if sixth:
        own["ECNLAB_CLIENT6"], far["ECNLAB_SERVER6"] = sixth[0]
    # A nested shell without servers keeps the server of the outer shell.
    keeps = level > 1 and not spec.servers
    environment = _with_old_variable_names({**os.environ, **own, **({} if keeps else far)})
    environment["ECNLAB_NETWORK"] = str(shell.inner_namespace_inode)
    command = list(spec.command) or _interactive_shell_command(environment)
    names = [(inside, _CLIENT), (environment["ECNLAB_SERVER"], _SERVER)]
    if sixth:
        names += [(environment["ECNLAB_CLIENT6"], _CLIENT), (environment["ECNLAB_SERVER6"], _SERVER)]
    return process.ShellPrograms(
        command,
        [list(server) for server in spec.servers],
        environment,
        _with_old_variable_names({**os.environ, **far}),
        _hosts_file_content(names),
    )


def _with_old_variable_names(environment: dict[str, str]) -> dict[str, str]:
    """An environment with the address variables also under their former names (until November 2026)."""
    old = {"ECNLAB_CLIENT": "ECNLAB_INSIDE", "ECNLAB_SERVER": "ECNLAB_OUTSIDE"}
    named = {
        before + version: environment[now + version] for now, before in old.items() for version in ("", "6") if now + version in environment
    }
    return environment | named


def _interactive_shell_command(environment: dict[str, str]) -> list[str]:
    """The user's login shell, with the link in its prompt if the shell supports that."""
    link = environment["ECNLAB_LINK"].replace("\\", "").replace("'", "").replace("$", "").replace("`", "")
    environment["PROMPT_COMMAND"] = f"PS1='[{link}] '\"$PS1\"; unset PROMPT_COMMAND"
    return [os.environ.get("SHELL") or "/bin/sh"]


def _hosts_file_content(names: Sequence[tuple[str, str]]) -> str:
    try:
        kept = [line for line in _HOSTS_FILE.read_text(errors="replace").splitlines() if not line.endswith(_HOSTS_LINE_MARK)]
    except OSError:
        kept = ["127.0.0.1 localhost"]
    return "\n".join([*kept, *(f"{address} {name} {_HOSTS_LINE_MARK}" for address, name in names), ""])


def _start_init_process(shell: _core.Shell, programs: process.ShellPrograms) -> tuple[Popen[bytes], int]:
    """Start the first process of a PID namespace; returns it and a descriptor for its start-up error.

    A dedicated thread starts it: only children of that thread are in the new PID namespace, and the kernel kills the first process when
    the thread ends.
    """
    error_reader, error_writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    started: SimpleQueue[Popen[bytes] | BackendError] = SimpleQueue()

    def start_init_process_and_wait() -> None:
        try:
            _core.unshare_pid_namespace()
        except OSError as error:
            started.put(BackendError(_NO_NAMESPACES_TEXT.format(why=error.strerror or error)))
            return
        try:
            first = process.start_init_process(shell.network_namespace_fds, programs, error_writer)
        except Exception as error:  # otherwise the waiting thread would block for ever
            started.put(BackendError(f"cannot start the shell's first process: {error}"))
            return
        started.put(first)
        with suppress(ChildProcessError):  # another call may have reaped it
            os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)

    Thread(target=start_init_process_and_wait, daemon=True).start()
    first = started.get()
    os.close(error_writer)
    if isinstance(first, BackendError):
        os.close(error_reader)
        raise first
    return first, error_reader


def _start_packet_forwarding(shell: _core.Shell, spec: ShellSpec) -> None:
    try:
        shell.start(spec.seed, spec.capture)
    except OSError as error:
        raise UsageError(f"cannot write {str(spec.capture)!r}: {error}") from None


def _read_startup_error(told: int) -> str:
    """Error text of a failed start; empty if the command has started."""
    parts = []
    while part := os.read(told, 65536):
        parts.append(part)
    return b"".join(parts).decode(errors="replace").strip()


def _show_samples_until_process_ends(shell: _core.Shell, first: Popen[bytes], view: LiveView) -> None:
    """Wait until the first process has ended or packet forwarding stops."""
    ended = os.pidfd_open(first.pid)
    try:
        while not select.select([ended], [], [], _SNAPSHOT_INTERVAL_S)[0]:
            if shell.has_failed:
                first.kill()
            look = shell.latest_snapshot_json()
            if look is not None:
                view.show_sample(json.loads(look))
    finally:
        os.close(ended)


def _stop_and_collect_tables(shell: _core.Shell, spec: ShellSpec) -> tuple[dict[str, _core.Table], str]:
    try:
        return shell.stop(spec.seed)
    except _core.AqmFailure as error:
        raise aqm_error_from_exception(error) from error.__cause__
    except _core.EngineFault as error:
        raise UsageError(f"the engine failed: {error}; fix: report this bug of ecnlab with the scenario") from None
    except OSError as error:
        raise BackendError(f"packet forwarding stopped: {error}") from None


class _SignalForwarder:
    """Signal handling of a shell: terminal signals are left to the command, termination signals are forwarded to it."""

    def __init__(self) -> None:
        self.first: Popen[bytes] | None = None
        self._before: dict[int, Any] = {}
        self._has_terminal = False

    def __enter__(self) -> _SignalForwarder:
        with suppress(OSError):
            self._has_terminal = os.tcgetpgrp(0) == os.getpgrp()
        for one in (signal.SIGINT, signal.SIGQUIT):
            self._before[one] = signal.signal(one, lambda _number, _frame: None)
        for one in (signal.SIGTERM, signal.SIGHUP):
            self._before[one] = signal.signal(one, self._forward_signal)
        self._before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        return self

    def __exit__(self, *_raised: object) -> None:
        # A nested shell may have been the last foreground process group.
        if self._has_terminal:
            with suppress(OSError):
                os.tcsetpgrp(0, os.getpgrp())
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _forward_signal(self, number: int, _frame: object) -> None:
        if self.first is not None:
            self.first.send_signal(number)
