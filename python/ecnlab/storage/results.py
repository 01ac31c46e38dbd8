"""Results of a scenario: tables over seeds, a summary with confidence intervals, and plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecnlab import _core, accessors
from ecnlab.backends.base import SIMULATOR_NAME
from ecnlab.backends.kernel_bugs import kernel_bug_warnings
from ecnlab.display import html
from ecnlab.display.json_values import non_finite_to_none
from ecnlab.errors import Problem, ResultsError, UnknownName, UsageError, require_known_name
from ecnlab.scenarios import catalog
from ecnlab.scenarios.seeds import seeds_as_text
from ecnlab.scenarios.units import unit_of
from ecnlab.stats.estimates import CONFIDENCE, Estimate, mean_with_interval
from ecnlab.stats.steady_series import steady_state_of
from ecnlab.storage import summary
from ecnlab.storage.folders import parse_folder_argument
from ecnlab.storage.store import ScenarioResultsFolder
from ecnlab.storage.tables import ColumnsOverSeeds, FinishedSeeds, SeedRunStatistics, choose_part_for_each_seed, join_as_polars_frame

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.plot.result import ResultPlots
    from ecnlab.stats.steady_state import SteadyState

# Key columns of each table of measures.
KEY_COLUMNS: dict[str, tuple[str, ...]] = {"total": (), "groups": ("group",), "queues": ("queue",), "bands": ("queue", "band")}
_RECORD_OPTION_OF_SERIES = {
    "queue": 'record.queue = "10 ms"',
    "band": 'record.queue = "10 ms"',
    "gauge": 'record.queue = "10 ms"',
    "rate": "record.rates = true",
    "window": 'record.window = "100 ms"',
    "events": "record.events = true",
    "lockouts": "record.events = true",
    "distributions": "record.distributions = true",
    "transfers": "record.transfers = true",
    "arrivals": "record.arrivals = true",
}
_TABLE_OF_SERIES = {name: f"series_{name}" for name in ("queue", "band", "gauge", "rate", "window")}
# The option in [record] for each table of a series.
_RECORD_OPTION_OF_TABLE = {_TABLE_OF_SERIES.get(name, name): option for name, option in _RECORD_OPTION_OF_SERIES.items()}
_IDENTICAL_SEEDS_WARNING = (
    "all seeds are identical, because nothing in this scenario is random, so they have no interval; "
    'fix: randomize something, e.g. [flows.access] spread = "1 ms", or run one seed'
)


def record_all_seeds_text(tables: Iterable[str]) -> str:
    """The remedy for tables of series that some seeds lack."""
    return f"run all seeds with {' and '.join(dict.fromkeys(_RECORD_OPTION_OF_TABLE[table] for table in tables))}"


class RecordedSeries:
    """Series recorded by the scenario's [record], each a polars frame with a seed column; `"queue" in series` tests for one.

    A frame has the seeds that have the series: `ecnlab run` records queues and rates of the first five seeds only, unless the scenario
    asks for all. Every property raises ResultsError if no seed has it.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def queue(self) -> pl.DataFrame:
        """Length of each queue at every interval of `record.queue`, and sojourn times in s since the previous sample."""
        return self["queue"]

    @property
    def band(self) -> pl.DataFrame:
        """Sojourn times in s in each band of multi-band queues, at every interval of `record.queue`."""
        return self["band"]

    @property
    def gauge(self) -> pl.DataFrame:
        """Internal variables of each queue's AQM, such as a probability, at every interval of `record.queue`."""
        return self["gauge"]

    @property
    def rate(self) -> pl.DataFrame:
        """Rates, marks and drops of each group in bins of one second."""
        return self["rate"]

    @property
    def window(self) -> pl.DataFrame:
        """Congestion window of each flow at every interval of `record.window`."""
        return self["window"]

    @property
    def events(self) -> pl.DataFrame:
        """Marks and drops of data packets and acknowledgements at queues."""
        return self["events"]

    @property
    def lockouts(self) -> pl.DataFrame:
        """Intervals without delivery that exceed the threshold of a flow."""
        return self["lockouts"]

    @property
    def distributions(self) -> pl.DataFrame:
        """Distributions of delay and round-trip time by group, and of the sojourn time by queue and band."""
        return self["distributions"]

    @property
    def transfers(self) -> pl.DataFrame:
        """Transactions: group, start time, duration and size."""
        return self["transfers"]

    @property
    def arrivals(self) -> pl.DataFrame:
        """Arrivals and actions of each queue, in order."""
        return self["arrivals"]

    def __repr__(self) -> str:
        names_by_seeds: dict[str, list[str]] = {}
        for name in _RECORD_OPTION_OF_SERIES:
            if name in self:
                some = self._result.some_seeds_text(_TABLE_OF_SERIES.get(name, name))
                names_by_seeds.setdefault(f" of {some}" if some else "", []).append(name)
        recorded = "; ".join(f"{', '.join(names)}{seeds}" for seeds, names in names_by_seeds.items())
        return f"<Series of {self._result.name!r}: {recorded or 'none recorded'}>"

    def __getitem__(self, name: str) -> pl.DataFrame:
        """A series by name. Raises UnknownName, ResultsError."""
        if name not in self:
            raise ResultsError(f"the series {name!r} was not recorded; fix: set {_RECORD_OPTION_OF_SERIES[name]}")
        return self._result.table(_TABLE_OF_SERIES.get(name, name))

    def __contains__(self, name: str) -> bool:
        require_known_name("series", name, _RECORD_OPTION_OF_SERIES)
        return self._result.has(_TABLE_OF_SERIES.get(name, name))


class Result:
    """All seeds of one scenario. Rates are in bit/s, times in s; every frame begins with the column `seed`.

    Attributes
    ----------
    header : Mapping
        Content of run.json: the scenario's text, all parameters, the engine.
    path : Path or None
        The results folder; None for a result in memory.

    Examples
    --------
    Each table is a polars frame with a row for each seed and flow, group or queue:

    >>> import ecnlab as lab
    >>> result = lab.run(lab.load("example:ecn", {"duration": "10 s", "measure_from": "2 s"}), seeds=2)
    >>> for seed, group, goodput in result.groups.select("seed", "group", "goodput_bps").iter_rows():
    ...     print(f"{seed} {group:8} {goodput / 1e6:.2f} Mbit/s")
    1 fragile  1.59 Mbit/s
    1 average  3.06 Mbit/s
    1 robust   4.96 Mbit/s
    2 fragile  1.67 Mbit/s
    2 average  2.93 Mbit/s
    2 robust   4.79 Mbit/s
    >>> result.queues["marks"].to_list()
    [1204, 1088]
    """

    def __init__(
        self, header: Mapping[str, Any], homes: Mapping[int, FinishedSeeds], path: Path | None = None, warnings: Sequence[Problem] = ()
    ) -> None:
        self.header = header
        self.path = path
        self._part_by_seed = dict(sorted(homes.items()))
        self._folder_warnings = warnings
        self._columns: dict[str, ColumnsOverSeeds] = {}
        self._values: dict[tuple[str, str], dict[str, list[float]]] = {}

    def __repr__(self) -> str:
        return f"<Result {self.name!r} {self.hash[:12]}, {len(self.seeds)} seed{'s' * (len(self.seeds) != 1)}>"

    def _repr_html_(self) -> str:
        """The tables of `ecnlab run`, for notebooks."""
        title = f"{self.name}: {self.hash[:12]}" + ("" if self._part_by_seed else ", no seed finished")
        notes = [f"warning: {warning.as_text(None)}" for warning in self.warnings]
        return html.tables_and_notes_to_html(title, summary.result_tables(self) if self._part_by_seed else (), notes)

    @property
    def name(self) -> str:
        """The scenario's title."""
        return str(self.header["name"])

    @property
    def hash(self) -> str:
        """The scenario's key: equal key and seed give equal results."""
        return str(self.header["hash"])

    @property
    def backend(self) -> dict[str, Any]:
        """The backend of the runs: its `name` ("sim", "live" or "uml") and its identity, such as the kernel."""
        return dict(self.header.get("backend", {"name": SIMULATOR_NAME}))

    @property
    def host_record_by_seed(self) -> dict[int, Mapping[str, Any]]:
        """Record of each seed on a backend with real hosts: kernel, settings, lateness; empty for the simulator."""
        return {record.seed: record.about for record in self.seed_run_statistics if record.about is not None}

    @property
    def group_names(self) -> list[str]:
        """Names of the groups of flows, in the scenario's order."""
        return list(self.header["groups"])

    @property
    def queue_names(self) -> list[str]:
        """Names of the queues, in the scenario's order; a queue has the name of its link."""
        return list(self.header["queues"])

    @cached_property
    def band_names(self) -> list[tuple[str, str]]:
        """Queue and band, for each band of multi-band queues."""
        if not self.has("bands"):
            return []
        bands = self._columns_of_table("bands")
        return list(dict.fromkeys(zip(bands["queue"], bands["band"], strict=True)))

    @property
    def seeds(self) -> list[int]:
        """The finished seeds, ascending."""
        return list(self._part_by_seed)

    @property
    def seed_run_statistics(self) -> list[SeedRunStatistics]:
        """Fingerprint and cost of each finished seed."""
        return [part.seed_run_statistics[seed] for seed, part in self._part_by_seed.items()]

    def recording(self, seed: int) -> Mapping[str, Any]:
        """The optional recordings of a seed. Raises UnknownName for an unfinished seed."""
        return self._part_of_seed(seed).recording

    @property
    def fingerprints(self) -> dict[int, str]:
        """Digest of each seed's event stream."""
        return {record.seed: record.fingerprint for record in self.seed_run_statistics}

    @property
    def fast_path_shares(self) -> dict[int, float]:
        """Share of each seed's packets on the engine's fast path (docs/reference/results.md); empty for kernel hosts."""
        return {record.seed: record.fast_path_share for record in self.seed_run_statistics if record.fast_path_share is not None}

    @cached_property
    def alike(self) -> bool:
        """Whether there are several seeds with identical runs, because nothing in the scenario is random.

        A fingerprint has the times of events, and not which packets are marked, so the measures are compared too.
        """
        return (
            len(self._part_by_seed) > 1
            and len(set(self.fingerprints.values())) == 1
            and all(map(self._is_table_identical_over_seeds, KEY_COLUMNS))
        )

    def _is_table_identical_over_seeds(self, table: str) -> bool:
        """Whether a table is the same for every seed."""
        if not self.has(table):
            return True
        first, *others = (one.plain for one in self.tables_of_seeds(self.seeds, table))
        return all(other == first for other in others)

    @property
    def warnings(self) -> list[Problem]:
        """Warnings about the scenario, its runs and its folder, each with a remedy."""
        found = [
            *(Problem(**warning) for warning in self.header["warnings"]),
            *self._folder_warnings,
            *kernel_bug_warnings(self.host_record_by_seed),
            *self._undelivered_warnings(),
        ]
        return found + ([Problem("seeds", None, _IDENTICAL_SEEDS_WARNING)] if self.alike else [])

    @property
    def has_deliveries(self) -> bool:
        """Whether a data packet reached a sink in the measured interval of some seed."""
        return any(self.values("throughput_bps"))

    def _undelivered_warnings(self) -> list[Problem]:
        """A warning with the reason if no data packet reached a sink in the measured interval."""
        if not self.seeds or self.has_deliveries:
            return []
        duration_s, measure_from_s = self.header["duration_s"], self.header["measure_from_s"]
        what = f"no data packet reached a sink between {measure_from_s:g} s and {duration_s:g} s, so most measures are 0 or empty"
        shortest_s = min((rtt for rtt in self._columns_of_table("flows")["base_rtt_s"] if rtt > 0), default=0.0)
        if shortest_s > duration_s:
            reason = f"transmission and propagation of a packet and its ACK take at least {shortest_s:g} s over the empty links"
            return [Problem("duration", None, f"{what}: {reason}; fix: check rate and delay of the links, or give a longer duration")]
        if any(self.values("sent")):
            fix = "measure for longer than a packet is on its way, or check losses, impairments and changes of the links"
            return [Problem("link", None, f"{what}, though senders sent; fix: {fix}")]
        return [Problem("measure_from", None, f"{what}: no sender sent; fix: measure earlier, or give more data or earlier starts")]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per seed and flow."""
        return self.table("flows")

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per seed and group of flows."""
        return self.table("groups")

    @cached_property
    def completions(self) -> pl.DataFrame:
        """A row per seed, group and range of sizes: durations of transactions."""
        return self.table("completions")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """A row per seed and queue."""
        return self.table("queues")

    @cached_property
    def bands(self) -> pl.DataFrame:
        """A row per seed and band, for multi-band queues."""
        return self.table("bands")

    @cached_property
    def impairments(self) -> pl.DataFrame:
        """A row per seed and impairment of a link, in the order in which they apply to packets."""
        return self.table("impairments")

    @cached_property
    def total(self) -> pl.DataFrame:
        """A row per seed."""
        return self.table("total")

    @property
    def series(self) -> RecordedSeries:
        """The recorded time series, events and distributions."""
        return RecordedSeries(self)

    @property
    def plot(self) -> ResultPlots:
        """The figures of this result."""
        plots: ResultPlots = accessors.import_and_create_accessor("Result.plot", self)
        return plots

    def with_more_warnings(self, *problems: Problem) -> Result:
        """The same result with more warnings."""
        return Result(self.header, self._part_by_seed, self.path, [*self._folder_warnings, *problems])

    def only(self, seed: int) -> Result:
        """The result of one seed. Raises UnknownName for an unfinished seed."""
        return self._only_seeds([seed])

    def _only_seeds(self, seeds: Sequence[int]) -> Result:
        """The result of some seeds. Raises UnknownName for an unfinished one."""
        return Result(self.header, {seed: self._part_of_seed(seed) for seed in seeds}, self.path, self._folder_warnings)

    def _part_of_seed(self, seed: int) -> FinishedSeeds:
        if seed not in self._part_by_seed:
            raise UnknownName("seed", str(seed), map(str, self.seeds))
        return self._part_by_seed[seed]

    @property
    def tables(self) -> frozenset[str]:
        """Names of the tables that at least one seed has."""
        return frozenset().union(*(part.table_names for part in self._part_by_seed.values()))

    def has(self, table: str) -> bool:
        """Whether at least one seed has this table."""
        return table in self.tables

    def seeds_with(self, table: str) -> list[int]:
        """The seeds that have this table: a series may be recorded for some of them only."""
        return [seed for seed, part in self._part_by_seed.items() if table in part.table_names]

    def some_seeds_text(self, table: str) -> str:
        """The seeds that have this table for readers, e.g. "seeds 1..5 of 20"; "" if all have it."""
        seeds = self.seeds_with(table)
        if len(seeds) == len(self.seeds):
            return ""
        return f"seed{'s' if len(seeds) > 1 else ''} {seeds_as_text(seeds)} of {len(self.seeds)}"

    def table(self, name: str) -> pl.DataFrame:
        """A table over all seeds that have it, by its name in `catalog.tables()`.

        Raises UnknownName for an unknown table, ResultsError if no seed finished or the table was not recorded.
        """
        return join_as_polars_frame(self._seeds_grouped_by_part(catalog.table(name).name), name)

    def table_of_seed(self, seed: int, name: str, columns: Sequence[str] | None = None) -> _core.Table:
        """A table of one seed in the engine's form, with all columns or at least these. Raises as `tables_of_seeds`."""
        (table,) = self.tables_of_seeds([seed], name, columns)
        return table

    def tables_of_seeds(self, seeds: Sequence[int], name: str, columns: Sequence[str] | None = None) -> list[_core.Table]:
        """A table of each seed in the engine's form, with all columns or at least these. A stored part is read once.

        Raises as `table`, also if one of the seeds lacks the table, and UnknownName for an unfinished seed or an unknown column.
        """
        declared = catalog.table(name)
        known = [column.name for column in declared.columns]
        for column in columns or ():
            require_known_name(f"column of the table {declared.name}", column, known)
        chosen = self._only_seeds(seeds)
        if chosen.has(declared.name) and (lacking := set(seeds) - set(chosen.seeds_with(declared.name))):
            seeds_text = f"seed{'s' if len(lacking) > 1 else ''} {seeds_as_text(lacking)}"
            raise ResultsError(
                f"{self.name}: there is no table {declared.name!r} of {seeds_text}; fix: {record_all_seeds_text([declared.name])}"
            )
        found: dict[int, _core.Table] = {}
        for part, own in chosen._seeds_grouped_by_part(declared.name):
            found.update(part.tables_of_seeds(own, name, columns))
        return [found[seed] for seed in seeds]

    def estimate(
        self,
        quantity: str,
        *,
        group: str | None = None,
        queue: str | None = None,
        band: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Estimate:
        """Mean and interval over seeds of a column of `total`, or of `groups`, `queues` or `bands` for the name given.

        Parameters
        ----------
        quantity : str
            The column, e.g. "goodput_bps".
        group, queue : str, optional
            The group or queue (one of the two) whose column it is.
        band : str, optional
            The band of the queue whose column it is, where the queue has several.
        confidence : float
            Confidence level of the interval.

        Raises
        ------
        UnknownName
            An unknown quantity, group, queue or band; the text suggests the nearest name.
        """
        return self.estimate_of(self.values(quantity, group=group, queue=queue, band=band), confidence)

    def estimate_of(self, values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
        """Mean and interval of values, one per seed; no interval if nothing in the scenario is random."""
        found = mean_with_interval(values, confidence)
        return found.without_interval() if self.alike else found

    def values(self, quantity: str, *, group: str | None = None, queue: str | None = None, band: str | None = None) -> list[float]:
        """The values of a quantity, one per seed in the order of `seeds`; arguments and errors as for `estimate`."""
        table, name = self._table_and_row_name(group, queue, band)
        if quantity not in (known := self._quantity_column_names(table)):
            raise UnknownName(f"quantity of the table {table}", quantity, known, self._fix_for_quantity_of_other_table(quantity))
        found = self._values_by_name(table, quantity)
        if name not in found:
            raise UnknownName(KEY_COLUMNS[table][-1], name, found)
        return list(found[name])

    def _fix_for_quantity_of_other_table(self, quantity: str) -> str | None:
        row = catalog.row_with_quantity(quantity, self.group_names, self.queue_names)
        if row is None:
            return None
        table, name = row
        return f'give {table.removesuffix("s")}="{name}"' if name else "leave out group and queue"

    def jain(self, quantity: str, groups: Sequence[str] | None = None) -> list[float]:
        """Jain's fairness index of a column of `flows` over some groups or all, one per seed in the order of `seeds`.

        (sum x)^2 / (n sum x^2), Jain, Chiu and Hawe 1984; NaN if all values are 0. Raises UnknownName.
        """
        flows = self._columns_of_table("flows")
        require_known_name("quantity of the table flows", quantity, flows.column_names)
        for group in groups or ():
            require_known_name("group", group, self.group_names)
        sums = {seed: [0.0, 0.0, 0.0] for seed in self.seeds}
        for seed, group, value in zip(flows["seed"], flows["group"], flows[quantity], strict=True):
            if groups is None or group in groups:
                sums[seed] = [sum(pair) for pair in zip(sums[seed], (1.0, value, value * value), strict=True)]
        return [total**2 / (n * squares) if squares > 0 else math.nan for n, total, squares in sums.values()]

    def steady_state(self) -> SteadyState:
        """The start of the steady state, by MSER-5 on queue lengths and throughput.

        Averages the first five seeds recorded with `record.queue` or `record.rates`. Its warnings report whether the measured interval
        begins too early, or the run is too short. Raises ResultsError if no seed has such a series.
        """
        return steady_state_of(self)

    def summary(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """All quantities over the seeds: table, name, quantity, unit, mean, sd, half_width of the interval, n."""
        import polars as pl

        return pl.DataFrame(list(self._summary_rows(confidence)), infer_schema_length=None)

    def summary_json(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The summary as nested dicts of plain values, NaN as None; the content of summary.json and `--json`."""
        tree: dict[str, Any] = {
            key: self.header[key] for key in ("format", "engine", "build", "name", "hash", "duration_s", "measure_from_s")
        }
        tree |= {
            "seeds": self.seeds,
            "fingerprints": {str(seed): fingerprint for seed, fingerprint in self.fingerprints.items()},
            "warnings": [vars(warning) for warning in self.warnings],
            "confidence": confidence,
            "backend": self.backend,
        }
        if self.fast_path_shares:
            tree["fast_path_share"] = {str(seed): share for seed, share in self.fast_path_shares.items()}
        if self.host_record_by_seed:
            tree["about"] = {str(seed): about for seed, about in self.host_record_by_seed.items()}
        return tree | _nested_summary(self._summary_rows(confidence)) if self._part_by_seed else tree

    def _table_and_row_name(self, group: str | None, queue: str | None, band: str | None) -> tuple[str, str]:
        """Table and row name for the arguments of `estimate`."""
        if group is not None and queue is not None:
            raise UsageError("group and queue exclude each other; fix: omit one of them")
        if band is not None and queue is None:
            raise UsageError("band= requires queue=")
        if band is not None:
            return "bands", f"{queue}.{band}"
        if group is not None:
            return "groups", group
        return ("total", "") if queue is None else ("queues", queue)

    def _summary_rows(self, confidence: float) -> Iterable[dict[str, Any]]:
        for table in KEY_COLUMNS:
            for name in self._row_names(table):
                for quantity in self._quantity_column_names(table):
                    found = self.estimate_of(self._values_by_name(table, quantity)[name], confidence)
                    yield {"table": table, "name": name, "quantity": quantity, "unit": unit_of(quantity), **vars(found)}

    def _quantity_column_names(self, table: str) -> list[str]:
        return [column for column in self._columns_of_table(table).column_names if column not in ("seed", *KEY_COLUMNS[table])]

    def _row_names(self, table: str) -> list[str]:
        """Row names of a table; QUEUE.BAND for a band."""
        if table == "bands":
            return list(map(".".join, self.band_names))
        return {"groups": self.group_names, "queues": self.queue_names}.get(table, [""])

    def _values_by_name(self, table: str, quantity: str) -> dict[str, list[float]]:
        """Values of a quantity over seeds, by name of group, queue or band; "" for the total."""
        if (table, quantity) not in self._values:
            columns = self._columns_of_table(table)
            rows = zip(*(columns[key] for key in KEY_COLUMNS[table]), strict=True) if KEY_COLUMNS[table] else repeat(("",))
            found: dict[str, list[float]] = {name: [] for name in self._row_names(table)}
            for row, value in zip(rows, columns[quantity], strict=False):
                found[".".join(row)].append(float(value))
            self._values[table, quantity] = found
        return self._values[table, quantity]

    def _columns_of_table(self, table: str) -> ColumnsOverSeeds:
        if table not in self._columns:
            self._columns[table] = ColumnsOverSeeds(self._seeds_grouped_by_part(table), table)
        return self._columns[table]

    def _seeds_grouped_by_part(self, table: str) -> list[tuple[FinishedSeeds, list[int]]]:
        """The stored parts with the table, and the seeds to read from each. Raises ResultsError if no seed has the table."""
        if not self.has(table):
            there = f"; there are {', '.join(sorted(self.tables))}" if self._part_by_seed else ""
            raise ResultsError(f"{self.name}: no finished seed has a table {table!r}{there}")
        seeds: dict[int, tuple[FinishedSeeds, list[int]]] = {}
        for seed, part in self._part_by_seed.items():
            if table in part.table_names:
                seeds.setdefault(id(part), (part, []))[1].append(seed)
        return list(seeds.values())


def rows_of_measures(result: Result) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of the tables of measures: its table, and the arguments of `Result.values` that name the row."""
    yield "total", {}
    for group in result.group_names:
        yield "groups", {"group": group}
    for queue in result.queue_names:
        yield "queues", {"queue": queue}
    for queue, band in result.band_names:
        yield "bands", {"queue": queue, "band": band}


def open_result(path: str | Path) -> Result:
    """Read a results folder, which holds its finished seeds only.

    Parameters
    ----------
    path : str or Path
        The folder.

    Raises
    ------
    ResultsError
        Not a results folder, another format, or a damaged header. Damaged batches are reported in the result's `warnings`.
    UsageError
        The argument is not a path.

    Examples
    --------
    A folder that `run` wrote, or the command `ecnlab run`:

    >>> import ecnlab as lab
    >>> scenario = lab.load("example:codel", {"duration": "10 s", "measure_from": "2 s"})
    >>> result = lab.run(scenario, seeds=2, out="codel")
    >>> again = lab.open_result("codel")
    >>> again.seeds, again.hash == scenario.hash
    ([1, 2], True)
    """
    folder = ScenarioResultsFolder.open(parse_folder_argument("path", path))
    batches = folder.open_batches()
    return Result(
        folder.header, choose_part_for_each_seed(batches.parts_of_scenario(str(folder.header["hash"])), {}), folder.path, batches.warnings
    )


def _nested_summary(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for row in rows:
        home = tree.setdefault(row["table"], {})
        home = home.setdefault(row["name"], {}) if row["name"] else home
        home[row["quantity"]] = {key: non_finite_to_none(row[key]) for key in ("mean", "sd", "half_width", "n", "unit")}
    return tree
