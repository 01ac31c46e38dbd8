import json
import math
import tomllib

import pytest

import ecnlab as lab
from ecnlab.analysis.stats import Estimate
from ecnlab.cli import output
from helpers import SMALL


def test_what_is_no_number_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"a": [1.5, math.nan], "b": {"c": math.inf}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": {"c": None}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(9.84971, 0.01, 0.0123, 5), "9.850 ± 0.012"),
        (Estimate(12310.4, 200.0, 251.3, 5), "12310 ± 251"),
        (Estimate(3.0, 0.0, 0.0, 5), "3.0000 ± 0.0000"),
        (Estimate(0.0, 0.0, 0.0, 5), "0 ± 0"),
        (Estimate(0.75, math.nan, math.nan, 1), "0.75000"),
        (Estimate(math.nan, math.nan, math.nan, 5), "-"),
    ],
)
def test_a_number_shows_the_digits_that_its_interval_leaves_meaning_to(value: Estimate, text: str) -> None:
    assert output.number(value) == text


def _quantities(app: object, loss: float) -> set[str]:
    tree = tomllib.loads(SMALL)
    tree["flows"][0]["app"] = app
    tree["link"][0]["loss"] = loss
    result = lab.run(lab.scenario(tree), seeds=[1])
    return {str(cell) for table in output.result_tables(result) for cell in table.columns[0].cells}


def test_transactions_and_losses_on_a_path_are_shown_where_there_are_any() -> None:
    extra = {"transactions", "transaction mean", "transaction p95", "drops lost"}
    assert not extra & _quantities("bulk", 0.0)
    assert extra <= _quantities({"kind": "transactions", "bytes": "5 kB", "gap": "50 ms"}, 0.02)
