"""Traces written by runs: kind, links, and path for each seed.

    lab.run(scenario, seed=1, trace="run.tr")                       # ns-2's lines
    lab.run(scenario, seed=1, trace=lab.TraceTo("run.pcapng.zst", links=["bottleneck"], keep=65535))

docs/how-to/tracing.md describes their contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ecnlab.backends.base import KERNEL_CASES
from ecnlab.errors import ResultsError, UnknownName, UsageError, require_nonempty_path
from ecnlab.storage.atomic import locked_temporary_path, partial_path, remove_abandoned_partials

if TYPE_CHECKING:
    from ecnlab.scenarios.load import Scenario

HEADER_BYTES = 128  # bytes; enough for all headers

_KIND_BY_EXTENSION = {".tr": "ns2", ".pcapng": "pcapng", ".parquet": "parquet", ".cases": KERNEL_CASES}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_REVERSE_SUFFIX = ".reverse"
_MAX_KEPT_BYTES = 65_535


@dataclass(frozen=True)
class TraceTo:
    """Options of a packet trace.

    Attributes
    ----------
    path : str or Path
        The file. Its extension selects the kind: `.tr` for ns-2's lines, `.pcapng` for a capture, `.parquet` for a table of events. The
        first two may be compressed with a further `.gz` or `.zst`. `.cases` is a folder with a file for each connection between UML
        kernels (`ecnlab validate linux`). With several seeds each has its own file, as `run-seed7.tr`.
    links : sequence of str
        Names of the links to trace; by default every link, and in a capture those with a measured queue and their reverse directions.
    keep : int
        Snap length of a capture in bytes: by default 128, enough for all headers. Data are zeros, so headers suffice for most uses;
        verification of TCP checksums requires 65535.
    ip : int
        IP version of a capture, 4 or 6; by default 4.
    """

    path: str | Path
    links: Sequence[str] = ()
    keep: int | None = None
    ip: int | None = None


@dataclass(frozen=True)
class TraceFileOfSeed:
    """Trace file of one seed, in the engine's form."""

    path: Path
    partial: Path
    form: str
    compression: str
    links: list[str]
    keep: int
    ip: int


@dataclass(frozen=True)
class TraceOutput:
    """Checked trace options of a scenario, with a file for each seed."""

    path: Path
    form: str
    compression: str
    links: list[str]
    keep: int
    ip: int
    several: bool

    @contextmanager
    def lock_partial_trace_file(self, seed: int) -> Iterator[TraceFileOfSeed]:
        """Lock the partial file of a seed's trace while it is written. Removes partial files of killed runs first. Raises OSError."""
        path = self.trace_path_of_seed(seed)
        import glob

        remove_abandoned_partials(path.parent, f"{glob.escape(path.name)}.*")
        with locked_temporary_path(partial_path(path), folder=self.form == KERNEL_CASES) as partial:
            yield TraceFileOfSeed(path, partial, self.form, self.compression, self.links, self.keep, self.ip)

    def trace_path_of_seed(self, seed: int) -> Path:
        """The path of a seed's trace."""
        if not self.several:
            return self.path
        ending = "".join(_extensions_of_trace_path(self.path))
        return self.path.with_name(f"{self.path.name.removesuffix(ending)}-seed{seed}{ending}")

    def write_error(self, seed: int, error: OSError) -> ResultsError:
        """The error for a trace that cannot be written."""
        path = self.trace_path_of_seed(seed)
        return ResultsError(f"cannot write the trace {path}: {error.strerror or error}; the partial file was removed")


def _with_reverse_links(queues: Sequence[str], known: Sequence[str]) -> list[str]:
    """Links with a measured queue and their reverse directions, whose acknowledgements most analyses require."""
    others = [name.removesuffix(_REVERSE_SUFFIX) if name.endswith(_REVERSE_SUFFIX) else name + _REVERSE_SUFFIX for name in queues]
    return [name for name in dict.fromkeys([*queues, *others]) if name in known]


def trace_output_from_options(trace: str | Path | TraceTo, scenario: Scenario, seeds: Sequence[int]) -> TraceOutput:
    """Check trace options. Raises UsageError, UnknownName for an unknown link, and ResultsError if the path is not writable."""
    asked = trace if isinstance(trace, TraceTo) else TraceTo(trace)
    path = _trace_path_from_argument(asked.path)
    form, compression = _trace_kind_and_compression(path)
    keep, ip = _snap_length_and_ip_version(asked, form, path)
    links = [asked.links] if isinstance(asked.links, str) else list(asked.links)
    known = scenario.link_names
    for link in links:
        if link not in known:
            # The links of single flows would hide the others in a list of all.
            raise UnknownName("link", link, [name for name in known if not any(part.isdecimal() for part in name.split("."))])
    if form == "pcapng" and not links:
        links = _with_reverse_links(scenario.queue_names, known)
    if form == "pcapng" and not links:
        raise UsageError(
            f"trace: {path.name} would be empty, because no link has a measured queue; fix: name the links, e.g. --trace-link NAME"
        )
    if form == KERNEL_CASES and links:
        raise UsageError(f"trace: cases have connections, not links; fix: omit the links, or end {path.name!r} in .pcapng")
    if not path.absolute().parent.is_dir() or (path.is_dir() and form != KERNEL_CASES):
        what = "it is a folder" if path.is_dir() else f"the folder {path.parent} does not exist"
        raise ResultsError(f"cannot write the trace {path}: {what}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ResultsError(f"cannot write the trace {path}: the folder {path.absolute().parent} is not writable")
    tracing = TraceOutput(path, form, compression, links, keep, ip, len(seeds) > 1)
    for seed in seeds:
        (_require_case_folder_or_absent if form == KERNEL_CASES else _require_regular_file_or_absent)(tracing.trace_path_of_seed(seed))
    return tracing


def _require_regular_file_or_absent(path: Path) -> None:
    """Check that a path is absent or a regular file, which the finished trace replaces. Raises ResultsError."""
    if path.is_symlink():
        raise ResultsError(
            f"cannot write the trace {path}: it is a symbolic link, which the trace would replace; fix: name the file itself"
        )
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise ResultsError(f"cannot write the trace {path}: it is {what}, which the trace would replace; fix: name a file")


def _require_case_folder_or_absent(path: Path) -> None:
    """Check that a path is absent or a folder of cases, which the finished folder replaces. Raises ResultsError."""
    is_ours = path.is_dir() and not path.is_symlink() and all(entry.name.endswith(".json.gz") for entry in path.iterdir())
    if (path.exists() or path.is_symlink()) and not is_ours:
        raise ResultsError(f"{path}: exists and is not a folder of cases; fix: choose another folder")


def _snap_length_and_ip_version(asked: TraceTo, form: str, path: Path) -> tuple[int, int]:
    """Snap length and IP version of a capture. Raises UsageError if either is set for another kind of trace."""
    if form != "pcapng":
        of_captures = ((asked.keep, "keeps bytes of packets (--trace-bytes, keep)"), (asked.ip, "has a version of IP (--trace-ip, ip)"))
        for given, what in of_captures:
            if given is not None:
                raise UsageError(f"trace: {what} needs a .pcapng file; {path.name!r} is not one")
    keep = HEADER_BYTES if asked.keep is None else asked.keep
    if isinstance(keep, bool) or not isinstance(keep, int) or not 0 <= keep <= _MAX_KEPT_BYTES:
        raise UsageError(f"trace: {keep!r} must be a whole number of bytes from 0 to {_MAX_KEPT_BYTES}")
    ip = 4 if asked.ip is None else asked.ip
    if isinstance(ip, bool) or ip not in (4, 6):
        raise UsageError(f"trace: {ip!r} is not an IP version; fix: give 4 or 6")
    return keep, ip


def _trace_path_from_argument(path: object) -> Path:
    require_nonempty_path("trace", path)
    if not isinstance(path, (str, Path)) or "\0" in str(path):
        raise UsageError(f"trace: must be the path of a file, not {type(path).__name__}")
    return Path(path)


def _extensions_of_trace_path(path: Path) -> list[str]:
    """The extensions for the kind and, if any, the compression."""
    *_, before, last = ["", "", *path.suffixes]
    return [before, last] if last in _COMPRESSIONS else [last]


def _trace_kind_and_compression(path: Path) -> tuple[str, str]:
    ending, *packed = _extensions_of_trace_path(path)
    if ending not in _KIND_BY_EXTENSION:
        raise UsageError(
            f"trace: {path.name!r} has an unknown extension; "
            "fix: end it in .tr (ns-2 trace), .pcapng or .parquet; the first two also in .gz, "
            ".zst; on uml also in .cases"
        )
    if packed and ending in (".parquet", ".cases"):
        what = "a Parquet file is" if ending == ".parquet" else "the files of cases are"
        raise UsageError(f"trace: {path.name!r}: {what} compressed already; fix: omit {packed[0]}")
    return _KIND_BY_EXTENSION[ending], _COMPRESSIONS[packed[0]] if packed else ""
