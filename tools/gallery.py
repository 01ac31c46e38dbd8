"""Writes the pages of examples and studies with their pictures: docs/examples/ and docs/studies/.

`python tools/gallery.py` writes pages and pictures. `python tools/gallery.py --check` compares the pages and the pictures of networks with
fresh ones, and exits with 1 if one is stale. It does not compare plots, whose text depends on the version of matplotlib.

The page of an example shows the comment at the head of its file, the network, the commands, the results and the file. The page of a sweep
or of a Python file has the network of its scenario and a plot. The page of a study is its STUDY.md with the study's networks and one of its
figures after the question.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import ecnlab as lab
from ecnlab import diagram, studies
from ecnlab.studies.framework import page, report
from ecnlab.studies.framework.runner import run_study

ROOT = Path(__file__).parents[1]
EXAMPLES_FOLDER = ROOT / "examples"
EXAMPLE_PAGES = ROOT / "docs" / "examples"
STUDY_PAGES = ROOT / "docs" / "studies"
# Samples of the queue in a plot: enough to show its oscillation, in a picture of about 30 KB.
_SAMPLES_OF_PLOT = 400
# Number in the paper of the figure that each study's page shows.
KEY_FIGURES = {"aecn": "5.29", "rfc2884": "5.2.4", "amecn": "9", "red-ecn": "7", "l4s": "2", "today": "9"}
_KEY_FIGURE_SEEDS = (1, 2, 3, 4, 5)
# Options of `ecnlab plot` for the figure on the page of each sweep, and its caption.
SWEEP_PLOTS = {
    "max_p": ("--y jain_goodput", "Jain's index of the goodput against max_p"),
    "phase": ("--y goodput_bps --group one --x delay --by jitter", "Goodput of flow one against the delay before flow two"),
    "schemes": ("--y jain_goodput", "Jain's index of the goodput against the number of flows"),
}


@dataclass(frozen=True)
class PythonExample:
    """The scenario and the options of `ecnlab run` with which the page of a Python file runs it."""

    scenario: str
    options: str
    intro: str
    # Caption of the plot: what to see in it.
    caption: str


PYTHON_EXAMPLES = {
    "cellular_trace": PythonExample(
        "cellular",
        "",
        "The example `cellular` follows this trace:",
        "The trace repeats every ten seconds, and so do the peaks of the queue.",
    ),
    "red_by_hand": PythonExample(
        "red",
        "--aqm example:red_by_hand.py:RedByHand --set link.bottleneck.queue.aqm=RedByHand",
        "These commands run it on the network of `red`:",
        "The average stays between 8 and 27 packets after the start, and the queue moves between 0 and 54.",
    ),
    "threshold": PythonExample(
        "ecn",
        """--aqm example:threshold.py:Threshold --set 'link.bottleneck.queue={ aqm = "Threshold", limit = 120, most = 10 }'""",
        "These commands run it on the network of `ecn`:",
        "Many flows get marks at once and reduce their windows together: the queue swings between 0 and 48 packets and is empty for a "
        "third of the time. The link is used for 85 % of the time.",
    ),
}

_INDEX_HEAD = """# Examples

Each scenario in the folder `examples` has a page with its network, the commands that run it, its results and the file itself.
Copy one, change a number and [compare](../how-to/compare.md) the two.
"""


@dataclass(frozen=True)
class Example:
    """A scenario file in the folder of examples."""

    file: Path

    @property
    def name(self) -> str:
        """The file's name without its extension, the base name of pages and pictures."""
        return self.file.stem

    @cached_property
    def text(self) -> str:
        """The file."""
        return self.file.read_text(encoding="utf-8")

    @property
    def about(self) -> str:
        """The comment at the head of the file."""
        return _leading_comment(self.text)

    @cached_property
    def scenario(self) -> lab.Scenario:
        """The scenario of the file."""
        return lab.load(self.file)

    @cached_property
    def sample_ms(self) -> float:
        """The interval at which the queue is recorded for the plot, in ms."""
        return float(f"{1e3 * self.result.header['duration_s'] / _SAMPLES_OF_PLOT:.1g}")

    @cached_property
    def result(self) -> lab.Result:
        """A run of seed 1."""
        return lab.run(self.scenario, seeds=1)

    def page(self) -> str:
        """The page."""
        shown, queue = f"example:{self.name}", self.result.queue_names[0]
        return "\n".join(
            [
                _generated_note(f"examples/{self.file.name}"),
                f"# {self.scenario.name}\n",
                f"{self.about}\n",
                f"![The network of {self.file.name}](figures/{self.name}-network.svg)\n",
                "## Run it\n",
                f"    ecnlab draw {shown}",
                f"    ecnlab run {shown} --seed 1 --set 'record.queue={self.sample_ms:g} ms' --out {self.name}",
                f"    ecnlab plot {self.name} --figure queue\n",
                "The first command draws the network, the third the queue against time.",
                "`--seeds 10` instead of `--seed 1` gives means with 95 % intervals.\n",
                f"![Length of the queue {queue} against time](figures/{self.name}-queue.svg)\n",
                f"<!-- run of {self.name} -->\n",
                "## Results of seed 1\n",
                _queue_table(self.result),
                _group_table(self.result),
                "## The file\n",
                f"`ecnlab example {self.name}` writes `{self.file.name}`:\n",
                f"```toml\n{self.text}```\n",
            ]
        )

    def draw_plot(self, folder: Path) -> None:
        """Write the plot of the queue."""
        recorded = lab.load(self.file, {"record.queue": f"{self.sample_ms:g} ms"})
        lab.run(recorded, seeds=1).plot.styled(titles=False).queue().save(folder / f"{self.name}-queue", ["svg"])


def _leading_comment(text: str) -> str:
    lines = re.match(r"(?:#.*\n)*", text)
    return "" if lines is None else re.sub(r"^# ?", "", lines[0], flags=re.MULTILINE).strip()


def _generated_note(source: str) -> str:
    return f"<!-- Written by `python tools/gallery.py` from {source}; change that, not this page. -->\n"


def _queue_table(result: lab.Result) -> str:
    rows = [
        f"| `{row['queue']}` | {100 * row['utilisation']:.1f} | {row['length_mean_packets']:.1f} | {1e3 * row['sojourn_mean_s']:.2f} "
        f"| {row['marks']} | {row['drops']} |"
        for row in result.table("queues").to_dicts()
    ]
    head = "| queue | link used (%) | mean length (packets) | mean queueing delay (ms) | marks | drops |"
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: | ---: |", *rows]) + "\n"


def _group_table(result: lab.Result) -> str:
    rows = [
        f"| `{row['group']}` | {row['flows']} | {row['goodput_bps'] / 1e6:.3f} | {1e3 * row['delay_mean_s']:.2f} |"
        for row in result.groups.to_dicts()
    ]
    return "\n".join(["| group | flows | goodput (Mbit/s) | mean one-way delay (ms) |\n| --- | ---: | ---: | ---: |", *rows]) + "\n"


def examples() -> list[Example]:
    """All scenarios in the folder of examples."""
    return [Example(file) for file in sorted(EXAMPLES_FOLDER.glob("*.toml"))]


def _sweep_page(file: Path) -> str:
    text, name = file.read_text(encoding="utf-8"), f"sweeps/{file.stem}"
    options, caption = SWEEP_PLOTS[file.stem]
    base = Path(tomllib.loads(text)["scenario"]).stem
    return "\n".join(
        [
            _generated_note(f"examples/{name}.toml"),
            f"# Sweep: {file.stem}\n",
            f"{_leading_comment(text).partition('Run it with')[0].strip()}\n",
            f"![The network of {base}.toml](figures/{base}-network.svg)\n",
            f"*The network of [{base}.toml]({base}.md), of which the sweep varies parameters.*\n",
            "## Run it\n",
            f"    ecnlab sweep example:{name}",
            f"    ecnlab plot results/sweep-{file.stem} {options}\n",
            f"![{caption}](figures/sweep-{file.stem}.svg)\n",
            f"*{caption}: means of 5 seeds with 95 % intervals.*\n",
            "## The file\n",
            f"`ecnlab example {name}` writes `{name}.toml`. [Sweeps](../how-to/sweeps.md) explains its keys.\n",
            f"```toml\n{text}```\n",
        ]
    )


def _python_page(file: Path) -> str:
    text, shown = file.read_text(encoding="utf-8"), f"examples/{file.name}"
    about = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    about = re.sub(r"docs/([\w/-]+\.md)", r"[\1](../\1)", about)
    example = PYTHON_EXAMPLES[file.stem]
    return "\n".join(
        [
            _generated_note(shown),
            f"# {file.name}\n",
            f"{about}\n",
            f"![The network of {example.scenario}.toml](figures/{example.scenario}-network.svg)\n",
            f"*The network of [{example.scenario}.toml]({example.scenario}.md).*\n",
            "## Run it\n",
            f"{example.intro}\n",
            *(f"    ecnlab {command}" for command in _python_commands(file.stem)),
            f"\n![Length of the queue against time](figures/{file.stem}-queue.svg)\n",
            f"*{example.caption}*\n",
            "## The file\n",
            f"`ecnlab example {file.stem}` writes `{file.name}`:\n",
            f"```python\n{text}```\n",
        ]
    )


def _python_commands(name: str) -> list[str]:
    example = PYTHON_EXAMPLES[name]
    words = ["run", f"example:{example.scenario}", example.options, "--seed 1 --set 'record.queue=200 ms'", f"--out {name}"]
    return [" ".join(word for word in words if word), f"plot {name} --figure queue"]


def _plots_of_commands() -> Iterator[tuple[str, list[str], str]]:
    """Name, commands and the figure that they write, for each sweep and each Python file."""
    for file in _sweep_files():
        commands = [f"sweep example:sweeps/{file.stem}", f"plot results/sweep-{file.stem} {SWEEP_PLOTS[file.stem][0]}"]
        yield f"sweep-{file.stem}", commands, f"results/sweep-{file.stem}/figures"
    for name in PYTHON_EXAMPLES:
        yield f"{name}-queue", _python_commands(name), f"{name}/figures"


def draw_plots_of_commands(folder: Path) -> None:
    """Run the commands on the pages of sweeps and Python files, and copy the figures that they write into a folder."""
    for name, commands, figures in _plots_of_commands():
        with tempfile.TemporaryDirectory() as scratch:
            for command in commands:
                words = [sys.executable, "-m", "ecnlab", *shlex.split(command)]
                subprocess.run(words, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            (svg,) = (Path(scratch) / figures).glob("*.svg")
            shutil.copyfile(svg, folder / f"{name}.svg")


def _index(pages: Sequence[Example]) -> str:
    rows = [
        f"| [![{one.scenario.name}](figures/{one.name}-network.svg)]({one.name}.md) | [{one.scenario.name}]({one.name}.md) "
        f"| {' '.join(one.about.split())} |"
        for one in pages
    ]
    sweeps = [f"| [![{file.stem}](figures/sweep-{file.stem}.svg)](sweep-{file.stem}.md) | {_sweep_row(file)} |" for file in _sweep_files()]
    code = [f"- [{file.name}]({file.stem}.md)" for file in _python_files()]
    parts = [_generated_note("examples/"), _INDEX_HEAD, "| network | example | about |\n| --- | --- | --- |", *rows]
    return "\n".join([*parts, "\n## Sweeps\n", "| figure | sweep | about |\n| --- | --- | --- |", *sweeps, "\n## Python\n", *code, ""])


def _sweep_row(file: Path) -> str:
    about = _leading_comment(file.read_text(encoding="utf-8")).partition("Run it with")[0]
    return f"[{file.stem}](sweep-{file.stem}.md) | {' '.join(about.split())}"


def _sweep_files() -> list[Path]:
    return sorted((EXAMPLES_FOLDER / "sweeps").glob("*.toml"))


def _python_files() -> list[Path]:
    return sorted(EXAMPLES_FOLDER.glob("*.py"))


def _study_files() -> Iterator[tuple[Path, str]]:
    """The page of each study and the pictures of its networks, which follow the first section."""
    for name in studies.TITLES:
        study = studies.find_study(name)
        pictures = {}
        for number, (title, svg) in enumerate(report.network_svg_by_title(study).items(), 1):
            file = f"figures/{name}-{number}.svg"
            pictures[title] = file
            yield STUDY_PAGES / file, svg
        shown = "\n".join(f"![{title}]({file})\n\n*{title}*\n" for title, file in pictures.items())
        (item,) = study.choose_items([KEY_FIGURES[name]])
        shown += (
            f"\n![{item.title}](figures/{name}-result.svg)\n\n"
            f"*{item.heading}: {item.title}; {len(_KEY_FIGURE_SEEDS)} seeds, 95 % intervals.*\n\n<!-- runs of {name} -->\n"
        )
        head, question, results, *rest = re.split(r"^(?=## )", page.page_path(name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        source = page.page_path(name).relative_to(ROOT).as_posix()
        yield STUDY_PAGES / f"{name}.md", f"{_generated_note(source)}\n{head}{question}{shown}\n{results}{''.join(rest)}"


def draw_key_figures(folder: Path) -> None:
    """Run the figure of each study that its page shows, and write the pictures into a folder."""
    for name, number in KEY_FIGURES.items():
        study = studies.find_study(name)
        with tempfile.TemporaryDirectory() as scratch:
            run_study(study, Path(scratch) / "report", _KEY_FIGURE_SEEDS, [number], all_setups=False, store=Path(scratch) / "store")
            (svg,) = (Path(scratch) / "report" / "figures").glob("*.svg")
            shutil.copyfile(svg, folder / f"{name}-result.svg")


def fresh_files() -> dict[Path, str]:
    """All pages and pictures of networks, by their paths."""
    pages = examples()
    files = {EXAMPLE_PAGES / f"{one.name}.md": one.page() for one in pages}
    files |= {EXAMPLE_PAGES / "figures" / f"{one.name}-network.svg": diagram.network_svg(one.scenario) for one in pages}
    files |= {EXAMPLE_PAGES / f"sweep-{file.stem}.md": _sweep_page(file) for file in _sweep_files()}
    files |= {EXAMPLE_PAGES / f"{file.stem}.md": _python_page(file) for file in _python_files()}
    files[EXAMPLE_PAGES / "index.md"] = _index(pages)
    return files | dict(_study_files())


def main(arguments: Sequence[str]) -> int:
    """Write the files, or compare them; returns the exit code."""
    files = fresh_files()
    if "--check" in arguments:
        known = {file for folder in (EXAMPLE_PAGES, STUDY_PAGES) for file in folder.rglob("*.md")} - {STUDY_PAGES / "index.md"}
        stale = [file for file, text in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
        for file in [*stale, *sorted(known - files.keys())]:
            print(f"{file.relative_to(ROOT)} is stale; fix: run python tools/gallery.py", file=sys.stderr)
        return 1 if stale or known - files.keys() else 0
    for folder in (EXAMPLE_PAGES, STUDY_PAGES):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    for example in examples():
        example.draw_plot(EXAMPLE_PAGES / "figures")
    draw_plots_of_commands(EXAMPLE_PAGES / "figures")
    draw_key_figures(STUDY_PAGES / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
