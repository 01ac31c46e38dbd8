import json
import subprocess
import sys
from pathlib import Path

import pytest

from ecnlab.backends import interpreter


def test_a_child_finds_the_modules_of_this_process_and_none_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, directory = tmp_path / "own", tmp_path / "directory"
    for folder in (own, directory):
        folder.mkdir()
    (own / "shown.py").write_text("import json, sys; print(json.dumps(sys.argv[1:]))\n")
    (directory / "json.py").write_text("raise SystemExit('imported from the working directory')\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(own)])
    monkeypatch.chdir(directory)
    done = subprocess.run(
        interpreter.module_command("shown", "a", "b"), env=interpreter.child_environment(), capture_output=True, text=True
    )
    assert (done.stderr, json.loads(done.stdout)) == ("", ["a", "b"])
