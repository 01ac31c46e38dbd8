"""`ecnlab shell`: any program in front of a scenario's links, in real time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ecnlab.cli import options, output
from ecnlab.cli.table import render_lines
from ecnlab.display.cells import TextTable
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.netshell import LiveView, ShellResult
    from ecnlab.scenarios.load import Scenario

_VIEW_KINDS = ("line", "title", "log", "off")
_SIDE_NAMES = ("client", "server")
_QUEUE_QUANTITIES = (
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
_TEXT_COLUMNS = ("quantity", "unit")


class _CommandWithTrailingCommand(click.Command):
    """A command that takes another command with its options after "--"."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


class _ShellCommandWithSubcommands(_CommandWithTrailingCommand):
    """The command `shell`, whose first argument may be the command `attach`."""

    @property
    def subcommands_by_name(self) -> dict[str, click.Command]:
        """Commands that are allowed instead of FILE."""
        return {"attach": attach}

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any) -> click.Context:
        if args and args[0] in self.subcommands_by_name:
            return self.subcommands_by_name[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=_CommandWithTrailingCommand)
@click.argument("pid", metavar="PID", type=int)
@click.option(
    "--side", type=click.Choice(_SIDE_NAMES), default="client", help="Run it in the client's namespace (default) or the server's."
)
@click.pass_obj
def attach(command: list[str], /, pid: int, side: str) -> None:
    """Run a command in a running shell.

    PID is the process of its `ecnlab shell`, as `pgrep -f 'ecnlab shell'` prints it. The program is COMMAND, by default your
    shell. The exit code is that of COMMAND.
    """
    from ecnlab.netshell import run_in_running_shell

    raise click.exceptions.Exit(run_in_running_shell(pid, side, command or [os.environ.get("SHELL") or "/bin/sh"]))


@click.command(cls=_ShellCommandWithSubcommands)
@click.argument("file", required=False, callback=options.resolve_example_argument)
@click.option("--rate", metavar="RATE", help="Rate of the link, instead of FILE, e.g. 10Mbps.")
@click.option("--up-rate", metavar="RATE", help="Rate towards the server (default: that of --rate).")
@click.option("--delay", metavar="TIME", help="One-way delay (default: 0 ms); the RTT is twice that.")
@options.repeatable_option(
    "--aqm",
    "aqms",
    "NAME|FILE:CLASS",
    "AQM of both directions, built-in or user-defined (default: droptail). With FILE: load a user-defined AQM; repeatable.",
)
@click.option("--limit", metavar="AMOUNT", help="Buffer of each direction (default: 250 packets).")
@options.repeatable_option(
    "--queue", "keys", "KEY=VALUE", "Another parameter of the queues of both directions, e.g. max_th=30; repeatable."
)
@options.set_option("Change one parameter, e.g. link.path.reverse.queue.limit=50; repeatable.")
@click.option("--group", metavar="NAME", help="Group of flows in FILE whose path the program uses (default: the first).")
@click.option("--background", is_flag=True, help="Also send the flows of FILE, simulated, over the same links.")
@options.repeatable_option("--server", "servers", "COMMAND", "Run a server at the far end, e.g. 'iperf3 -s'; repeatable.")
@click.option("--ecn/--no-ecn", default=True, help="Request and accept ECN on connections (default: on).")
@click.option("--cc", "congestion_control", metavar="NAME", help="Default congestion control, e.g. cubic.")
@click.option("--seed", metavar="N", default="1", help="Seed of the links' random streams (default: 1).")
@click.option("--pcap", metavar="FILE", type=options.PATH, help="Capture each packet before and after each queue (.pcapng).")
@click.option(
    "--view",
    type=click.Choice(_VIEW_KINDS),
    help="View of the queues: the terminal's last line, its title, one line per second, or off (default with COMMAND in a terminal: line).",
)
@click.option("--view-to", metavar="FILE", type=options.PATH, help="File for the view (default: standard error).")
@click.option("--enter", hidden=True)
@click.option("--side", hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Write the view as one line of JSON per second, and the summary as one line.")
@options.quiet_option
@click.pass_obj
def shell(command: list[str], /, file: str | None, **given: Any) -> None:
    """Run any program behind the links of a scenario.

    The program is COMMAND, by default your shell. It runs in a network namespace, the client's. The only route from there
    crosses, in real time, the links of FILE, or one link defined by --rate, --delay and --aqm.

    Data towards the client crosses a link NAME, and data from it NAME.reverse, as data and ACKs of FILE's first group of flows do.
    The far end is a namespace in which --server runs programs. Its host name is server, its address $ECNLAB_SERVER. No packet leaves the
    machine. In a nested shell packets cross the links of both. `ecnlab shell attach PID -- COMMAND` runs a command in a running shell.

    The exit code is that of COMMAND.

    \b
    ecnlab shell --rate 10Mbps --delay 20ms --aqm aecn --server 'iperf3 -s' -- iperf3 -c server
    ecnlab shell example:dumbbell
    """
    if given["enter"] is not None or given["side"] is not None:
        raise UsageError("--enter, --side: are now ecnlab shell attach; fix: run ecnlab shell attach PID --side client|server -- COMMAND")
    ended = _run_shell(file, command, given)
    raise click.exceptions.Exit(ended.code)


def _run_shell(file: str | None, command: list[str], given: dict[str, Any]) -> ShellResult:
    from ecnlab.netshell import ShellSpec, run_shell
    from ecnlab.scenarios.seeds import parse_seed_to_list

    quiet, as_json = given["quiet"], given["as_json"]
    load_scenario = _scenario_factory(file, given)

    def read_scenario() -> Scenario:
        with options.name_set_option_in_problems(given["overrides"]):
            return load_scenario()

    def print_warnings_and_usage_hint(scenario: Scenario) -> None:
        if file is not None:
            output.print_warnings(scenario.warnings, scenario.source)
        if not command and not quiet:
            output.print_to_stderr(f"{scenario.name}: the far end is server, $ECNLAB_SERVER; exit ends the shell")

    view = _live_view_from_options(given["view"], given["view_to"], command, quiet=quiet, as_json=as_json)
    spec = ShellSpec(
        scenario=read_scenario,
        command=command,
        group=given["group"],
        servers=_parse_server_commands(given["servers"]),
        ecn=given["ecn"],
        congestion_control=given["congestion_control"],
        seed=parse_seed_to_list(given["seed"])[0],
        capture=_require_pcapng_path(given["pcap"]),
        background=given["background"],
    )
    ended = run_shell(spec, view, print_warnings_and_usage_hint)
    if as_json:
        _print_shell_result_as_json(ended, view)
    elif not quiet:
        for table in _queue_statistics_tables(ended):
            output.print_to_stderr("\n".join(render_lines(table)))
        output.print_to_stderr(_packet_delivery_text(ended))
    return ended


def _scenario_factory(file: str | None, given: dict[str, Any]) -> Callable[[], Scenario]:
    from ecnlab.netshell.links import DEFAULT_AQM
    from ecnlab.netshell.links import ShellLink as Link
    from ecnlab.scenarios.load import load

    overrides = given["overrides"]
    keys = options.parse_key_value_options("--queue", given["keys"], "max_th=30")
    own = {"--up-rate": given["up_rate"], "--delay": given["delay"], "--limit": given["limit"], "--queue": given["keys"]}
    if file is not None:
        beside = [name for name, value in {"--rate": given["rate"], **own}.items() if value]
        if beside:
            raise UsageError(f"{', '.join(beside)}: FILE defines the links; fix: omit FILE, or change the link with --set KEY=VALUE")
        return lambda: load(file, overrides, aqms=given["aqms"])
    if given["rate"] is None:
        raise UsageError("FILE: is missing, and so is --rate; fix: give one, e.g. ecnlab shell --rate 10Mbps --delay 20ms --aqm ecn")
    if given["group"] is not None:
        raise UsageError("--group: needs FILE, whose flows it names; fix: give FILE")
    if given["background"]:
        raise UsageError("--background: needs FILE, whose flows it starts; fix: give FILE")
    if len(given["aqms"]) > 1:
        raise UsageError(
            "--aqm: is given more than once; fix: give one for both directions, and for another towards the server add "
            "--set link.path.reverse.queue.aqm=NAME"
        )
    limit = {} if given["limit"] is None else {"limit": given["limit"]}
    link = Link(given["rate"], given["delay"] or "0 ms", given["up_rate"], (given["aqms"] or (DEFAULT_AQM,))[0], {**limit, **keys})
    return lambda: link.scenario(overrides)


def _parse_server_commands(servers: Sequence[str]) -> list[list[str]]:
    import shlex

    try:
        read = [shlex.split(server) for server in servers]
    except ValueError as error:
        raise UsageError(f"--server: {error}") from None
    if [] in read:
        raise UsageError("--server: is empty; fix: give a command, e.g. --server 'python3 -m http.server'")
    return read


def _require_pcapng_path(path: Path | None) -> Path | None:
    if path is not None and path.suffix != ".pcapng":
        raise UsageError(f"--pcap {str(path)!r}: must end in .pcapng; fix: change the file extension")
    return path


def _live_view_from_options(kind: str | None, path: Path | None, command: list[str], *, quiet: bool, as_json: bool) -> LiveView:
    from ecnlab.netshell import LiveView

    chosen = "json" if as_json else kind
    if chosen is None:
        chosen = "log" if path is not None else "line" if command and sys.stderr.isatty() and not quiet else "off"
    if path is None:
        return LiveView(chosen)
    try:
        return LiveView(chosen, path.open("w", encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--view-to {str(path)!r}: cannot be written: {error.strerror}") from None


def _queue_statistics_rows(ended: ShellResult) -> list[dict[str, Any]]:
    table = ended.tables["queues"]
    columns = {name: table.column(name) for name in table.columns}
    return [{name: values[at] for name, values in columns.items()} for at in range(table.height)]


def _queue_statistics_tables(ended: ShellResult) -> list[TextTable]:
    import math

    from ecnlab.scenarios.units import column_display_factor_and_unit
    from ecnlab.storage.summary import quantity_name

    rows = _queue_statistics_rows(ended)

    def format_value(quantity: str, value: float) -> str:
        shown = value * column_display_factor_and_unit(quantity)[0]
        if not math.isfinite(shown):
            return "-"
        return f"{shown:.0f}" if shown == int(shown) else f"{shown:.3g}" if shown < 100 else f"{shown:.1f}"

    cells = [
        [quantity_name(quantity), column_display_factor_and_unit(quantity)[1], *(format_value(quantity, row[quantity]) for row in rows)]
        for quantity in _QUEUE_QUANTITIES
    ]
    title = f"{ended.scenario.name}: {ended.seconds:.1f} s"
    return [TextTable(title, [*_TEXT_COLUMNS, *(row["queue"] for row in rows)], cells, _TEXT_COLUMNS)] if rows else []


def _packet_delivery_text(ended: ShellResult) -> str:
    """A line of the counters that only real packets have, without problems, which are printed elsewhere."""
    about = ended.about
    median, most = (ended.about["lateness_s"][share] * 1e6 for share in ("p50", "p99"))
    late = f", {median:.0f} us late at the median and {most:.0f} us at the 99th percentile" if about["written"] else ""
    parts = [f"{about['written']} packets were delivered{late}"]
    lost = {
        "malformed": sum(about["malformed"].values()),
        "rejected by a kernel": about["refused"],
        "lost before the links": about["device_drops"],
    }
    parts += [f"{count} {what}" for what, count in lost.items() if count]
    return "; ".join(parts)


def _print_shell_result_as_json(ended: ShellResult, view: LiveView) -> None:
    import json

    from ecnlab.display.json_values import non_finite_to_none

    end = {"end": {"exit_code": ended.code, "seconds": ended.seconds, "queues": _queue_statistics_rows(ended), **ended.about}}
    view.to.write(json.dumps(non_finite_to_none(end), allow_nan=False) + "\n")
    view.to.flush()
