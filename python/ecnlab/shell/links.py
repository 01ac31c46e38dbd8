"""The scenario of a shell that is given by its rate, its delay and its queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ecnlab import scenarios
from ecnlab.errors import UsageError
from ecnlab.scenarios import Scenario

LINK = "path"
LIMIT = "250"
AQM = "droptail"


@dataclass(frozen=True)
class Path:
    """A link between outside and inside, and the way back.

    Attributes
    ----------
    rate, up_rate : str
        Of the link towards the inside, and of the way back; None is the same.
    delay : str
        One way, of both directions each.
    aqm : str
        The name of an AQM, or "FILE:CLASS", one of the user's own.
    queue : Mapping
        Further parameters of the queues, the same in both directions; `limit` is one of them.
    """

    rate: str
    delay: str = "0 ms"
    up_rate: str | None = None
    aqm: str = AQM
    queue: Mapping[str, str] = field(default_factory=dict)

    def scenario(self, overrides: Mapping[str, str]) -> Scenario:
        """It as a scenario, with overrides written over it. Raises ScenarioError, UsageError."""
        brought, aqm = _named(self.aqm)
        queue = {"aqm": aqm, "limit": LIMIT}
        keys = {**queue, **self.queue}
        both = {f"link.{LINK}{way}.queue.{key}": value for way in ("", ".reverse") for key, value in keys.items()}
        rates = {} if self.up_rate is None else {f"link.{LINK}.reverse.rate": self.up_rate}
        link = {"name": LINK, "from": "outside", "to": "inside", "rate": self.rate, "delay": self.delay}
        tree: dict[str, Any] = {
            "name": self.title(aqm),
            "duration": "1 s",
            "link": [link | {"queue": dict(queue), "reverse": {"queue": dict(queue)}}],
            "flows": [{"name": "programs", "from": "outside", "to": "inside", "tcp": {"profile": "linux"}}],
        }
        return scenarios.scenario(tree, {**both, **rates, **overrides}, aqms=brought)

    def title(self, aqm: str) -> str:
        """What it is in a few words, as a prompt shows it."""
        rate = self.rate if self.up_rate is None else f"{self.rate}/{self.up_rate}"
        return f"{rate} {self.delay} {aqm}"


def _named(aqm: str) -> tuple[Sequence[str], str]:
    """The AQMs that the user brings, and the name of the one that is meant."""
    if ":" not in aqm:
        return (), aqm
    from ecnlab import brought

    entries = brought.entries_of([aqm])[1]
    if not entries:
        raise UsageError(f"{aqm!r}: brings no AQM")
    return [aqm], entries[0].name
