"""The scenarios of a study that are checked for phase effects: all of its main set-up, each once."""

from __future__ import annotations

from ecnlab.scenarios.load import Scenario
from ecnlab.studies.framework.model import Study
from ecnlab.studies.framework.plan import StudyPlan, all_required_scenarios


def study_scenarios_without_recording(study: Study) -> list[Scenario]:
    """Each scenario that a figure or a claim of the study needs, without its recording."""
    planned = StudyPlan(all_required_scenarios(study.items, study.claims), [1]).planned_scenarios
    return [one.scenario.changed({"record": {}}) if "record" in one.scenario.text else one.scenario for one in planned]
