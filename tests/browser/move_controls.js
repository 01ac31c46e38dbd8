// Moves each control of a scenario of the gallery, in the panel that the page uses, and compares all series that its figures draw and all
// numbers of its table with those before. Answers the controls that change none of them, by side.
//
// The first runs are as short as shows something. A control that changes nothing is moved again, to more positions, in longer runs; those of
// `listed`, for which the test has a reason, only once.
const [isExplorable, name, listed] = arguments;
const MANY_POSITIONS = [0, 0.125, 0.25, 0.5, 0.75, 1];
const TURNS = [{ packetHops: 6e3, positions: [0, 0.5] }, { packetHops: 6e4, positions: MANY_POSITIONS }, { packetHops: 4e5, positions: MANY_POSITIONS }];

const execute = (scenario, tree) =>
  new Promise((resolve, reject) => {
    const tables = new Lab.Tables();
    let run = null;
    window.ownRunner.submit({ type: "run", request: { json: JSON.stringify(tree), files: scenario.files }, source: "", seed: 1, pieces: true }, {
      opened: ({ opened }) => { run = Lab.makeRun(window.ownCatalog, opened, tables, []); },
      piece: ({ fresh }) => tables.add(fresh.tables),
      done: ({ finished }) => resolve({ ...run, finished }),
      failed: ({ error }) => (error.problems ? resolve({ problems: error.problems }) : reject(new Error(error.message))),
    });
  });

/** All that the page shows of a run, for each of its queues. */
const shownOf = (run) =>
  run.opened.queues.map((queue) => [
    Lab.series.figuresOf(run, queue).map(({ id, series }) => [id, series.map(({ label, x, y }) => [label, x, y])]),
    [...Lab.differences.measuresOf(run, queue)].map(([label, { value }]) => [label, value]),
  ]);

const isSame = (a, b) =>
  Array.isArray(a) || ArrayBuffer.isView(a) ? a.length === b.length && a.every((one, index) => isSame(one, b[index])) : Object.is(a, b);

/** The scenarios of an example, or of the sides of an explorable; `only` are the controls that the page shows. */
function scenariosOf() {
  if (!isExplorable) {
    const { toml, files } = Engine.page.config().examples.find((one) => one.name === name);
    return [{ side: "A", tree: Lab.readToml(toml), files, only: null }];
  }
  const explorable = Lab.EXPLORABLES[name];
  return ["A", "B"].filter((side) => explorable[side] !== null).map((side) => {
    const tree = Lab.readToml(explorable.scenario);
    for (const [path, value] of Object.entries(explorable[side])) {
      Lab.tree.set(tree, path.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key)), structuredClone(value));
    }
    return { side, tree, files: {}, only: explorable.controls.filter((one) => (one.side ?? side) === side).map((one) => one.id) };
  });
}

/** The scenario with a duration that makes about so many packet-hops, and its run. */
async function lasting(scenario, packetHops, begin_s) {
  const full_s = Lab.quantities.read(scenario.tree.duration);
  const tree = structuredClone(scenario.tree);
  delete tree.record;
  for (let duration_s = Math.min(begin_s, full_s); ;) {
    tree.duration = `${Number(duration_s.toPrecision(2))} s`;
    tree.measure_from = `${Number((duration_s / 4).toPrecision(2))} s`;
    const run = await execute(scenario, tree);
    if (run.problems) throw new Error(JSON.stringify(run.problems));
    const factor = Math.min(10, packetHops / Math.max(1, run.finished.packet_hops));
    if (factor < 1.5 || duration_s >= full_s) return { tree, run, duration_s, shown: shownOf(run) };
    duration_s = Math.min(duration_s * factor, full_s);
  }
}

/** Movements of a field, each a function. */
function movementsOf(field, positions) {
  const moved = (event, change) => () => {
    change();
    field.dispatchEvent(new Event(event, { bubbles: true }));
  };
  if (field.type === "range") {
    const [min, max] = [Number(field.min), Number(field.max)];
    return positions.map((share) => moved("input", () => { field.value = Math.round(min + share * (max - min)); }));
  }
  if (field.type === "checkbox") return [() => field.click()];
  if (field.tagName === "SELECT") {
    const [count, current] = [field.options.length, field.selectedIndex];
    return Array.from({ length: count - 1 }, (_, index) => moved("change", () => { field.selectedIndex = (current + 1 + index) % count; }));
  }
  return [moved("change", () => { field.value = field.value.replace(/\d+/, (digits) => String(Math.ceil(Number(digits) / 4))); })];
}

/** Moves controls; of those that change nothing what the page shows instead: another key, a warning at the control, or problems. */
async function move(scenario, { tree, run, shown }, positions, only) {
  const root = document.createElement("div");
  document.body.append(root);
  let change = null;
  const panel = new Lab.controls.Panel(root, "moved-", (control, value) => { change = { control, value }; });
  panel.show(Lab.controls.describe({ tree, opened: run.opened, declarations: [] }, window.ownCatalog.registry));
  const fields = [...root.querySelectorAll("[data-control]")].filter((field) => only === null || only.includes(field.dataset.control));
  const same = {};
  for (const field of fields) {
    const id = field.dataset.control;
    const told = { newKey: false, warned: false, refused: [] };
    let changes = false;
    for (const movement of movementsOf(field, positions)) {
      change = null;
      movement();
      if (change === null) throw new Error(`${id}: a movement is not heard`);
      const changed = structuredClone(tree);
      change.control.apply(changed, change.value);
      const after = await execute(scenario, changed);
      if (after.problems) {
        told.refused.push(after.problems[0].message);
        continue;
      }
      changes = !isSame(shownOf(after), shown);
      if (changes) break;
      told.newKey ||= after.opened.hash !== run.opened.hash;
      const parameter = id.split(".").at(-1);
      told.warned ||= after.opened.warnings.some(({ place }) => place.endsWith(`.${parameter}`) && !run.opened.warnings.some((one) => one.place === place));
    }
    if (!changes) same[id] = told;
  }
  root.remove();
  return { count: fields.length, same };
}

async function moveAll() {
  window.ownRunner ??= new Lab.Runner(await Engine.page.wasmModule());
  window.ownCatalog ??= await window.ownRunner.ready;
  const found = {};
  for (const scenario of scenariosOf()) {
    let [only, begin_s] = [scenario.only, 0.002];
    const [same, counts] = [{}, []];
    for (const { packetHops, positions } of TURNS) {
      const before = await lasting(scenario, packetHops, begin_s);
      const moved = await move(scenario, before, positions, only);
      counts.push(moved.count);
      begin_s = before.duration_s;
      only = Object.keys(moved.same).filter((id) => !listed.includes(id) && !moved.same[id].warned);
      // Of those that are not moved again, and at the end of all, this is the answer.
      for (const [id, told] of Object.entries(moved.same)) if (!only.includes(id) || packetHops === TURNS.at(-1).packetHops) same[id] = told;
      if (only.length === 0) break;
    }
    found[scenario.side] = { count: counts[0], same };
  }
  return found;
}

window.moved = null;
moveAll().then((found) => { window.moved = { found }; }, (error) => { window.moved = { error: String(error.stack) }; });
