"""A shell from its start to its end: two rooms, the links between them, and a command with its servers."""

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

from ecnlab import _core, jobs
from ecnlab.errors import Problem, ScenarioError, TierError, UnknownName, UsageError
from ecnlab.scenarios import Scenario
from ecnlab.shell import process
from ecnlab.shell.live import View

_LOOKS_EVERY_S = 0.1
_HOSTS = Path("/etc/hosts")
_MARK = "# of ecnlab shell"

_NO_NAMESPACES = (
    "a shell needs namespaces of its own, which this machine does not let you make ({why}): run it as root with its capabilities, or "
    "have them permitted to users; ecnlab doctor says how"
)
_NO_DEVICE = (
    "a shell needs /dev/net/tun, which cannot be opened ({why}): load the driver with modprobe tun; where the device belongs to a group, "
    "as ls -l /dev/net/tun shows, have root add you to it; ecnlab doctor shows more"
)


@dataclass(frozen=True)
class Spec:
    """What a shell is to be.

    Attributes
    ----------
    scenario : callable
        Gives the scenario; it is asked when the process has its namespace of users, before which it may start no thread that stays.
    group : str or None
        The group of flows whose way is meant; the first one if None.
    command : sequence of str
        Runs inside; nothing is the user's own shell.
    servers : sequence of sequence of str
        Run outside.
    ecn : bool
        Connections ask for ECN and take it.
    congestion_control : str or None
        Of connections that choose none.
    seed : int
        What is random about the links is drawn from it.
    capture : Path or None
        Takes each packet before each queue and behind it (pcapng).
    background : bool
        The scenario's flows send too, simulated, over the same links.
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
class Ended:
    """A shell that is over.

    Attributes
    ----------
    code : int
        The command's exit code; 128 and the signal's number if a signal ended it.
    seconds : float
        How long it was there.
    tables : Mapping of str to Table
        As of a run; those of queues are over the whole time.
    about : Mapping
        Packets that were read, written and dropped outside of queues, and the lateness of departures in seconds.
    scenario : Scenario
        What it had.
    """

    code: int
    seconds: float
    tables: Mapping[str, _core.Table]
    about: Mapping[str, Any]
    scenario: Scenario


def run(spec: Spec, view: View, began: Callable[[Scenario], None] = lambda _scenario: None) -> Ended:
    """Keep a shell while its command runs.

    `began` is told the scenario when it is known to be sound. Raises TierError where the machine does not permit it, UsageError,
    ScenarioError, and AqmError if an AQM of the user's own fails.
    """
    within = _within()
    _take_powers(within)
    scenario = spec.scenario()
    _refuse(scenario)
    began(scenario)
    shell = _rooms(scenario, spec, within)
    with _Signals() as signals:
        first, told = _start_first(shell, _programs(scenario, spec, shell))
        signals.first = first
        try:
            _start(shell, spec)
            hindrance = _heard(told)
            _watch(shell, first, view)
        except BaseException:
            first.kill()
            first.wait()
            raise
        finally:
            os.close(told)
            view.close()
        code = first.wait()
    look = json.loads(shell.look() or '{"time_s": 0.0}')
    tables, about = _stopped(shell, spec)
    if hindrance:
        raise UsageError(hindrance)
    return Ended(code if code >= 0 else process.SIGNALLED - code, look["time_s"], tables, json.loads(about), scenario)


def _within() -> str | None:
    """The network of the shell that this process is inside of; None where it is in none."""
    place, network = os.environ.get("ECNLAB_PLACE"), os.environ.get("ECNLAB_NETWORK")
    # The variables alone say nothing: they may have been carried elsewhere, and the network there is not ours to change.
    return place if place and network == _own_network() else None


def _own_network() -> str:
    return str(Path("/proc/self/ns/net").stat().st_ino)


def _take_powers(within: str | None) -> None:
    if within and not _core.has_powers():
        raise UsageError("this shell is inside of one that another user has started: start it as that user")
    try:
        _core.take_powers()
    except OSError as error:
        raise TierError(_NO_NAMESPACES.format(why=error.strerror or error)) from None


def _refuse(scenario: Scenario) -> None:
    """See that a shell can have the scenario's links. Raises ScenarioError."""
    refused = [Problem.of(parts) for parts in _core.refusals(scenario._core, "shell")]
    if refused:
        raise ScenarioError(refused, scenario.source)


def _rooms(scenario: Scenario, spec: Spec, within: str | None) -> _core.Shell:
    names = scenario.group_names
    if spec.group is not None and spec.group not in names:
        raise UnknownName("group", spec.group, names)
    group = 0 if spec.group is None else names.index(spec.group)
    try:
        return _core.Shell(scenario._core, group, spec.ecn, spec.congestion_control, within, spec.background)
    except OSError as error:
        why = str(error)
        if "/dev/net/tun" in why:
            raise TierError(_NO_DEVICE.format(why=why)) from None
        if spec.congestion_control and "route" in why:
            raise UsageError(f"the kernel has no congestion control {spec.congestion_control!r}: {_controls()}") from None
        raise TierError(f"cannot make the rooms of a shell: {why}") from None


def _controls() -> str:
    try:
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    except OSError:
        return "load its module"
    return f"it has {', '.join(known)}; others are modules, as in modprobe tcp_dctcp"


def _programs(scenario: Scenario, spec: Spec, shell: _core.Shell) -> process.Programs:
    (inside, outside), *sixth = shell.addresses
    level = int(os.environ.get("ECNLAB_LEVEL", "0")) + 1 if _within() else 1
    own = {"ECNLAB_INSIDE": inside, "ECNLAB_LEVEL": str(level), "ECNLAB_PLACE": shell.place, "ECNLAB_LINK": scenario.name}
    far = {"ECNLAB_OUTSIDE": outside}
    if sixth:
        own["ECNLAB_INSIDE6"], far["ECNLAB_OUTSIDE6"] = sixth[0]
    # Inside of another shell the far end stays the other's, unless this one has servers.
    keeps = level > 1 and not spec.servers
    environment = {**os.environ, **own, **({} if keeps else far)}
    environment["ECNLAB_NETWORK"] = str(shell.network)
    command = list(spec.command) or _interactive(environment)
    names = [(inside, "inside"), (environment["ECNLAB_OUTSIDE"], "outside")]
    if sixth:
        names += [(environment["ECNLAB_INSIDE6"], "inside"), (environment["ECNLAB_OUTSIDE6"], "outside")]
    return process.Programs(command, [list(server) for server in spec.servers], environment, {**os.environ, **far}, _hosts(names))


def _interactive(environment: dict[str, str]) -> list[str]:
    """The user's own shell, whose prompt says the link where it is one that takes it."""
    link = environment["ECNLAB_LINK"].replace("\\", "").replace("'", "").replace("$", "").replace("`", "")
    environment["PROMPT_COMMAND"] = f"PS1='[{link}] '\"$PS1\"; unset PROMPT_COMMAND"
    return [os.environ.get("SHELL") or "/bin/sh"]


def _hosts(names: Sequence[tuple[str, str]]) -> str:
    try:
        kept = [line for line in _HOSTS.read_text(errors="replace").splitlines() if not line.endswith(_MARK)]
    except OSError:
        kept = ["127.0.0.1 localhost"]
    return "\n".join([*kept, *(f"{address} {name} {_MARK}" for address, name in names), ""])


def _start_first(shell: _core.Shell, programs: process.Programs) -> tuple[Popen[bytes], int]:
    """Start the first process of a PID namespace; the process, and a descriptor from which an error of its start is read.

    A thread that does nothing else starts it: the children of that thread are in the new PID namespace, and the kernel ends the first
    process when the thread ends, which is with this process.
    """
    told, tell = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    started: SimpleQueue[Popen[bytes] | TierError] = SimpleQueue()

    def keep() -> None:
        try:
            _core.processes_apart()
        except OSError as error:
            started.put(TierError(_NO_NAMESPACES.format(why=error.strerror or error)))
            return
        try:
            first = process.start(shell.networks, programs, tell)
        except Exception as error:  # whoever waits would do so for ever
            started.put(TierError(f"cannot start the shell's first process: {error}"))
            return
        started.put(first)
        with suppress(ChildProcessError):  # it may have been waited for already
            os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)

    Thread(target=keep, daemon=True).start()
    first = started.get()
    os.close(tell)
    if isinstance(first, TierError):
        os.close(told)
        raise first
    return first, told


def _start(shell: _core.Shell, spec: Spec) -> None:
    try:
        shell.start(spec.seed, spec.capture)
    except OSError as error:
        raise UsageError(f"cannot write {str(spec.capture)!r}: {error}") from None


def _heard(told: int) -> str:
    """What hinders the start; nothing when the command has been started."""
    parts = []
    while part := os.read(told, 65536):
        parts.append(part)
    return b"".join(parts).decode(errors="replace").strip()


def _watch(shell: _core.Shell, first: Popen[bytes], view: View) -> None:
    """Look on until the first process has ended, or packets cross no more."""
    ended = os.pidfd_open(first.pid)
    try:
        while not select.select([ended], [], [], _LOOKS_EVERY_S)[0]:
            if shell.has_failed:
                first.kill()
            look = shell.look()
            if look is not None:
                view.show(json.loads(look))
    finally:
        os.close(ended)


def _stopped(shell: _core.Shell, spec: Spec) -> tuple[dict[str, _core.Table], str]:
    try:
        return shell.stop(spec.seed)
    except _core.AqmFailure as error:
        raise jobs.aqm_error(error) from error.__cause__
    except _core.EngineFault as error:
        raise UsageError(f"the engine failed: {error}; this is a fault of ecnlab: please report it with the scenario") from None
    except OSError as error:
        raise TierError(f"packets could not be carried on: {error}") from None


class _Signals:
    """What signals do while a shell is there: those of a terminal are the command's own affair, those that end it are passed on to it."""

    def __init__(self) -> None:
        self.first: Popen[bytes] | None = None
        self._before: dict[int, Any] = {}
        self._has_terminal = False

    def __enter__(self) -> _Signals:
        with suppress(OSError):
            self._has_terminal = os.tcgetpgrp(0) == os.getpgrp()
        for one in (signal.SIGINT, signal.SIGQUIT):
            self._before[one] = signal.signal(one, lambda _number, _frame: None)
        for one in (signal.SIGTERM, signal.SIGHUP):
            self._before[one] = signal.signal(one, self._pass_on)
        self._before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        return self

    def __exit__(self, *_raised: object) -> None:
        # A shell inside may have had the terminal in the foreground last.
        if self._has_terminal:
            with suppress(OSError):
                os.tcsetpgrp(0, os.getpgrp())
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _pass_on(self, number: int, _frame: object) -> None:
        if self.first is not None:
            self.first.send_signal(number)
