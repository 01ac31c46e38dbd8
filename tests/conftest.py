"""Fixtures: a small scenario that runs in milliseconds, and the command run in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from ecnlab.cli import main
from helpers import SMALL, Outcome

# Tables are as wide as their content where output is no terminal. A parallel worker of pytest has COLUMNS nonetheless.
for _variable in ("COLUMNS", "LINES"):
    os.environ.pop(_variable, None)

# Background processes of a shell may ignore SIGINT, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With parallel workers, the tests of real time are one group: a single worker runs them, one after the other."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("real_time"):
                item.add_marker(pytest.mark.xdist_group("real_time"))


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    """A scenario that takes seconds to read."""
    group = SMALL[SMALL.index("[[flows]]") : SMALL.index("[record]")].split("[[flows]]")[1]
    path = tmp_path / "large.toml"
    path.write_text(SMALL + "".join("[[flows]]" + group.replace('"far"', f'"g{n}"') for n in range(50_000)))
    return path


@pytest.fixture
def small(small_file: Path) -> ecnlab.Scenario:
    return ecnlab.load(small_file)


@pytest.fixture(scope="session")
def small_result(tmp_path_factory: pytest.TempPathFactory) -> ecnlab.Result:
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(SMALL)
    return ecnlab.run(ecnlab.load(path), range(1, 4))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def run(*arguments: Any) -> Outcome:
        monkeypatch.setattr("sys.argv", ["ecnlab", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def partly_recorded(tmp_path_factory: pytest.TempPathFactory) -> ecnlab.Result:
    """A results folder of seven seeds, of which the first five have series for the steady state."""
    folder = tmp_path_factory.mktemp("partly")
    (folder / "small.toml").write_text(SMALL.split("[record]")[0])
    ecnlab.run(ecnlab.load(folder / "small.toml"), 7, out=folder / "r", observe=True)
    return ecnlab.open_result(folder / "r")
