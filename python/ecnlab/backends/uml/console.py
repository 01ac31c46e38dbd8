"""The output of a UML process, line by line, and the silences between, so that one that hangs can be ended."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_READ_BYTES = 1 << 16


def read_lines_with_timeouts(descriptor: int, at_least_every_s: float) -> Iterator[str | None]:
    """Lines from a pipe until its other end is closed, without their ends; None after each such time in which none has come."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    begun = b""
    while True:
        if not poller.poll(1e3 * at_least_every_s):
            yield None
            continue
        data = os.read(descriptor, _READ_BYTES)
        if not data:
            break
        *whole, begun = (begun + data).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in whole)
    if begun:
        yield begun.decode(errors="replace").rstrip()
