"""The user's cache folder: built kernels, unpacked pages, and whatever else can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder that ECNLAB_CACHE names, or `ecnlab` in the user's cache folder."""
    own = os.environ.get("ECNLAB_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "ecnlab"
    return folder.expanduser().absolute()
