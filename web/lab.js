// The page: its state, its two sides, and what happens when a control moves.
"use strict";

(() => {
  const { element } = Lab;
  const $ = (id) => document.getElementById(id);
  const STATE_VERSION = 1;
  const BACKGROUND_PAUSE_MS = 500;
  const STATUS_PAUSE_MS = 700;
  const config = { examples: [], scenario: null, seed: null, ...Engine.page.config() };

  const makeSide = () => ({ tree: null, files: {}, source: "", name: "", declarations: [], run: null, samples: [], error: null, changedAt: 0, original: null, trusted: false });
  const app = { sides: { A: makeSide(), B: makeSide() }, active: "A", compare: false, seed: 1, seeds: 5, queue: null, range: null, head_s: null, explorable: null, catalog: null, editorHeld: false };
  const runners = {};
  let panel;
  let figures;
  let playHead;
  let editor;

  const shown = () => (app.compare ? ["A", "B"] : ["A"]);
  const labels = () => Object.fromEntries(["A", "B"].map((side) => [side, labelOf(side)]));

  function labelOf(side) {
    const queue = app.sides[side].run?.queueInForce(app.queue);
    if (!queue) return side;
    const aqm = typeof queue.aqm === "object" ? queue.aqm.name : queue.aqm;
    const words = [queue.discipline, aqm, queue.queue ? (queue.queue.aqm?.name ?? queue.queue.aqm) : null].filter(Boolean);
    return `${side}: ${words.join(" + ")}`;
  }

  // JavaScript of a link, which is held until the reader agrees to run it.

  const isHeld = (side) => app.sides[side].source !== "" && !app.sides[side].trusted;
  const sourceOf = (side) => (isHeld(side) ? "" : app.sides[side].source);

  function askConsent() {
    $("consent").hidden = false;
    $("editor").open = true;
    document.body.dataset.running = String(shown().some((side) => runners[side].isBusy));
  }

  // Runs.

  const jobOf = (side) => {
    const { tree, toml, files } = app.sides[side];
    const source = sourceOf(side);
    const request = tree === null ? { toml, files } : { json: JSON.stringify(tree), files };
    return { request, source, seed: app.seed };
  };

  /** Runs a side; `changedAt` is when the reader asked for it. */
  function runSide(side, changedAt = performance.now()) {
    if (isHeld(side)) {
      askConsent();
      return;
    }
    const one = app.sides[side];
    one.changedAt = changedAt;
    stopBackground();
    document.body.dataset.running = "true";
    const tables = new Lab.Tables();
    let run = null;
    runners[side].submit({ type: "run", ...jobOf(side), pieces: true }, {
      opened: ({ opened }) => {
        run = Lab.makeRun(app.catalog, opened, tables, one.declarations);
        one.tree ??= Lab.readToml(one.toml);
        one.original ??= { tree: structuredClone(one.tree), source: one.source };
        one.error = null;
        showProblems();
        if (one.source === editor.source) editor.showError(null);
        one.run = run;
        showScenario(side);
      },
      piece: ({ fresh }) => {
        tables.add(fresh.tables);
        const isWhole = fresh.now_s >= run.opened.duration_s;
        if (!isWhole) drawFigures();
      },
      done: ({ finished, run_ms }) => {
        Object.assign(run, { finished, run_ms });
        one.samples = [Lab.differences.measuresOf(run, app.queue)];
        drawFigures();
        showMeasures();
        finishPicture(side, changedAt);
      },
      failed: ({ error }) => fail(side, error),
    });
  }

  function fail(side, error) {
    app.sides[side].error = error;
    document.body.dataset.running = "false";
    if (error.kind === "AqmError" || error.line) {
      editor.showError(error);
      $("editor").open = true;
    }
    showProblems();
  }

  function showProblems() {
    const texts = shown().flatMap((side) => {
      const { error } = app.sides[side];
      if (!error) return [];
      const problems = error.problems?.map((one) => `${one.place ? `${one.place}: ` : ""}${one.message}`);
      return problems ?? [`${error.line ? `line ${error.line}: ` : ""}${error.message}`];
    });
    const warnings = shown().flatMap((side) => (app.sides[side].error ? [] : (app.sides[side].run?.opened.warnings ?? []))).map((one) => `${one.place}: ${one.message}`);
    $("problems").textContent = [...new Set(texts)].join("\n");
    document.body.classList.toggle("stale", texts.length > 0);
    app.warnings = [...new Set(warnings)];
  }

  function finishPicture(side, changedAt) {
    requestAnimationFrame(() => {
      app.pictures = (app.pictures ?? 0) + 1;
      app.picture_ms = performance.now() - changedAt;
      document.body.dataset.pictures = app.pictures;
      document.body.dataset.pictureMs = app.picture_ms.toFixed(1);
      const isBusy = shown().some((one) => runners[one].isBusy);
      document.body.dataset.running = String(isBusy);
      showFoot();
      if (!isBusy) afterRuns();
    });
  }

  function afterRuns() {
    saySoon();
    playHead.onRuns(Object.fromEntries(shown().map((side) => [side, app.sides[side].run])), shown(), app.queue);
    clearTimeout(app.backgroundTimer);
    app.backgroundTimer = setTimeout(runBackground, BACKGROUND_PAUSE_MS);
  }

  // The other seeds, which run without recording once the reader pauses.

  /** Ends the runs in the background; a result that comes later is not used. */
  function stopBackground() {
    app.backgroundChain = null;
    runners.background?.stop();
    clearTimeout(app.backgroundTimer);
  }

  async function runBackground() {
    const chain = {};
    app.backgroundChain = chain;
    if (app.seeds < 2 || shown().some((side) => app.sides[side].error || !app.sides[side].run?.finished)) return;
    runners.background ??= await makeRunner();
    if (app.backgroundChain !== chain) return;
    const sides = shown();
    const work = [];
    for (let index = 1; index < app.seeds; index++) for (const side of sides) if (!app.sides[side].samples[index]) work.push([side, index]);
    const next = () => {
      const item = work.shift();
      if (!item) {
        document.body.dataset.background = "done";
        return;
      }
      const [side, index] = item;
      const one = app.sides[side];
      const { run } = one;
      const isCurrent = () => app.backgroundChain === chain && one.run === run;
      runners.background.submit({ type: "run", ...jobOf(side), seed: app.seed + index, pieces: false, measuresOnly: true }, {
        done: ({ finished }) => {
          if (!isCurrent()) return;
          one.samples[index] = Lab.differences.measuresOf({ finished }, app.queue);
          if (sides.every((each) => app.sides[each].samples[index])) showMeasures();
          next();
        },
        failed: ({ error }) => {
          if (!isCurrent()) return;
          document.body.dataset.background = "failed";
          $("status").textContent = `Seed ${app.seed + index} of ${side} failed, so the intervals have fewer seeds: ${error.message}`;
        },
      });
    };
    document.body.dataset.background = "running";
    next();
  }

  // The play head.

  async function requestStretch(side, from_s, to_s) {
    runners.packets ??= await makeRunner();
    return new Promise((resolve, reject) => {
      // One at a time: a newer request would replace the one that waits.
      const submit = () => runners.packets.submit({ type: "packets", ...jobOf(side), queue: app.queue, from_s, to_s }, {
        stretch: ({ stretch }) => resolve(stretch),
        failed: ({ error }) => reject(new Error(error.message)),
        cancelled: () => reject(new Error("cancelled")),
      });
      if (runners.packets.isBusy) {
        runners.packets.stop();
        setTimeout(submit, 0);
      } else submit();
    });
  }

  // What is shown.

  function showScenario(side) {
    const { run } = app.sides[side];
    if (side === "A" || app.queue === null || !run.opened.queues.includes(app.queue)) chooseQueue(run.opened.queues);
    view.end_s = Math.max(...shown().map((one) => app.sides[one].run?.opened.duration_s ?? 0));
    if (side === app.active || app.explorable) showControls();
    if (document.activeElement !== $("range-from")) $("range-from").value = app.range ? app.range[0] : 0;
    if (document.activeElement !== $("range-to")) $("range-to").value = app.range ? app.range[1] : view.end_s;
    const name = app.sides.A.run?.opened.name ?? "";
    $("scenario-title").textContent = name;
    document.title = `${name} – ecnlab`;
  }

  function chooseQueue(queues) {
    const select = $("queue");
    if ([...select.options].map((one) => one.value).join("\n") !== queues.join("\n")) {
      select.replaceChildren(...queues.map((name) => element("option", { value: name }, name)));
    }
    if (!queues.includes(app.queue)) app.queue = queues.includes("bottleneck") ? "bottleneck" : (queues[0] ?? null);
    select.value = app.queue ?? "";
  }

  function sectionsOf(side) {
    const one = app.sides[side];
    const sections = Lab.controls.describe({ tree: one.tree, opened: one.run.opened, declarations: one.declarations }, app.catalog.registry);
    const flows = one.run.finished?.tables.flows;
    for (const section of sections) {
      if (!section.group || !flows) continue;
      const rtt_s = Lab.differences.baseRtt(flows, section.group);
      if (Number.isFinite(rtt_s)) section.note = `base RTT ${Lab.quantities.readable(rtt_s * 1e3, 3)} ms`;
    }
    return sections;
  }

  function showControls() {
    const { explorable } = app;
    if (!explorable) {
      if (app.sides[app.active].run) panel.show(sectionsOf(app.active));
      return;
    }
    if (!shown().every((side) => app.sides[side].run)) return;
    const all = Object.fromEntries(shown().map((side) => [side, sectionsOf(side).flatMap((section) => section.controls)]));
    const controls = explorable.controls.map((wanted) => {
      const found = (wanted.side ? [wanted.side] : shown()).map((side) => all[side].find((one) => one.id === wanted.id)).find(Boolean);
      return found && { ...found, ...wanted, more: false, sides: wanted.side ? [wanted.side] : shown() };
    });
    panel.show([{ title: "Try it", open: true, controls: controls.filter(Boolean) }]);
  }

  function change(control, value) {
    const changedAt = performance.now();
    for (const side of control.sides ?? [app.active]) {
      const one = app.sides[side];
      control.apply(one.tree, value);
      runSide(side, changedAt);
    }
    leaveLink();
  }

  function drawFigures() {
    const sides = Object.fromEntries(["A", "B"].map((side) => [side, app.sides[side].run && shown().includes(side) ? Lab.series.figuresOf(app.sides[side].run, app.queue) : []]));
    figures.show(sides, shown(), labels(), app.explorable?.figures ?? null);
  }

  function showMeasures() {
    if (!shown().every((side) => app.sides[side].samples.length > 0)) return;
    const samples = Object.fromEntries(shown().map((side) => [side, wholeSamples(app.sides[side].samples)]));
    Lab.differences.fill($("differences"), samples, shown(), labels(), app.explorable?.rows);
    if (app.sides[app.active].run?.finished) showControls();
  }

  const wholeSamples = (samples) => {
    const end = samples.findIndex((one) => !one);
    return end < 0 ? samples : samples.slice(0, end);
  };

  function saySoon() {
    clearTimeout(app.sayTimer);
    app.sayTimer = setTimeout(() => {
      const parts = shown().map((side) => {
        const measures = app.sides[side].samples[0];
        const say = (label) => {
          const one = measures?.get(label);
          return one ? `${label} ${Lab.quantities.readable(one.value, 3)} ${one.unit}`.trim() : null;
        };
        return `${labelOf(side)}: ${["throughput", "mean queue length", "marks", "drops"].map(say).filter(Boolean).join(", ")}`;
      });
      $("status").textContent = parts.join(". ");
    }, STATUS_PAUSE_MS);
  }

  function showFoot() {
    const parts = shown().filter((side) => app.sides[side].run?.finished).map((side) => {
      const { finished, opened } = app.sides[side].run;
      return `${side}: fingerprint ${finished.fingerprint}, key ${opened.hash}.`;
    });
    const warnings = (app.warnings ?? []).map((text) => `Warning: ${text}.`);
    $("foot").replaceChildren(
      ...[...parts, ...warnings, `Seed ${app.seed}. ecnlab ${app.catalog.version}, build ${app.catalog.build}. Slider to picture: ${app.picture_ms.toFixed(0)} ms.`, "Figures by uPlot (MIT licence)."].map((text) => element("div", {}, text)),
    );
  }

  const view = {
    get range() { return app.range; },
    get head_s() { return app.head_s; },
    end_s: 0,
    setRange(range) {
      app.range = range && range[1] > range[0] ? range : null;
      $("range-from").value = app.range ? Number(app.range[0].toPrecision(6)) : 0;
      $("range-to").value = app.range ? Number(app.range[1].toPrecision(6)) : view.end_s;
      figures.redraw();
    },
    setHead(time_s) {
      playHead.setHead(time_s);
    },
    showHead(time_s) {
      app.head_s = time_s;
      figures.showHead();
    },
    caption() {
      const parts = shown().map((side) => `${side}: key ${app.sides[side].run.opened.hash}, fingerprint ${app.sides[side].run.finished?.fingerprint}`);
      return `${app.sides.A.run.opened.name}; seed ${app.seed}; ecnlab ${app.catalog.version}; ${parts.join("; ")}`;
    },
    requestStretch,
  };

  // Opening scenarios.

  /** Opens a scenario in sides; `state` is { toml } or { tree }, with files and source. */
  function openIn(sides, { toml = null, tree = null, files = {}, source = "", name = "", trusted = false }) {
    for (const side of sides) {
      Object.assign(app.sides[side], makeSide(), { toml, tree: tree && structuredClone(tree), files, source, name, trusted });
    }
  }

  function runAll() {
    if (shown().some(isHeld)) {
      askConsent();
      return;
    }
    for (const side of shown()) runSide(side);
  }

  function forgetView() {
    Object.assign(app, { range: null, head_s: null });
    playHead.reset();
  }

  /** A scenario in TOML or JSON. */
  function openPacked(text) {
    leaveExplorable();
    const opened = text.startsWith("{") ? { tree: JSON.parse(text) } : { toml: text };
    openIn(["A", "B"], opened);
  }

  function openExample(name, sides) {
    const example = config.examples.find((one) => one.name === name);
    if (!example) throw new Error(`link: no example ${name}; fix: take one of ${config.examples.map((one) => one.name).join(", ")}`);
    leaveExplorable();
    openIn(sides, { toml: example.toml, files: example.files ?? {}, name: example.title });
  }

  const explorableOf = (name) => (Object.hasOwn(Lab.EXPLORABLES, name) ? Lab.EXPLORABLES[name] : null);

  function openExplorable(name) {
    const explorable = explorableOf(name);
    if (!explorable) throw new Error(`link: no explorable ${name}; fix: take one of ${Object.keys(Lab.EXPLORABLES).join(", ")}`);
    app.explorable = { name, ...explorable };
    app.compare = explorable.B !== null;
    const tree = Lab.readToml(explorable.scenario);
    for (const side of shown()) {
      const changed = structuredClone(tree);
      for (const [path, value] of Object.entries(explorable[side])) Lab.tree.set(changed, pathOf(path), structuredClone(value));
      openIn([side], { tree: changed, name: explorable.title });
    }
    enterExplorable();
    showCompare();
  }

  const pathOf = (text) => text.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key));

  /** An explorable shows its figures before its table. */
  function enterExplorable() {
    document.body.classList.add("explorable");
    $("explorable-head").hidden = false;
    $("explorable-title").textContent = app.explorable.title;
    $("explorable-summary").textContent = app.explorable.summary;
    $("figures").after($("measures"));
  }

  function leaveExplorable() {
    app.explorable = null;
    document.body.classList.remove("explorable");
    $("explorable-head").hidden = true;
    $("view").before($("measures"));
  }

  function stateOf() {
    const sides = Object.fromEntries(shown().map((side) => {
      const { tree, files, source, name } = app.sides[side];
      return [side, { tree, ...(Object.keys(files).length ? { files } : {}), ...(source ? { source } : {}), name }];
    }));
    const { compare, seed, seeds, queue, range, active } = app;
    return { v: STATE_VERSION, build: app.catalog.build, sides, compare, seed, seeds, queue, range, active, explorable: app.explorable?.name ?? null };
  }

  function restore(state) {
    if (state.v !== STATE_VERSION) throw new Error(`link: version ${state.v} of the state is unknown; fix: open it with the ecnlab that made it`);
    leaveExplorable();
    const { queue, range } = state;
    const isRange = Array.isArray(range) && range.length === 2 && range.every(Number.isFinite);
    Object.assign(app, {
      compare: Boolean(state.compare), seed: seedOf(state.seed), seeds: seedsOf(state.seeds), queue: typeof queue === "string" ? queue : null,
      range: isRange ? range : null, active: state.compare && state.active === "B" ? "B" : "A",
    });
    // The state comes from a link: only the two sides and the known members of a side are read.
    for (const side of ["A", "B"].filter((name) => Object.hasOwn(state.sides, name))) {
      const { tree, files = {}, source = "", name = "" } = state.sides[side];
      if (tree === null || typeof tree !== "object" || typeof source !== "string") throw new Error(`link: side ${side} of the state is no scenario; fix: copy the link again`);
      openIn([side], { tree, files, source, name });
      if (source) {
        editor.setText(source);
        app.editorHeld = true;
      }
    }
    const explorable = explorableOf(state.explorable);
    if (explorable) {
      app.explorable = { name: state.explorable, ...explorable };
      enterExplorable();
    }
    app.otherBuild = state.build !== app.catalog.build;
  }

  async function makeLink(explorable = true) {
    const state = stateOf();
    if (!explorable) state.explorable = null;
    return `${location.href.replace(/#.*$/, "")}#state=${await Lab.link.pack(state)}`;
  }

  /** The address no longer describes what is shown. */
  function leaveLink() {
    if (location.hash.length > 1 && !document.body.classList.contains("frame")) history.replaceState(null, "", location.href.replace(/#.*$/, "#"));
  }

  async function openFragment() {
    const members = Lab.link.readFragment(location.hash);
    document.body.classList.toggle("frame", members.has("frame"));
    forgetView();
    app.queue = null;
    try {
      if (members.has("scenario")) openPacked(await Lab.link.unpackText(members.get("scenario")));
      else if (members.has("state")) restore(await Lab.link.unpack(members.get("state")));
      else if (members.has("explorable")) openExplorable(members.get("explorable"));
      else if (members.has("example")) openExample(members.get("example"), shown());
      else openFirst();
    } catch (error) {
      openFirst();
      app.linkError = error.message;
    }
    showCompare();
    $("consent").hidden = true;
    showNotice();
    runAll();
  }

  /** Runs what a link brought, after the reader has agreed to run its JavaScript. */
  async function runSources() {
    $("consent").hidden = true;
    app.editorHeld = false;
    for (const side of ["A", "B"]) app.sides[side].trusted = true;
    const declared = await Promise.all(shown().map((side) => !app.sides[side].source || declare(side)));
    if (declared.every(Boolean)) runAll();
  }

  function showNotice() {
    const notices = [app.linkError, app.otherBuild ? "This link was made by another build of ecnlab. The same scenario may give other results." : null].filter(Boolean);
    $("status").textContent = notices.join(" ") || "Running …";
    app.linkError = null;
    app.otherBuild = false;
  }

  function openFirst() {
    leaveExplorable();
    if (config.scenario) openIn(shown(), { ...config.scenario, files: config.scenario.files ?? {} });
    else if (config.examples.length > 0) openExample(config.examples.some((one) => one.name === "ecn") ? "ecn" : config.examples[0].name, shown());
    else openExplorable("red-thresholds");
    if (config.seed !== null && config.seed !== undefined) app.seed = config.seed;
  }

  function showCompare() {
    $("compare").checked = app.compare;
    $("seed").value = app.seed;
    $("seeds").value = app.seeds;
    $("tab-B").disabled = !app.compare;
    $("copy-side").hidden = !app.compare;
    document.body.classList.toggle("single", !app.compare);
    if (!app.compare) app.active = "A";
    for (const side of ["A", "B"]) $(`tab-${side}`).setAttribute("aria-pressed", String(app.active === side));
    $("copy-side").textContent = app.active === "A" ? "A = B" : "B = A";
  }

  // An AQM of the reader's own.

  /** Learns which AQMs a side's text declares; answers whether it could. */
  function declare(side) {
    const one = app.sides[side];
    return new Promise((resolve) => {
      runners[side].submit({ type: "declarations", source: one.source }, {
        declarations: ({ declarations }) => {
          one.declarations = declarations;
          resolve(declarations.length > 0);
        },
        failed: async ({ error }) => {
          const line = error.line ?? (error.message.startsWith("SyntaxError") ? (await Engine.placeOfSyntaxError(one.source))?.line : null) ?? null;
          fail(side, { ...error, line, message: error.message.replace(/Failed to execute .*?: /, "") });
          resolve(false);
        },
      });
    });
  }

  async function useAqm(source, side) {
    if (side === "B" && !app.compare) setCompare(true);
    const one = app.sides[side];
    if (app.editorHeld) {
      askConsent();
      return;
    }
    one.source = source;
    one.trusted = true;
    one.error = null;
    if (!(await declare(side))) {
      if (!one.error) editor.showError({ message: "no class extends Aqm; fix: write class Name extends Aqm { on_arrival(arrival) { … } }", line: null });
      return;
    }
    editor.showError(null);
    Lab.controls.useAqm({ tree: one.tree, opened: one.run.opened, declarations: one.declarations }, app.catalog.registry, one.declarations[0].name);
    app.active = side;
    showCompare();
    runSide(side);
  }

  async function editedAqm(source) {
    if (app.editorHeld) {
      askConsent();
      return;
    }
    for (const side of shown()) {
      const one = app.sides[side];
      if (!one.source || isHeld(side)) continue;
      one.source = source;
      one.error = null;
      if (await declare(side)) {
        Lab.controls.useAqm({ tree: one.tree, opened: one.run.opened, declarations: one.declarations }, app.catalog.registry, one.declarations[0].name, true);
        runSide(side);
      }
    }
  }

  // The bar and the dialogs.

  function setCompare(compare) {
    app.compare = compare;
    if (compare && app.sides.B.tree === null && !app.sides.B.toml) copySide("A", "B");
    showCompare();
    showControls();
    runAll();
    leaveLink();
  }

  function copySide(from, to) {
    const { tree, toml, files, source, name, trusted, declarations } = app.sides[from];
    openIn([to], { tree, toml, files, source, name, trusted });
    app.sides[to].declarations = declarations;
  }

  const seedOf = (value) => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(Number(value)) || 0));
  const seedsOf = (value) => Math.min(Lab.stats.MAX_SEEDS, Math.max(1, Math.floor(Number(value)) || 1));

  function bindBar() {
    $("compare").addEventListener("change", () => setCompare($("compare").checked));
    $("seed").addEventListener("change", () => {
      app.seed = seedOf($("seed").value);
      $("seed").value = app.seed;
      runAll();
    });
    $("seeds").addEventListener("change", () => {
      app.seeds = seedsOf($("seeds").value);
      $("seeds").value = app.seeds;
      for (const side of shown()) app.sides[side].samples.length = Math.min(app.sides[side].samples.length, app.seeds);
      showMeasures();
      stopBackground();
      runBackground();
    });
    for (const side of ["A", "B"]) {
      $(`tab-${side}`).addEventListener("click", () => {
        app.active = side;
        showCompare();
        showControls();
      });
    }
    $("copy-side").addEventListener("click", () => {
      copySide(app.active === "A" ? "B" : "A", app.active);
      runSide(app.active);
    });
    $("reset-side").addEventListener("click", () => {
      for (const side of app.explorable ? shown() : [app.active]) {
        const one = app.sides[side];
        if (!one.original) continue;
        one.tree = structuredClone(one.original.tree);
        one.source = one.original.source;
        runSide(side);
      }
    });
    $("copy-link").addEventListener("click", copyLink);
    $("run-sources").addEventListener("click", runSources);
    $("explorable-open").addEventListener("click", async (event) => {
      event.preventDefault();
      window.open(await makeLink(false), "_blank", "noopener");
    });
    $("queue").addEventListener("change", () => {
      app.queue = $("queue").value;
      stopBackground();
      for (const side of shown()) app.sides[side].samples = app.sides[side].run?.finished ? [Lab.differences.measuresOf(app.sides[side].run, app.queue)] : [];
      drawFigures();
      showMeasures();
      afterRuns();
    });
    for (const id of ["range-from", "range-to"]) $(id).addEventListener("change", () => view.setRange([Number($("range-from").value), Number($("range-to").value)]));
    $("reset-range").addEventListener("click", () => view.setRange(null));
    for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  }

  async function copyLink() {
    const link = await makeLink();
    history.replaceState(null, "", link);
    const size = `${link.length} characters`;
    try {
      await navigator.clipboard.writeText(link);
      $("status").textContent = `Link copied (${size}). It restores both sides, seed, range and AQM.`;
    } catch {
      $("status").textContent = `The link is in the address bar (${size}); copy it from there.`;
    }
    document.body.dataset.link = link;
  }

  function bindTheme() {
    const stored = (() => { try { return localStorage.getItem("ecnlab-theme"); } catch { return null; } })();
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      const chosen = $("theme").value;
      document.documentElement.dataset.theme = chosen === "system" ? (system.matches ? "dark" : "light") : chosen;
      figures?.recolor();
      if (app.catalog) showMeasures();
    };
    $("theme").value = stored ?? "system";
    $("theme").addEventListener("change", () => {
      try { localStorage.setItem("ecnlab-theme", $("theme").value); } catch { /* a page without storage forgets it */ }
      apply();
    });
    system.addEventListener("change", apply);
    apply();
  }

  function bindGallery() {
    const card = (title, text, open) => element("li", {}, element("button", { type: "button", onclick: async () => {
      $("gallery").close();
      forgetView();
      app.queue = null;
      await open();
      showCompare();
      runAll();
      leaveLink();
    } }, element("strong", {}, title), element("span", {}, text)));
    const firstComment = (toml) => (/^(?:#.*\n)+/.exec(toml)?.[0] ?? "").split("\n").map((line) => line.replace(/^# ?/, "")).join(" ").split(". ")[0].trim();
    $("open-gallery").addEventListener("click", () => {
      const explorables = Object.entries(Lab.EXPLORABLES).map(([name, one]) => card(one.title, one.summary, () => openExplorable(name)));
      const examples = config.examples.map((one) => card(one.title, firstComment(one.toml), () => openExample(one.name, app.compare && !app.explorable ? [app.active] : ["A", "B"].filter((side) => side === "A" || app.compare))));
      const target = app.compare && !app.explorable ? `An example opens in ${app.active}.` : "";
      $("gallery-list").replaceChildren(
        element("h3", {}, "Explorables: a question and two sliders"), element("ul", { class: "cards" }, explorables),
        element("h3", {}, `Examples of the package ${target}`), element("ul", { class: "cards" }, examples),
      );
      $("gallery").showModal();
    });
  }

  function bindText() {
    const textOf = (error) =>
      error.problems?.map((each) => `${each.line ? `line ${each.line}: ` : ""}${each.place ? `${each.place}: ` : ""}${each.message}`).join("\n") ?? error.message;
    // A runner of its own: a request for a text must not end a run.
    const showText = () => new Promise((resolve) => {
      runners.text.submit({ type: "toml", ...jobOf(app.active) }, {
        toml: ({ toml }) => { $("toml").value = toml; resolve(); },
        failed: ({ error }) => { $("toml-problems").textContent = textOf(error); resolve(); },
        cancelled: resolve,
      });
    });
    $("open-text").addEventListener("click", async () => {
      if (isHeld(app.active)) {
        askConsent();
        return;
      }
      runners.text ??= await makeRunner();
      $("toml-problems").textContent = "";
      $("text-title").textContent = `Scenario of ${app.active} as TOML`;
      await showText();
      $("text").showModal();
    });
    $("toml-use").addEventListener("click", async () => {
      const toml = $("toml").value;
      const one = app.sides[app.active];
      $("toml-problems").textContent = "";
      runners.text.submit({ type: "check", request: { toml, files: one.files }, source: sourceOf(app.active) }, {
        checked: () => {
          const { files, source, name, trusted, declarations } = one;
          leaveExplorable();
          openIn([app.active], { toml, files, source, name, trusted });
          app.sides[app.active].declarations = declarations;
          $("text").close();
          forgetView();
          runSide(app.active);
          leaveLink();
        },
        failed: ({ error }) => {
          $("toml-problems").textContent = textOf(error);
        },
      });
    });
    $("toml-save").addEventListener("click", () => Lab.download(`${app.active}.toml`, "application/toml", $("toml").value));
    $("toml-file").addEventListener("change", async () => {
      const [file] = $("toml-file").files;
      if (!file) return;
      $("toml").value = await file.text();
      $("toml-use").click();
    });
  }

  async function makeRunner() {
    const runner = new Lab.Runner(app.module);
    await runner.ready;
    return runner;
  }

  async function begin() {
    app.module = await Engine.page.wasmModule();
    for (const side of ["A", "B"]) runners[side] = new Lab.Runner(app.module);
    [app.catalog] = await Promise.all([runners.A.ready, runners.B.ready]);
    Lab.quantities.use(app.catalog.units);
    panel = new Lab.controls.Panel($("panel"), "control-", change);
    figures = new Lab.Figures($("figures"), view);
    playHead = new Lab.PlayHead($("play"), view);
    $("packets").addEventListener("toggle", () => $("packets").open && playHead.record());
    editor = new Lab.AqmEditor($("aqm"), { use: useAqm, edited: editedAqm });
    bindBar();
    bindGallery();
    bindText();
    window.addEventListener("hashchange", openFragment);
    await openFragment();
    document.body.dataset.ready = "true";
  }

  bindTheme();
  begin().catch((error) => {
    $("status").textContent = "";
    $("problems").textContent = `The laboratory cannot start: ${error.message}`;
  });
})();
