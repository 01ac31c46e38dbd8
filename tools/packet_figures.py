"""Draws the figures of docs/explanation/packet.md: `python tools/packet_figures.py [--folder DIR]`.

packet-path.svg shows the parts of a route. packet-times.svg shows one marked packet of `example:ecn` with seed 1, its ACK and the next
packet with CWR, at the times of the run's trace.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import ecnlab as lab
from backend_figures import FIGURES_FOLDER, Drawing

SHORT_RUN = {"duration": "12 s", "measure_from": "10 s"}

_HOST, _IMPAIRMENT, _QUEUE, _WIRE = "#f3eefa", "#fbe9d7", "#dff0e0", "#e8eef7"
_GREY, _WAIT, _TICK = "#999", "#d55e00", "#e4e4e4"


def path() -> str:
    """The parts of a route that a packet and its ACK pass, numbered as in the page's list."""
    drawing = Drawing(860, 316)
    for x, lines in ((6, ["1  sender", "segment,", "window, timer"]), (740, ["6  receiver", "data in order,", "ECN echo"])):
        drawing.box(x, 34, 114, 238, _HOST)
        drawing.text(x + 57, 76, lines, bold_first=True)
    drawing.text(63, 222, ["8  reaction", "ACK, ECN-Echo,", "loss detection"], bold_first=True)
    drawing.text(797, 231, ["7  ACK", "or a later one"], bold_first=True)

    drawing.box(138, 22, 584, 122, "white", dashed=True)
    drawing.text(430, 16, ["link NAME; the same for each link of the route"])
    parts = [
        (146, 120, _IMPAIRMENT, ["2  impairments", "lose, copy,", "delay, reorder"]),
        (288, 160, _QUEUE, ["3  queue", "discipline, AQM:", "store, mark or drop"]),
        (470, 122, _WIRE, ["4  transmission", "size / rate"]),
        (614, 100, _WIRE, ["5  delay", "propagation"]),
    ]
    end = 120
    for x, width, fill, lines in parts:
        drawing.box(x, 34, width, 74, fill)
        drawing.text(x + width // 2, 60, lines, bold_first=True)
        drawing.arrow(end + 2, 71, x - 2, 71, both=False)
        end = x + width
    drawing.arrow(end + 2, 71, 738, 71, both=False)
    for x, line in ((206, "drops_lost"), (368, "marks, drops, sojourn"), (531, "utilisation"), (664, "")):
        drawing.text(x, 130, [line])

    drawing.box(138, 188, 584, 84, "white", dashed=True)
    drawing.text(430, 182, ["link NAME.reverse, with separate parts"])
    back = [
        (614, 100, _IMPAIRMENT, "impairments"),
        (470, 122, _QUEUE, "queue or buffer"),
        (288, 160, _WIRE, "transmission"),
        (146, 120, _WIRE, "delay"),
    ]
    end = 740
    for x, width, fill, name in back:
        drawing.box(x, 206, width, 46, fill)
        drawing.text(x + width // 2, 233, [name])
        drawing.arrow(end - 2, 229, x + width + 2, 229, both=False, dashed=True)
        end = x
    drawing.arrow(end - 2, 229, 122, 229, both=False, dashed=True)
    for x, line in ((63, "cwnd, timeouts, RTT"), (797, "goodput, delay")):
        drawing.text(x, 302, [line])
    return drawing.svg()


@dataclass(frozen=True)
class Journey:
    """The times of a marked packet, of its ACK and of the response, in seconds; the windows before and after it, in packets."""

    sent: float
    at_router: float
    transmitted: float
    at_sink: float
    ack_at_router: float
    ack_at_sender: float
    cwr_sent: float
    cwnd_before: float
    cwnd_after: float


def journey() -> Journey:
    """The first packet of the robust group that is marked from 10 s on and does not itself carry CWR."""
    scenario = lab.load("example:ecn", SHORT_RUN | {"record.window": "10 ms"})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "packets.parquet"
        result = lab.run(scenario, seed=1, trace=lab.TraceTo(str(file)))
        trace = pl.read_parquet(file)
    at_bottleneck = pl.col("link") == "bottleneck"
    marked = at_bottleneck & (pl.col("event") == "dequeued") & (pl.col("ecn") == "ce") & (pl.col("cwr") == 0)
    robust = pl.col("flow").is_between(40, 59)
    chosen = trace.filter(marked & robust & (pl.col("time_s") >= 10)).row(0, named=True)
    packet = trace.filter(pl.col("packet_number") == chosen["packet_number"])["time_s"].to_list()
    sent, _, _, at_router, transmitted, at_sink = packet
    later = trace.filter((pl.col("flow") == chosen["flow"]) & (pl.col("time_s") >= at_sink))
    ack = later.filter(pl.col("kind") == "ack", pl.col("seq") == chosen["seq"] + 1, pl.col("ece") == 1)
    ack_at_router, ack_at_sender = ack.filter(pl.col("event") == "received")["time_s"].to_list()
    response = later.filter(pl.col("cwr") == 1, pl.col("event") == "dequeued", pl.col("link").str.contains("access"))
    window = result.table("series_window").filter(pl.col("flow") == chosen["flow"])
    return Journey(
        sent,
        at_router,
        transmitted,
        at_sink,
        ack_at_router,
        ack_at_sender,
        response["time_s"][0],
        window.filter(pl.col("time_s") < ack_at_sender)["cwnd_packets"][-1],
        window.filter(pl.col("time_s") > ack_at_sender)["cwnd_packets"][0],
    )


def times() -> str:
    """The place of a packet and of its ACK against time."""
    trip = journey()
    drawing = Drawing(760, 330)
    sender, router, sink, floor = 70, 160, 250, 284
    left, right = 84, 744

    def at(time_s: float) -> float:
        return round(left + (time_s - trip.sent) * 1000 / 110 * (right - left), 1)

    for tick in range(0, 111, 10):
        x = at(trip.sent + tick / 1000)
        drawing.line(x, 36, x, floor, _TICK)
        drawing.text(x, floor + 16, [str(tick)])
    drawing.text((left + right) / 2, floor + 36, ["time since the packet was sent (ms)"])
    for y, name in ((sender, "sender"), (router, "router"), (sink, "sink")):
        drawing.line(left, y, right, y, _GREY)
        drawing.text(left - 8, y + 4, [name], anchor="end")
    drawing.arrow(at(trip.sent), sender, at(trip.at_router), router, both=False)
    drawing.line(at(trip.at_router), router, at(trip.transmitted), router, _WAIT, 6)
    drawing.arrow(at(trip.transmitted), router, at(trip.at_sink), sink, both=False)
    drawing.arrow(at(trip.at_sink), sink, at(trip.ack_at_router), router, both=False, dashed=True)
    drawing.arrow(at(trip.ack_at_router), router, at(trip.ack_at_sender), sender, both=False, dashed=True)
    drawing.arrow(at(trip.cwr_sent), sender, at(trip.cwr_sent) + 36, sender + 54, both=False)
    wait_ms = 1000 * (trip.transmitted - trip.at_router)
    drawing.text(at(trip.sent) + 4, sender - 10, ["sent with ECT(0)"], anchor="start")
    drawing.text((at(trip.at_router) + at(trip.transmitted)) / 2 - 8, router + 22, [f"waits {wait_ms:.1f} ms", "and is marked: CE"])
    drawing.text(at(trip.at_sink) + 8, sink + 18, ["ACK with ECN-Echo"], anchor="start")
    drawing.text(at(trip.ack_at_sender), sender - 27, ["window reduced from", f"{trip.cwnd_before:.1f} to {trip.cwnd_after:.1f} packets"])
    drawing.text(right, sender - 10, ["next packet: CWR"], anchor="end")
    return drawing.svg()


FIGURES: dict[str, Callable[[], str]] = {"packet-path.svg": path, "packet-times.svg": times}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the figures into a folder; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FIGURES_FOLDER)
    folder = parser.parse_args(arguments).folder
    for name, figure in FIGURES.items():
        (folder / name).write_text(figure(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
