"""The scenario of a shell from options: rate, delay and queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ecnlab.errors import Problem, ScenarioError, UsageError
from ecnlab.scenarios import catalog
from ecnlab.scenarios.load import Scenario
from ecnlab.scenarios.load import scenario as scenario_from_tree

# Command options by the link's keys.
_OPTION_BY_KEY = {"rate": "--rate", "reverse.rate": "--up-rate", "delay": "--delay", "queue.limit": "--limit", "queue.aqm": "--aqm"}

LINK_NAME = "path"
DEFAULT_LIMIT = "250"
DEFAULT_AQM = "droptail"


@dataclass(frozen=True)
class ShellLink:
    """A link between server and client, with its reverse direction.

    Attributes
    ----------
    rate, up_rate : str
        Rates towards the client, and of the reverse direction; None for the same rate.
    delay : str
        One-way delay of each direction.
    aqm : str
        The name of an AQM, or "FILE:CLASS" for a user AQM.
    queue : Mapping
        Further parameters of the queues, the same in both directions; `limit` is one of them.
    """

    rate: str
    delay: str = "0 ms"
    up_rate: str | None = None
    aqm: str = DEFAULT_AQM
    queue: Mapping[str, str] = field(default_factory=dict)

    def scenario(self, overrides: Mapping[str, str]) -> Scenario:
        """The link as a scenario with overrides. Raises ScenarioError, UsageError."""
        user_aqms, aqm = _user_aqms_and_aqm_name(self.aqm)
        queue = {"aqm": aqm, "limit": DEFAULT_LIMIT}
        keys = {**queue, **self.queue}
        both = {f"link.{LINK_NAME}{way}.queue.{key}": value for way in ("", ".reverse") for key, value in keys.items()}
        rates = {} if self.up_rate is None else {f"link.{LINK_NAME}.reverse.rate": self.up_rate}
        link = {"name": LINK_NAME, "from": "outside", "to": "inside", "rate": self.rate, "delay": self.delay}
        rate = self.rate if self.up_rate is None else f"{self.rate}/{self.up_rate}"
        tree: dict[str, Any] = {
            "name": f"{rate} {self.delay} {aqm}",  # shown in the prompt
            "duration": "1 s",
            "link": [link | {"queue": dict(queue), "reverse": {"queue": dict(queue)}}],
            "flows": [{"name": "programs", "from": "outside", "to": "inside", "tcp": {"profile": "linux"}}],
        }
        try:
            return scenario_from_tree(tree, {**both, **rates, **overrides}, aqms=user_aqms)
        except ScenarioError as error:
            raise ScenarioError(_problems_named_by_option(error.problems, overrides)) from None


def _user_aqms_and_aqm_name(aqm: str) -> tuple[Sequence[str], str]:
    """The user AQMs, and the name of the AQM of the link."""
    if ":" not in aqm:
        known = [entry.name for entry in catalog.entries("aqm")]
        if aqm not in known:
            raise UsageError(f"--aqm {aqm!r}: unknown AQM; fix: use one of {', '.join(known)}, or FILE:CLASS for your own")
        return (), aqm
    from ecnlab.aqm import plugins

    entries = plugins.aqm_classes_and_registry_entries([aqm])[1]
    if not entries:
        raise UsageError(f"--aqm {aqm!r}: defines no AQM")
    return [aqm], entries[0].name


def _problems_named_by_option(problems: Iterable[Problem], overrides: Mapping[str, str]) -> list[Problem]:
    """Problems with option names as places; a problem of both directions is reported once, and those of `overrides` keep their place."""
    found: dict[Problem, None] = {}
    for problem in problems:
        key = problem.place.removeprefix(f"link.{LINK_NAME}.")
        other_way = key.removeprefix("reverse.")
        queue_key = other_way.removeprefix("queue.")
        option = _OPTION_BY_KEY.get(key) or _OPTION_BY_KEY.get(other_way) or (f"--queue {queue_key}" if queue_key != other_way else None)
        place = problem.place if problem.place in overrides or option is None else option
        found[replace(problem, place=place)] = None
    return list(found)
