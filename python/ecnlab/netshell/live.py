"""Live display of a shell: for each queue the output rate, queueing delay, backlog, marks and drops."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, TextIO

# Update interval of each format in seconds.
_UPDATE_INTERVALS_S = {"line": 0.25, "title": 1.0, "log": 1.0, "json": 1.0}

Snapshot = dict[str, Any]


@dataclass
class LiveView:
    """Writes snapshots of a shell's queues to a stream.

    "line" keeps the terminal's last line for it, "title" its window's title, "log" writes a line a second and "json" one for programs.
    """

    kind: str
    to: TextIO = field(default_factory=lambda: sys.stderr)
    _last: Snapshot = field(default_factory=dict)
    _written: float = field(default=-1e9)
    _rows: int = field(default=0)

    def show_sample(self, look: Snapshot) -> None:
        """Show a snapshot, unless the update interval since the last one has not passed."""
        now = time.monotonic()
        if self.kind == "off" or now - self._written < _UPDATE_INTERVALS_S[self.kind]:
            return
        self._written = now
        since, self._last = self._last, look
        rows = queue_rates_and_delays(look, since)
        if self.kind == "json":
            self._write_to_stream(json.dumps({"time_s": round(look["time_s"], 3), "queues": rows, "packets": look["packets"]}) + "\n")
        elif self.kind == "log":
            self._write_to_stream(f"{look['time_s']:8.1f} s  {highest_delay_queues_status_line(rows)}\n")
        elif self.kind == "title":
            self._write_to_stream(f"\033]0;{highest_delay_queues_status_line(rows)}\007")
        else:
            self._write_last_terminal_line(highest_delay_queues_status_line(rows))

    def close(self) -> None:
        """Release the terminal's last line."""
        if self._rows:
            self._write_to_stream(f"\0337\033[r\033[{self._rows};1H\033[2K\0338")
            self._rows = 0

    def _write_last_terminal_line(self, line: str) -> None:
        columns, rows = _terminal_size(self.to)
        if rows < 3:
            return
        # A line feed first, since the cursor may be in the reserved row.
        taken = "" if rows == self._rows else f"\n\0337\033[1;{rows - 1}r\0338\033[1A"
        self._rows = rows
        self._write_to_stream(f"{taken}\0337\033[{rows};1H\033[2K\033[7m{line[:columns]}\033[0m\0338")

    def _write_to_stream(self, text: str) -> None:
        try:
            self.to.write(text)
            self.to.flush()
        except OSError:
            self.kind, self._rows = "off", 0


def queue_rates_and_delays(look: Snapshot, since: Snapshot) -> list[dict[str, Any]]:
    """State of each queue, its total marks and drops, and rate and mean queueing delay since an earlier snapshot."""
    before = {queue["name"]: queue for queue in since.get("queues", [])}
    seconds = look["time_s"] - since.get("time_s", 0.0)
    return [_rates_and_delays_of_queue(queue, before.get(queue["name"], {}), seconds) for queue in look["queues"]]


def _rates_and_delays_of_queue(queue: Snapshot, before: Snapshot, seconds: float) -> dict[str, Any]:
    def increase(key: str) -> float:
        return float(queue[key] - before.get(key, 0))

    return {
        "name": queue["name"],
        "direction": queue["direction"],
        "rate_bps": round(increase("departed_bytes") * 8 / seconds) if seconds > 0 else 0,
        "sojourn_s": round(increase("waited_s") / increase("waits"), 6) if increase("waits") > 0 else 0.0,
        "packets": queue["packets"],
        "bytes": queue["bytes"],
        "marks": queue["marked"],
        "drops": queue["dropped"],
    }


def highest_delay_queues_status_line(rows: list[dict[str, Any]]) -> str:
    """The queues in one line: for each direction the one with the longest queueing delay."""
    shown = {row["direction"]: row for row in sorted(rows, key=lambda row: row["sojourn_s"])}
    return "  |  ".join(_queue_status_text(shown[direction]) for direction in ("down", "up") if direction in shown)


def _queue_status_text(row: dict[str, Any]) -> str:
    rate, wait = row["rate_bps"] / 1e6, row["sojourn_s"] * 1e3
    return f"{row['direction']} {rate:.2f} Mbit/s {wait:.1f} ms, {row['packets']} wait, {row['marks']} marks, {row['drops']} drops"


def _terminal_size(stream: TextIO) -> tuple[int, int]:
    try:
        return os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return (80, 0)
