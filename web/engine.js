"use strict";

// The engine in a page or a worker: class Engine over the functions of ecnlab.wasm (crates/web/src/exports.rs), class Aqm for an AQM in
// JavaScript, and Engine.page, which finds the module and the worker in a served page and in a single file.
//
// A classic script without dependencies: a page that is opened as a file loads no modules.

(() => {
  // Places of numbers that a call of a hook passes, as in crates/web/src/host.rs.
  const NOW_S = 0, NOW_PS = 1, SIZE = 2, ECN = 3, CAPABLE = 4, FLOW = 5, RTT_S = 6, SOJOURN_S = 7, FULL = 8, BACKLOG_PACKETS = 9;
  const BACKLOG_BYTES = 10, AVERAGE = 11, FIRST_GROUP = 12, MAX_GROUPS = 16, SLOTS = FIRST_GROUP + 2 * MAX_GROUPS;
  const CLASS = 0, RATE_BPS = 1, LIMIT_PACKETS = 2, LIMIT_BYTES = 3, TEXT_PTR = 4, TEXT_LEN = 5;

  // Hooks that may change the gauge `average`.
  const CHANGING_HOOKS = new Set(["arrival", "departure", "deadline", "idle", "rate"]);
  const HOOKS = ["create", "arrival", "departure", "deadline", "idle", "rate", "group", "gauges", "check", "drop"];
  const OPTIONAL_HOOKS = ["on_departure", "on_deadline", "on_idle", "on_rate", "group"];
  const THROWN = -1;

  const WASM_PAGE_BYTES = 65536, MAX_MEMORY_BYTES = 2 ** 30;

  // ----- errors

  /** A mistake in an AQM of the page: its place in the text, if it is known, and the hook and the time of a run. */
  class AqmError extends Error {
    constructor(message, about = {}) {
      super(message);
      this.name = "AqmError";
      Object.assign(this, { aqm: null, hook: null, time_s: null, packet: "", line: null, column: null }, about);
    }
  }

  /** A run that cannot go on, such as one whose recording is full. */
  class RunError extends Error {
    constructor(message) {
      super(message);
      this.name = "RunError";
    }
  }

  /** A fault of the engine: the instance is of no further use. */
  class EngineFault extends Error {
    constructor(message) {
      super(message);
      this.name = "EngineFault";
    }
  }

  // ----- verdicts

  const LEVELS = ["incipient", "congested"], CAUSES = ["early", "forced", "overflow"];
  const MARK = 1, DROP = 2, LEVEL = 2 ** 4, CAUSE = 2 ** 8, TARGET = 2 ** 12, INDEX = 2 ** 16, MAX_INDEX = 2 ** 32 - 1;

  /** Answer of an AQM for a packet; PASS, mark() and drop() give the only ones. */
  class Verdict {
    constructor(code) {
      this.code = code;
      Object.freeze(this);
    }
  }

  const PASS = new Verdict(0);
  const verdicts = new Map([[0, PASS]]);

  function verdict(code) {
    if (!verdicts.has(code)) verdicts.set(code, new Verdict(code));
    return verdicts.get(code);
  }

  function indexOfWord(what, word, words) {
    const index = words.indexOf(word);
    if (index < 0) throw new TypeError(`${what} = ${JSON.stringify(word)} must be one of ${words.join(", ")}`);
    return index;
  }

  function validIndex(what, number) {
    if (Number.isInteger(number) && number >= 0 && number <= MAX_INDEX) return number;
    throw new TypeError(`${what} = ${number} must be a whole number, at least 0 and below 2^32`);
  }

  /** The verdict that writes a mark on a packet; one that is not ECN-capable is dropped instead. */
  function mark({ level = "congested", group = null, cause = "early" } = {}) {
    const plain = MARK + LEVEL * indexOfWord("level", level, LEVELS) + CAUSE * indexOfWord("cause", cause, CAUSES);
    return verdict(group === null ? plain : plain + TARGET + INDEX * validIndex("group", group));
  }

  /** The verdict that drops a packet: the arriving one, the one in front, or the one with a number. */
  function drop({ victim = "arriving", cause = "early" } = {}) {
    const plain = DROP + CAUSE * indexOfWord("cause", cause, CAUSES);
    if (typeof victim === "string") return verdict(plain + TARGET * indexOfWord("victim", victim, ["arriving", "front"]));
    return verdict(plain + 2 * TARGET + INDEX * validIndex("victim", victim));
  }

  // ----- declarations

  /** A parameter that scenarios can set. */
  function param(initial, about = {}) {
    return { initial, whole: false, optional: false, bounds: null, unit: "", doc: "", source: "", choices: [], usual: null, ...about };
  }

  /** A value that the AQM shows while it works; one called `average` is the queue length as it sees it. */
  function gauge(initial = 0, { unit = "1", doc = "" } = {}) {
    return { initial, unit, doc };
  }

  /** An AQM of the page: a subclass has on_arrival, its parameters and its gauges. Hooks and fields have the names of ecnlab.Aqm in Python. */
  class Aqm {
    static parameters = {};
    static gauges = {};
    static marks = "congested";
    static groups = 0;
    static source = "";

    check() {
      return {};
    }

    on_start() {
      return null;
    }

    random() {
      throw new Error("random() works only in on_arrival, on_departure and on_deadline");
    }
  }

  const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
  const TAKEN = ["aqm", "discipline", "limit", "name", "queue", "line", "random", "check", "group", "on_start", "on_arrival", ...OPTIONAL_HOOKS];

  /** The declaration of a class for the engine. */
  function declarationOf(type, number, title, digest) {
    const name = Object.hasOwn(type, "aqm_name") ? type.aqm_name : type.name;
    const fail = (why) => { throw new AqmError(`${type.name}: ${why}`, { aqm: type.name }); };
    if (!NAME.test(name)) fail(`${JSON.stringify(name)} cannot be a name in scenarios; fix: use at most 64 ASCII letters, digits, _ and -, a letter first`);
    if (typeof type.prototype.on_arrival !== "function") fail("on_arrival is missing, which decides what happens to a packet; fix: define it");
    if (!Number.isInteger(type.groups) || type.groups < 0 || type.groups > MAX_GROUPS) fail(`groups = ${type.groups} must be a whole number from 0 to ${MAX_GROUPS}`);
    if ((type.groups > 0) !== (typeof type.prototype.group === "function")) fail("groups = N and the method group(packet) require each other; fix: give both or neither");
    const fields = [...Object.keys(type.parameters), ...Object.keys(type.gauges)];
    const bad = fields.find((field, at) => TAKEN.includes(field) || fields.indexOf(field) !== at);
    if (bad !== undefined) fail(`the field ${JSON.stringify(bad)} has a name that is taken; fix: choose another name`);
    return {
      name, title: title || name, summary: title || "", source: type.source, digest, marks: type.marks, class: number, groups: type.groups,
      parameters: Object.entries(type.parameters).map(([key, given]) => parameterOf(key, given, fail)),
      gauges: Object.entries(type.gauges).map(([key, { unit, doc }]) => ({ name: key, unit, doc })),
      hooks: [...OPTIONAL_HOOKS.filter((hook) => typeof type.prototype[hook] === "function"), ...(type.prototype.check === Aqm.prototype.check ? [] : ["check"])],
    };
  }

  function parameterOf(name, given, fail) {
    const { initial, whole, optional, bounds, unit, doc, source, choices, usual } = given !== null && typeof given === "object" ? given : param(given);
    const kinds = { boolean: "flag", number: whole ? "count" : "number", string: choices.length > 0 ? "choice" : unit ? "number" : "text", object: whole ? "count" : "number" };
    const plain = kinds[typeof initial];
    if (plain === undefined || (initial === null && !optional)) fail(`${name}: ${initial} cannot be a default; fix: give a number, a boolean or a text, or null with optional: true`);
    if (whole && typeof initial === "number" && !Number.isInteger(initial)) fail(`${name}: default ${initial} must be a whole number`);
    const kind = plain === "number" && unit === "s" ? "time" : plain === "number" && unit === "bit/s" ? "rate" : plain;
    const withUnit = (value) => typeof value !== "number" ? String(value) : kind === "time" ? `${value} s` : kind === "rate" ? `${value} bps` : String(value);
    const [min, max] = bounds ?? [null, null];
    if (bounds && !(min <= max)) fail(`${name}: bounds = ${JSON.stringify(bounds)} must be two numbers, the smallest and the largest value`);
    if (bounds && kind !== "number" && kind !== "count" && kind !== "time") fail(`${name}: bounds do not fit a ${kind}; fix: check them in check()`);
    return {
      name, kind, min, max, unit, default: initial === null ? "auto" : withUnit(initial), word: optional ? "auto" : null, choices, doc, source,
      usual: usual ? { min: usual[0], max: usual[1], scale: usual[2] ?? "linear" } : null,
    };
  }

  /** 64-bit FNV-1a of a text, in hexadecimal. */
  function digestOf(text) {
    let hash = 0xcbf29ce484222325n;
    for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    return hash.toString(16).padStart(16, "0");
  }

  // ----- the reader's text

  const CLASSES = /^class\s+([A-Za-z_$][\w$]*)\s+extends\s+/gm;

  /** The first sentence of the comment that a class begins with, or that precedes it. */
  function titleOf(source, name) {
    const found = source.match(new RegExp(`(?:/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*)?class\\s+${name.replaceAll("$", "\\$")}\\s+extends[^{]*\\{\\s*(?:/\\*\\*((?:(?!\\*/)[^])*)\\*/)?`));
    const comment = found?.[2] ?? found?.[1] ?? "";
    return comment.replace(/^\s*\*/gm, "").trim().split("\n\n")[0].replace(/\s+/g, " ").replace(/\.$/, "");
  }

  /** A place in the reader's text, from one in the script that holds it. */
  function readersPlace(line, column) {
    return { line, column: column !== null && line === 1 ? Math.max(1, column - beforeText("").length) : column };
  }

  /** Begin of a script that holds the reader's text, in its first line: so the lines of both are the same. */
  function beforeText(call) {
    return `"use strict"; ${call.padEnd(32)}(({ Aqm, param, gauge, PASS, mark, drop, exp, ln, powi, Math, Date, performance, crypto }) => { `;
  }

  /** Line and column of an exception in a script with this address, from its stack. */
  function placeOf(error, address) {
    for (const line of String(error?.stack ?? "").split("\n")) {
      const at = line.indexOf(address);
      const found = at < 0 ? null : /^:(\d+)(?::(\d+))?/.exec(line.slice(at + address.length));
      if (found) return readersPlace(Number(found[1]), found[2] ? Number(found[2]) : null);
    }
    return { line: null, column: null };
  }

  /** An object of the browser whose values differ from run to run, for the reader's text: each use of it is an error. */
  function unrepeatable(name, fix) {
    const refuse = () => { throw new Error(`${name} differs from run to run; fix: ${fix}`); };
    return new Proxy(function () {}, { get: refuse, apply: refuse, construct: refuse });
  }

  const { random: _, ...ofMath } = Object.getOwnPropertyDescriptors(Math);
  const FOR_READERS = {
    Math: Object.freeze(Object.defineProperties({}, { ...ofMath, random: { get: () => { throw new Error("Math.random differs from run to run; fix: this.random()"); } } })),
    Date: unrepeatable("Date", "the hooks' now"),
    performance: unrepeatable("performance", "the hooks' now"),
    crypto: unrepeatable("crypto", "this.random()"),
  };

  let scripts = 0;

  /** Runs a text as a script of this worker: as one with an address of its own, so that exceptions have lines, and without eval. */
  function runScript(source, take) {
    const names = [...source.matchAll(CLASSES)].map((found) => found[1]);
    const key = `ecnlabScript${scripts++}`;
    const text = `${beforeText(`self.${key}`)}${source}\n; return { ${names.map((name) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`).join(", ")} }; });`;
    let body = null;
    globalThis[key] = (given) => { body = given; };
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    try {
      importScripts(address);
    } catch (error) {
      const message = error.message.replace(/^Failed to execute 'importScripts' on 'WorkerGlobalScope': /, "");
      throw new AqmError(`${error.name}: ${message}`, placeOf(error, address));
    } finally {
      delete globalThis[key];
      URL.revokeObjectURL(address);
    }
    try {
      return { address, classes: body({ ...take, ...FOR_READERS }) };
    } catch (error) {
      throw new AqmError(`${error.name}: ${error.message}`, placeOf(error, address));
    }
  }

  // ----- the engine

  class Engine {
    #exports;
    #classes = [];
    #instances = new Map();
    #thrown = null;
    #fault = null;

    /** An instance of a module, or of its bytes. */
    static async load(module) {
      const engine = new Engine();
      const imports = { ecnlab: { aqm: (hook, instance, ptr) => engine.#hook(hook, instance, ptr) } };
      const compiled = module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module);
      engine.#exports = (await WebAssembly.instantiate(compiled, imports)).exports;
      return engine;
    }

    /** Version, build, and all that scenarios may name. */
    catalog() {
      return this.#json("catalog");
    }

    /** Reads a scenario; returns what it is with its number as `lab`, or its `problems`. */
    open(request) {
      return this.#json("open", ...this.#text(JSON.stringify(request)));
    }

    /** The scenario in force as TOML. */
    toml(lab) {
      return this.#answer(this.#call("toml", lab));
    }

    /** Begins a run. */
    start(lab, seed) {
      if (!Number.isSafeInteger(seed) || seed < 0) throw new RunError(`seed ${seed} must be a whole number, at least 0`);
      this.#thrown = null;
      this.#call("start", lab, seed);
      this.#throwFailure(lab);
    }

    /** Advances to a time, or by so many events if that comes first; returns the time in seconds. */
    advance(lab, until_s, events) {
      const now_s = this.#call("advance", lab, until_s, events);
      if (Number.isNaN(now_s)) this.#throwFailure(lab);
      return now_s;
    }

    /** Rows that were recorded since the last call, by table. */
    fresh(lab) {
      const { now_s, tables } = this.#json("fresh", lab);
      return { now_s, tables: mapValues(tables, (table) => ({ from: table.from, rows: table.rows, columns: this.#columns(table) })) };
    }

    /** Ends the run: fingerprint and all tables, without the recorded ones if `recorded` is false. */
    finish(lab, { recorded = true } = {}) {
      const { fingerprint, events, packet_hops, tables } = this.#finish(lab, recorded);
      const copied = mapValues(tables, (table) => ({ rows: table.rows, columns: this.#columns(table) }));
      return { fingerprint, events, packet_hops, tables: copied };
    }

    #finish(lab, recorded) {
      const answer = this.#json("finish", lab);
      if (answer.failure) this.#throw(answer.failure);
      return { ...answer, tables: recorded ? { ...answer.tables, ...answer.recorded } : answer.tables };
    }

    /** The bytes of each column of the finished run as they lie in memory, with kind and names. */
    finishRaw(lab) {
      const { tables } = this.#finish(lab, true);
      const bytes = ({ kind, ptr, len }) => new Uint8Array(this.#exports.memory.buffer, ptr, len * ARRAYS[kind].BYTES_PER_ELEMENT).slice();
      return mapValues(tables, (table) => table.columns.map((column) => ({ name: column.name, kind: column.kind, names: column.names ?? [], bytes: bytes(column) })));
    }

    /** Frees a scenario and its run. */
    close(lab) {
      this.#call("close", lab);
    }

    /** Bytes of the module's memory. */
    memoryBytes() {
      return this.#exports.memory.buffer.byteLength;
    }

    /** Runs a text with classes that extend Aqm; returns the declarations of these classes, to be passed to `open`. */
    loadAqms(source) {
      const { aqm_exp: exp, aqm_ln: ln, aqm_powi } = this.#exports;
      const powi = (base, exponent) => {
        if (!Number.isSafeInteger(exponent) || exponent < 0) throw new TypeError(`powi(x, ${exponent}): the exponent must be a whole number, at least 0`);
        return aqm_powi(base, exponent);
      };
      const { address, classes } = runScript(source, { Aqm, param, gauge, PASS, mark, drop, exp, ln, powi });
      const types = Object.values(classes).filter((type) => type?.prototype instanceof Aqm);
      if (types.length === 0) throw new AqmError("the text has no AQM; fix: begin with class NAME extends Aqm { on_arrival(arrival) { return PASS; } }");
      return types.map((type) => {
        this.#classes.push({ type, address });
        return declarationOf(type, this.#classes.length - 1, titleOf(source, type.name), digestOf(source));
      });
    }

    // ----- calls

    #call(name, ...given) {
      if (this.#fault) throw new EngineFault(this.#fault);
      try {
        return this.#exports[name](...given);
      } catch (error) {
        this.#fault = this.#panicText() || `${error.message}${this.memoryBytes() > MAX_MEMORY_BYTES - 64 * WASM_PAGE_BYTES ? ": the run needs more than 1 GiB of memory; fix: run shorter, or with fewer flows" : ""}`;
        throw new EngineFault(this.#fault);
      }
    }

    #json(name, ...given) {
      return JSON.parse(this.#answer(this.#call(name, ...given)));
    }

    /** Address and length of a text in memory. */
    #text(text) {
      const bytes = new TextEncoder().encode(text);
      const ptr = this.#call("alloc", bytes.length);
      new Uint8Array(this.#exports.memory.buffer, ptr, bytes.length).set(bytes);
      return [ptr, bytes.length];
    }

    #answer(length) {
      return this.#read(this.#exports.answer(), length);
    }

    #read(ptr, length) {
      return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, ptr >>> 0, length).slice());
    }

    #panicText() {
      try {
        return this.#read(this.#exports.panic_text(), this.#exports.panic_len());
      } catch {
        return "";
      }
    }

    /** Copies of a table's columns. */
    #columns(table) {
      const { buffer } = this.#exports.memory;
      const copies = table.columns.map(({ name, kind, ptr, len, names }) => {
        const values = new ARRAYS[kind](buffer, ptr, len);
        if (kind === "count") return [name, Float64Array.from(values, Number)];
        return [name, kind === "name" ? { index: values.slice(), names } : values.slice()];
      });
      return Object.fromEntries(copies);
    }

    #throwFailure(lab) {
      const failure = this.#json("failure", lab);
      if (failure !== null) this.#throw(failure);
    }

    #throw(failure) {
      if (failure.kind === "recording") throw new RunError(failure.message);
      const { aqm, hook, time_s, packet } = failure;
      const about = { aqm, hook, time_s, packet };
      if (failure.message !== null || this.#thrown === null) throw new AqmError(`${aqm}: ${hook}: ${failure.message}`, about);
      const { error, address } = this.#thrown;
      throw new AqmError(`${aqm}: ${hook}: ${error?.name ?? "error"}: ${error?.message ?? error}`, { ...about, ...placeOf(error, address) });
    }

    // ----- hooks

    #hook(hook, number, ptr) {
      const slots = new Float64Array(this.#exports.memory.buffer, ptr, SLOTS);
      const about = HOOKS[hook] === "create" || HOOKS[hook] === "check" ? this.#classes[slots[CLASS]] : this.#instances.get(number);
      try {
        const answer = this[`hook_${HOOKS[hook]}`](slots, about, number);
        if (about.hasAverage && CHANGING_HOOKS.has(HOOKS[hook])) slots[AVERAGE] = about.made.average;
        return answer;
      } catch (error) {
        this.#thrown ??= { error, address: about?.address ?? "" };
        return THROWN;
      }
    }

    hook_create(slots, { type, address }, number) {
      const made = this.#instance(type, slots);
      const line = { rate_bps: slots[RATE_BPS], limit_packets: numberOrNull(slots[LIMIT_PACKETS]), limit_bytes: numberOrNull(slots[LIMIT_BYTES]), packet_time_ps };
      made.line = Object.freeze(line);
      made.random = () => {
        const drawn = this.#exports.aqm_random();
        if (Number.isNaN(drawn)) throw new Error("random() works only in on_arrival, on_departure and on_deadline");
        return drawn;
      };
      const gauges = Object.keys(type.gauges);
      this.#instances.set(number, { made, address, gauges, hasAverage: gauges.includes("average"), groups: type.groups });
      const due = made.on_start();
      if (gauges.includes("average")) slots[AVERAGE] = made.average;
      return deadlineOf(due);
    }

    /** An instance with its parameters and gauges. */
    #instance(type, slots) {
      const made = new type();
      Object.assign(made, JSON.parse(this.#read(slots[TEXT_PTR], slots[TEXT_LEN])));
      for (const [name, { initial }] of Object.entries(type.gauges)) made[name] = initial;
      return made;
    }

    hook_arrival(slots, { made, groups }) {
      const arrival = {
        now_s: slots[NOW_S], now_ps: slots[NOW_PS], ...packetOf(slots), head_waited_s: slots[SOJOURN_S], full: slots[FULL] === 1, backlog: backlogOf(slots),
        groups: Array.from({ length: groups }, (_, at) => ({ packets: slots[FIRST_GROUP + 2 * at], bytes: slots[FIRST_GROUP + 2 * at + 1] })),
      };
      return codeOf(made.on_arrival(arrival));
    }

    hook_departure(slots, { made }) {
      return codeOf(made.on_departure({ now_s: slots[NOW_S], now_ps: slots[NOW_PS], ...packetOf(slots), waited_s: slots[SOJOURN_S], backlog: backlogOf(slots) }));
    }

    hook_deadline(slots, { made }) {
      return deadlineOf(made.on_deadline({ now_s: slots[NOW_S], now_ps: slots[NOW_PS], head_waited_s: slots[SOJOURN_S], backlog: backlogOf(slots) }));
    }

    hook_idle(slots, { made }) {
      made.on_idle({ now_s: slots[NOW_S], now_ps: slots[NOW_PS] });
      return 0;
    }

    hook_rate(slots, { made }) {
      made.on_rate(slots[0]);
      return 0;
    }

    hook_group(slots, { made }) {
      const group = made.group(packetOf(slots));
      if (typeof group !== "number") throw new TypeError(`${group} is not a group; fix: return a whole number`);
      return group === THROWN ? -2 : group;
    }

    hook_gauges(slots, { made, gauges }) {
      gauges.forEach((name, at) => { slots[at] = made[name]; });
      return 0;
    }

    hook_check(slots, { type }) {
      // The engine frees the text that this answers with, so nothing of the reader's may throw after the try.
      let found;
      try {
        const answer = this.#instance(type, slots).check() ?? {};
        const isObject = typeof answer === "object" && !Array.isArray(answer) && Object.values(answer).every((why) => typeof why === "string");
        if (!isObject) throw new TypeError("its answer is not an object of parameters with reasons; fix: return { parameter: \"reason\" } or {}");
        found = JSON.stringify({ ...answer });
      } catch (error) {
        found = JSON.stringify({ "": `the check of ${type.name} threw ${describe(error)}` });
      }
      const ptr = slots.byteOffset;
      const [text, length] = this.#text(found);
      const after = new Float64Array(this.#exports.memory.buffer, ptr, SLOTS);
      [after[TEXT_PTR], after[TEXT_LEN]] = [text, length];
      return 0;
    }

    hook_drop(slots, about, number) {
      this.#instances.delete(number);
      return 0;
    }
  }

  /** Values of a column by its kind. */
  const ARRAYS = { real: Float64Array, count: BigUint64Array, index: Uint32Array, name: Uint32Array };

  function mapValues(object, of) {
    return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, of(value)]));
  }

  /** A thrown value in words, whatever it is. */
  function describe(thrown) {
    try {
      return String(thrown);
    } catch {
      return "a value without a text";
    }
  }

  function numberOrNull(number) {
    return Number.isNaN(number) ? null : number;
  }

  /** Time that the link takes for a packet, to the nearest picosecond. */
  function packet_time_ps(size) {
    const [bits, rate] = [16n * BigInt(size) * 10n ** 12n, BigInt(this.rate_bps)];
    return Number((bits + rate) / (2n * rate));
  }

  function packetOf(slots) {
    return { size: slots[SIZE], ecn: slots[ECN], capable: slots[CAPABLE] === 1, flow: slots[FLOW], rtt_s: slots[RTT_S] };
  }

  function backlogOf(slots) {
    return { packets: slots[BACKLOG_PACKETS], bytes: slots[BACKLOG_BYTES] };
  }

  function codeOf(answer) {
    if (answer instanceof Verdict) return answer.code;
    throw new TypeError(`${String(answer).slice(0, 80)} is not a verdict; fix: return PASS, mark() or drop()`);
  }

  function deadlineOf(due) {
    if (due === null || due === undefined) return NaN;
    if (typeof due !== "number" || Number.isNaN(due) || due === THROWN) throw new TypeError(`${due} is not a time; fix: return seconds since the start of the run, or null`);
    return due;
  }

  // ----- the page: served, or a single file

  function embedded(id) {
    return document.getElementById(id)?.textContent ?? null;
  }

  const BASE85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

  /** The bytes of a text in base 85: five digits for four bytes, as ecnlab/browser/page.py writes them. */
  function bytesOfBase85(text) {
    const missing = (5 - (text.length % 5)) % 5;
    const digits = Uint8Array.from(text + "~".repeat(missing), (letter) => BASE85.indexOf(letter));
    const bytes = new DataView(new ArrayBuffer((digits.length / 5) * 4));
    for (let at = 0, word = 0; at < digits.length; at += 5, word += 4) {
      bytes.setUint32(word, digits.subarray(at, at + 5).reduce((value, digit) => value * 85 + digit, 0));
    }
    return bytes.buffer.slice(0, bytes.byteLength - missing);
  }

  async function gunzip(bytes) {
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  /** Line and column of a syntax error in the reader's text, which only a worker's error event has; null if there is none. */
  Engine.placeOfSyntaxError = (source) => new Promise((resolve) => {
    const address = URL.createObjectURL(new Blob([beforeText("void"), source, "\n});", "postMessage(0);"], { type: "text/javascript" }));
    const worker = new Worker(address);
    const end = (place) => {
      worker.terminate();
      URL.revokeObjectURL(address);
      resolve(place);
    };
    worker.onmessage = () => end(null);
    worker.onerror = (event) => {
      event.preventDefault();
      end(readersPlace(event.lineno, event.colno));
    };
  });

  Engine.page = {
    /** What the command wrote into the page: version, build, examples, scenario. */
    config: () => JSON.parse(embedded("ecnlab-config") || "{}"),

    /** The module, to be posted to workers. */
    async wasmModule() {
      const packed = embedded("ecnlab-wasm");
      if (packed !== null) return WebAssembly.compile(await gunzip(bytesOfBase85(packed)));
      const response = await fetch("ecnlab.wasm");
      if (!response.ok) throw new Error(`ecnlab.wasm: ${response.status} ${response.statusText}`);
      return WebAssembly.compile(await response.arrayBuffer());
    },

    /** A worker that runs worker.js. */
    newWorker() {
      const source = embedded("ecnlab-worker");
      if (source === null) return new Worker("worker.js");
      const address = URL.createObjectURL(new Blob([embedded("ecnlab-engine"), "\n", source], { type: "text/javascript" }));
      const worker = new Worker(address);
      URL.revokeObjectURL(address);
      return worker;
    },
  };

  Object.assign(globalThis, { Engine, AqmError, RunError, EngineFault });
})();
