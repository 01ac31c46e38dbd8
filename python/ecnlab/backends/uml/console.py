"""Reading the output of a UML process by line, with timeouts that detect a process that hangs."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_READ_BYTES = 1 << 16


def lines_or_none_on_timeout(descriptor: int, at_least_every_s: float) -> Iterator[str | None]:
    """Yield lines from a pipe until it is closed, without line ends; yields None after each interval without a line."""
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
