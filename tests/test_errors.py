import pickle

import pytest

from ecnlab.errors import EcnlabError, Interrupted, Problem, ScenarioError, UnknownName


def test_a_scenario_error_shows_every_problem_with_its_place() -> None:
    error = ScenarioError([Problem("link.b.rate", 7, "0 is too small"), Problem("flows", None, "none given")], "x.toml")
    assert str(error) == "x.toml:7: link.b.rate: 0 is too small\nx.toml: flows: none given"


def test_a_scenario_without_a_file_shows_its_line_alone() -> None:
    assert str(ScenarioError([Problem("name", 3, "missing")])) == "3: name: missing"


def test_an_unknown_name_suggests_the_nearest() -> None:
    assert "did you mean 'aecn'?" in str(UnknownName("study", "aecm", ["aecn", "rfc2884"]))


@pytest.mark.parametrize(("name", "known"), [("nope", "pie"), ("Z1", "F1"), ("bottleneck", "telnet")])
def test_a_name_that_is_not_alike_is_not_suggested(name: str, known: str) -> None:
    assert f"fix: use one of {known}" in str(UnknownName("name", name, [known]))
    assert f"did you mean {known!r}?" in str(UnknownName("name", known.upper(), [known]))


def test_an_unknown_name_like_no_other_lists_what_is_known() -> None:
    assert "fix: use one of aecn, rfc2884" in str(UnknownName("study", "zzz", ["rfc2884", "aecn"]))


def test_known_names_are_listed_in_the_order_of_their_numbers() -> None:
    assert "fix: use one of Figure 4.2, Figure 4.10" in str(UnknownName("figure", "zzz", ["Figure 4.10", "Figure 4.2"]))


def test_of_very_many_known_names_only_the_first_are_listed() -> None:
    text = str(UnknownName("group", "zzz", [f"g{number:04}" for number in range(4000)]))
    assert "g0000, g0001" in text
    assert text.endswith("and 3800 more")


@pytest.mark.parametrize(
    "error",
    [
        ScenarioError([Problem("link.b.rate", 7, "0 is too small")], "x.toml"),
        UnknownName("study", "aecm", ["aecn"]),
        Interrupted("interrupted: 0 of 2 runs had finished"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_out_of_another_process_as_it_was_raised(error: EcnlabError) -> None:
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent), vars(sent)) == (type(error), str(error), vars(error))


def test_every_error_is_an_ecnlab_error() -> None:
    import ecnlab

    raised = [getattr(ecnlab, name) for name in ecnlab.__all__ if name.endswith(("Error", "Name", "Interrupted", "Fault", "Failed"))]
    assert len(raised) == 12
    assert all(issubclass(error, EcnlabError) for error in raised)


def test_a_list_of_names_is_not_cut_where_one_can_read_it() -> None:
    names = [f"quantity_{at}" for at in range(60)]
    assert all(name in str(UnknownName("thing", "zzz", names)) for name in names)


def test_the_old_name_of_a_quantity_leads_to_the_new_one() -> None:
    assert (
        str(UnknownName("quantity", "unseen", ["acked_unseen_bytes"]))
        == "'unseen' is now 'acked_unseen_bytes'; fix: write 'acked_unseen_bytes'"
    )
    assert "is now 'min_max_goodput_ratio'" in str(UnknownName("quantity", "max_min_gap", ["jain_goodput", "min_max_goodput_ratio"]))
    assert "is now 'topology'" in str(UnknownName("kind", "shape", ["app", "topology"]))
    assert "unknown quantity 'unseen'" in str(UnknownName("quantity", "unseen", ["sent"]))
