"""Series for the detection of a run's steady state: their recording by `ecnlab run`, and their extraction from a result.

Recording changes neither results nor keys, so a few recorded seeds take their place among the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ecnlab.backends.base import SIMULATOR_NAME
from ecnlab.errors import ResultsError, ScenarioError, require_known_name
from ecnlab.scenarios.units import parse_quantity
from ecnlab.stats.steady_state import MSER_BATCH, ObservedSeries, SteadyState, arithmetic_mean, steady_state_of_run

if TYPE_CHECKING:
    from ecnlab.scenarios.load import Scenario
    from ecnlab.storage.results import Result
    from ecnlab.storage.tables import Recording

OBSERVED_SEEDS = 5

# Observations per series, and the maximum per seed over all queues and groups; a longer series is averaged in batches.
_SAMPLES_PER_SERIES = 1000
_MIN_SAMPLES = 200
_MAX_ROWS = 200_000
_MIN_INTERVAL_S = 1e-6
_MIN_BATCHES_OF_FIVE = 100  # a series with fewer batches has one observation per batch
_FINAL_SHARE = 0.1
_SWITCHED_OFF_TEXTS = {"queue": 'record.queue = "off"', "rates": "record.rates = false"}
_RATES_INTERVAL = "1 s"
_QUEUE_TABLE, _RATE_TABLE = "series_queue", "series_rate"


def with_steady_state_recording(scenario: Scenario) -> Scenario | None:
    """The scenario with its queues and rates recorded, unless it sets these recordings itself; None where nothing can be added.

    Only the simulator is observed: hosts in real time would be late by it.
    """
    if scenario.backend.name != SIMULATOR_NAME or scenario.resolved.get("change"):
        return None
    changes: dict[str, Any] = {}
    off = _recordings_switched_off(scenario.record, scenario.form, scenario.text, scenario.overrides)
    samples = min(_SAMPLES_PER_SERIES, _MAX_ROWS // max(1, len(scenario.queue_names)))
    interval_s = scenario.duration_s / samples if samples >= _MIN_SAMPLES else 0.0
    if scenario.record["queue"] == "off" and "queue" not in off and scenario.queue_names and interval_s >= _MIN_INTERVAL_S:
        changes["record.queue"] = f"{interval_s:.9g} s"
    if not scenario.record["rates"] and "rates" not in off and scenario.duration_s * len(scenario.group_names) <= _MAX_ROWS:
        changes |= {"record.rates": True, "record.rates_interval": _RATES_INTERVAL}  # bins of rates that are off have no effect
    try:
        return scenario.changed(changes) if changes else None
    except ScenarioError:  # the scenario's own recording leaves too little memory
        return None


def switched_off_recordings_text(result: Result) -> str:
    """The recordings for the check that a simulated scenario switches off, e.g. `record.rates = false`; "" if it does not."""
    if result.backend["name"] != SIMULATOR_NAME:
        return ""
    source = result.header["scenario"]
    off = _recordings_switched_off(result.header["parameters"]["record"], source["form"], source["text"], source["overrides"])
    return " and ".join(text for name, text in _SWITCHED_OFF_TEXTS.items() if name in off)


def _recordings_switched_off(record: Recording, form: str, text: str, overrides: Mapping[str, str]) -> set[str]:
    """Which of `queue` and `rates` a scenario itself sets to off. Its text is only parsed if it has such a word."""
    off = {name for name, is_off in (("queue", record["queue"] == "off"), ("rates", not record["rates"])) if is_off}
    set_by_option = {name for name in off if f"record.{name}" in overrides}
    words = {"queue": "off", "rates": "rates"}
    if all(name in set_by_option or words[name] not in text for name in off) and "record" not in overrides:
        return set_by_option
    return set_by_option | (off & _keys_of_record_table(form, text, overrides.get("record")))


def _keys_of_record_table(form: str, text: str, override: str | None) -> set[str]:
    """The keys of [record] in the text of a valid scenario, or in the override of the whole table."""
    import tomllib

    try:
        if override is not None:
            return set(tomllib.loads(f"record = {override}")["record"])
        return set((tomllib.loads(text) if form == "toml" else json.loads(text)).get("record", {}))
    except (ValueError, RecursionError):  # the engine reads a later version of TOML
        return set()


def has_steady_state_series(result: Result) -> bool:
    """Whether a result has the series that `steady_state_of` needs."""
    return bool(result.header["parameters"].get("change") or _first_seeds_with_same_recording(result))


def steady_state_of(result: Result) -> SteadyState:
    """The begin of the steady state of a result's runs, from the first five seeds with recorded queues or rates.

    Raises ResultsError if neither was.
    """
    duration_s, measure_from_s = result.header["duration_s"], result.header["measure_from_s"]
    if result.header["parameters"].get("change"):
        return SteadyState(None, [], reason="the scenario changes links at set times")
    if not (seeds := _first_seeds_with_same_recording(result)):
        raise ResultsError(
            f'{result.name}: no seed has a series of queues or rates; fix: set record.queue = "100 ms" and record.rates = true'
        )
    queues = _length_series_of_each_queue(result, seeds)
    throughput = _total_throughput_series(result, seeds)
    if throughput and not any(any(run) for one in throughput for run in one.runs):
        return SteadyState(None, seeds, reason="no data packet reached a sink")
    if _is_idle_at_end(queues, throughput):
        return SteadyState(None, seeds, reason="its traffic ends before the run does")
    quantities = [_reduce_observations_by_means(one) for one in (*queues, *throughput)]
    return steady_state_of_run([one for one in quantities if one is not None], seeds, measure_from_s, duration_s)


def queue_length_series(result: Result, name: str) -> ObservedSeries | None:
    """The length series of a queue, as used for its steady state; None if no seed has it. Raises UnknownName for an unknown queue."""
    require_known_name("queue", name, result.queue_names)
    found = [one for one in _length_series_of_each_queue(result, _first_seeds_with_same_recording(result)) if one.name == f"queue {name}"]
    return _reduce_observations_by_means(found[0]) if found else None


def _first_seeds_with_same_recording(result: Result) -> list[int]:
    """The first seeds with a series, among those with the most common recording settings."""
    recording_by_seed = {seed: way for seed in result.seeds if (way := _recording_settings_of_seed(result, seed))}
    if not recording_by_seed:
        return []
    ((most, _),) = Counter(recording_by_seed.values()).most_common(1)
    return [seed for seed, way in recording_by_seed.items() if way == most][:OBSERVED_SEEDS]


def _recording_settings_of_seed(result: Result, seed: int) -> tuple[Any, ...]:
    """Recording settings of a seed's series; empty without a series."""
    recording = result.recording(seed)
    has_queue = recording.get("queue", "off") != "off" and bool(result.queue_names)
    rates = recording.get("rates", False) and recording.get("rates_interval", "1 s")
    return (recording["queue"], rates) if has_queue or recording.get("rates") else ()


def _length_series_of_each_queue(result: Result, seeds: Sequence[int]) -> list[ObservedSeries]:
    """The length of each queue."""
    if not seeds or any(result.recording(seed).get("queue", "off") == "off" for seed in seeds):
        return []
    interval_s = _queue_sample_interval_s(result, seeds[0])
    columns = ["length_packets"] if len(result.queue_names) == 1 else ["queue", "length_packets"]
    by_queue: dict[str, list[list[float]]] = {name: [] for name in result.queue_names}
    for table in result.tables_of_seeds(seeds, _QUEUE_TABLE, columns):
        lengths = table.column("length_packets")
        if len(by_queue) == 1:
            lengths_by_queue = dict.fromkeys(by_queue, lengths)
        else:
            lengths_by_queue = {name: [] for name in by_queue}
            for name, length in zip(table.column("queue"), lengths, strict=True):
                lengths_by_queue[name].append(length)
        for name, runs in by_queue.items():
            runs.append(lengths_by_queue[name])
    return [ObservedSeries(f"queue {name}", interval_s, runs) for name, runs in by_queue.items()]


def _queue_sample_interval_s(result: Result, seed: int) -> float:
    """The interval between samples of a seed's queues. Raises ResultsError if its recording has none."""
    recorded = result.recording(seed)["queue"]
    interval = parse_quantity(recorded)
    if interval is None or interval[0] <= 0:
        raise ResultsError(f'{result.name}: record.queue of seed {seed} is "{recorded}" and not an interval; fix: run the seed again')
    return interval[0]


def _total_throughput_series(result: Result, seeds: Sequence[int]) -> list[ObservedSeries]:
    """The throughput of all groups together."""
    if not all(result.recording(seed).get("rates") for seed in seeds):
        return []
    runs = []
    interval_s = 1.0
    for table in result.tables_of_seeds(seeds, _RATE_TABLE, ["time_s", "throughput_bps"]):
        bins: dict[float, float] = {}
        for time_s, throughput in zip(table.column("time_s"), table.column("throughput_bps"), strict=True):
            bins[time_s] = bins.get(time_s, 0.0) + throughput
        runs.append(list(bins.values()))
        times = list(bins)
        interval_s = times[1] - times[0] if len(times) > 1 else interval_s
    return [ObservedSeries("throughput", interval_s, runs)] if runs and runs[0] else []


def _is_idle_at_end(queues: Sequence[ObservedSeries], throughput: Sequence[ObservedSeries]) -> bool:
    """Whether the last tenth of the run is idle after earlier activity."""
    observed = throughput if throughput and len(throughput[0].runs[0]) * _FINAL_SHARE >= 1 else queues
    runs = [run for one in observed for run in one.runs]
    return any(map(any, runs)) and not any(any(run[-max(1, int(_FINAL_SHARE * len(run))) :]) for run in runs)


def _reduce_observations_by_means(one: ObservedSeries) -> ObservedSeries | None:
    """A series with about a thousand observations; None if it has too few for MSER-5."""
    length = min(map(len, one.runs))
    piece = max(1, length // _SAMPLES_PER_SERIES)
    runs = [
        [arithmetic_mean(run[at : at + piece]) for at in range(0, length - piece + 1, piece)] if piece > 1 else run[:length]
        for run in one.runs
    ]
    batch = MSER_BATCH if length // piece >= MSER_BATCH * _MIN_BATCHES_OF_FIVE else 1
    fewest = 20
    return ObservedSeries(one.name, one.interval_s * piece, runs, batch) if length >= fewest else None
