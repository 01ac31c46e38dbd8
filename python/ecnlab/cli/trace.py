"""`ecnlab trace`: analysis of packet traces, of ns-2, of hosts or of a run of ecnlab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ecnlab.cli import EXIT_DISAGREES, options, output
from ecnlab.errors import UsageError

if TYPE_CHECKING:
    from ecnlab.packet_traces.analyze import Trace

_READ_COMMAND = "read"


class _GroupWithDefaultRead(click.Group):
    """A group whose arguments are trace files, unless the first names one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_own = not args or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_own else self._insert_default_command(args))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, self._insert_default_command(args))

    def _insert_default_command(self, args: list[str]) -> list[str]:
        if args[0] == "check":
            raise UsageError("ecnlab trace check: is now ecnlab trace verify; fix: run ecnlab trace verify")
        return args if args[0] in self.commands else [_READ_COMMAND, *args]


@click.group(cls=_GroupWithDefaultRead)
def trace() -> None:
    """Analyze a packet trace.

    `ecnlab trace FILE` is short for `ecnlab trace read FILE`; `ecnlab trace verify FILE` checks it against RFC 3168 and RFC 9768.
    """


@trace.command(_READ_COMMAND)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--flow", "flows", metavar="N", type=click.IntRange(0), multiple=True, help="Count only this flow, by its number; repeatable."
)
@click.option(
    "--from", "from_s", metavar="SECONDS", type=click.FloatRange(0), help="Start of the measured interval (default: first packet)."
)
@click.option("--to", "to_s", metavar="SECONDS", type=click.FloatRange(0), help="End of the measured interval (default: last packet).")
@click.option("--bin", "bin_s", metavar="SECONDS", type=click.FloatRange(1e-6), default=1.0, help="Width of the bins of time (default: 1).")
@click.option(
    "--header",
    metavar="BYTES",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Bytes of headers in an ns-2 trace's TCP packets (default: 0).",
)
@click.option("--figures", type=options.PATH, metavar="DIR", help="Draw figures into this folder.")
@options.out_option("DIR", "Write all tables into this folder, as Parquet.")
@options.json_option
@options.quiet_option
def read_traces(
    files: Sequence[str],
    flows: Sequence[int],
    from_s: float | None,
    to_s: float | None,
    bin_s: float,
    header: int,
    figures: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure flows and links of packet traces.

    FILE is a trace of ns-2, or a capture (pcap, pcapng); either may be compressed by gzip or zstd. - is standard input.
    Several files are analyzed one after another. With --figures the time-sequence graph is of the first flow, or of those chosen by --flow.
    """
    from ecnlab.cli import trace_summary
    from ecnlab.packet_traces import analyze

    summaries = []
    for file in files:
        drawn = (tuple(flows) or (0,)) if figures else ()
        one = analyze.trace(file, from_s=from_s, to_s=to_s, bin_s=bin_s, flows=flows, sequence=drawn, header=header, progress=not quiet)
        output.print_warnings(one.warnings, one.source)
        if not (as_json or quiet):
            output.print_tables(trace_summary.trace_tables(one))
        _save_tables_and_figures(
            one, _output_folder_of_trace(out, file, files), _output_folder_of_trace(figures, file, files), said=not (as_json or quiet)
        )
        summaries.append(one.summary_json())
    if as_json:
        output.print_json(summaries[0] if len(summaries) == 1 else summaries)


@trace.command("verify")
@click.argument("file")
@click.option("--all", "every", is_flag=True, help="List all violations, not the first 20, and all known departures.")
@options.json_option
@options.quiet_option
def verify_trace(file: str, every: bool, as_json: bool, quiet: bool) -> None:
    """Verify a trace against RFC 3168, and Accurate ECN against RFC 9768, packet by packet.

    Each violation is a line with its record, its time, its ends, the rule with its section, and what was found. Each known departure of
    ns-2 and of real hosts is a line with its count. The exit code is 1 with a violation and 0 without.
    """
    from ecnlab.cli import trace_summary
    from ecnlab.packet_traces import analyze

    verdict = analyze.verify_trace(file, progress=not quiet)
    output.print_warnings(verdict.warnings, verdict.source)
    if as_json:
        output.print_json(asdict(verdict))
    elif not quiet:
        for line in trace_summary.lines_of_findings(verdict, every=every):
            output.print_line(line)
        output.print_line(trace_summary.violation_and_departure_count_line(verdict))
        output.print_tables(trace_summary.violated_rules_tables(verdict))
    if verdict.violation_count:
        raise click.exceptions.Exit(EXIT_DISAGREES)


def _output_folder_of_trace(folder: Path | None, file: str, files: Sequence[str]) -> Path | None:
    """Output folder for the tables or figures of a file; with several files a subfolder each, named by path where names collide."""
    from ecnlab.storage.filenames import safe_file_name

    if not folder or len(files) == 1:
        return folder
    names = [Path(other).name for other in dict.fromkeys(files)]
    name = Path(file).name
    return folder / safe_file_name(name if names.count(name) == 1 else file)


def _save_tables_and_figures(trace: Trace, tables: Path | None, figures: Path | None, *, said: bool) -> None:
    if tables:
        trace.save(tables)
    if figures:
        drawn = trace.plot.save_all(figures)
        if said:
            output.print_line(f"figures in {figures}: {', '.join(drawn)}")
    if tables and said:
        output.print_line(f"tables in {tables}")
