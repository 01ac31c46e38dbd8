"""Ctrl-C while threads call hooks of a user's AQM, which may never return.

The first Ctrl-C requests an end. A thread that does not end within `HOOK_TIMEOUT_S` is reported on standard error. The second Ctrl-C
abandons it: the process exits with code 130.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from time import monotonic, sleep
from types import FrameType
from typing import TypeVar

HOOK_TIMEOUT_S = 3.0
EXIT_CODE_INTERRUPTED = 130  # the shell's exit code for SIGINT
_POLL_INTERVAL_S = 0.1
_HOOK_NAMES = ("on_start", "on_arrival", "on_departure", "on_deadline", "on_idle", "on_rate", "group", "check")
_PACKAGE = str(Path(__file__).parents[1])
_abandoned_threads: list[Thread] = []

T = TypeVar("T")


def run_interruptibly_in_thread(work: Callable[[], T], name: str) -> T:
    """Return or raise the outcome of `work`, run in a thread. The first Ctrl-C is raised in it; the second abandons it.

    `name` identifies the work in the message if no hook in Python is running.
    """
    if current_thread() is not main_thread():  # only the main thread receives Ctrl-C
        return work()
    outcomes: SimpleQueue[tuple[bool, T | BaseException]] = SimpleQueue()

    def store_result() -> None:
        try:
            outcomes.put((True, work()))
        except BaseException as error:
            outcomes.put((False, error))

    thread = Thread(target=store_result, daemon=True)
    thread.start()
    try:
        done, outcome = _get_interruptibly(outcomes)
    except KeyboardInterrupt:
        import ctypes

        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt))
        join_threads_interruptibly([thread], lambda: [str(running_aqm_hook(thread) or name)])
        raise
    if not done:
        assert isinstance(outcome, BaseException)
        raise outcome
    return outcome  # type: ignore[return-value]


def _get_interruptibly(queue: SimpleQueue[T]) -> T:
    """The next item of a queue. On Windows Ctrl-C is noticed only between waits, so they are short there."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_POLL_INTERVAL_S if sys.platform == "win32" else None)


def join_threads_interruptibly(threads: Sequence[Thread], stuck: Callable[[], Sequence[str]]) -> bool:
    """Wait for threads; false if Ctrl-C has interrupted the wait. `stuck` lists running hooks for the message, which is printed once."""
    began, is_reported = monotonic(), False
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL_INTERVAL_S)
                if not is_reported and monotonic() - began >= HOOK_TIMEOUT_S and thread.is_alive():
                    is_reported = True
                    for one in stuck():
                        print(_hook_timeout_message(one), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not _abandoned_threads:
            atexit.register(_exit_with_abandoned_threads)
        _abandoned_threads.extend(threads)
        return False
    return True


def _exit_with_abandoned_threads() -> None:
    """Exit the process here if a thread is still in the engine: Python cannot stop it, and aborts if it tries."""
    until = monotonic() + _POLL_INTERVAL_S
    # Thread.is_alive and Thread.join are not usable: after an interrupted join both may report a running thread as ended.
    while any(thread.ident in sys._current_frames() for thread in _abandoned_threads):
        if monotonic() >= until:
            break
        sleep(_POLL_INTERVAL_S / 10)
    else:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(EXIT_CODE_INTERRUPTED)


@dataclass(frozen=True)
class RunningAqmHook:
    """A hook of a user's AQM that a thread executes.

    Attributes
    ----------
    name : str
        The method's name.
    line : str
        The current line in the user's file: "my_aqm.py:12".
    now_s : float or None
        Simulated seconds; None if the hook has no such argument.
    """

    name: str
    line: str
    now_s: float | None

    def __str__(self) -> str:
        return f"{self.name} ({self.line})"


def running_aqm_hook(thread: Thread) -> RunningAqmHook | None:
    """The hook that a thread executes; None outside of hooks and in compiled ones."""
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0)
    found = line = None
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            line = line or f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            if frame.f_code.co_name in _HOOK_NAMES:
                found = RunningAqmHook(frame.f_code.co_name, line, _simulated_time_of_hook_s(frame))
        frame = frame.f_back
    return found


def _simulated_time_of_hook_s(hook: FrameType) -> float | None:
    """The simulated time in a hook's argument."""
    for value in list(hook.f_locals.values())[1:2]:
        now_s = getattr(value, "now_s", None)
        if isinstance(now_s, float):
            return now_s
    return None


def _hook_timeout_message(what: str) -> str:
    hook, _, place = what.partition(": ")
    at = f": {place}" if place else ""
    return f"{hook} has not returned for {HOOK_TIMEOUT_S:g} s{at}; press Ctrl-C again to end the process"
