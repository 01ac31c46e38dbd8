"""The model of a study: items (figures and tables), each with its scenarios and a function that draws it; and claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ecnlab.errors import UnknownName
from ecnlab.stats.estimates import Estimate

if TYPE_CHECKING:
    import polars as pl

    from ecnlab.plot.drawn import DrawnFigure
    from ecnlab.storage.results import Result
    from ecnlab.studies.framework.claims import Claim

NeedKey = tuple[Any, ...]
ResultsByKey = Mapping[NeedKey, "Result"]
ScenarioTree = Mapping[str, Any]
ScenarioRewriting = Callable[[ScenarioTree], ScenarioTree]


@dataclass(frozen=True)
class OpenParameter:
    """A parameter that the paper leaves open, with the values that its text admits.

    Attributes
    ----------
    name : str
        The parameter, e.g. "thresholds".
    paper : str
        The paper's words on it with their place, or "nothing".
    reason : str
        Why these values are admitted and no others.
    values : mapping of str to callable
        Each value as the report shows it, in ascending order, with the function that writes a scenario for it (nested dicts, which it
        leaves as they are).
    main : str
        The value of the main set-up; its function returns the scenario as it is.
    """

    name: str
    paper: str
    reason: str
    values: dict[str, ScenarioRewriting]
    main: str

    def __post_init__(self) -> None:
        if self.main not in self.values or len(self.values) < 2:
            raise ValueError(f"{self.name}: an open parameter has two values or more, and {self.main!r} must be one of {list(self.values)}")


@dataclass(frozen=True)
class InadmissibleSetup:
    """A set-up that the paper's text does not admit, or that contradicts evidence. Its verdicts are reported and do not count.

    `evidence` has the arguments for and against it, with sources.
    """

    name: str
    evidence: str
    rewriting: ScenarioRewriting


@dataclass(frozen=True, eq=False)
class RequiredScenario:
    """A scenario (as nested dicts) that an item or a claim requires: over the study's seeds, or over the first one only.

    They are compared and hashed by identity; identical scenarios run once for all items and claims that require them.
    """

    scenario: ScenarioTree
    every_seed: bool = True


@dataclass(frozen=True)
class ReportTable:
    """A table of the report with formatted cells."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class DrawnItemContent:
    """A drawn item: its figure, its tables, and the numbers behind them, which are saved as CSV."""

    figure: DrawnFigure | None = None
    tables: Sequence[ReportTable] = ()
    data: pl.DataFrame | None = None


@dataclass(frozen=True)
class StudyItem:
    """One figure or table of the paper. `number` is the paper's ("5.29"), `draw` gets the results under the keys of `needs`.

    `part` is the heading under which the report has it, e.g. the chapter; items of one part stand together.
    """

    number: str
    title: str
    caption: str
    needs: Mapping[NeedKey, RequiredScenario]
    draw: Callable[[ResultsByKey], DrawnItemContent]
    kind: str = "Figure"
    part: str = ""

    @property
    def heading(self) -> str:
        """The item's name in the paper: "Figure 5.29"."""
        return f"{self.kind} {self.number}"

    @property
    def file_stem(self) -> str:
        """The base name of its files: "figure-5.29"."""
        return self.heading.lower().replace(" ", "-")


@dataclass(frozen=True)
class Study:
    """A study: its items in the order of the paper, and the paper's claims.

    `demo` are the numbers of the few items that introduce the study within seconds.
    `open_parameters` are those that the paper leaves open: a claim is decided in every admissible set-up (`setups.py`). `alternatives` are
    reported beside them. `networks` are drawn into the report, each from the scenario of a need.
    `on_kernels` rewrites its scenarios for backends with real kernels as hosts: a kernel gets the settings that are nearest to the
    hosts of the paper. Without it the scenarios are unchanged.
    `full_seed_count` is how many seeds a full run has, fewer for a study of long runs.
    The page of a study, STUDY.md in its folder, has its question, its results, and the choices that the paper leaves open.
    """

    name: str
    title: str
    source: str
    summary: str
    items: Sequence[StudyItem] = field(repr=False)
    claims: Sequence[Claim] = field(default=(), repr=False)
    demo: Sequence[str] = field(default=(), repr=False)
    on_kernels: ScenarioRewriting | None = field(default=None, repr=False)
    open_parameters: Sequence[OpenParameter] = field(default=(), repr=False)
    alternatives: Sequence[InadmissibleSetup] = field(default=(), repr=False)
    networks: Mapping[str, RequiredScenario] = field(default_factory=dict, repr=False)
    full_seed_count: int = 20

    def choose_items(self, numbers: Sequence[str] = ()) -> Sequence[StudyItem]:
        """The items of these numbers ("5.29", "table 5.1") in the paper's order; all if none is named. Raises UnknownName."""
        chosen = {self.find_item(number).heading for number in numbers}
        return [item for item in self.items if not numbers or item.heading in chosen]

    def choose_claims(self, ids: Sequence[str] = ()) -> Sequence[Claim]:
        """The claims of these names ("A1") in the study's order; all if none is named. Raises UnknownName."""
        known = {claim.id.lower(): claim for claim in self.claims}
        for id_ in ids:
            if id_.lower() not in known:
                raise UnknownName(f"claim of the study {self.name}", id_, [claim.id for claim in self.claims])
        wanted = {id_.lower() for id_ in ids}
        return [claim for claim in self.claims if not ids or claim.id.lower() in wanted]

    def find_item(self, number: str) -> StudyItem:
        """The item with that heading or number, a figure before a table. Raises UnknownName."""
        wanted = number.lower().strip()
        by_name = {item.number.lower(): item for item in sorted(self.items, key=lambda item: item.kind == "Figure")}
        by_name |= {item.heading.lower(): item for item in self.items}
        if wanted in by_name:
            return by_name[wanted]
        raise UnknownName(f"figure of the study {self.name}", number, [item.heading for item in self.items])


def numbered_needs(needs: Iterable[RequiredScenario]) -> dict[NeedKey, RequiredScenario]:
    """The needs of an item whose drawing asks for the result of a need, each once, numbered."""
    return {(number,): need for number, need in enumerate(dict.fromkeys(needs))}


def estimates_frame(keys: Sequence[str], quantity: str, rows: Sequence[tuple[NeedKey, Estimate]]) -> pl.DataFrame:
    """Estimates as a frame: the keys of each row under the names `keys`, then the mean as `quantity`, sd, half_width and n."""
    import polars as pl

    columns = [*keys, quantity, "sd", "half_width", "n"]
    return pl.DataFrame([(*key, e.mean, e.sd, e.half_width, e.n) for key, e in rows], schema=columns, orient="row")


def format_with_interval(value: Estimate, digits: int = 4) -> str:
    """A number and, where there is one, its interval as text, e.g. "9.8497 ± 0.0123"."""
    mean = f"{value.mean:.{digits}f}"
    return mean if math.isnan(value.half_width) else f"{mean} ± {value.half_width:.{digits}f}"
