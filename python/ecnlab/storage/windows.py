"""Processes on Windows, where `os.kill(process, 0)` would end the process instead of testing it."""

from __future__ import annotations

import ctypes

# <winnt.h>, <winerror.h>, <winbase.h>
_SYNCHRONIZE = 0x00100000
_ERROR_INVALID_PARAMETER = 87
_WAIT_TIMEOUT = 258


def is_process_alive(process: int) -> bool:
    """Whether a process with this ID runs; true if the system does not permit the question."""
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(_SYNCHRONIZE, 0, process)
    if not handle:
        return bool(ctypes.get_last_error() != _ERROR_INVALID_PARAMETER)  # type: ignore[attr-defined]
    try:
        return bool(kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0) == _WAIT_TIMEOUT)
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))
