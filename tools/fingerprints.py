"""python/ecnlab/reference/fingerprints.json: the fingerprint of each packaged example.

`python tools/fingerprints.py` writes the file. Do this only after a change that is meant to change results, and explain it in CHANGELOG.md.
"""

from __future__ import annotations

import json

from ecnlab.validation.fingerprints import RECORDED, compute_fingerprints

if __name__ == "__main__":
    RECORDED.write_text(json.dumps(compute_fingerprints(), indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
