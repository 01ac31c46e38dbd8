"""Comparison with formulas: a check is a scenario, its quantity, and the value of a formula or of ns-2; see docs/trust/formulas.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ecnlab.execution.runner import Request, run_all
from ecnlab.execution.workers import Workers
from ecnlab.scenarios.load import scenario
from ecnlab.scenarios.networks import Tree
from ecnlab.stats.estimates import Estimate, mean_with_interval
from ecnlab.storage.results import Result
from ecnlab.storage.store import Store
from ecnlab.validation.samples import CONFIDENCE, SampleStatistics, allowed_difference, sample_over_seeds

AGREES, FAILS = "agrees", "fails"


@dataclass(frozen=True)
class FormulaCheck:
    """A formula in one setting.

    Attributes
    ----------
    formula, setting, unit: their names in the table
    predicted: the formula's value
    slack: the largest difference that the formula's limits explain; None if the check compares with ns-2 and only shows the formula
    tree, quantity, seeds: the scenario, the function of its result that gives one value per seed, and the number of seeds
    ns2: ns-2's measurement
    quick: whether it belongs to the quick set
    """

    formula: str
    setting: str
    unit: str
    predicted: float
    slack: float | None
    tree: Tree
    quantity: Callable[[Result], list[float]]
    seeds: int = 1
    ns2: SampleStatistics | None = None
    quick: bool = False


@dataclass(frozen=True)
class FormulaOutcome:
    """Outcome of a check. The difference is from ns-2's value where ns-2 is the reference, else from the formula's."""

    check: FormulaCheck
    measured: Estimate
    difference: float
    allowed: float
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts of plain values."""
        check, ns2 = self.check, self.check.ns2
        return {
            "formula": check.formula,
            "setting": check.setting,
            "unit": check.unit,
            "predicted": check.predicted,
            "ns2": None if ns2 is None else {"mean": ns2.mean, "sd": ns2.sd, "seeds": ns2.n},
            "measured": {"mean": self.measured.mean, "half_width": self.measured.half_width, "seeds": self.measured.n},
            "judge": "formula" if check.slack is not None else "ns-2",
            "difference": self.difference,
            "allowed": self.allowed,
            "verdict": self.verdict,
        }


def run_formula_checks(
    checks: Sequence[FormulaCheck], *, store: Store | None = None, progress: bool = False, workers: Workers | None = None
) -> list[FormulaOutcome]:
    """Run every scenario once and compare. Raises ResultsError (store), ClusterError, RunsFailed, Interrupted (Ctrl-C)."""
    scenarios = [scenario(check.tree) for check in checks]
    keys = [(chosen.hash, check.seeds) for check, chosen in zip(checks, scenarios, strict=True)]
    needed = dict(zip(keys, scenarios, strict=True))
    # Longest scenarios first, so that no core idles at the end.
    order = sorted(needed, key=lambda key: needed[key].duration_s, reverse=True)
    requests = [Request(needed[key], range(1, key[1] + 1)) for key in order]
    results = run_all(requests, store=store, progress=progress, workers=workers).results_or_raise()
    found = dict(zip(order, results, strict=True))
    return [judge_formula_check(check, check.quantity(found[key])) for check, key in zip(checks, keys, strict=True)]


def judge_formula_check(check: FormulaCheck, values: Sequence[float]) -> FormulaOutcome:
    """The verdict on a check from the measured values, one per seed.

    A formula allows its slack and the half width of the mean's 99 % interval; the slack holds for ns-2's value too, where both
    are given. With ns-2 as the reference, its mean must be equal to ours in the sense of `samples`.
    """
    measured, ours = mean_with_interval(values), sample_over_seeds(values)
    if check.slack is None:
        if check.ns2 is None:
            raise ValueError(f"{check.formula}, {check.setting}: no expected value")
        difference, allowed = ours.mean - check.ns2.mean, allowed_difference(check.ns2, ours)
        holds = abs(difference) <= allowed
    else:
        allowed = check.slack + _confidence_half_width(values)
        difference = ours.mean - check.predicted
        holds = abs(difference) <= allowed and (check.ns2 is None or abs(ours.mean - check.ns2.mean) <= allowed)
    return FormulaOutcome(check, measured, difference, allowed, AGREES if holds else FAILS)


def _confidence_half_width(values: Sequence[float]) -> float:
    return mean_with_interval(values, CONFIDENCE).half_width if len(values) > 1 else 0.0
