import json
import tomllib
from collections.abc import Callable

import click
import pytest

import ecnlab as lab
from ecnlab import _core, studies
from ecnlab.cli import catalog
from helpers import Outcome
from own_aqms import RED_BY_HAND

Command = Callable[..., Outcome]
REGISTRY = json.loads(_core.registry())
SECTION_NAMES = [section | {"name": section["name"] or "scenario"} for section in REGISTRY.pop("section")]


@pytest.mark.parametrize("kind", ["aqm", "discipline", "tcp", "variant", "app", "impairment"])
def test_list_names_everything_in_the_registry(command: Command, kind: str) -> None:
    done = command("list", kind)
    assert done.code == 0
    aliases = [entry["alias"] for entry in REGISTRY[kind] if entry.get("alias")]
    assert [line.split()[0] for line in done.out.splitlines()] == [entry["name"] for entry in REGISTRY[kind]] + aliases


def test_an_alias_is_listed_shown_completed_and_allowed_as_the_profile_that_it_stands_for(command: Command) -> None:
    assert "linux          alias of linux-6.1" in command("list", "tcp").out.splitlines()
    assert command("show", "linux").out == command("show", "linux-6.1").out
    assert "alias: linux" in command("show", "linux").out
    context, parameter = click.Context(catalog.show_entry), catalog.show_entry.params[0]
    assert {"linux", "linux-6.1"} <= {item.value for item in catalog.complete_entry_name(context, parameter, "linux")}
    tcp = json.loads(command("schema").out)["properties"]["flows"]["items"]["properties"]["tcp"]
    assert {"linux", "linux-6.1"} <= set(tcp["properties"]["profile"]["enum"])


def test_list_without_a_kind_lists_all(command: Command) -> None:
    lines = command("list").out.splitlines()
    heads = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert heads == ["section", *REGISTRY, "study"]
    names = {line.split()[0] for line in lines if line.startswith("  ")}
    entries = [entry for kind in (*REGISTRY.values(), SECTION_NAMES) for entry in kind]
    assert names == {name for entry in entries for name in (entry["name"], entry.get("alias")) if name} | set(studies.TITLES)


def test_a_shell_completes_measures() -> None:
    context, parameter = click.Context(catalog.show_entry), catalog.show_entry.params[0]
    found = [item.value for item in catalog.complete_measure(context, parameter, "goodput")]
    assert found == ["goodput_bps", "goodput_first_bps"]


def test_a_shell_completes_the_names_and_kinds_of_queues() -> None:
    context, parameter = click.Context(catalog.show_entry), catalog.show_entry.params[0]
    names = {item.value for item in catalog.complete_entry_name(context, parameter, "")}
    assert {entry["name"] for kind in ("aqm", "discipline") for entry in REGISTRY[kind]} <= names
    assert [item.value for item in catalog.complete_kind(context, parameter, "disc")] == ["discipline"]


def test_the_title_of_a_study_is_the_studys_own() -> None:
    assert {name: studies.find_study(name).title for name in studies.TITLES} == studies.TITLES


def test_the_aqms_of_the_thesis_are_registered() -> None:
    assert {"droptail", "red", "ecn", "ecnm", "mark-front", "aecn"} <= {entry["name"] for entry in REGISTRY["aqm"]}


def test_list_study_names_aecn(command: Command) -> None:
    assert command("list", "study").out.startswith("aecn ")


@pytest.mark.parametrize(
    "entry", [entry for kind in (*REGISTRY.values(), SECTION_NAMES) for entry in kind], ids=lambda entry: entry["name"]
)
def test_show_names_every_parameter(command: Command, entry: dict) -> None:
    done = command("show", entry["name"])
    assert done.code == 0
    for parameter in entry["parameters"]:
        assert parameter["name"] in done.out


@pytest.mark.parametrize("profile", REGISTRY["tcp"], ids=lambda entry: entry["name"])
def test_show_lists_few_parameters_of_a_profile_its_checked_combinations_and_its_quirks_apart(command: Command, profile: dict) -> None:
    assert len(profile["parameters"]) <= 40
    shown = command("show", profile["name"]).out
    assert "checked combinations" in shown
    assert f"ecnlab show --quirks {profile['name']}" in shown
    quirks = command("show", "--quirks", profile["name"])
    assert quirks.code == 0
    for quirk in profile["quirks"]:
        assert quirk["name"] in quirks.out
        assert quirk["source"]
    assert "max_rwnd" not in quirks.out


@pytest.mark.parametrize("entry", REGISTRY["aqm"] + REGISTRY["discipline"], ids=lambda entry: entry["name"])
def test_show_of_a_queue_has_its_gauges_and_a_line_that_a_scenario_can_have(command: Command, entry: dict) -> None:
    shown = command("show", entry["name"]).out
    assert all(gauge["name"] in shown and gauge["doc"] for gauge in entry["gauges"])
    example = next(line.removeprefix("example: ") for line in shown.splitlines() if line.startswith("example: "))
    tree = {
        "name": "example",
        "duration": "1 s",
        "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms", **tomllib.loads(example)}],
        "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "rfc"}}],
    }
    queue = lab.scenario(tree).resolved["link"][0]["queue"]
    assert entry["name"] in (queue.get("aqm"), queue.get("discipline", "fifo"))


def test_show_says_when_a_parameter_is_read_if_not_always(command: Command) -> None:
    lines = command("show", "linux").out
    assert "Only with" in lines


@pytest.mark.parametrize("name", ["linux", "ns2-2001", "cubic"])
def test_what_a_profile_or_a_variant_sets_is_a_table_of_values_that_fits_120_columns(command: Command, name: str) -> None:
    lines = command("show", name).out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("┃"))
    assert lines[head].replace("┃", " ").split() == ["name", "value", "meaning", "source"]
    end = next(number for number, line in enumerate(lines) if line.startswith("└"))
    assert max(len(line) for line in lines[head : end + 1]) <= 120


def test_every_parameter_says_what_it_is_and_where_it_comes_from() -> None:
    for entry in (entry for kind in REGISTRY.values() for entry in kind):
        assert entry["title"]
        assert entry["summary"]
        assert all(parameter["doc"] for parameter in entry["parameters"]), entry["name"]


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [(("show", "aecnn"), "aecn"), (("list", "aqms"), "aqm"), (("study", "show", "aecm"), "aecn"), (("study", "run", "aecm"), "aecn")],
)
def test_an_unknown_name_suggests_the_nearest(command: Command, arguments: tuple[str, ...], nearest: str) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert f"did you mean '{nearest}'?" in done.err


def test_an_empty_name_shows_nothing(command: Command) -> None:
    done = command("show", "")
    assert (done.code, done.out) == (2, "")
    assert "section ''; fix: use one of " in done.err


def test_the_schema_is_json_and_knows_the_sections_of_a_scenario(command: Command) -> None:
    schema = json.loads(command("schema").out)
    assert {"name", "duration", "measure_from", "link", "flows", "record"} <= set(schema["properties"])


def test_show_prints_a_user_aqm_as_a_builtin_one(command: Command) -> None:
    shown = command("show", RED_BY_HAND)
    assert shown.code == 0
    for told in ("RedByHand (aqm): RED, written by hand", "min_th", "0 .. 1", "Weight of the newest queue length"):
        assert told in shown.out


def test_list_as_json_has_name_and_title_by_kind(command: Command) -> None:
    everything = json.loads(command("list", "--json").out)
    assert list(everything) == ["section", *REGISTRY, "study"]
    for kind, entries in REGISTRY.items():
        assert everything[kind].items() >= {entry["name"]: entry["title"] for entry in entries}.items()
    assert json.loads(command("list", "aqm", "--json").out) == {"aqm": everything["aqm"]}
    assert command("list", "aqms", "--json").code == 2


def test_show_as_json_has_every_parameter_as_it_is_declared(command: Command) -> None:
    (shown,) = json.loads(command("show", "red", "--json").out)
    (declared,) = (entry for entry in REGISTRY["aqm"] if entry["name"] == "red")
    assert (shown["kind"], shown["name"], shown["title"]) == ("aqm", "red", declared["title"])
    keys = ("name", "kind", "unit", "default", "bounds", "doc", "source")
    assert [[one[key] for key in keys] for one in shown["parameters"]] == [[one[key] for key in keys] for one in declared["parameters"]]
    assert [gauge["name"] for gauge in shown["gauges"]] == [gauge["name"] for gauge in declared["gauges"]]
    (study,) = json.loads(command("show", "aecn", "--json").out)[1:]
    assert study == {"kind": "study", "name": "aecn", "title": studies.TITLES["aecn"]}
