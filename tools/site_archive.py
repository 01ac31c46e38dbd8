"""The pages of the site as one file, site.zip, which the package carries: `python tools/site_archive.py FOLDER FILE`.

Unpacked pages would take five times the space in each installation. Equal pages give equal bytes.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

# Paths in the folder. A browser reads search.json from a web server alone, and search.js from a file. `ecnlab docs` writes lab.html itself.
_LEFT_OUT = ("search.json", "lab.html")


def write_archive(folder: Path, archive: Path) -> None:
    """Write the files of a folder into an archive."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name in sorted(files.keys() - set(_LEFT_OUT)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            packed.writestr(entry, files[name].read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]), Path(sys.argv[2]))
