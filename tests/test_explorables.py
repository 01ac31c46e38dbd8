"""The explorables: pictures and tables are fresh, and their controls exist in the scenarios."""

import pytest

import explorables


@pytest.mark.parametrize("name", explorables.PAGES)
def test_picture_and_table_of_an_explorable_are_fresh(name: str) -> None:
    for path, text in explorables.fresh_files([name]).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale; run python tools/explorables.py"


def test_each_explorable_of_the_page_has_a_page_of_the_site() -> None:
    assert set(explorables.definitions()) == set(explorables.PAGES)
    for name in explorables.PAGES:
        page = (explorables.PAGES_FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert f"](figures/{name}.svg)" in page
        assert f"\n<!-- explorable {name} -->\n" in page


@pytest.mark.parametrize("name", explorables.PAGES)
def test_an_explorable_has_two_controls_of_its_scenario(name: str) -> None:
    definition = explorables.definitions()[name]
    sides = explorables.scenarios(definition)
    assert len(definition["controls"]) == 2
    for control in definition["controls"]:
        value = sides[control.get("side", "A")].resolved
        for key in control["id"].split("."):
            value = value[int(key)] if key.isdigit() else value[key]
        assert value is not None


def test_a_page_without_the_place_of_its_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="results of red-thresholds"):
        explorables.with_table("# Page", "red-thresholds", "| a |")


def test_a_side_without_the_row_of_a_measure_has_a_dash() -> None:
    page = explorables.PAGES["low-latency"]
    rows = explorables.PAGES_FOLDER.joinpath("low-latency.md").read_text(encoding="utf-8")
    band = next(measure for measure in page.measures if measure.label.startswith("band L"))
    assert f"| {band.label} | " in rows
    assert next(line for line in rows.split("\n") if line.startswith(f"| {band.label}")).endswith("| – |")
