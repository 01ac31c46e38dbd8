"""Writes the results of a full run into the page of a study: `python -m ecnlab.studies.framework.update_page NAME OUT STORE`.

The claims come from the claims.json of a full run in the folder OUT; what its runs took, which the store has, goes into costs.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ecnlab import studies
from ecnlab.studies.framework import cost, page, runner


def update_study_page(arguments: Sequence[str]) -> int:
    """Write the results and the cost of a full run into the page of a study; returns the exit code."""
    if len(arguments) != 3:
        print(
            "python -m ecnlab.studies.framework.update_page NAME OUT STORE: a study, and the report and the store of a full run of it",
            file=sys.stderr,
        )
        return 2
    name, out, store = arguments
    study = studies.find_study(name)
    full_report = json.loads((Path(out) / "claims.json").read_text(encoding="utf-8"))
    is_full = full_report["seeds"] == list(runner.seeds_of_full_run(study)) and full_report["all_setups"]
    if not is_full or [claim["id"] for claim in full_report["claims"]] != [claim.id for claim in study.claims]:
        print(f"{out}: is not a full run; fix: ecnlab study run {name} --out {out}", file=sys.stderr)
        return 2
    path = page.page_path(name)
    text = page.page_with_claims(path.read_text(encoding="utf-8"), full_report["claims"])
    path.write_text(page.page_with_judgements(text, study), encoding="utf-8")
    results, _ = runner.select_from_study(study, full_report["seeds"]).plan.run_missing(Path(store), progress=True)
    cost.write_mean_run_cpu_time(study, results.values())
    return 0


if __name__ == "__main__":
    sys.exit(update_study_page(sys.argv[1:]))
