"""The page for users of ns-2, ns-3 and tc: scenarios match the fragments beside them, and tables name existing parameters."""

import csv
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

import ecnlab
import reference_pages
from ecnlab import _core
from ecnlab.packet_traces.ns2 import REFERENCE
from ecnlab.scenarios import catalog

PAGE = reference_pages.DOCS / "how-to" / "from-ns2-ns3-tc.md"
TEXT = PAGE.read_text(encoding="utf-8")
TRANSLATED_SECTIONS = ("ns-2", "ns-3", "tc, sysctl and iproute2", "RED in three units")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


FROM_NS2, FROM_NS3, FROM_TC = (tomllib.loads(block) for block in _blocks("toml"))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_scenario_has_the_values_of_the_ns2_script() -> None:
    (script,) = _blocks("tcl")
    values: dict[str, str] = dict(re.findall(r"^(?:Agent/TCP|Queue/RED) set (\w+_) (\S+)$", script, re.MULTILINE))
    link, tcp = FROM_NS2["link"][1], FROM_NS2["flows"][0]["tcp"]
    queue = link["queue"]
    assert (queue["min_th"], queue["max_th"], queue["w_q"]) == tuple(float(values[key]) for key in ("thresh_", "maxthresh_", "q_weight_"))
    assert queue["max_p"] == 1 / float(values["linterm_"])
    assert queue["mean_packet"] == f"{values['mean_pktsize_']} B"
    assert (values["setbit_"], values["use_mark_p_"], values["gentle_"]) == ("true", "false", "false")
    assert tcp["packet_size"] == f"{int(values['packetSize_']) + 40} B"
    assert tcp["max_rwnd"] == int(values["window_"])
    assert f"$R2 $R3 {link['rate'].removesuffix(' Mbps')}Mb {link['delay'].replace(' ', '')} RED" in script
    assert f"queue-limit $from $to {queue['limit']} " in script


def test_the_scenario_of_the_ns2_script_gives_the_results_of_ns2() -> None:
    with (REFERENCE / "red-ecn.csv").open() as file:
        (ns2,) = [row for row in csv.DictReader(file) if (row["experiment"], row["delay_ms"], row["scheme"]) == ("1", "50", "ecn")]
    result = ecnlab.run(ecnlab.scenario(FROM_NS2), seeds=8)
    found = {name: _mean(result.values(name, queue="bottleneck")) for name in ("drops", "marks")}
    found |= {"goodput_kbps": _mean(result.values("goodput_bps")) / 10e3, "jain": result.estimate("jain_goodput").mean}
    shown = re.findall(r"^\| [\w' -]+ \| ([\d.]+) ± ([\d.]+)(?: kbit/s)? \| ([\d.]+)", TEXT, re.MULTILINE)
    for name, (mean, deviation, ours) in zip(("goodput_kbps", "jain", "marks", "drops"), shown, strict=False):
        assert float(mean) == pytest.approx(float(ns2[name]), rel=0.01)
        assert found[name] == pytest.approx(float(ours), rel=0.01)
        assert found[name] == pytest.approx(float(mean), abs=4 * float(deviation))


def test_the_scenario_has_the_values_of_the_ns3_program() -> None:
    (program,) = _blocks("cpp")
    values: dict[str, str] = dict(re.findall(r'SetDefault\("ns3::(\w+::\w+)", .*\("?([\w.:]+)"?\)+;$', program, re.MULTILINE))
    network, tcp = FROM_NS3["network"], FROM_NS3["flows"][0]["tcp"]
    red = {key.removeprefix("RedQueueDisc::"): value for key, value in values.items() if key.startswith("RedQueueDisc")}
    queue = network["queue"]
    assert (queue["min_th"], queue["max_th"], queue["w_q"]) == tuple(float(red[key]) for key in ("MinTh", "MaxTh", "QW"))
    assert queue["max_p"] == 1 / float(red["LInterm"])
    assert f"{queue['limit']}p" == red["MaxSize"]
    assert queue["mean_packet"] == f"{red['MeanPktSize']} B"
    assert (red["UseEcn"], red["UseHardDrop"], red["Gentle"]) == ("true", "false", str(queue["gentle"]).lower())
    assert tcp["packet_size"] == f"{int(values['TcpSocket::SegmentSize']) + 40} B"
    assert tcp["initial_window"] == int(values["TcpSocket::InitialCwnd"])
    assert tcp["variant"] == values["TcpL4Protocol::SocketType"].removeprefix("ns3::Tcp").lower()
    for key in ("rate", "delay", "host_rate", "host_delay"):
        assert f'StringValue("{network[key].replace(" ", "")}")' in program


def test_the_scenario_has_the_values_of_the_tc_commands() -> None:
    (commands,) = (block for block in _blocks("sh") if "fq_codel" in block)
    link = FROM_TC["link"][0]
    queue, aqm, back = link["queue"], link["queue"]["aqm"], link["reverse"]
    assert f"htb rate {link['rate'].replace(' Mbps', 'mbit')}\n" in commands
    times = f"target {aqm['target'].replace(' ', '')} interval {aqm['interval'].replace(' ', '')}"
    assert f"fq_codel limit {queue['limit']} {times} quantum {queue['quantum'].removesuffix(' B')} ecn\n" in commands
    assert f"netem delay {back['delay'].replace(' ', '')} loss {100 * back['impair'][0]['rate']:g}%\n" in commands
    assert f"-P {FROM_TC['flows'][0]['count']} -t {FROM_TC['duration'].removesuffix(' s')}\n" in commands


@pytest.mark.parametrize("tree", [FROM_NS3, FROM_TC], ids=["ns-3", "tc"])
def test_a_translated_scenario_fills_its_link_and_marks(tree: dict[str, Any]) -> None:
    scenario = ecnlab.scenario(tree)
    assert scenario.warnings == []
    queue = ecnlab.run(scenario).queues
    assert queue["utilisation"][0] > 0.99
    assert queue["marks"][0] > 0
    assert queue["drops"][0] == 0


def _ecnlab_cells() -> Iterator[str]:
    for heading in TRANSLATED_SECTIONS:
        section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
        yield from (row[-1] for row in rows[1:] if not row[0].startswith("---"))


def _known_words() -> set[str]:
    entries = [entry for kind in catalog.KINDS for entry in catalog.entries(kind)]
    parameters = [parameter for entry in entries for parameter in (*entry.parameters, *entry.quirks)]
    choices = {word for parameter in parameters for word in parameter.bounds.split(", ")}
    keys = set(re.findall(r'"(\w+)":\{', json.dumps(json.loads(_core.schema()), separators=(",", ":"))))
    columns = {column.name for table in catalog.tables() for column in table.columns}
    tables = {table.name for table in catalog.tables()}
    elsewhere = {"kernel", "cake", "auto"}
    return {entry.name for entry in entries} | {one.name for one in parameters} | choices | keys | columns | tables | elsewhere


def _named_words(cell: str) -> Iterator[str]:
    for code in re.findall(r"`([^`]+)`", cell):
        if code.startswith(("ecnlab ", "--", "NAME.")) or re.fullmatch(r'"?[\d.].*', code):
            continue
        if code.startswith("result."):
            assert hasattr(ecnlab.storage.results.RecordedSeries, code.rpartition(".")[2]), code
            continue
        yield from re.findall(r"(\w+) =", code)
        yield from re.findall(r'"([a-z][\w-]*)"', code)
        if re.fullmatch(r"[\[\w\]-]+", code):
            yield code.strip("[]")


def test_the_tables_name_what_there_is() -> None:
    known = _known_words()
    words = {word for cell in _ecnlab_cells() for word in _named_words(cell)}
    assert len(words) > 80
    assert words - known == set()


# A row of the table of tc, by its command, as a key of a link.
TRANSLATED_ROWS = {
    "tbf rate 20mbit burst 10kb": {
        "queue": {"discipline": "tbf", "rate": "20 Mbps", "burst": "10 KiB", "queue": {"aqm": "ecn", "limit": 100}}
    },
    "fq_codel flows 1024 quantum 300": {"queue": {"discipline": "fq", "limit": 100, "flows": 1024, "quantum": "300 B"}},
    "ce_threshold 1ms ce_threshold_selector 0x01/0x03": {
        "queue": {"aqm": "codel", "limit": 100, "ce_threshold": "1 ms", "ce_threshold_selector": "ect1"}
    },
    "pie target 15ms tupdate 15ms alpha 2 beta 20": {"queue": {"aqm": "pie", "limit": 100, "alpha": 0.125, "beta": 1.25}},
    "dualpi2 target 15ms coupling_factor 2": {"queue": {"discipline": "dualpi2", "limit": 100, "target": "15 ms", "coupling": 2}},
    "netem delay 20ms 5ms": {"impair": [{"kind": "jitter", "delay": "uniform 0 ms to 10 ms", "order": "overtake"}]},
    "netem loss gemodel 1% 10% 70% 0.1%": {"impair": [{"kind": "burst-loss", "p": 0.01, "r": 0.1, "h": 0.3, "k": 0.999}]},
    "netem reorder 25% delay 10ms": {"impair": [{"kind": "reorder", "rate": 0.75, "delay": "10 ms"}]},
    "netem duplicate 1%": {"impair": [{"kind": "duplicate", "rate": 0.01}]},
}


@pytest.mark.parametrize("command", TRANSLATED_ROWS)
def test_a_row_of_tc_is_a_link_that_runs(command: str) -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{command}` |")]
    ((key, value),) = TRANSLATED_ROWS[command].items()
    part = value if isinstance(value, dict) else value[0]
    fragments = [
        f"`{name} = {json.dumps(one)}`" for name, one in part.items() if name not in ("limit", "kind", "discipline", "aqm", "queue")
    ]
    assert [fragment for fragment in fragments if fragment not in row] == []
    link = {**FROM_TC["link"][0], "rate": "50 Mbps", "reverse": {}, key: value}
    scenario = ecnlab.scenario({**FROM_TC, "duration": "1 s", "measure_from": "0 s", "link": [link]})
    assert scenario.warnings == []
    assert ecnlab.run(scenario).queues["departures"][0] > 0


def test_units_that_mean_other_things_elsewhere_are_errors() -> None:
    for rate in ("20 mbps", "20 kb"):
        with pytest.raises(ecnlab.ScenarioError):
            ecnlab.scenario(FROM_TC, {"link.eth1.rate": rate})
    with pytest.raises(ecnlab.ScenarioError):
        ecnlab.scenario(FROM_TC, {"link.eth1.queue.limit": "150 kb"})
