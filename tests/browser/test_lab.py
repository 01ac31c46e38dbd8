"""The page of the laboratory as a reader uses it: one file, opened from file:// in headless Chromium.

Selenium drives Debian's packages chromium and chromium-driver, offline. The page must have been built (`make web`).
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ecnlab
import explorables
from ecnlab.browser import links, page
from ecnlab.errors import UsageError
from ecnlab.packaged_examples import FOLDER, examples
from ecnlab.stats.differences import SampleBySeed, difference_of_samples
from ecnlab.stats.estimates import CONFIDENCE

# Each scenario is congested enough that every control of it matters.
TWO_GROUPS = """
name = "two groups"
duration = "4 s"
measure_from = "1 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "4 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 30, min_th = 2, max_th = 6, max_p = 0.1 }

[[flows]]
name = "bulk"
count = 6
to = "sink"
access = { to = "router", rate = "20 Mbps", delay = "15 ms", spread = "1 ms" }
tcp = { profile = "rfc", variant = "newreno", ecn = true }

[[flows]]
name = "short"
count = 4
to = "sink"
access = { to = "router", rate = "20 Mbps", delay = "15 ms", spread = "1 ms" }
tcp = { profile = "linux", ecn = true }
app = { kind = "transactions", bytes = "15 kB", gap = "200 ms", connection = "keep" }
"""
IN_BANDS = TWO_GROUPS.replace('aqm = "ecn", limit = 30, min_th = 2, max_th = 6, max_p = 0.1', 'discipline = "dualpi2", limit = 30').replace(
    '"rfc", variant = "newreno"', '"linux", variant = "dctcp", ect_codepoint = "ect1"'
)

MOVE = """
const [id, toEnd] = arguments;
const field = document.querySelector(`#panel [data-control="${id}"]`);
if (!field) return null;
field.closest("details").open = true;
if (field.type === "range") {
  field.value = toEnd ? field.max : field.min;
  field.dispatchEvent(new Event("input", { bubbles: true }));
} else if (field.type === "checkbox") field.click();
else if (field.tagName === "SELECT") {
  field.selectedIndex = (field.selectedIndex + (toEnd ? 1 : field.options.length - 1)) % field.options.length;
  field.dispatchEvent(new Event("change", { bubbles: true }));
} else return "text";
return field.type;
"""
PICTURE = """
const canvases = [...document.querySelectorAll("#figures canvas")];
return canvases.map((canvas) => canvas.toDataURL()).join(" ") + document.querySelector("#differences").innerText;
"""
WITHOUT_NAME = """
const named = (one) => one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim();
const all = [...document.querySelectorAll("input, select, textarea, button, summary, [role=img]")];
return all.filter((one) => one.checkVisibility() && !named(one)).map((one) => one.outerHTML);
"""


class Laboratory:
    """The page in a browser."""

    def __init__(self, driver: Any, file: Path) -> None:
        self.driver = driver
        self.address = file.as_uri()

    def open(self, fragment: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{fragment}" if fragment else self.address)
        self.wait("document.body.dataset.ready === 'true'")
        self.wait_for_runs()

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str, seconds: float = 120) -> None:
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, seconds, 0.05).until(lambda driver: driver.execute_script(f"return {condition}"), condition)

    def wait_for_runs(self) -> None:
        self.wait("document.body.dataset.running === 'false'")
        self.run_async("setTimeout(() => requestAnimationFrame(done), 50)")
        self.wait("document.body.dataset.running === 'false'")

    def run_async(self, script: str) -> Any:
        return self.driver.execute_async_script(f"const done = arguments[arguments.length - 1]; {script}")

    def text(self, id_: str) -> str:
        return str(self.run("return document.getElementById(arguments[0]).textContent", id_))

    def click(self, id_: str) -> None:
        self.run("document.getElementById(arguments[0]).click()", id_)

    def without_background(self) -> None:
        """One seed alone, so that the table does not change later."""
        self.run("const field = document.getElementById('seeds'); field.value = 1; field.dispatchEvent(new Event('change'))")

    @property
    def results(self) -> list[str]:
        """The lines with fingerprint and key."""
        return [line for line in self.text_lines("foot") if "fingerprint" in line]

    def text_lines(self, id_: str) -> list[str]:
        return str(self.run("return document.getElementById(arguments[0]).innerText", id_)).split("\n")

    @property
    def controls(self) -> list[str]:
        return list(self.run("return [...document.querySelectorAll('#panel [data-control]')].map((one) => one.dataset.control)"))

    def move(self, control: str, to_end: bool) -> None:
        assert self.run(MOVE, control, to_end) is not None
        self.wait_for_runs()

    def edit_aqm(self, text: str, error: str) -> None:
        """Types an AQM into the editor, and waits until the page shows this error, or none."""
        script = "const field = document.getElementById('aqm-text'); field.value = arguments[0]; field.dispatchEvent(new Event('input'))"
        self.run(script, text)
        self.wait(f"document.getElementById('aqm-error').textContent.includes({json.dumps(error)})")

    def errors_of_console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    chromium, chromedriver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if chromium is None or chromedriver is None:
        pytest.skip("chromium or chromedriver is not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    os.environ["SE_OFFLINE"] = "true"
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    made.set_script_timeout(120)
    yield made
    made.quit()


@pytest.mark.parametrize("n", [2, 4, 5, 6, 30])
@pytest.mark.parametrize("b", [11.0, 12.0])
def test_a_difference_without_spread_is_clear_where_python_finds_it(driver: Any, n: int, b: float) -> None:
    found = difference_of_samples(*(SampleBySeed(dict.fromkeys(range(n), value)) for value in (11.0, b)))
    program = (Path(explorables.__file__).parents[1] / "web" / "stats.js").read_text()
    ask = "return Lab.stats.isClear(Lab.stats.estimateDifference(...arguments));"
    assert driver.execute_script(f"const Lab = {{}};{program}{ask}", [11.0] * n, [b] * n) == (found.p_value <= 1 - CONFIDENCE)


@pytest.fixture(scope="module")
def single_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        page.require_page_folder()
    except UsageError as reason:
        pytest.skip(str(reason))
    file: Path = tmp_path_factory.mktemp("lab") / "lab.html"
    file.write_text(page.single_file(page.page_config(None)), encoding="utf-8")
    return file


@pytest.fixture
def lab(driver: Any, single_file: Path) -> Iterator[Laboratory]:
    # All figures are within the window: those outside of it are drawn later.
    driver.set_window_size(1280, 5000)
    driver.get_log("browser")
    laboratory = Laboratory(driver, single_file)
    yield laboratory
    assert laboratory.errors_of_console() == []


def scenario_fragment(toml: str) -> str:
    return links.scenario_fragment(toml)


def test_the_page_with_everything_in_it_is_below_one_megabyte(single_file: Path) -> None:
    assert single_file.stat().st_size < 1_000_000


@pytest.mark.parametrize("toml", [TWO_GROUPS, IN_BANDS], ids=["RED", "DualPI2"])
def test_every_control_changes_a_picture(lab: Laboratory, toml: str) -> None:
    lab.open(scenario_fragment(toml))
    lab.without_background()
    lab.wait_for_runs()
    before = lab.run(PICTURE)
    dead = []
    assert len(lab.controls) > 20
    for control in lab.controls:
        pictures = []
        for to_end in (True, False):
            lab.move(control, to_end)
            if lab.text("problems") == "":
                pictures.append(lab.run(PICTURE))
            lab.click("reset-side")
            lab.wait_for_runs()
        if all(picture == before for picture in pictures):
            dead.append(control)
    assert dead == []
    assert lab.run(PICTURE) == before


MOVE_CONTROLS = (Path(__file__).parent / "move_controls.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class NoPicture:
    """Why a control changes no picture of an example, and a change of the example under which it does."""

    reason: str
    value: object
    otherwise: Mapping[str, Any]
    duration: str = "3 s"


IS_SPARSE, WITH_BULK = "packets of calls find no queue and no window in their way", {"flows.calls.app": {"kind": "bulk"}}
NEVER_OVERLOADED, SLOW = "the queue is never overloaded", {"link.bottleneck.rate": "500 kbps"}
FEW_FLOWS = "the average stays below max_th"
WITHOUT_PICTURE = {
    ("dualpi2", "link.bottleneck.queue.overload"): NoPicture(NEVER_OVERLOADED, "delay", SLOW),
    ("l4s", "link.bottleneck.queue.overload"): NoPicture(NEVER_OVERLOADED, "delay", SLOW),
    ("fq", "flows.calls.tcp.ecn"): NoPicture(IS_SPARSE, False, WITH_BULK),
    ("fq", "flows.calls.tcp.pacing"): NoPicture(IS_SPARSE, True, WITH_BULK),
    ("fq", "flows.calls.tcp.max_rwnd"): NoPicture(IS_SPARSE, 2, WITH_BULK),
    ("fq", "flows.calls.tcp.delayed_ack"): NoPicture(IS_SPARSE, False, WITH_BULK),
    ("fq", "flows.calls.tcp.cubic_beta"): NoPicture(IS_SPARSE, 0.5, WITH_BULK),
    ("fq", "flows.calls.tcp.cubic_c"): NoPicture(IS_SPARSE, 4, WITH_BULK, "20 s"),
    ("incast", "network.queue.incapable"): NoPicture(
        "all packets are ECN-capable", "pass", {"flows.servers.tcp.ecn": False, "flows.servers.tcp.variant": "newreno"}, "0.02 s"
    ),
    ("parking_lot", "network.queue.beta"): NoPicture("max_p only rises", 0.5, {"network.queue.max_p": 0.5}, "10 s"),
    ("red_ecn", "network.queue.gentle"): NoPicture(FEW_FLOWS, True, {"flows.bulk.count": 100}, "40 s"),
    ("red_ecn_udp", "network.queue.gentle"): NoPicture(FEW_FLOWS, True, {"network.queue.min_th": 3, "network.queue.max_th": 7}, "40 s"),
    ("rfc2884", "network.queue.gentle"): NoPicture(FEW_FLOWS, True, {"flows.congesting.count": 60}, "30 s"),
    ("today", "flows.web.tcp.cubic_c"): NoPicture("transfers end before CUBIC's growth", 4, {"flows.web.app": {"kind": "bulk"}}, "20 s"),
    ("today", "link.bottleneck.queue.drop"): NoPicture("nothing is dropped by force", "front", {"link.bottleneck.queue.limit": 60}),
    ("today", "link.bleach.queue.drop"): NoPicture(
        "the link has no queue", "front", {"link.bleach.rate": "10 Mbps", "link.bleach.queue.limit": 20}
    ),
    ("today", "link.bleach.queue.limit"): NoPicture("the link has no queue", 100, {"link.bleach.rate": "10 Mbps"}),
}
GALLERY = [(True, name) for name in explorables.PAGES] + [(False, one.name) for one in examples() if one.kind == "scenario"]


def control_of(example: str, path: str) -> str:
    """The control of a key: links and groups by their numbers."""
    resolved = ecnlab.example(example).resolved
    table, name, rest = path.split(".", 2)
    return path if table == "network" else f"{table}.{[one['name'] for one in resolved[table]].index(name)}.{rest}"


@pytest.mark.parametrize(("is_explorable", "name"), GALLERY, ids=[f"{'explorable ' * is_one}{name}" for is_one, name in GALLERY])
def test_every_control_of_the_gallery_changes_a_picture_or_the_page_says_why_not(lab: Laboratory, is_explorable: bool, name: str) -> None:
    if not lab.run("return Boolean(window.ownCatalog)"):
        lab.open("explorable=why-ecn")
    listed = [] if is_explorable else sorted(control_of(name, path) for example, path in WITHOUT_PICTURE if example == name)
    lab.run(MOVE_CONTROLS, is_explorable, name, listed)
    lab.wait("window.moved !== null", seconds=600)
    moved = lab.run("return window.moved")
    assert "error" not in moved, moved
    for found in moved["found"].values():
        assert found["count"] >= (1 if is_explorable else 20)
        # The engine warns of a parameter without effect, and the page shows it.
        silent = {control: told for control, told in found["same"].items() if not told["warned"]}
        assert sorted(silent) == listed, silent
        # Such a control makes another scenario nevertheless: the page shows another key.
        assert [control for control, told in silent.items() if not told["newKey"]] == []


@pytest.mark.parametrize(("example", "path"), WITHOUT_PICTURE)
def test_a_control_without_a_picture_has_its_reason(example: str, path: str) -> None:
    why = WITHOUT_PICTURE[(example, path)]
    measured = {"duration": why.duration, "measure_from": "0 s"}

    def fingerprint(changes: Mapping[str, Any]) -> str:
        return ecnlab.example(example, measured | queue_of_topology(example, changes))._core.run(1).fingerprint

    assert fingerprint({}) == fingerprint({path: why.value}), "the control changes a picture"
    assert fingerprint(why.otherwise) != fingerprint({**why.otherwise, path: why.value}), why.reason


def queue_of_topology(example: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, those of a topology's queue as the whole queue: a topology's defaults cannot be changed one by one."""
    queue = next(link["queue"] for link in ecnlab.example(example).resolved["link"] if "queue" in link)
    while "queue" in queue:
        queue = queue["queue"]
    prefix = "network.queue."
    own = {path.removeprefix(prefix): value for path, value in changes.items() if path.startswith(prefix)}
    others = {path: value for path, value in changes.items() if not path.startswith(prefix)}
    return others | ({"network.queue": {**queue, **own}} if own else {})


def test_a_link_restores_both_sides_seed_and_range(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.click("compare")
    lab.wait_for_runs()
    lab.click("tab-B")
    lab.move("link.0.queue.max_p", True)
    lab.run("const field = document.getElementById('seed'); field.value = 7; field.dispatchEvent(new Event('change'))")
    lab.run("const field = document.getElementById('range-to'); field.value = 2; field.dispatchEvent(new Event('change'))")
    lab.wait_for_runs()
    results = lab.results
    assert len(results) == 2
    assert results[0][3:] != results[1][3:]
    lab.click("copy-link")
    lab.wait("document.body.dataset.link")
    fragment = lab.run("return document.body.dataset.link").partition("#")[2]
    assert len(fragment) < 2000
    lab.open(fragment)
    assert (lab.results, lab.run("return document.getElementById('range-to').value")) == (results, "2")
    lab.open(fragment[: len(fragment) // 2])
    assert "copy the whole link again" in lab.text("status")


def test_the_exported_toml_gives_the_fingerprint_of_the_page(lab: Laboratory, tmp_path: Path) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.move("link.0.queue.max_p", True)
    (result,) = lab.results
    lab.click("open-text")
    lab.wait("document.getElementById('text').open")
    text = lab.run("return document.getElementById('toml').value")
    file = tmp_path / "exported.toml"
    file.write_text(text, encoding="utf-8")
    scenario = ecnlab.load(file)
    assert f"key {scenario.hash}." in result
    (fingerprint,) = ecnlab.run(scenario, seeds=[1]).fingerprints.values()
    assert f"fingerprint {fingerprint}" in result

    lab.run("document.getElementById('toml').value = arguments[0]", TWO_GROUPS)
    lab.click("toml-use")
    lab.wait("!document.getElementById('text').open")
    lab.wait_for_runs()
    assert lab.results != [result]
    lab.click("open-text")
    lab.wait("document.getElementById('text').open")
    lab.run("document.getElementById('toml').value = arguments[0]", TWO_GROUPS.replace("min_th = 2", "min_th = 30"))
    lab.click("toml-use")
    lab.wait("document.getElementById('toml-problems').textContent.includes('min_th')")


def test_a_mistake_in_the_readers_aqm_is_shown_with_its_line(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    (before,) = lab.results
    lab.run("document.getElementById('editor').open = true; document.querySelector('[data-use=A]').click()")
    lab.wait("document.getElementById('panel').textContent.includes('most')")
    lab.wait_for_runs()
    (with_own,) = lab.results
    assert with_own != before
    text = lab.run("return document.getElementById('aqm-text').value")
    line = next(number for number, one in enumerate(text.split("\n"), 1) if "arrival.backlog" in one)
    lab.edit_aqm(text.replace("arrival.backlog", "arrival.nothing"), f"line {line}, on_arrival")
    assert lab.run("return document.querySelector('.line-numbers .wrong').textContent") == f"{line}\n"
    lab.edit_aqm(text.replace(">=", ">= >="), f"line {line}: SyntaxError")
    lab.edit_aqm(text, "")
    lab.wait("document.getElementById('aqm-error').textContent === ''")
    lab.wait_for_runs()
    assert lab.results == [with_own]


def test_a_link_with_javascript_runs_only_after_the_reader_agrees(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.run("document.querySelector('[data-use=A]').click()")
    lab.wait("document.getElementById('panel').textContent.includes('most')")
    lab.wait_for_runs()
    results = lab.results
    lab.click("copy-link")
    lab.wait("document.body.dataset.link")
    lab.open(lab.run("return document.body.dataset.link").partition("#")[2])
    assert (lab.results, lab.run("return document.getElementById('consent').hidden")) == ([], False)
    lab.click("run-sources")
    lab.wait("document.getElementById('foot').textContent.includes('fingerprint')")
    lab.wait_for_runs()
    assert lab.results == results


def test_the_keyboard_reaches_and_moves_the_controls(lab: Laboratory) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    lab.open(scenario_fragment(TWO_GROUPS))
    before = lab.results

    def press(key: str) -> dict[str, str]:
        ActionChains(lab.driver).send_keys(key).perform()
        return dict(
            lab.run("const one = document.activeElement; return { ...one.dataset, id: one.id, class: one.className, href: one.hash ?? '' }")
        )

    assert press(Keys.TAB)["href"] == "#figures", "the first stop is the link to the figures"
    assert any(press(Keys.TAB).get("control") == "link.0.queue.max_p" for _ in range(60))
    press(Keys.END)
    lab.wait("document.querySelector('[data-exact=\"link.0.queue.max_p\"]').value === '1'")
    lab.wait_for_runs()
    assert lab.results != before

    lab.run("document.getElementById('packets').open = true; document.getElementById('play-head').focus()")
    lab.wait("document.querySelector('#play').dataset.time")
    time = float(lab.run("return document.getElementById('play').dataset.time"))
    press(Keys.ARROW_RIGHT)
    press(".")
    assert float(lab.run("return document.getElementById('play').dataset.time")) > time


def test_the_play_head_shows_the_packets_that_wait_with_their_marks(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.run("document.getElementById('packets').open = true")
    lab.wait("document.querySelectorAll('.lanes rect').length > 0")
    lab.run("const one = document.getElementById('play-head'); one.value = 1000; one.dispatchEvent(new Event('input'))")
    text = lab.run("return document.querySelector('.lanes h4').textContent")
    waiting, marked = (int(word) for word in text.split() if word.isdigit())
    count = "return document.querySelectorAll(arguments[0]).length"
    drawn = [lab.run(count, f".side-A .lane {shape}") for shape in ("svg > rect[height='12']", "circle")]
    assert drawn == [waiting, marked]


@pytest.mark.parametrize("name", explorables.PAGES)
def test_an_explorable_has_two_sliders_that_change_its_pictures(lab: Laboratory, name: str) -> None:
    lab.open(f"explorable={name}&frame")
    lab.without_background()
    lab.wait_for_runs()
    before = lab.run(PICTURE)
    assert len(lab.controls) == 2
    for control in lab.controls:
        pictures = []
        for to_end in (True, False):
            lab.move(control, to_end)
            # One end may contradict the other slider, which the page then says.
            if lab.text("problems") == "":
                pictures.append(lab.run(PICTURE))
            lab.click("reset-side")
            lab.wait_for_runs()
        assert any(picture != before for picture in pictures)
    assert lab.run(PICTURE) == before


@pytest.mark.parametrize(
    "example", sorted(file.stem for file in FOLDER.glob("*.toml") if file.stem not in ("today", "incast", "parking_lot"))
)
def test_an_example_of_the_gallery_opens_with_pictures_and_named_controls(lab: Laboratory, example: str) -> None:
    lab.open(f"example={example}")
    assert (lab.text("problems"), len(lab.results)) == ("", 1)
    assert lab.run("return document.querySelectorAll('#figures canvas').length") >= 3
    assert lab.run(WITHOUT_NAME) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_screen_needs_no_scrolling_to_the_side(lab: Laboratory, theme: str) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.driver.set_window_size(400, 900)
    lab.run("const field = document.getElementById('theme'); field.value = arguments[0]; field.dispatchEvent(new Event('change'))", theme)
    lab.click("compare")
    lab.wait_for_runs()
    assert lab.run("return document.documentElement.dataset.theme") == theme
    assert lab.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_figure_is_saved_as_svg_with_its_key(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.run("Lab.download = (name, type, text) => { document.body.dataset.saved = JSON.stringify([name, text]); }")
    lab.run("document.querySelector('[data-figure=length] button').click()")
    name, text = json.loads(lab.run("return document.body.dataset.saved"))
    (result,) = lab.results
    assert name == "length.svg"
    assert text.startswith("<svg ")
    assert text.count("<path ") == 2
    assert result.partition("key ")[2].rstrip(".") in text


def test_seeds_in_the_background_give_intervals(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.wait("document.body.dataset.background === 'done'")
    rows = {row.split("\t")[0]: row.split("\t")[1] for row in lab.text_lines("differences") if "\t" in row}
    assert "n = 5 seeds" in lab.text("measures")
    result = ecnlab.run(ecnlab.scenario(tomllib.loads(TWO_GROUPS)), seeds=5)
    mean = sum(result.queues["length_mean_packets"]) / 5
    assert rows["mean queue length (packets)"].startswith(f"{mean:.4g}")


# Chooses the queue again while a seed runs in the background, whose result comes although it is cancelled.
CHOOSE_QUEUE_IN_THE_BACKGROUND = """
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message.type === "cancel") return;
  if (message.measuresOnly && message.seed === 3 && !window.chosen) {
    window.chosen = true;
    setTimeout(() => document.getElementById("queue").dispatchEvent(new Event("change")), 0);
  }
  return post.call(this, message, ...rest);
};
"""


def test_a_result_that_comes_after_its_cancellation_leaves_no_gap_among_the_seeds(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.run(CHOOSE_QUEUE_IN_THE_BACKGROUND)
    lab.run("const field = document.getElementById('seed'); field.value = 1; field.dispatchEvent(new Event('change'))")
    lab.wait("window.chosen && document.body.dataset.background === 'done'")
    assert "n = 5 seeds" in lab.text("measures")


def test_the_meaning_of_a_control_is_shown_at_the_keyboard_and_hidden_by_escape(lab: Laboratory) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    lab.open(scenario_fragment(TWO_GROUPS))
    shown = "return [...document.querySelectorAll('#panel .doc')].filter((one) => one.checkVisibility()).map((one) => one.id)"
    assert lab.run(shown) == []
    described = lab.run(
        "return [...document.querySelectorAll('#panel [data-control]')].filter((one) => !document.getElementById("
        "one.getAttribute('aria-describedby'))?.textContent.trim()).map((one) => one.dataset.control)"
    )
    assert described == []
    lab.run("document.querySelector('[data-exact=\"link.0.queue.max_p\"]').focus()")
    assert lab.run(shown) == ["control-link.0.queue.max_p-doc"]
    ActionChains(lab.driver).send_keys(Keys.ESCAPE).perform()
    assert lab.run(shown) == []
    ActionChains(lab.driver).send_keys(Keys.TAB).perform()
    assert lab.run(shown) == ["control-link.0.queue.max_p-doc"], "the slider beside the exact value"


# Packs a state as a link does, with the tree of a scenario in TOML.
PACK = """
const [toml, compare, hidden, done] = arguments;
const tree = Lab.readToml(toml);
const source = "self.ran = true; postMessage({ type: 'ran' }); class Own extends Aqm { on_arrival(arrival) { return PASS; } }";
const plain = { tree, name: "plain" };
const sides = hidden ? { A: plain, B: { tree, source } } : { A: { tree, source }, B: plain };
const unchecked = { seed: -3.5, seeds: 1e9, queue: 7, range: "x", active: "constructor", explorable: "constructor" };
Lab.link.pack({ v: 1, build: "", sides, compare, ...unchecked }).then(done);
"""
# Counts the requests to workers that carry JavaScript.
COUNT = """
window.withSource = 0;
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message.source) window.withSource += 1;
  return post.call(this, message, ...rest);
};
"""


@pytest.mark.parametrize("hidden", [False, True], ids=["side A", "hidden side B"])
def test_no_control_runs_the_javascript_of_a_link_before_the_reader_agrees(lab: Laboratory, hidden: bool) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    state = lab.driver.execute_async_script(PACK, TWO_GROUPS, False, hidden)
    lab.open(f"state={state}")
    lab.run(COUNT)
    assert lab.run("return [document.getElementById('seeds').value, document.getElementById('seed').value]") == ["30", "0"]
    for act in (
        "const one = document.getElementById('seed'); one.value = 9; one.dispatchEvent(new Event('change'))",
        "document.getElementById('compare').click()",
        "document.getElementById('tab-B').click()",
        "document.getElementById('open-text').click()",
        "document.getElementById('text').close()",
        "document.querySelector('[data-use=A]').click()",
        "const one = document.getElementById('aqm-text'); one.value += ' '; one.dispatchEvent(new Event('input'))",
    ):
        lab.run(act)
        lab.wait_for_runs()
        lab.run_async("setTimeout(done, 600)")
        assert lab.run("return window.withSource") == 0, act
    assert lab.run("return document.getElementById('consent').hidden") is False
    lab.click("run-sources")
    lab.wait("window.withSource > 0")


def test_a_link_writes_nothing_but_the_two_sides(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    pack = """
    const [toml, done] = arguments;
    const sides = JSON.parse('{"__proto__": {"source": "evil"}}');
    sides.A = { tree: Lab.readToml(toml) };
    Lab.link.pack({ v: 1, build: "", sides, seed: 1, seeds: 1 }).then(done);
    """
    lab.open(f"state={lab.driver.execute_async_script(pack, TWO_GROUPS)}")
    assert lab.run("return [{}.source ?? null, document.getElementById('consent').hidden]") == [None, True]


def test_the_text_of_an_invalid_side_says_why_and_a_run_goes_on(lab: Laboratory) -> None:
    lab.open(scenario_fragment(TWO_GROUPS))
    lab.run(
        "const one = document.getElementById('seed'); one.value = 4; one.dispatchEvent(new Event('change'));"
        "const two = document.getElementById('open-text'); two.click(); setTimeout(() => two.click(), 400)"
    )
    lab.wait("document.getElementById('text').open")
    lab.wait_for_runs()
    assert len(lab.results) == 1
    lab.open(scenario_fragment(TWO_GROUPS.replace("min_th = 2", "min_th = 30")))
    lab.click("open-text")
    lab.wait("document.getElementById('text').open")
    assert "min_th" in lab.text("toml-problems")
