from pathlib import Path

import pytest

import ecnlab
from helpers import EXAMPLES


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_example_runs_as_it_is(path: Path) -> None:
    result = ecnlab.run(ecnlab.load(path), 1)
    busiest = max(result.estimate("utilisation", queue=queue).mean for queue in result.queue_names)
    shaped_share = 0.14  # of RFC 2884's link of 10 Mbps, which its router shapes to 1.5 Mbps
    assert busiest > (shaped_share if path.stem == "rfc2884" else 0.5)
    assert result.estimate("goodput_bps").mean > (0.5e6 if path.stem == "phase" else 1e6)


def test_every_scheme_of_the_thesis_has_its_example() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} >= {"red", "ecn", "ecnm", "aecn"}


def test_the_chapter_5_study_and_the_example_are_one_scenario() -> None:
    from ecnlab.studies.papers.aecn import schemes

    for name in ("RED", "ECN", "ECNM", "AECN"):
        example = ecnlab.load(EXAMPLES / f"{name.lower()}.toml", {"name": "x"})
        study = ecnlab.scenario(schemes.scheme_scenario(name, 60, record={"queue": "10 ms", "rates": True}), {"name": "x"})
        assert example.hash == study.hash
