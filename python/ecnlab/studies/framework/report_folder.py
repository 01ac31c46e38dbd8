"""The folder of a study's report: it holds that report and nothing else, so that no file is overwritten and figures of two runs do not mix.

OUT/report.html              one file with the claims, all figures and tables
OUT/claims.csv, claims.json  each claim with its verdict and the numbers that led to it
OUT/figures/                 each figure as SVG, PDF and PNG, and the numbers behind it as CSV
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from ecnlab.errors import ResultsError
from ecnlab.storage import atomic
from ecnlab.studies.framework.model import Study

FIGURES_FOLDER = "figures"


def prepare_report_folder(out: Path, study: Study) -> None:
    """Make the folder, before hours of runs go toward it. Raises ResultsError if that cannot be, or if something else is in it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned_partials(out)
        strange = (
            []
            if _is_report_of(out, study)
            else sorted(entry.name for entry in out.iterdir() if not _is_left_by_interrupted_drawing(entry, study))
        )
    except OSError as error:
        raise ResultsError(f"cannot write to {out}: {error.strerror or error}") from None
    if strange:
        raise ResultsError(
            f"{out} is not empty ({strange[0]}) and is not a report of the study {study.name}; fix: choose a new or an empty folder"
        )


def write_report_files(out: Path, study: Study, files: Mapping[str, str], shown: Collection[str]) -> None:
    """Put files into the folder, each whole or not at all, and take out figures of the study that are not `shown` (stems).

    Raises ResultsError if the disk refuses.
    """
    try:
        for path in _figure_files_of_study(out / FIGURES_FOLDER, study):
            if path.stem not in shown:
                path.unlink()
        for name, text in files.items():
            atomic.write_atomically(out / name, text.encode())
    except OSError as error:
        raise ResultsError(f"cannot write the report in {out}: {error.strerror or error}") from None


def _is_report_of(out: Path, study: Study) -> bool:
    """Whether a report of the study is there."""
    try:
        told = json.loads(atomic.read_regular_file(out / "claims.json"))
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(told, dict) and told.get("study") == study.name


def _is_left_by_interrupted_drawing(entry: Path, study: Study) -> bool:
    """Whether it is what a run of the study leaves that was stopped while it drew."""
    return entry.name.endswith(".partial") or (
        entry.name == FIGURES_FOLDER and set(entry.iterdir()) == set(_figure_files_of_study(entry, study))
    )


def _figure_files_of_study(folder: Path, study: Study) -> list[Path]:
    """The files there that are of the study's items."""
    stems = {item.file_stem for item in study.items}
    return [path for path in folder.iterdir() if path.stem in stems] if folder.is_dir() else []
