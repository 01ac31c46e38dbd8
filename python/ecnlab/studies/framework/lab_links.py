"""Links that open a run of a study's figure in the laboratory, for reports and for the pages of the site."""

from __future__ import annotations

import json

from ecnlab.browser.links import scenario_fragment
from ecnlab.errors import EcnlabError
from ecnlab.scenarios.load import scenario
from ecnlab.studies.framework.model import StudyItem


def link_of_item(item: StudyItem, page: str) -> str | None:
    """The address that opens a run of an item in the laboratory at `page`; None if a link holds none of its scenarios."""
    text = scenario_of_item(item)
    return None if text is None else f"{page}#{scenario_fragment(text)}"


def scenario_of_item(item: StudyItem) -> str | None:
    """The middle one of an item's scenarios as JSON; None if it has none, or one that needs a file."""
    needs = list(item.needs.values())
    if not needs:
        return None
    try:
        text = json.dumps(needs[len(needs) // 2].scenario, separators=(",", ":"), ensure_ascii=False)
        files = scenario(json.loads(text)).file_names
    except (TypeError, EcnlabError):
        return None
    return None if files else text
