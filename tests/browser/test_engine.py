"""The engine in a browser against the native one: the same scenarios, fingerprints, tables and problems, in headless Chromium.

Selenium drives Debian's packages chromium and chromium-driver, offline. The page must have been built (`make web`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ecnlab
from browser.generated import scenario_json
from ecnlab import _core
from ecnlab.browser import page
from ecnlab.browser.server import PageServer
from ecnlab.errors import ScenarioError, UsageError
from ecnlab.packaged_examples import examples
from helpers import Outcome

HERE = Path(__file__).parent
GENERATED = 200
# A scenario whose queue has an AQM of the reader.
OWN_AQM = """
name = "own AQM"
duration = "8 s"
measure_from = "1 s"
link = [{ name = "bottleneck", from = "r", to = "s", rate = "5 Mbps", delay = "10 ms", queue = { aqm = "droptail", limit = 60 } }]
change = [{ at = "4 s", link = "bottleneck", rate = "3 Mbps" }]
record = { queue = "10 ms" }
[[flows]]
name = "a"
count = 3
from = "r"
to = "s"
tcp = { profile = "linux", ecn = true }
[[flows]]
name = "b"
count = 2
from = "r"
to = "s"
tcp = { profile = "rfc" }
app = { kind = "web" }
"""

# Runs scenarios one after another in a worker-less instance; of each the key, fingerprint and digest of all tables, or its problems.
RUN_ALL = """
const [requests, aqmSource, done] = arguments;
(async () => {
  const engine = await Engine.load(await Engine.page.wasmModule());
  const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const text = (value) => new TextEncoder().encode(value);
  const found = [];
  for (const { seed, ...request } of requests) {
    const opened = engine.open({ ...request, aqms: [] });
    if (opened.problems) {
      found.push({ problems: opened.problems.map(({ place, message }) => [place, message]) });
      continue;
    }
    const { lab, hash, duration_s } = opened;
    const toml = engine.toml(lab);
    engine.start(lab, seed);
    let slices = 0, rows = 0;
    while (engine.advance(lab, duration_s, 50000) < duration_s) {
      slices += 1;
      rows += Object.values(engine.fresh(lab).tables).reduce((sum, table) => sum + table.rows, 0);
    }
    rows += Object.values(engine.fresh(lab).tables).reduce((sum, table) => sum + table.rows, 0);
    const { fingerprint } = engine.finish(lab, { recorded: false });
    const parts = [];
    for (const [name, columns] of Object.entries(engine.finishRaw(lab)).sort(([a], [b]) => (a < b ? -1 : 1))) {
      parts.push(text(name));
      for (const column of columns) parts.push(text(column.name), text(column.kind), column.bytes, text(column.names.join("|")));
    }
    const tables = hex(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
    engine.close(lab);
    found.push({ hash, fingerprint, tables, toml, rows });
  }
  return found;
})().then(done, (error) => done({ error: String(error) }));
"""

RUN_OWN = """
const [source, toml, queues, seed, done] = arguments;
const own = `
  importScripts("${new URL("engine.js", location.href)}");
  onmessage = async ({ data: { module, source, toml, queues, seed } }) => {
    try {
      const engine = await Engine.load(module);
      const aqms = engine.loadAqms(source);
      postMessage(queues.map((queue) => {
        const opened = engine.open({ toml, aqms, set: queue === null ? [] : [["link.bottleneck.queue", queue]] });
        if (opened.problems) return { problems: opened.problems.map(({ place, message }) => [place, message]) };
        engine.start(opened.lab, seed);
        while (engine.advance(opened.lab, opened.duration_s, 50000) < opened.duration_s);
        return { fingerprint: engine.finish(opened.lab).fingerprint };
      }));
    } catch (error) {
      const place = error.message.startsWith("SyntaxError") ? await Engine.placeOfSyntaxError(source) : error;
      postMessage({ name: error.name, message: error.message, line: place.line, hook: error.hook });
    }
  };`;
const runner = new Worker(URL.createObjectURL(new Blob([own], { type: "text/javascript" })));
runner.onmessage = ({ data }) => { runner.terminate(); done(data); };
runner.onerror = (event) => { event.preventDefault(); runner.terminate(); done({ error: event.message }); };
Engine.page.wasmModule().then((module) => runner.postMessage({ module, source, toml, queues, seed }));
"""

# Calls of a run after its AQM has failed, the error of each as name, message and line; then a run of the same instance without the AQM.
GO_ON_AFTER_FAILURE = """
const [source, toml, done] = arguments;
const own = `
  importScripts("${new URL("engine.js", location.href)}");
  onmessage = async ({ data: { module, source, toml } }) => {
    const engine = await Engine.load(module);
    const opened = engine.open({ toml, aqms: engine.loadAqms(source), set: [["link.bottleneck.queue", '{ aqm = "Mine", limit = 60 }']] });
    const errorOf = (call) => {
      try {
        return call();
      } catch ({ name, message, line }) {
        return [name, message, line];
      }
    };
    const begun = errorOf(() => engine.start(opened.lab, 1));
    const advance = () => engine.advance(opened.lab, opened.duration_s, 1e6);
    const errors = [advance, advance, () => engine.finish(opened.lab), () => engine.finishRaw(opened.lab)].map(errorOf);
    const plain = engine.open({ toml });
    engine.start(plain.lab, 1);
    while (engine.advance(plain.lab, plain.duration_s, 50000) < plain.duration_s);
    postMessage({ begun, errors, fingerprint: engine.finish(plain.lab).fingerprint });
  };`;
const runner = new Worker(URL.createObjectURL(new Blob([own], { type: "text/javascript" })));
runner.onmessage = ({ data }) => { runner.terminate(); done(data); };
runner.onerror = (event) => { event.preventDefault(); runner.terminate(); done({ error: event.message }); };
Engine.page.wasmModule().then((module) => runner.postMessage({ module, source, toml }));
"""
# Instances of the engine that a worker of the page has made after each of these texts of an AQM, asked for one after the other.
COUNT_INSTANCES = """
const [sources, done] = arguments;
const own = `
  importScripts("${new URL("engine.js", location.href)}");
  const load = Engine.load;
  let made = 0;
  Engine.load = (module) => { made += 1; return load(module); };
  const post = self.postMessage;
  self.postMessage = (message, ...rest) => post.call(self, { ...message, made }, ...rest);
  importScripts("${new URL("worker.js", location.href)}");`;
const worker = new Worker(URL.createObjectURL(new Blob([own], { type: "text/javascript" })));
const found = [];
worker.onmessage = ({ data }) => {
  found.push([data.type, data.made]);
  if (found.length <= sources.length) worker.postMessage({ type: "declarations", id: found.length, source: sources[found.length - 1] });
  else { worker.terminate(); done(found); }
};
Engine.page.wasmModule().then((module) => worker.postMessage({ type: "load", module }));
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    try:
        page.require_page_folder()
    except UsageError as error:
        pytest.skip(f"no page of the laboratory: {error}")
    with PageServer(page.page_config(None)) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def driver(server: PageServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver_program = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver_program is None:
        pytest.skip("chromium and chromium-driver are not installed")
    os.environ["SE_OFFLINE"] = "true"
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile = tmp_path_factory.mktemp("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver_program))
    started.set_script_timeout(1200)
    started.get(server.url)
    yield started
    started.quit()


def native_outcome(scenario: ecnlab.Scenario, seed: int) -> dict[str, Any]:
    """Key, fingerprint, and digest of all tables as `RUN_ALL` computes it."""
    run = scenario._core.run(seed)
    digest = hashlib.sha256()
    for name, table in sorted(run.tables.items()):
        digest.update(name.encode())
        for column, kind, values, names in table.plain:
            digest.update(column.encode() + kind.encode() + values + "|".join(names).encode())
    return {"hash": scenario.hash, "fingerprint": run.fingerprint, "tables": digest.hexdigest()}


def errors_of_console(driver: Any) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.real_time
def test_every_example_is_the_same_run_and_its_export_too(driver: Any, tmp_path: Path, command: Callable[..., Outcome]) -> None:
    shown = page.page_config(None)["examples"]
    requests = [{"toml": one["toml"], "files": one["files"], "seed": 1} for one in shown]
    found = driver.execute_async_script(RUN_ALL, requests, "")
    assert len(found) == len([one for one in examples() if one.kind == "scenario"])
    for one, outcome in zip(shown, found, strict=True):
        scenario = ecnlab.load(f"example:{one['name']}")
        assert {key: outcome[key] for key in ("hash", "fingerprint", "tables")} == native_outcome(scenario, 1), one["name"]
    assert sum(outcome["rows"] for outcome in found) > 100_000
    for name in ("codel", "cellular", "phase"):
        outcome = found[[one["name"] for one in shown].index(name)]
        exported = tmp_path / f"{name}.toml"
        exported.write_text(outcome["toml"], encoding="utf-8")
        assert command("run", exported, "--seeds", "1", "--out", tmp_path / name, "--quiet").code == 0
        result = ecnlab.open_result(tmp_path / name)
        assert (result.fingerprints, result.header["hash"]) == ({1: outcome["fingerprint"]}, outcome["hash"])
    assert errors_of_console(driver) == []


@pytest.mark.real_time
def test_generated_scenarios_are_the_same_runs_or_have_the_same_problems(driver: Any) -> None:
    texts, runs = [], 0
    expected: list[dict[str, Any]] = []
    while runs < GENERATED:
        number = len(texts)
        texts.append(scenario_json(number))
        try:
            expected.append(native_outcome(ecnlab.scenario(json.loads(texts[-1])), number))
            runs += 1
        except ScenarioError as error:
            expected.append({"problems": [[problem.place, problem.message] for problem in error.problems]})
        assert number < 3 * GENERATED, "most scenarios are sound"
    found = driver.execute_async_script(RUN_ALL, [{"json": text, "seed": seed} for seed, text in enumerate(texts)], "")
    for number, (outcome, native) in enumerate(zip(found, expected, strict=True)):
        assert {key: outcome.get(key) for key in native} == native, f"scenario {number}: {texts[number]}"
    assert len({outcome["fingerprint"] for outcome in found if "fingerprint" in outcome}) == GENERATED
    assert errors_of_console(driver) == []


@pytest.mark.real_time
def test_an_aqm_of_the_page_decides_as_the_same_aqm_in_python(driver: Any, tmp_path: Path) -> None:
    queues = [
        '{ aqm = "Threshold", limit = 60, most = 12 }',
        '{ aqm = "RedByHand", limit = 60, ecn = true }',
        '{ aqm = "EveryHook", limit = 60 }',
    ]
    aqms = ["example:threshold:Threshold", "example:red_by_hand:RedByHand", f"{HERE / 'every_hook.py'}:EveryHook"]
    file = tmp_path / "own.toml"
    file.write_text(OWN_AQM, encoding="utf-8")
    found = driver.execute_async_script(RUN_OWN, (HERE / "aqms.js").read_text(encoding="utf-8"), OWN_AQM, queues, 3)
    native = []
    for queue, aqm in zip(queues, aqms, strict=True):
        table = dict(pair.split(" = ") for pair in queue.strip("{ }").split(", "))
        values = {key: json.loads(value) for key, value in table.items()}
        native.append({"fingerprint": ecnlab.load(file, {"link.bottleneck.queue": values}, aqms=[aqm])._core.run(3).fingerprint})
    assert found == native
    refused = driver.execute_async_script(
        RUN_OWN, (HERE / "aqms.js").read_text(encoding="utf-8"), OWN_AQM, ['{ aqm = "RedByHand", limit = 60, min_th = 20 }'], 3
    )
    assert refused == [{"problems": [["link.bottleneck.queue.min_th", "20 must be below max_th 15"]]}]


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("\n  on_arrival(arrival) {\n    return arrival.foo.bar;\n  }\n", 3, "on_arrival: TypeError: Cannot read properties of undefined"),
        ("\n  on_arrival(arrival) {\n    return 3;\n  }\n", None, "on_arrival: TypeError: 3 is not a verdict"),
        (
            "\n  on_arrival(arrival) {\n    return PASS;\n  }\n  on_departure(departure) {\n    return nothing;\n  }\n",
            6,
            "nothing is not defined",
        ),
        ("\n  on_arrival(arrival) {\n    return PASS;\n  }\n  oops oops\n", 5, "SyntaxError"),
        ("\n  on_arrival(arrival) {\n    return powi(0.5, -2) > 1 ? PASS : mark();\n  }\n", 3, "the exponent must be a whole number"),
        # Values that differ from run to run would give other results under one key.
        ("\n  on_arrival(arrival) {\n    return Math.random() < 2 ? PASS : mark();\n  }\n", 3, "Math.random differs from run to run"),
        ("\n  on_arrival(arrival) {\n    return Date.now() > 0 ? PASS : mark();\n  }\n", 3, "Date differs from run to run"),
    ],
)
def test_a_mistake_in_an_aqm_of_the_page_has_its_line(driver: Any, body: str, line: int | None, message: str) -> None:
    source = f"class Mine extends Aqm {{{body}}}"
    failed = driver.execute_async_script(RUN_OWN, source, OWN_AQM, ['{ aqm = "Mine", limit = 60 }'], 1)
    assert (failed["name"], failed["line"]) == ("AqmError", line)
    assert message in failed["message"]


@pytest.mark.real_time
def test_a_run_whose_aqm_has_failed_gives_its_error_and_no_result(driver: Any) -> None:
    body = "on_arrival(arrival) {\n    if (arrival.now_s > 2) throw new Error('late');\n    return PASS;\n  }"
    found = driver.execute_async_script(GO_ON_AFTER_FAILURE, f"class Mine extends Aqm {{\n  {body}\n}}\n", OWN_AQM)
    error = ["AqmError", "Mine: on_arrival: Error: late", 3]
    assert (found["begun"], found["errors"]) == (None, [error] * 4)
    scenario = ecnlab.scenario(tomllib.loads(OWN_AQM))
    assert found["fingerprint"] == native_outcome(scenario, 1)["fingerprint"]
    at_begin = driver.execute_async_script(
        GO_ON_AFTER_FAILURE,
        "class Mine extends Aqm {\n  on_start() {\n    return -1 * nothing;\n  }\n  on_arrival() { return PASS; }\n}",
        OWN_AQM,
    )
    error = ["AqmError", "Mine: on_start: ReferenceError: nothing is not defined", 3]
    assert (at_begin["begun"], at_begin["errors"]) == (error, [error] * 4)


@pytest.mark.real_time
def test_each_text_of_an_aqm_has_an_instance_of_its_own_which_frees_the_memory_of_the_last(driver: Any) -> None:
    first, second = (f"class Mine extends Aqm {{ on_arrival() {{ return {verdict}; }} }}" for verdict in ("PASS", "mark()"))
    found = driver.execute_async_script(COUNT_INSTANCES, ["", first, first, second, first, "", "oops", first])
    instances = [made for _, made in found]
    assert [kind for kind, _ in found] == ["ready", *["declarations"] * 6, "failed", "declarations"]
    assert instances == [1, 1, 1, 1, 2, 3, 4, 4, 5]


@pytest.mark.real_time
def test_a_class_in_a_comment_is_none(driver: Any) -> None:
    source = "/*\nclass Old extends Aqm {}\n*/\nclass Mine extends Aqm {\n  on_arrival(arrival) {\n    return PASS;\n  }\n}\n"
    [found] = driver.execute_async_script(RUN_OWN, source, OWN_AQM, ['{ aqm = "Mine", limit = 60 }'], 1)
    assert "fingerprint" in found


def test_the_engine_of_the_page_is_that_of_the_package(server: PageServer) -> None:
    assert page.module_build(server.files["/ecnlab.wasm"]) == _core.BUILD
