"""`ecnlab shell`: any program in front of a scenario's links, in real time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ecnlab.cli import options
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.cli.table import Table
    from ecnlab.scenarios import Scenario
    from ecnlab.shell import Ended, View

_VIEWS = ("line", "title", "log", "off")
_SIDES = ("inside", "outside")
_QUEUE = (
    "utilisation",
    "length_mean_packets",
    "length_max_packets",
    "sojourn_mean_s",
    "sojourn_p95_s",
    "departures",
    "marks",
    "drops_early",
    "drops_forced",
    "drops_overflow",
)
_WORDS = ("quantity", "unit")


class _BeforeCommand(click.Command):
    """A command behind whose "--" another command stands, options and all."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.command(cls=_BeforeCommand)
@click.argument("file", required=False)
@click.option("--rate", metavar="RATE", help="In place of FILE: the rate of the link, e.g. 10Mbps.")
@click.option("--up-rate", metavar="RATE", help="The rate of the way from the inside (default: as --rate).")
@click.option("--delay", metavar="TIME", help="The delay of each way; a round trip takes twice that (default: 0 ms).")
@click.option(
    "--aqm",
    "aqms",
    metavar="NAME|FILE:CLASS",
    multiple=True,
    help="The AQM of both ways, ours or your own (default: droptail). With FILE: bring one of your own; repeatable.",
)
@click.option("--limit", metavar="AMOUNT", help="What may wait each way (default: 250 packets).")
@click.option(
    "--queue", "keys", metavar="KEY=VALUE", multiple=True, help="Another parameter of the queues of both ways, e.g. max_th=30; repeatable."
)
@click.option(
    "--set", "changes", metavar="KEY=VALUE", multiple=True, help="Change one parameter, e.g. link.path.reverse.queue.limit=50; repeatable."
)
@click.option("--group", metavar="NAME", help="The group of flows in FILE whose way it is (default: the first).")
@click.option("--background", is_flag=True, help="Let the flows of FILE send too, simulated, over the same links.")
@click.option("--server", "servers", metavar="COMMAND", multiple=True, help="Run a server outside, e.g. 'iperf3 -s'; repeatable.")
@click.option("--ecn/--no-ecn", default=True, help="Whether connections ask for ECN and take it (default: they do).")
@click.option("--cc", "congestion_control", metavar="NAME", help="The congestion control of connections that choose none, e.g. cubic.")
@click.option("--seed", metavar="N", default="1", help="What is random about the links is drawn from it (default: 1).")
@click.option("--pcap", metavar="FILE", type=click.Path(path_type=Path), help="Write each packet before and behind each queue (.pcapng).")
@click.option(
    "--view",
    type=click.Choice(_VIEWS),
    help="Show the queues: in the terminal's last line, its title, a line a second, or not at all (line for a COMMAND in a terminal).",
)
@click.option("--view-to", metavar="FILE", type=click.Path(path_type=Path), help="Where the view goes (default: standard error).")
@click.option("--enter", metavar="PID", type=int, help="Run COMMAND in the shell that this process keeps, in place of a new one.")
@click.option("--side", type=click.Choice(_SIDES), default="inside", help="With --enter: inside (default) or outside.")
@click.option("--json", "as_json", is_flag=True, help="Write the view as a line of JSON a second, and the end as one.")
@options.quiet
@click.pass_obj
def shell(command: list[str], /, file: str | None, **given: Any) -> None:
    """Run any program behind the links of a scenario.

    It is COMMAND, or your own shell where none is given.
    Whatever runs inside has one way out, which crosses the links of FILE, or one of --rate, --delay and --aqm, in real time. Data
    towards the inside crosses a link NAME, data from there NAME.reverse: as data and acknowledgements of FILE's first group of flows do.
    Outside is a room of its own, where --server runs programs; its name and address inside are outside and $ECNLAB_OUTSIDE. No
    packet leaves the machine. Shells nest: packets then cross the links of both.

    The exit code is COMMAND's.

    \b
    ecnlab shell --rate 10Mbps --delay 20ms --aqm aecn --server 'iperf3 -s' -- iperf3 -c outside
    ecnlab shell examples/dumbbell.toml
    """
    from ecnlab.shell import enter

    if given["enter"] is not None:
        if file is not None:
            raise UsageError("--enter PID runs a command in a shell that is there: write it behind --, without FILE")
        raise click.exceptions.Exit(enter(given["enter"], given["side"], command or [os.environ.get("SHELL") or "/bin/sh"]))
    ended = _keep(file, command, given)
    raise click.exceptions.Exit(ended.code)


def _keep(file: str | None, command: list[str], given: dict[str, Any]) -> Ended:
    from ecnlab.cli import output
    from ecnlab.seeds import parse_seed
    from ecnlab.shell import Spec, run

    quiet, as_json = given["quiet"], given["as_json"]

    def began(scenario: Scenario) -> None:
        if file is not None:
            output.warn(scenario.warnings, scenario.source)
        if not command and not quiet:
            output.tell(f"{scenario.name}: outside is $ECNLAB_OUTSIDE; leave with exit")

    view = _view(given["view"], given["view_to"], command, quiet=quiet, as_json=as_json)
    spec = Spec(
        scenario=_scenario(file, given),
        command=command,
        group=given["group"],
        servers=_servers(given["servers"]),
        ecn=given["ecn"],
        congestion_control=given["congestion_control"],
        seed=parse_seed(given["seed"])[0],
        capture=_capture(given["pcap"]),
        background=given["background"],
    )
    ended = run(spec, view, began)
    if as_json:
        _end_as_json(ended, view)
    elif not quiet:
        for table in _tables(ended):
            output.tell("\n".join(table.lines()))
        output.tell(_packets(ended))
    return ended


def _scenario(file: str | None, given: dict[str, Any]) -> Callable[[], Scenario]:
    from ecnlab import scenarios
    from ecnlab.shell.links import AQM
    from ecnlab.shell.links import Path as Link

    overrides = options.overrides(given["changes"])
    keys = options.pairs("--queue", given["keys"], "max_th=30")
    own = {"--up-rate": given["up_rate"], "--delay": given["delay"], "--limit": given["limit"], "--queue": given["keys"]}
    if file is not None:
        beside = [name for name, value in {"--rate": given["rate"], **own}.items() if value]
        if beside:
            raise UsageError(f"{', '.join(beside)}: FILE says what the links are: leave it out, or change it with --set KEY=VALUE")
        return _blamed(lambda: scenarios.load(file, overrides, aqms=given["aqms"]), overrides)
    if given["rate"] is None:
        raise UsageError("give the links, as FILE or as --rate RATE, e.g. ecnlab shell --rate 10Mbps --delay 20ms --aqm ecn")
    if given["group"] is not None:
        raise UsageError("--group: names a group of flows in FILE")
    if given["background"]:
        raise UsageError("--background: is of the flows in FILE: name one")
    if len(given["aqms"]) > 1:
        raise UsageError("--aqm: both ways have the same one; for another on the way up add --set link.path.reverse.queue.aqm=NAME")
    limit = {} if given["limit"] is None else {"limit": given["limit"]}
    link = Link(given["rate"], given["delay"] or "0 ms", given["up_rate"], (given["aqms"] or (AQM,))[0], {**limit, **keys})
    return _blamed(lambda: link.scenario(overrides), overrides)


def _blamed(scenario: Callable[[], Scenario], overrides: dict[str, str]) -> Callable[[], Scenario]:
    def read() -> Scenario:
        with options.blamed_on_set(overrides):
            return scenario()

    return read


def _servers(servers: Sequence[str]) -> list[list[str]]:
    import shlex

    try:
        read = [shlex.split(server) for server in servers]
    except ValueError as error:
        raise UsageError(f"--server: {error}") from None
    if [] in read:
        raise UsageError("--server: is empty: give a command, e.g. --server 'python3 -m http.server'")
    return read


def _capture(path: Path | None) -> Path | None:
    if path is not None and path.suffix != ".pcapng":
        raise UsageError(f"--pcap {str(path)!r}: must end in .pcapng, which is what is written")
    return path


def _view(kind: str | None, path: Path | None, command: list[str], *, quiet: bool, as_json: bool) -> View:
    from ecnlab.shell import View

    chosen = "json" if as_json else kind
    if chosen is None:
        chosen = "log" if path is not None else "line" if command and sys.stderr.isatty() and not quiet else "off"
    if path is None:
        return View(chosen)
    try:
        return View(chosen, path.open("w", encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--view-to {str(path)!r}: cannot be written: {error.strerror}") from None


def _rows(ended: Ended) -> list[dict[str, Any]]:
    table = ended.tables["queues"]
    columns = {name: table.column(name) for name in table.columns}
    return [{name: values[at] for name, values in columns.items()} for at in range(table.height)]


def _tables(ended: Ended) -> list[Table]:
    import math

    from ecnlab.cli.table import Table
    from ecnlab.summary import name_of
    from ecnlab.units import shown_unit

    rows = _rows(ended)

    def told(quantity: str, value: float) -> str:
        shown = value * shown_unit(quantity)[0]
        return (
            "-"
            if not math.isfinite(shown)
            else f"{shown:.0f}"
            if shown == int(shown)
            else f"{shown:.3g}"
            if shown < 100
            else f"{shown:.1f}"
        )

    cells = [[name_of(quantity), shown_unit(quantity)[1], *(told(quantity, row[quantity]) for row in rows)] for quantity in _QUEUE]
    title = f"{ended.scenario.name}: {ended.seconds:.1f} s"
    return [Table(title, [*_WORDS, *(row["queue"] for row in rows)], cells, _WORDS)] if rows else []


def _packets(ended: Ended) -> str:
    """A line of what only real packets have; what is wrong with them is said where it is."""
    about = ended.about
    median, most = (ended.about["lateness_s"][share] * 1e6 for share in ("p50", "p99"))
    late = f", {median:.0f} us late at the median and {most:.0f} us at the 99th percentile" if about["written"] else ""
    told = [f"{about['written']} packets were delivered{late}"]
    lost = {
        "malformed": sum(about["malformed"].values()),
        "not taken by a kernel": about["refused"],
        "lost before the links": about["device_drops"],
    }
    told += [f"{count} {what}" for what, count in lost.items() if count]
    return "; ".join(told)


def _end_as_json(ended: Ended, view: View) -> None:
    import json

    from ecnlab.cli.output import plain

    end = {"end": {"exit_code": ended.code, "seconds": ended.seconds, "queues": _rows(ended), **ended.about}}
    view.to.write(json.dumps(plain(end), allow_nan=False) + "\n")
    view.to.flush()
