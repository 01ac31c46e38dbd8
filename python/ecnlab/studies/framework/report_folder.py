"""The folder of a study's report. It holds one report only, so that no file is overwritten and figures of two runs do not mix.

OUT/report.html              one file with the claims, all figures and tables
OUT/claims.csv, claims.json  each claim with its verdict and the numbers that led to it
OUT/figures/                 each figure as SVG, PDF and PNG, and the numbers behind it as CSV
OUT/lab.html                 the laboratory in one file, which the figures link to, if the package has one
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from ecnlab.errors import ResultsError
from ecnlab.storage import atomic
from ecnlab.studies.framework.model import Study

FIGURES_FOLDER = "figures"
LAB_PAGE = "lab.html"


def prepare_report_folder(out: Path, study: Study) -> None:
    """Create the folder before hours of runs. Raises ResultsError if that fails, or if the folder holds other files."""
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
    """Write files into the folder atomically, and remove figures of the study that are not `shown` (stems).

    The order is that of `files`: with claims.json first, an interrupted writer leaves a folder that is a report of the study. A laboratory
    of an earlier report is removed if `files` has none, and is not written again if it is the same.

    Raises ResultsError if the disk refuses.
    """
    try:
        if LAB_PAGE not in files:
            (out / LAB_PAGE).unlink(missing_ok=True)
        for path in _figure_files_of_study(out / FIGURES_FOLDER, study):
            if path.stem not in shown:
                path.unlink()
        for name, text in files.items():
            if name != LAB_PAGE or not _file_has_content(out / name, text.encode()):
                atomic.write_atomically(out / name, text.encode())
    except OSError as error:
        raise ResultsError(f"cannot write the report in {out}: {error.strerror or error}") from None


def _file_has_content(path: Path, content: bytes) -> bool:
    try:
        return atomic.read_regular_file(path) == content
    except FileNotFoundError:
        return False


def _is_report_of(out: Path, study: Study) -> bool:
    """Whether the folder holds a report of the study."""
    try:
        content = json.loads(atomic.read_regular_file(out / "claims.json"))
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(content, dict) and content.get("study") == study.name


def _is_left_by_interrupted_drawing(entry: Path, study: Study) -> bool:
    """Whether the folder holds the remains of a study that was interrupted while drawing."""
    return entry.name.endswith(".partial") or (
        entry.name == FIGURES_FOLDER and set(entry.iterdir()) == set(_figure_files_of_study(entry, study))
    )


def _figure_files_of_study(folder: Path, study: Study) -> list[Path]:
    """The files of the study's items in the folder."""
    stems = {item.file_stem for item in study.items}
    return [path for path in folder.iterdir() if path.stem in stems] if folder.is_dir() else []
