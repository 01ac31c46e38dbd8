"""What a box says, line by line, and the silences between: whoever reads hears of each, so a box that hangs can be ended."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_BYTES = 1 << 16


def lines(descriptor: int, at_least_every_s: float) -> Iterator[str | None]:
    """Lines from a pipe until its other end is closed, without their ends; None after each such time in which none has come."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    begun = b""
    while True:
        if not poller.poll(1e3 * at_least_every_s):
            yield None
            continue
        data = os.read(descriptor, _BYTES)
        if not data:
            break
        *whole, begun = (begun + data).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in whole)
    if begun:
        yield begun.decode(errors="replace").rstrip()
