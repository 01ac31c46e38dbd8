import _bisect
import abc
import collections
import importlib
import os
import pickle
import random
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import ecnlab
from ecnlab.aqm import fingerprint, source_files
from ecnlab.aqm.fingerprint import class_digest, load_aqm_class
from ecnlab.scenarios.load import scenario_from_toml_text
from helpers import SMALL
from own_aqms import QUEUE

AQM_SOURCE = """\
import ecnlab as lab

FACTOR = 2

class Mine(lab.Aqm):
    threshold: int = 5

    def on_arrival(self, arrival):
        return lab.mark() if arrival.backlog.packets > FACTOR * self.threshold else lab.PASS
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(AQM_SOURCE)
    return path


def _key(path: Path, name: str = "Mine") -> str:
    return scenario_from_toml_text(SMALL, {QUEUE: f'{{ aqm = "{name}", limit = 60 }}'}, aqms=[f"{path}:{name}"]).hash


def test_a_class_is_found_in_its_file_by_every_way_to_write_the_path(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spaced = tmp_path / "my own: files"
    spaced.mkdir()
    (spaced / "an aqm.py").write_text(AQM_SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    ways = [f"{mine}:Mine", "mine.py:Mine", "./mine.py:Mine", "~/mine.py:Mine", "mine.py", f"{spaced}/an aqm.py:Mine"]
    assert [load_aqm_class(way).__name__ for way in ways] == ["Mine"] * 6


@pytest.mark.parametrize(
    ("text", "reference", "told"),
    [
        (AQM_SOURCE, "absent.py:Mine", "cannot read 'absent.py': No such file"),
        (AQM_SOURCE, ".:Mine", "is not an AQM in a file; fix: give FILE.py:CLASS"),
        (AQM_SOURCE, "mine:Mine", "give FILE.py:CLASS"),
        (AQM_SOURCE, "", "give FILE.py:CLASS"),
        (AQM_SOURCE, ":Mine", "give FILE.py:CLASS"),
        (AQM_SOURCE, "mine.py:Other", "'mine.py': unknown AQM 'Other'; fix: use one of Mine"),
        (AQM_SOURCE, "mine.py:FACTOR", "FACTOR in 'mine.py' is not a subclass of ecnlab.Aqm"),
        (AQM_SOURCE, "mine.py:lab", "lab in 'mine.py' is not a subclass"),
        ("x = 1\n", "mine.py:Mine", "'mine.py' has no subclass of ecnlab.Aqm"),
        ("x = 1\n", "mine.py", "'mine.py' has no subclass of ecnlab.Aqm"),
        (AQM_SOURCE + "\n\nclass More(Mine):\n    pass\n", "mine.py", "several AQMs (Mine, More)"),
        ("def broken(:\n", "mine.py:Mine", "SyntaxError"),
        ("import sys\nsys.exit(3)\n", "mine.py:Mine", "SystemExit: 3"),
        ("1 / 0\n", "mine.py:Mine", "line 1, in <module>"),
        ("import absent_module\n", "mine.py:Mine", "No module named 'absent_module'"),
        ("x = '\0'\n", "mine.py:Mine", "null bytes"),
        ("a\0b.py:Mine", "a\0b.py:Mine", "cannot read"),
    ],
)
def test_a_reference_that_leads_to_no_aqm_says_why(
    text: str, reference: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    with pytest.raises(ecnlab.UsageError) as raised:
        load_aqm_class(reference)
    assert told in str(raised.value)
    assert sys.path == path


def test_a_character_in_the_class_changes_the_key_and_putting_it_back_restores_it(mine: Path) -> None:
    first = _key(mine)
    assert first == _key(mine)
    mine.write_text(AQM_SOURCE.replace("FACTOR = 2", "FACTOR = 3"))
    second = _key(mine)
    mine.write_text(AQM_SOURCE)
    assert second != first
    assert _key(mine) == first


def test_a_changed_class_goes_into_a_folder_of_its_own(mine: Path, tmp_path: Path) -> None:
    def run() -> None:
        made = scenario_from_toml_text(SMALL, {QUEUE: '{ aqm = "Mine", limit = 60 }'}, aqms=[f"{mine}:Mine"])
        ecnlab.run(made, out=tmp_path / "r")

    run()
    mine.write_text(AQM_SOURCE.replace("threshold: int = 5", "threshold: int = 5 "))
    with pytest.raises(ecnlab.ResultsError, match="holds results of another version of the AQM Mine, which has changed since"):
        run()


def test_a_file_beside_it_that_it_imports_from_is_part_of_the_key(tmp_path: Path) -> None:
    keys = []
    for folder, factor in (("one", 2), ("two", 3), ("three", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper_of_mine.py").write_text(f"FACTOR = {factor}\n\ndef factor():\n    return FACTOR\n")
        path = tmp_path / folder / "importing.py"
        path.write_text(AQM_SOURCE.replace("FACTOR = 2", "from helper_of_mine import factor\nFACTOR = factor()"))
        sys.modules.pop("helper_of_mine", None)
        keys.append(_key(path))
    sys.modules.pop("helper_of_mine", None)
    assert keys[0] != keys[1]
    assert keys[0] == keys[2]


def test_a_result_has_the_digest_of_its_aqm(mine: Path, tmp_path: Path) -> None:
    made = scenario_from_toml_text(SMALL, {QUEUE: '{ aqm = "Mine", limit = 60 }'}, aqms=[f"{mine}:Mine"])
    ecnlab.run(made, out=tmp_path / "r")
    import json

    header = json.loads((tmp_path / "r" / "run.json").read_text())
    assert header["aqms"] == {"Mine": class_digest(load_aqm_class(f"{mine}:Mine"))}
    assert header["parameters"]["link"][0]["queue"]["aqm"] == "Mine"
    assert ecnlab.open_result(tmp_path / "r").seeds == [1]


def test_a_scenario_with_a_class_of_a_file_can_be_pickled_for_another_process(mine: Path) -> None:
    made = scenario_from_toml_text(SMALL, {QUEUE: '{ aqm = "Mine", limit = 60 }'}, aqms=[f"{mine}:Mine"])
    sent = pickle.loads(pickle.dumps(made))
    assert (sent.hash, sent._core.run(1).fingerprint) == (made.hash, made._core.run(1).fingerprint)


NOTEBOOK_SOURCE = """\
import ecnlab as lab

LEVEL = {level}

def above(packets):
    return packets > LEVEL{comment}

class Noted(lab.Aqm):
    def on_arrival(self, arrival):
        return lab.mark() if above(arrival.backlog.packets) else lab.PASS
"""


def _class_in_notebook(level: int = 5, comment: str = "", more: str = "") -> str:
    """The digest of a class from an interactive prompt, without a source file."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(NOTEBOOK_SOURCE.format(level=level, comment=comment) + more, names)
    aqm = names["Noted"]
    assert isinstance(aqm, type)
    return class_digest(aqm)


def test_the_digest_of_a_class_of_a_notebook_covers_what_it_names_beside_it() -> None:
    assert _class_in_notebook() == _class_in_notebook()
    assert _class_in_notebook() != _class_in_notebook(level=6)
    assert _class_in_notebook() != _class_in_notebook(comment=" + 1")
    assert _class_in_notebook() == _class_in_notebook(more="\nUNUSED = 5\n")


def _limited_class(folder: Path, limit: int) -> Path:
    """A class whose threshold comes from a file beside it, through another one."""
    folder.mkdir(exist_ok=True)
    (folder / "deep.py").write_text(f"LIMIT = {limit}\n")
    (folder / "helper.py").write_text("from deep import LIMIT\n")
    path = folder / "mine.py"
    path.write_text(AQM_SOURCE.replace("FACTOR = 2", "from helper import LIMIT as FACTOR"))
    return path


def test_a_number_that_a_file_beside_it_gives_is_part_of_the_key(tmp_path: Path) -> None:
    first = _key(_limited_class(tmp_path / "one", 2))
    assert _key(_limited_class(tmp_path / "one", 3)) != first
    assert _key(_limited_class(tmp_path / "one", 2)) == first


def test_each_file_gets_its_own_files_beside_it(tmp_path: Path) -> None:
    classes = [load_aqm_class(f"{_limited_class(tmp_path / name, limit)}:Mine") for name, limit in [("one", 2), ("two", 50)]]
    assert [sys.modules[cls.__module__].FACTOR for cls in classes] == [2, 50]
    assert "helper" not in sys.modules


def test_what_a_method_holds_from_outside_is_part_of_the_key() -> None:
    def aqm_with_thresholds(most: int, least: int) -> type[ecnlab.Aqm]:
        class Closed(ecnlab.Aqm):
            def on_arrival(self, arrival: Any, least: int = least) -> object:
                return ecnlab.mark() if most > arrival.backlog.packets > least else ecnlab.PASS

        return Closed

    digests = {class_digest(aqm_with_thresholds(most, least)) for most, least in [(5, 1), (5, 1), (50, 1), (5, 2)]}
    assert len(digests) == 3


def _early_drops(made: ecnlab.Scenario, store: Path) -> float:
    (result,) = ecnlab.run_all([ecnlab.Request(made, [1])], store=store).results_or_raise()
    return float(result.queues["drops_early"].sum())


SCRIPT_SOURCE = """\
import sys
import ecnlab as lab

HOT = {hot}

class Mine(lab.Aqm):
    def on_arrival(self, arrival):
        return lab.drop() if arrival.backlog.packets in HOT else lab.PASS

made = lab.load(sys.argv[1], {{"link.bottleneck.queue": '{{ aqm = "Mine", limit = 60 }}'}}, aqms=[Mine])
(result,) = lab.run_all([lab.Request(made, [1])], store=sys.argv[2]).results_or_raise()
print(made.hash, int(result.queues["drops_early"].sum()))
"""


def test_scripts_that_differ_in_a_set_share_no_result_of_a_store(small_file: Path, tmp_path: Path) -> None:
    def run(hot: str) -> tuple[str, int]:
        script = tmp_path / "script.py"
        script.write_text(SCRIPT_SOURCE.format(hot=hot))
        environment = os.environ | {"PYTHONPATH": str(Path(ecnlab.__file__).parent.parent)}
        command = [sys.executable, str(script), str(small_file), str(tmp_path / "store")]
        key, drops = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        return key, int(drops)

    hot, cold, again = run("{1, 2}"), run("set()"), run("{2, 1}")
    assert hot == again
    assert hot[0] != cold[0]
    assert hot[1] > 0 == cold[1]


LIMITED_SOURCE = """\
import ecnlab as lab

class Limited(lab.Aqm):
    LIMIT = 5

    def on_arrival(self, arrival):
        return lab.drop() if arrival.backlog.packets > self.LIMIT > 0 else lab.PASS
"""


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[ecnlab.Aqm]:
    (tmp_path / "limited_aqm.py").write_text(LIMITED_SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "limited_aqm", raising=False)
    made = importlib.import_module("limited_aqm").Limited
    assert isinstance(made, type)
    return made


def _class_with_attribute(aqm: type[ecnlab.Aqm]) -> ecnlab.Scenario:
    return scenario_from_toml_text(SMALL, {QUEUE: f'{{ aqm = "{aqm.__name__}", limit = 60 }}'}, aqms=[aqm])


def test_what_a_program_sets_on_a_class_of_a_file_is_part_of_the_key(limited: Any, tmp_path: Path) -> None:
    drops = []
    for limit in (5, 0, 5):
        limited.LIMIT = limit
        drops.append(_early_drops(_class_with_attribute(limited), tmp_path / "store"))
    assert drops[0] == drops[2] > 0 == drops[1]


def test_what_a_program_sets_in_the_module_of_a_class_is_part_of_the_key(mine: Path) -> None:
    cls = load_aqm_class(f"{mine}:Mine")
    module: Any = sys.modules[cls.__module__]
    first = class_digest(cls)
    module.FACTOR = 3
    second = class_digest(cls)
    module.FACTOR = 2
    assert second != first
    assert class_digest(cls) == first


def test_what_a_program_sets_in_a_module_that_the_class_imports_is_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "tuned_helper.py").write_text("LIMIT = 3\n")
    (tmp_path / "mine.py").write_text(AQM_SOURCE.replace("FACTOR = 2", "import tuned_helper").replace("FACTOR *", "tuned_helper.LIMIT *"))
    cls = load_aqm_class(f"{tmp_path / 'mine.py'}:Mine")
    first = class_digest(cls)
    vars(sys.modules[cls.__module__])["tuned_helper"].LIMIT = 4
    assert class_digest(cls) != first


@pytest.mark.parametrize("into", ["store", "out"])
def test_a_class_that_has_changed_since_the_scenario_was_read_stores_nothing(limited: Any, tmp_path: Path, into: str) -> None:
    made = _class_with_attribute(limited)
    limited.LIMIT = 0
    request = ecnlab.Request(made, [1], out=tmp_path / "out" if into == "out" else None)
    with pytest.raises(ecnlab.UsageError, match="AQM Limited has changed since the scenario was read"):
        ecnlab.run_all([request], store=tmp_path / "store" if into == "store" else None)
    assert not (tmp_path / "out").exists()
    limited.LIMIT = 5
    assert ecnlab.run_all([request], store=tmp_path / "store").results_or_raise()


def test_a_digest_covers_compilation_and_package_versions(limited: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Compiled(limited, compiled=True):  # type: ignore[misc]
        pass

    class Plain(limited):  # type: ignore[misc]
        pass

    before, compiled = class_digest(limited), class_digest(Compiled)
    Plain.__qualname__ = Compiled.__qualname__
    assert class_digest(Plain) != compiled
    monkeypatch.setattr(fingerprint, "package_version", lambda package: f"{package} of tomorrow")
    assert class_digest(limited) == before
    assert class_digest(Compiled) != compiled
    monkeypatch.undo()
    for name, changed in (("api.py", {before, compiled}), ("plugins.py", {before, compiled}), ("compiled.py", {compiled})):
        copies = tmp_path / name.removesuffix(".py")
        copies.mkdir()
        for each in ("api.py", "plugins.py", "compiled.py"):
            (copies / each).write_bytes((Path(ecnlab.__file__).parent / "aqm" / each).read_bytes() + (b"#" if each == name else b""))
        monkeypatch.setattr(fingerprint, "_AQM_FOLDER", copies)
        assert {before, compiled} - {class_digest(limited), class_digest(Compiled)} == changed
        monkeypatch.undo()


def test_a_global_that_cannot_be_part_of_the_key_is_refused_by_the_command(mine: Path, small_file: Path, command: Any) -> None:
    mine.write_text(AQM_SOURCE.replace("FACTOR = 2", "FACTOR = iter([2])"))
    done = command("run", small_file, "--aqm", f"{mine}:Mine", "--set", f'{QUEUE}={{ aqm = "Mine", limit = 60 }}')
    assert done.code == 2
    assert "Mine: the global FACTOR is a list_iterator, whose value cannot be part of the key; fix: " in done.err


def test_the_key_covers_the_engines_side_of_asking_a_class(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2] / "crates" / "py" / "src" / "aqm"
    assert b"".join(path.read_bytes() for path in sorted(folder.glob("*.rs"))) == fingerprint._core.AQM_SOURCES
    before = class_digest(load_aqm_class(f"{mine}:Mine"))
    monkeypatch.setattr(fingerprint._core, "AQM_SOURCES", b"other")
    assert class_digest(load_aqm_class(f"{mine}:Mine")) != before


MODULE_IMPORTS = {
    "class attribute": "class Mine(lab.Aqm):\n    settings = settings\n"
    "    def on_arrival(self, arrival):\n        return self.settings.FACTOR\n",
    "default": "class Mine(lab.Aqm):\n    def on_arrival(self, arrival, settings=settings):\n        return settings.FACTOR\n",
    "dict": "HELD = {1: settings}\nclass Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return HELD[1].FACTOR\n",
    "instance attribute": "class Mine(lab.Aqm):\n    def on_start(self):\n        self.settings = settings\n"
    "    def on_arrival(self, arrival):\n        return self.settings.FACTOR\n",
    "helper": "def chosen():\n    return settings\n"
    "class Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return chosen().FACTOR\n",
    "set": "HELD = {settings}\nclass Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return next(iter(HELD)).FACTOR\n",
    "getattr": "class Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return getattr(settings, 'FACTOR')\n",
}


@pytest.mark.parametrize("text", MODULE_IMPORTS.values(), ids=MODULE_IMPORTS)
def test_a_value_set_on_a_module_counts_by_whatever_way_a_hook_gets_at_it(text: str) -> None:
    settings = ModuleType("settings_of_mine")
    names = {"__name__": "__main__", "lab": ecnlab, "settings": settings}
    exec(text, names)
    digests = []
    for factor in (2, 3, 2):
        settings.FACTOR = factor  # type: ignore[attr-defined]
        digests.append(class_digest(names["Mine"]))  # type: ignore[arg-type]
    assert digests[0] == digests[2] != digests[1]


PACKAGE_FILES = """\
import ecnlab as lab

class Relative(lab.Aqm):
    def on_arrival(self, arrival):
        from . import settings
        return settings.FACTOR

class Inner(lab.Aqm):
    def on_arrival(self, arrival):
        from .settings import FACTOR
        return FACTOR

class Top(lab.Aqm):
    def on_arrival(self, arrival):
        import {package}.settings
        return {package}.FACTOR
"""


@pytest.mark.parametrize(("name", "place"), [("Relative", ".settings"), ("Inner", ".settings"), ("Top", "")])
def test_imports_inside_a_hook_count_by_the_package_that_they_begin_at(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"package_of_{name.lower()}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("FACTOR = 1\n")
    (tmp_path / package / "settings.py").write_text("FACTOR = 1\n")
    (tmp_path / package / "aqms.py").write_text(PACKAGE_FILES.format(package=package))
    (tmp_path / "settings.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    aqm = getattr(importlib.import_module(f"{package}.aqms"), name)
    first = class_digest(aqm)
    assert class_digest(aqm) == first
    monkeypatch.setattr(importlib.import_module(f"{package}{place}"), "FACTOR", 2)
    assert class_digest(aqm) != first


EXTENSION_FILE = getattr(_bisect, "__file__", None)


@pytest.mark.skipif(EXTENSION_FILE is None, reason="this Python has _bisect built in")
def test_a_function_of_an_extension_of_the_user_counts_by_the_extension_s_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / Path(str(EXTENSION_FILE)).name
    file.write_bytes(Path(str(EXTENSION_FILE)).read_bytes())
    spec = spec_from_file_location("extension_of_mine._bisect", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    names = {"__name__": "__main__", "lab": ecnlab, "fast": vars(module)["bisect_left"]}
    exec("class Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return fast([1], 1)\n", names)
    first = class_digest(names["Mine"])  # type: ignore[arg-type]
    assert class_digest(names["Mine"]) == first  # type: ignore[arg-type]
    changed = tmp_path / "changed.so"  # a loaded library must not be written
    changed.write_bytes(file.read_bytes() + b"1")
    changed.replace(file)
    assert class_digest(names["Mine"]) != first  # type: ignore[arg-type]


def test_a_type_of_an_extension_of_the_user_counts_by_the_extension_s_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "fast_of_mine.so"
    module = ModuleType("fast_of_mine")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = {"__name__": "__main__", "lab": ecnlab, "Fast": type("Fast", (), {"__module__": module.__name__})}
    exec("class Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return Fast\n", names)
    digests = []
    for content in (b"1", b"2", b"1"):
        file.write_bytes(content)
        digests.append(class_digest(names["Mine"]))  # type: ignore[arg-type]
    assert digests[0] == digests[2] != digests[1]


def _hook(body: str) -> type[ecnlab.Aqm]:
    names: dict[str, Any] = {"__name__": "__main__", "lab": ecnlab, "random": random, "np": np, "draws": np.random}
    exec(f"class Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        {body}\n", names)
    made = names["Mine"]
    assert isinstance(made, type)
    return made


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("return random.random()", "random.random"),
        ("return np.random.rand()", "np.random.rand"),
        ("return draws.random()", "draws.random"),
        ("import random; return random.gauss(0, 1)", "random.gauss"),
        ("import random as other; return other.gauss(0, 1)", "random.gauss"),
        ("from random import uniform; return uniform(0, 1)", "random.uniform"),
        ("from numpy import random; return random.rand()", "numpy.random.rand"),
        ("import numpy.random as other; return other.rand()", "numpy.random.rand"),
        ("import numpy.random; return numpy.random.rand()", "numpy.random.rand"),
        ("return [random.random() for _ in range(3)]", "random.random"),
    ],
)
def test_a_draw_by_the_module_is_refused(body: str, named: str) -> None:
    with pytest.raises(ecnlab.UsageError) as raised:
        class_digest(_hook(body))
    assert str(raised.value).startswith(f"Mine: {named} in ")
    assert str(raised.value).endswith("; fix: draw with self.random(), whose stream belongs to the seed")


@pytest.mark.parametrize(
    "body",
    [
        "return np.sqrt(self.random())",
        "rng = np.random.default_rng(1); return rng.random()",
        "rng = random.Random(1); return rng.random()",
        "import random; return random.Random(1).random()",
        "from math import sqrt; return sqrt(self.random())",
    ],
)
def test_a_draw_from_the_aqm_s_stream_or_from_one_that_a_hook_makes_is_accepted(body: str) -> None:
    assert class_digest(_hook(body)) == class_digest(_hook(body))


def test_a_helper_file_with_the_name_of_a_module_of_python_counts_by_its_functions(tmp_path: Path) -> None:
    (tmp_path / "bisect.py").write_text("FACTOR = 2\n\ndef factor():\n    return FACTOR\n")
    source = (
        "import ecnlab as lab\nfrom {} import factor\n\nclass Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n        return factor()\n"
    )
    (tmp_path / "shadowed.py").write_text(source.format("bisect"))
    aqm = load_aqm_class(f"{tmp_path}/shadowed.py:Mine")
    function = vars(sys.modules[aqm.__module__])["factor"]
    if function.__globals__["__file__"] != str(tmp_path / "bisect.py"):
        pytest.fail("the file beside the class has not been imported")
    first = class_digest(aqm)
    function.__globals__["FACTOR"] = 3
    assert class_digest(aqm) != first


@pytest.mark.parametrize("base", [abc.ABC, Generic[TypeVar("T")], collections.UserDict, collections.abc.Sized])
def test_a_base_of_python_s_library_reads_none_of_the_library_s_files(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "lab": ecnlab, "Base": base}
    exec("class Mine(lab.Aqm, Base):\n    def on_arrival(self, arrival):\n        return lab.PASS\n", names)
    files: list[Path] = []
    monkeypatch.setattr(source_files, "read_source_file_bytes", lambda file: files.append(file) or b"")
    assert class_digest(names["Mine"])
    assert files == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("HOT = 3", "the global HOT"),
        ("Mine.level = 3", "the class attribute Mine.level"),
        ("HELD.append(1)", "the global HELD"),
        ("Mine.on_arrival = lambda self, arrival: HOT + level(HELD)", "the function <lambda>"),
        ("settings.FACTOR = 3", "settings_of_mine.FACTOR"),
        ("HOT, Mine.level = 3, 4", "the global HOT"),
    ],
)
def test_a_change_since_the_scenario_was_read_is_refused_with_the_value_that_differs(change: str, named: str, tmp_path: Path) -> None:
    settings = ModuleType("settings_of_mine")
    settings.FACTOR = 2  # type: ignore[attr-defined]
    names: dict[str, Any] = {"__name__": "__main__", "lab": ecnlab, "settings": settings}
    exec(
        "HOT, HELD, level = 2, [], len\nclass Mine(lab.Aqm):\n    def on_arrival(self, arrival):\n"
        "        return lab.mark() if HOT + level(HELD) + settings.FACTOR > 9 else lab.PASS\n    level = 2\n",
        names,
    )
    made = scenario_from_toml_text(SMALL, {QUEUE: '{ aqm = "Mine", limit = 60 }'}, aqms=[names["Mine"]])
    exec(change, names)
    with pytest.raises(ecnlab.UsageError) as raised:
        ecnlab.run(made, out=tmp_path / "out")
    told = str(raised.value)
    assert "AQM Mine has changed since the scenario was read in " in told
    assert f" in {named}; fix: read the scenario after the change" in told
