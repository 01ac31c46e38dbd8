"""Rewritings of scenarios, of which set-ups are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from ecnlab.scenarios.networks import Tree
from ecnlab.studies.framework.model import ScenarioRewriting, ScenarioTree


def leave_scenario_unchanged(tree: ScenarioTree) -> ScenarioTree:
    """The scenario of the main set-up."""
    return tree


def rewriting_of_each(section: str, change: Callable[[Tree], Tree]) -> ScenarioRewriting:
    """Change each link (section "link") or each group of flows ("flows")."""
    return lambda tree: {**tree, section: [change(part) for part in tree[section]]}


def with_settings(part: ScenarioTree, key: str, settings: ScenarioTree) -> Tree:
    """A part of a scenario, or all of it, with these settings in its table `key`."""
    return {**part, key: {**part[key], **settings}}


def apply_rewritings(rewritings: Iterable[ScenarioRewriting], tree: ScenarioTree) -> ScenarioTree:
    """A scenario rewritten by several functions in order."""
    return reduce(lambda rewritten, rewriting: rewriting(rewritten), rewritings, tree)
