"""Every `ecnlab ...` that README and the pages show is run: page by page, in the order in which it stands there, in a folder of its own.

What takes long is shortened by options that are added to it. What only names a command, without what it needs, is a mention; a word in
capitals stands for something: SUBSTITUTES says for what.
"""

import contextlib
import gzip
import itertools
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import reference_pages
from ecnlab.backends import doctor
from ecnlab.cli.root import COMMANDS, root
from ecnlab.studies.framework import runner
from ecnlab.validation import formula_checks, kernel, packets, tables
from helpers import EXAMPLES, Outcome

DOCS = reference_pages.DOCS
README = DOCS.parent / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md")), *(DOCS.parent / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"))]
# The page of a study is generated; its commands take minutes, or need the reports of others.
STUDY_PAGES = set((DOCS / "studies").glob("*.md")) - {DOCS / "studies" / "index.md"}
# Their commands need the files that the page saves: tests/test_notebooks.py runs them.
TUTORIALS = set((DOCS / "tutorials").glob("*.md"))
TRACES = Path(__file__).parent / "traces"
ACCURATE_ECN_CASES = kernel.CASES_FOLDER.parents[1] / "linux-7.2" / "cases"

PARSED_SUBSTITUTES = {"COMMAND": "run", "PID": "1"}
SUBSTITUTES = PARSED_SUBSTITUTES | {"FILE": "first.toml", "NAME": "ecn", "DIR": "first"}
SUBSTITUTES_OF = {
    "compare": {"A": "examples/ecn.toml", "B": "examples/red.toml"},
    # The tables have more than a hundred scenarios; tests/studies/papers/l4s/ has the tables.
    "study": {"NAME": "aecn", "Table 1": "Figure 4", "Table 5": "Figure 4"},
    "trace": {"FILE": "thesis.tr"},
    "validate": {"DIR": "ns2-cases"},
    "validate linux": {"DIR": "linux-cases", "NAME": "reno-tail10"},
}
# Commands that need a cluster of processes; tests/execution/test_cluster.py has one.
TESTED_ELSEWHERE = {"ADDRESS"}
# Commands that need namespaces or open a browser; other tests cover them.
SEPARATE_COMMANDS = {"shell", "docs", "lab"}
SHORTER_OPTIONS = {
    ("run",): ["--set", "duration=3 s", "--set", "measure_from=0 s"],
    ("compare",): ["--seeds", "2"],
    ("phase",): ["--seeds", "2"],
    ("sweep",): ["--set", "duration=3 s", "--set", "measure_from=0 s", "--seeds", "2"],
    ("study", "run", "aecn"): ["--figure", "5.29"],
    ("study", "run", "l4s"): ["--figure", "Figure 4", "--seed", "1", "--main-setup"],
}
# Commands whose output later commands of a page need.
FILES_MADE = {"run", "sweep", "example", "--scenarios"}
# Commands that take minutes, since they build a kernel or run all examples and studies, or that need a kernel's source;
# tests/validation/test_packetdrill.py has scripts of ours.
LONG_COMMANDS = {("uml", "build-kernel"), ("phase", "examples/*.toml"), ("validate", "packetdrill")}
# Commands that exit with 1 because they find something, as the page intends.
COMMANDS_THAT_EXIT_1 = {("trace", "verify"), ("validate", "tables"), ("doctor",)}

Commands = list[list[str]]


def commands_on_page(text: str) -> Commands:
    """The words of every `ecnlab ...` of a page, in its order, in a block of code or within a line, without the explanation beside it.

    Lines that leave words out, and those that a shell completes by `$(...)`, are not among them.
    """
    found = re.finditer(r"^(?:    |\$ )?ecnlab (.+)$|`ecnlab ([^`|]+)`", text, re.MULTILINE)
    lines = (re.split(r"\s{2,}|\s#", match[1] or match[2])[0] for match in found)
    return [shlex.split(line) for line in lines if "..." not in line and "$(" not in line]


def _require_shown_output(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Read the options and arguments of a command as if it were run. Raises click's errors."""
    name, *rest = words
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    if isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        below_name, below, more = command.resolve_command(context, rest)
        assert below is not None, f"there is no command {rest[0]}"
        _require_shown_output(below, [below_name or "", *more], context)
    else:
        with contextlib.suppress(click.exceptions.Exit):
            command.make_context(name, rest, parent, **command.context_settings)


def _is_mention(words: list[str]) -> bool:
    """Whether the text only mentions a command, without its required arguments."""
    try:
        _require_shown_output(root, ["ecnlab", *words])
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        return True
    except click.ClickException:
        return False
    return False


def _with_substitutes(words: list[str]) -> list[str]:
    known = SUBSTITUTES | SUBSTITUTES_OF.get(words[0], {}) | SUBSTITUTES_OF.get(" ".join(words[:2]), {})
    return [known.get(word, word) for word in words]


def to_run(pages: dict[Path, Commands]) -> dict[Path, Commands]:
    """Those of each page that can be run as they stand, or with something in place of what stands for it.

    Each is run once, where it first stands, but for those of FILES_MADE.
    """
    found: dict[Path, Commands] = {}
    seen = set()
    for path, commands in pages.items():
        found[path] = []
        for words in map(_with_substitutes, commands):
            if (
                words[0] not in SEPARATE_COMMANDS
                and tuple(words[:2]) not in LONG_COMMANDS
                and TESTED_ELSEWHERE.isdisjoint(words)
                and not _is_mention(words)
                and (FILES_MADE.intersection(words) or tuple(words) not in seen)
            ):
                found[path].append(words)
                seen.add(tuple(words))
    return found


ALL_COMMANDS = {path: commands_on_page(path.read_text(encoding="utf-8")) for path in PAGES}
COMMANDS_BY_PAGE = sorted({tuple(words) for commands in ALL_COMMANDS.values() for words in commands})
RUN_COMMANDS = to_run({path: commands for path, commands in ALL_COMMANDS.items() if path not in STUDY_PAGES | TUTORIALS})


@pytest.mark.parametrize("words", COMMANDS_BY_PAGE, ids=" ".join)
def test_a_command_that_a_page_shows_is_one(words: tuple[str, ...]) -> None:
    if not _is_mention(list(words)):
        _require_shown_output(root, ["ecnlab", *(PARSED_SUBSTITUTES.get(word, word) for word in words)])


def test_the_pages_show_commands_of_every_kind_and_run_them() -> None:
    assert set(COMMANDS) - {"completion"} <= {words[0] for words in COMMANDS_BY_PAGE}
    assert set(COMMANDS) - SEPARATE_COMMANDS <= {words[0] for commands in RUN_COMMANDS.values() for words in commands}


def _shortened_command(words: list[str]) -> list[str]:
    shorter = [word for begun, added in SHORTER_OPTIONS.items() if tuple(words[: len(begun)]) == begun for word in added]
    return [*shorter, "--lateness-budget", "10 s"] if "live" in _backends(words) else shorter


def _backends(words: list[str]) -> list[str]:
    """The backend that a command names, if any."""
    return [word for option, word in itertools.pairwise(words) if option == "--backend"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]) -> Path:
    """A working directory with the README's first scenario and its results, the examples, a trace of ns-2 and a capture."""
    text = re.search(r"```toml\n(name = .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    (tmp_path / "first.toml").write_text(text[1])
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    (tmp_path / "docs" / "trust").mkdir(parents=True)
    for name, stored in {"thesis.tr": "small.tr.gz", "transfer.pcap": "window-lost.pcap.gz"}.items():
        (tmp_path / name).write_bytes(gzip.decompress((TRACES / stored).read_bytes()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "FULL_SEEDS", range(101, 103))
    monkeypatch.setattr(runner, "QUICK_SEEDS", range(1, 3))
    (red_ecn,) = (table for table in tables.REFERENCE_TABLES if table.stem == "red-ecn")
    (tmp_path / red_ecn.name).write_text("".join(red_ecn.read_text(encoding="utf-8").splitlines(keepends=True)[:3]))
    monkeypatch.setattr(tables, "REFERENCE_TABLES", [tmp_path / red_ecn.name])
    for module, folder, names in (
        (packets, "ns2-cases", ("reno-1drop.json.gz", "sack1-1drop.json.gz")),
        (kernel, "linux-cases", ("reno-tail10.json.gz", "reno-first-lost.json.gz")),
    ):
        (tmp_path / folder).mkdir()
        for name in names:
            shutil.copy(module.CASES_FOLDER / name, tmp_path / folder)
        monkeypatch.setattr(module, "CASES_FOLDER", tmp_path / folder)
    newer = tmp_path / "python" / "ecnlab" / "reference" / "linux-7.2" / "cases"
    newer.mkdir(parents=True)
    shutil.copy(ACCURATE_ECN_CASES / "accecn-one-mark.json.gz", newer)
    few = formula_checks.formula_checks(quick=True)[:2]
    monkeypatch.setattr(formula_checks, "formula_checks", lambda quick: few)
    assert command("run", "first.toml", *_shortened_command(["run"]), "--out", "first").code == 0
    return tmp_path


def _page(path: Path) -> Any:
    """The parameters of a page's test, in real time if a command of the page names its backend."""
    return pytest.param(path, id=path.stem, marks=[pytest.mark.real_time] if any(map(_backends, RUN_COMMANDS[path])) else [])


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("path", [_page(path) for path in PAGES if RUN_COMMANDS.get(path)])
def test_the_commands_of_a_page_run_one_after_the_other(command: Callable[..., Outcome], path: Path) -> None:
    machine = doctor.run_backend_checks() if any(map(_backends, RUN_COMMANDS[path])) else None
    for words in RUN_COMMANDS[path]:
        if machine is not None and not all(map(machine.is_backend_usable, _backends(words))):
            continue
        done = command(*words, *_shortened_command(words))
        assert done.code == 0 or (any(tuple(words[: len(found)]) == found for found in COMMANDS_THAT_EXIT_1) and done.code == 1), (
            words,
            done.err,
        )
        assert "Traceback" not in done.err
