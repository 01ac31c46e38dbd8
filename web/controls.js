// Controls of a scenario, made from the registry, the scenario as it is written (its tree) and its parameters in force.
"use strict";

Lab.tree = (() => {
  /** The index or key that `key` names in a table or a list; elements of lists are named by their `name`. */
  function memberOf(table, key) {
    if (!Array.isArray(table) || typeof key === "number") return key;
    const index = table.findIndex((one) => one?.name === key);
    return index >= 0 ? index : key;
  }

  function get(tree, path) {
    let value = tree;
    for (const key of path) {
      if (value === null || typeof value !== "object") return undefined;
      value = value[memberOf(value, key)];
    }
    return value;
  }

  /** Sets a value and creates the tables on its path; `undefined` removes the key. */
  function set(tree, path, value) {
    let table = tree;
    for (const key of path.slice(0, -1)) {
      const member = memberOf(table, key);
      if (table[member] === null || typeof table[member] !== "object") table[member] = {};
      table = table[member];
    }
    const last = memberOf(table, path[path.length - 1]);
    if (value === undefined) delete table[last];
    else table[last] = value;
  }

  return { get, set };
})();

Lab.controls = (() => {
  const { get, set } = Lab.tree;
  const { read, write, withoutNoise } = Lab.quantities;
  const PLAIN_DISCIPLINE = "fifo";
  // Which parameters of TCP have a control: those that congestion control and ECN consist of.
  const TCP_PARAMETERS = [
    "ecn", "pacing", "delayed_ack", "initial_window", "max_rwnd", "packet_size", "abe_beta", "dctcp_g", "aimd_a", "aimd_b",
    "cubic_c", "cubic_beta", "vegas_alpha", "vegas_beta", "vegas_gamma", "mecn_incipient_decrease", "mecn_moderate_decrease",
  ];
  // Queues with bands and those with a step for L4S packets alone tell ECT(1) from ECT(0).
  const BAND_PARAMETERS = ["ect_codepoint"];
  // Parameters that an application needs although each is optional: one of several.
  const APP_NEEDS = { file: { bytes: "1 MB" } };
  // Parameters of an application that exclude each other.
  const APP_ALTERNATIVES = { arrivals: ["load", "flows_per_second"] };
  // Parameters of TCP that a congestion control requires with their value.
  const REQUIRED_BY = { prague: ["pacing"] };
  const TCP_APPS = ["bulk", "file", "transactions", "exchange", "web", "video", "arrivals", "telnet"];
  const UDP_APPS = ["cbr", "onoff", "poisson"];

  /** Sections of controls: { title, open, note, controls }. `side` has tree, opened and declarations. */
  function describe(side, registry) {
    const context = { ...side, registry, resolved: side.opened.resolved };
    return [...queueSections(context), ...linkSections(context), ...groupSections(context), runSection(context)].filter(
      (section) => section.controls.length > 0,
    );
  }

  const entryOf = (context, kind, name) => context.registry[kind].find((one) => one.name === name);
  const parametersOf = (entry) => entry?.parameters ?? [];
  const baseKind = (parameter) => parameter.kind.split(" or ")[0];
  const single = (value) => (Array.isArray(value) && value.length === 1 ? value[0] : value);

  function isRead(parameter, values) {
    return (parameter.read_when ?? "")
      .split(" and ")
      .filter(Boolean)
      .every((condition) => {
        const [name, words] = condition.split(" = ");
        const value = get(values, name.split("."));
        return value === undefined || words.split(" or ").includes(String(single(value)));
      });
  }

  /** A control of a declared parameter, or null if its kind has none. `apply(tree, value)` writes it; the default writes at `path`. */
  function parameterControl(parameter, path, value, apply = (tree, written) => set(tree, path, written)) {
    const kind = baseKind(parameter);
    const about = { id: path.join("."), label: parameter.name, doc: parameter.doc, apply };
    const current = single(value ?? parameter.default);
    if (kind === "flag") return { ...about, kind: "flag", value: String(current) === "true" };
    if (kind === "choice") {
      const words = parameter.bounds.split(" or ").flatMap((part) => part.split(", "));
      return { ...about, kind: "choice", choices: words.map((word) => [word, word]), value: String(current) };
    }
    if (!parameter.usual) return null;
    const unit = { time: "s", distribution: "s", rate: "bit/s" }[kind] ?? null;
    if (kind === "distribution" && parameter.unit !== "time" && parameter.unit !== "s") return null;
    const number = read(current);
    const { min, max, scale } = parameter.usual;
    const whole = kind === "whole number" || kind === "amount";
    const isBytes = kind === "amount" && /[bB]/.test(String(current)) && !/packet/.test(String(current));
    if (kind === "amount" && isBytes) return { ...about, kind: "text", value: String(current) };
    const shown = (at) => (unit ? write(at, unit) : String(withoutNoise(at)));
    const written = (at) => (unit ? write(at, unit) : kind === "amount" ? `${at} packets` : withoutNoise(at));
    const shownUnit = unit ? "" : kind === "amount" ? "packets" : parameter.unit;
    return { ...about, kind: "slider", unit: shownUnit, min, max, scale, whole, value: number, text: Number.isNaN(number) ? String(current) : null, shown, written };
  }

  // The selector of a threshold that is off selects nothing.
  const isWithoutUse = (parameter, values) => parameter.name === "ce_threshold_selector" && (values.ce_threshold ?? "off") === "off";

  const controlsOf = (parameters, values, at, apply) =>
    parameters
      .filter((parameter) => isRead(parameter, values) && !isWithoutUse(parameter, values))
      .map((parameter) => parameterControl(parameter, [...at, parameter.name], values[parameter.name], apply?.(parameter.name)))
      .filter(Boolean);

  // Queues.

  /** Where the tree has queues, or a topology has one: { title, path, queue }. */
  function queuePlaces({ tree, resolved }) {
    const places = [];
    if (tree.network) {
      const measured = resolved.link.filter((link) => link.queue);
      const [first] = measured;
      if (first && get(tree, ["network", "topology"])) {
        const queue = withoutOuterQueues(first.queue, get(tree, ["network", "queue"]));
        places.push({ title: `Queue of ${first.name}`, path: ["network", "queue"], queue, rate: read(first.rate) });
        if (tree.network.queue_back && first.reverse?.queue) {
          places.push({ title: `Queue of ${first.name}, reverse`, path: ["network", "queue_back"], queue: first.reverse.queue, rate: read(first.rate) });
        }
      }
    }
    (tree.link ?? []).forEach((link, index) => {
      const inForce = resolved.link.find((one) => one.name === link.name);
      if (link.queue) places.push({ title: `Queue of ${link.name}`, path: ["link", index, "queue"], queue: inForce.queue, rate: read(inForce.rate) });
      if (link.reverse?.queue) {
        places.push({ title: `Queue of ${link.name}, reverse`, path: ["link", index, "reverse", "queue"], queue: inForce.reverse.queue, rate: read(inForce.rate) });
      }
    });
    return places;
  }

  /** The part of a queue in force that the scenario writes: a topology may put it into another one, as into a shaper. */
  function withoutOuterQueues(inForce, written) {
    const depth = (queue) => (queue?.queue ? 1 + depth(queue.queue) : 0);
    return depth(inForce) > depth(written) ? withoutOuterQueues(inForce.queue, written) : inForce;
  }

  function queueSections(context) {
    return queuePlaces(context).flatMap((place, index) => queueSection(context, place, index === 0));
  }

  function queueSection(context, { title, path, queue, rate }, open) {
    const name = queue.discipline ?? PLAIN_DISCIPLINE;
    const discipline = entryOf(context, "discipline", name);
    const at = (key) => [...path, key].join(".");
    const controls = [
      {
        id: at("discipline"),
        label: "discipline",
        doc: discipline?.summary,
        kind: "choice",
        value: name,
        choices: context.registry.discipline.map((one) => [one.name, one.title]),
        apply: (tree, word) => set(tree, path, withDiscipline(context, queue, get(tree, path) ?? materialized(context, queue), word, rate)),
      },
    ];
    const child = discipline?.child ?? "aqm";
    const seen = new Set();
    const add = (made) => {
      for (const control of made) {
        if (seen.has(control.id)) continue;
        seen.add(control.id);
        controls.push(control);
      }
    };
    const inQueue = (key) => (tree, value) => {
      if (get(tree, path) === undefined) set(tree, path, materialized(context, queue));
      set(tree, [...path, key], value);
    };
    if (child === "aqm") {
      const nested = queue.aqm !== null && typeof queue.aqm === "object";
      const values = nested ? queue.aqm : queue;
      const aqmName = nested ? queue.aqm.name : (queue.aqm ?? "droptail");
      const aqm = entryOf(context, "aqm", aqmName);
      const own = (context.declarations ?? []).find((one) => one.name === aqmName);
      controls.push({
        id: at("aqm"),
        label: "AQM",
        doc: aqm?.summary ?? own?.summary,
        kind: "choice",
        value: aqmName,
        choices: [
          ...context.registry.aqm.map((one) => [one.name, one.title]),
          ...(context.declarations ?? []).map((one) => [one.name, `${one.name} (yours)`]),
        ],
        apply: (tree, word) => set(tree, path, withAqm(context, get(tree, path) ?? materialized(context, queue), word)),
      });
      const declared = aqm ? parametersOf(aqm) : ownParameters(own);
      const buffer = parametersOf(context.registry.aqm[0]).filter((parameter) => parameter.name === "limit");
      add(controlsOf(buffer, queue, path, inQueue));
      const inAqm = nested
        ? (key) => (tree, value) => {
            if (get(tree, path) === undefined) set(tree, path, materialized(context, queue));
            if (typeof get(tree, [...path, "aqm"]) !== "object") set(tree, [...path, "aqm"], { name: aqmName });
            set(tree, [...path, "aqm", key], value);
          }
        : inQueue;
      add(controlsOf(declared.filter((parameter) => parameter.name !== "limit"), values, nested ? [...path, "aqm"] : path, inAqm));
    }
    // A step for L4S packets needs senders of such packets.
    const hasL4sSenders = context.resolved.flows.some((group) => group.tcp?.ect_codepoint === "ect1" || group.udp?.ecn === "ect1");
    const ofDiscipline = parametersOf(discipline).filter((one) => one.name !== "l4s_step" || hasL4sSenders);
    add(controlsOf(ofDiscipline, queue, path, inQueue));
    const sections = [{ title, open, controls: sorted(controls) }];
    if (child === "queue" && queue.queue) {
      sections.push(...queueSection(context, { title: `${title}, inside`, path: [...path, "queue"], queue: queue.queue, rate }, open));
    }
    return sections;
  }

  // Sliders first: choices and flags of an AQM are seldom moved. The order is otherwise that of the declarations.
  const sorted = (controls) => [
    ...controls.filter((one, index) => one.label === "discipline" || one.label === "AQM" || one.label === "ecn" || one.kind === "slider"),
    ...controls
      .filter((one) => !(one.label === "discipline" || one.label === "AQM" || one.label === "ecn" || one.kind === "slider"))
      .map((one) => ({ ...one, more: true })),
  ];

  /** The parameters of an AQM of the reader's own in the form of the registry's. */
  const ownParameters = (own) =>
    (own?.parameters ?? []).map((one) => ({
      ...one,
      kind: one.kind === "count" ? "whole number" : one.kind,
      bounds: one.choices?.length ? one.choices.join(", ") : "",
      read_when: "",
    }));

  /** The queue in force as a scenario would write it: without the values that are defaults. */
  function materialized(context, queue) {
    const written = {};
    const declared = [
      ...parametersOf(entryOf(context, "aqm", typeof queue.aqm === "object" ? queue.aqm.name : queue.aqm)),
      ...parametersOf(entryOf(context, "discipline", queue.discipline ?? PLAIN_DISCIPLINE)),
    ];
    for (const [key, value] of Object.entries(queue)) {
      const parameter = declared.find((one) => one.name === key);
      const isDefault = parameter && !parameter.required && (String(value) === parameter.default || read(value) === read(parameter.default));
      if (!isDefault) written[key] = structuredClone(value);
    }
    return written;
  }

  function withAqm(context, written, name) {
    const before = written.aqm !== null && typeof written.aqm === "object" ? written.aqm : written;
    const declared = new Set([
      ...parametersOf(entryOf(context, "aqm", name)).map((one) => one.name),
      ...ownParameters((context.declarations ?? []).find((one) => one.name === name)).map((one) => one.name),
    ]);
    const kept = Object.fromEntries(Object.entries(before).filter(([key]) => declared.has(key) && key !== "limit"));
    const isPlain = (written.discipline ?? PLAIN_DISCIPLINE) === PLAIN_DISCIPLINE;
    if (isPlain) return { aqm: name, limit: written.limit, ...kept };
    return { ...written, aqm: { name, ...kept } };
  }

  function withDiscipline(context, queue, written, name, rate) {
    const entry = entryOf(context, "discipline", name);
    let inner = written;
    while (inner.queue) inner = inner.queue;
    const limit = inner.limit ?? "100 packets";
    const head = name === PLAIN_DISCIPLINE ? {} : { discipline: name };
    const aqm = inner.aqm ?? entry?.default_aqm ?? "codel";
    const child = entry?.child ?? "aqm";
    if (child === "buffer") return { ...head, limit };
    if (child === "queue") {
      const required = parametersOf(entry).filter((one) => one.required && baseKind(one) !== "table");
      const values = required.map((one) => [one.name, baseKind(one) === "rate" ? write(0.8 * rate, "bit/s") : one.example]);
      return { ...head, ...Object.fromEntries(values), queue: plainQueue(inner, aqm, limit) };
    }
    if (name === PLAIN_DISCIPLINE) return plainQueue(inner, aqm, limit);
    const table = typeof aqm === "object" ? aqm : { ...withoutKeys(inner, ["limit", "discipline", "aqm"]), name: aqm };
    const declared = new Set(parametersOf(entryOf(context, "aqm", table.name)).map((one) => one.name));
    return { ...head, limit, aqm: Object.fromEntries(Object.entries(table).filter(([key]) => key === "name" || declared.has(key))) };
  }

  function plainQueue(inner, aqm, limit) {
    if (typeof aqm !== "object") {
      const isPlain = (inner.discipline ?? PLAIN_DISCIPLINE) === PLAIN_DISCIPLINE;
      return isPlain ? { ...withoutKeys(inner, ["discipline"]), aqm, limit } : { aqm, limit };
    }
    return { ...withoutKeys(aqm, ["name"]), aqm: aqm.name, limit };
  }

  const withoutKeys = (table, keys) => Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key)));

  /** Puts an AQM of the reader's own into the first queue; with `onlyIfAbsent` only if that has none of the declared ones. */
  function useAqm(side, registry, name, onlyIfAbsent = false) {
    const context = { ...side, registry, resolved: side.opened.resolved };
    let [{ path, queue }] = queuePlaces(context);
    while (queue.queue) [path, queue] = [[...path, "queue"], queue.queue];
    const written = get(side.tree, path) ?? materialized(context, queue);
    const present = written.aqm?.name ?? written.aqm;
    if (onlyIfAbsent && side.declarations.some((one) => one.name === present)) return;
    const holdsAqm = (entryOf(context, "discipline", written.discipline ?? PLAIN_DISCIPLINE)?.child ?? "aqm") === "aqm";
    set(side.tree, path, withAqm(context, holdsAqm ? written : { limit: written.limit }, name));
  }

  // Links, groups and the run.

  function linkSections(context) {
    const { tree, registry, resolved } = context;
    const sections = [];
    const topology = tree.network && registry.topology.find((one) => one.name === tree.network.topology);
    if (topology) {
      const values = { ...Object.fromEntries(topology.parameters.map((one) => [one.name, one.default])), ...tree.network };
      const controls = controlsOf(topology.parameters.filter((one) => one.name !== "limit" && one.name !== "threshold"), values, ["network"]);
      sections.push({ title: `Network: ${topology.title.toLowerCase()}`, open: true, controls });
    }
    const usesEcn = resolved.flows.some((group) => group.tcp?.ecn || (group.udp && group.udp.ecn !== "not-ect"));
    // Without ECN-capable packets nothing on a path can change their codepoint.
    const declared = parametersOf(entryOf(context, "section", "link")).filter((one) => one.name !== "ecn" || usesEcn);
    (tree.link ?? []).forEach((link, index) => {
      const inForce = resolved.link.find((one) => one.name === link.name);
      // A queue has its own buffer, and deliveries are the times at which packets leave, whatever the rate.
      const isExcluded = { one_way: true, limit: link.queue, rate: inForce.deliveries };
      const controls = controlsOf(declared.filter((one) => !isExcluded[one.name]), inForce, ["link", index]);
      const isMain = Boolean(link.queue) && sections.length === 0;
      sections.push({ title: `Link ${link.name}`, open: isMain, controls: sorted(controls) });
    });
    return sections;
  }

  function groupSections(context) {
    const { tree, resolved } = context;
    const places = (tree.flows ?? []).map((group, index) => [group, ["flows", index]]);
    if (tree.network?.cross) places.push([tree.network.cross, ["network", "cross"]]);
    return places.map(([group, path], index) => {
      const named = resolved.flows.find((one) => one.name === group.name);
      const inForce = named ?? resolved.flows.find((one) => group.name && one.name.startsWith(group.name)) ?? resolved.flows[index];
      return { title: `Group ${group.name ?? inForce.name}`, group: inForce.name, open: places.length <= 4, controls: groupControls(context, group, inForce, path) };
    });
  }

  function groupControls(context, group, inForce, path) {
    const section = (name) => parametersOf(entryOf(context, "section", name));
    const named = (parameters, names) => parameters.filter((one) => names.includes(one.name));
    // An application whose flows come and go is alone in its group.
    const controls = context.opened.spawning_groups.includes(inForce.name) ? [] : controlsOf(named(section("flows"), ["count"]), inForce, path);
    if (group.access) {
      const labels = { delay: "access delay, one way", rate: "access rate" };
      const made = controlsOf(named(section("flows.access"), ["delay", "rate"]), inForce.access, [...path, "access"]);
      controls.push(...made.map((one) => ({ ...one, label: labels[one.label] })));
    }
    if (inForce.tcp) controls.push(...tcpControls(context, group, inForce, path));
    if (inForce.udp) controls.push(...controlsOf(section("flows.udp").filter((one) => one.usual), inForce.udp, [...path, "udp"]));
    controls.push(...appControls(context, group, inForce, path));
    return controls;
  }

  function tcpControls(context, group, inForce, path) {
    const { registry } = context;
    const written = group.tcp ?? {};
    const profile = registry.tcp.find((one) => one.name === inForce.tcp.profile);
    const inTcp = [...path, "tcp"];
    const choices = [
      {
        id: [...inTcp, "profile"].join("."),
        label: "TCP",
        doc: profile?.summary,
        kind: "choice",
        value: inForce.tcp.profile,
        choices: registry.tcp.map((one) => [one.name, one.title]),
        apply: (tree, word) => set(tree, [...inTcp, "profile"], word),
      },
      {
        id: [...inTcp, "variant"].join("."),
        label: "congestion control",
        doc: "A variant sets congestion control, recovery and the response to marks. The profile has its own.",
        kind: "choice",
        value: written.variant ?? "",
        choices: [["", `of the profile (${inForce.tcp.congestion_control})`], ...registry.variant.map((one) => [one.name, one.title])],
        apply: (tree, word) => set(tree, [...inTcp, "variant"], word === "" ? undefined : word),
      },
    ];
    const tellsEct1 = context.resolved.link.some(({ queue }) => queue?.discipline === "dualpi2" || (queue?.l4s_step ?? "off") !== "off");
    const names = tellsEct1 ? [...TCP_PARAMETERS, ...BAND_PARAMETERS] : TCP_PARAMETERS;
    const required = REQUIRED_BY[inForce.tcp.congestion_control] ?? [];
    const parameters = parametersOf(profile).filter((one) => names.includes(one.name) && !required.includes(one.name));
    const made = controlsOf(parameters, inForce.tcp, inTcp).map((one) => (one.label === "ecn" ? { ...one, label: "ECN" } : { ...one, more: true }));
    return [...choices, ...made.sort((a, b) => Number(Boolean(a.more)) - Number(Boolean(b.more)))];
  }

  function appControls(context, group, inForce, path) {
    const { registry } = context;
    const app = inForce.app;
    if (!app) return [];
    const entry = registry.app.find((one) => one.name === app.kind);
    const inApp = [...path, "app"];
    const kinds = inForce.udp ? UDP_APPS : TCP_APPS;
    const choice = {
      id: [...inApp, "kind"].join("."),
      label: "application",
      doc: entry?.summary,
      kind: "choice",
      value: app.kind,
      choices: registry.app.filter((one) => kinds.includes(one.name) || one.name === app.kind).map((one) => [one.name, one.title]),
      apply: (tree, word) => {
        const required = parametersOf(registry.app.find((one) => one.name === word)).filter((one) => one.required);
        set(tree, inApp, { kind: word, ...APP_NEEDS[word], ...Object.fromEntries(required.map((one) => [one.name, exampleValue(one)])) });
      },
    };
    const toTable = (key) => (tree, value) => {
      if (typeof get(tree, inApp) !== "object") set(tree, inApp, { kind: app.kind });
      set(tree, [...inApp, key], value);
    };
    const alternatives = APP_ALTERNATIVES[app.kind] ?? [];
    const written = alternatives.filter((name) => get(group.app, [name]) !== undefined);
    const declared = parametersOf(entry).filter((one) => one.usual && (!alternatives.includes(one.name) || written.includes(one.name)));
    return [choice, ...controlsOf(declared, app, inApp, toTable)];
  }

  function exampleValue(parameter) {
    const kind = baseKind(parameter);
    if (kind === "number") return Number(parameter.example);
    if (kind === "whole number") {
      const number = Number(parameter.example);
      return Number.isNaN(number) ? parameter.example : number;
    }
    return parameter.example;
  }

  function runSection(context) {
    const declared = parametersOf(entryOf(context, "section", "scenario")).filter((one) => ["duration", "measure_from"].includes(one.name));
    const labels = { duration: "duration", measure_from: "measure from" };
    const controls = controlsOf(declared, context.resolved, []).map((one) => ({ ...one, label: labels[one.label] }));
    return { title: "Run", open: false, controls };
  }

  // The panel.

  const POSITIONS = 200;
  const positionOf = (control, value) => {
    const { min, max, scale } = control;
    const share = scale === "log" ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
    return Math.round(Math.min(1, Math.max(0, share)) * POSITIONS);
  };
  const valueOf = (control, position) => {
    const { min, max, scale, whole } = control;
    const share = position / POSITIONS;
    const value = scale === "log" ? min * (max / min) ** share : min + (max - min) * share;
    return whole ? Math.round(value) : Number(value.toPrecision(3));
  };
  const isByWholeSteps = (control) => control.whole && control.scale !== "log";

  class Panel {
    /** `change(control, value)` is called at each movement of a control. */
    constructor(root, prefix, change) {
      Object.assign(this, { root, prefix, change, signature: "", fields: new Map(), openSections: new Map() });
    }

    show(sections) {
      const signature = JSON.stringify(
        sections.map((section) => [section.title, section.controls.map((one) => [one.id, one.kind, one.choices, one.min, one.max, one.text !== null])]),
      );
      if (signature !== this.signature) this.build(sections);
      this.signature = signature;
      for (const section of sections) {
        for (const control of section.controls) this.fields.get(control.id)?.(control);
        const note = this.root.querySelector(`[data-note="${CSS.escape(section.title)}"]`);
        if (note) note.textContent = section.note ?? "";
      }
    }

    build(sections) {
      const focused = document.activeElement?.id;
      this.fields.clear();
      this.root.replaceChildren(...sections.map((section) => this.sectionElement(section)));
      if (focused && this.root.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
    }

    sectionElement(section) {
      const main = section.controls.filter((one) => !one.more);
      const more = section.controls.filter((one) => one.more);
      const note = Lab.element("span", { class: "note", "data-note": section.title }, section.note ?? "");
      const body = [...main.map((one) => this.field(one))];
      if (more.length > 0) {
        body.push(this.details(`${section.title} more`, "More parameters", false, more.map((one) => this.field(one)), "more"));
      }
      return this.details(section.title, [Lab.element("span", {}, section.title), note], section.open, body, "section");
    }

    details(key, title, open, body, kind) {
      const isOpen = this.openSections.get(key) ?? open;
      const made = Lab.element("details", { class: kind, open: isOpen }, Lab.element("summary", {}, title), ...body);
      made.addEventListener("toggle", () => this.openSections.set(key, made.open));
      return made;
    }

    field(control) {
      const id = `${this.prefix}${control.id}`;
      const label = Lab.element("label", { for: id }, control.label);
      const make = { slider: this.slider, choice: this.choice, flag: this.flag, text: this.text }[control.kind];
      const docId = control.doc ? `${id}-doc` : null;
      const made = make.call(this, control, id, label, docId);
      // Shown while the label is under the pointer or the keyboard is at the field; Escape hides it.
      if (docId) made.append(Lab.element("div", { class: "doc", id: docId, role: "tooltip" }, control.doc));
      made.addEventListener("keydown", ({ key }) => key === "Escape" && made.classList.add("without-doc"));
      for (const event of ["focusout", "mouseleave"]) made.addEventListener(event, () => made.classList.remove("without-doc"));
      return made;
    }

    slider(control, id, label, docId) {
      let current = control;
      const whole = isByWholeSteps(control);
      const range = Lab.element("input", {
        type: "range", id, "data-control": control.id, "aria-describedby": docId,
        min: whole ? control.min : 0, max: whole ? control.max : POSITIONS, step: 1,
      });
      const exact = Lab.element("input", { type: "text", class: "exact", "aria-label": `${control.label}, exact value`, autocomplete: "off", spellcheck: "false", "data-exact": control.id, "aria-describedby": docId });
      const show = (value) => {
        range.value = Number.isNaN(value) ? range.min : whole ? value : positionOf(current, value);
        const text = Number.isNaN(value) ? current.text : current.shown(value);
        if (document.activeElement !== exact) exact.value = text;
        range.setAttribute("aria-valuetext", `${text} ${current.unit}`.trim());
      };
      range.addEventListener("input", () => {
        const value = whole ? Number(range.value) : valueOf(current, Number(range.value));
        const text = current.shown(value);
        exact.value = text;
        range.setAttribute("aria-valuetext", `${text} ${current.unit}`.trim());
        this.change(current, current.written(value));
      });
      exact.addEventListener("change", () => {
        const number = Lab.quantities.read(exact.value);
        this.change(current, Number.isNaN(number) ? exact.value : current.written(number));
      });
      this.fields.set(control.id, (next) => {
        current = next;
        if (document.activeElement !== range) show(next.value);
      });
      const unit = control.unit ? Lab.element("span", { class: "unit" }, control.unit) : null;
      return Lab.element("div", { class: "field slider" }, Lab.element("div", { class: "line" }, label, Lab.element("span", { class: "value" }, exact, unit)), range);
    }

    choice(control, id, label, docId) {
      let current = control;
      const options = control.choices.map(([word, title]) => Lab.element("option", { value: word }, title));
      const select = Lab.element("select", { id, "data-control": control.id, "aria-describedby": docId }, options);
      select.addEventListener("change", () => this.change(current, select.value));
      this.fields.set(control.id, (next) => {
        current = next;
        select.value = next.value;
      });
      return Lab.element("div", { class: "field line" }, label, select);
    }

    flag(control, id, label, docId) {
      let current = control;
      const box = Lab.element("input", { type: "checkbox", id, "data-control": control.id, "aria-describedby": docId });
      box.addEventListener("change", () => this.change(current, box.checked));
      this.fields.set(control.id, (next) => {
        current = next;
        box.checked = next.value;
      });
      return Lab.element("div", { class: "field line" }, label, box);
    }

    text(control, id, label, docId) {
      let current = control;
      const field = Lab.element("input", { type: "text", id, class: "exact", "data-control": control.id, "aria-describedby": docId, autocomplete: "off" });
      field.addEventListener("change", () => this.change(current, field.value));
      this.fields.set(control.id, (next) => {
        current = next;
        if (document.activeElement !== field) field.value = next.value;
      });
      return Lab.element("div", { class: "field line" }, label, field);
    }
  }

  return { describe, useAqm, Panel };
})();
