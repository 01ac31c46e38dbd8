// Runs in workers. Each Runner has one worker and one run at a time; a newer request replaces the one that waits.
"use strict";

Lab.Runner = class {
  // A run that is younger than this finishes although a newer request waits: a moving slider would otherwise cancel every run.
  static GRACE_MS = 250;
  // Runs that take somewhat longer finish too, as long as they are expected to.
  static MAX_GRACE_MS = 1000;

  constructor(module) {
    this.worker = Engine.page.newWorker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.receive({ type: "failed", id: this.current?.id, error: { kind: "Error", message: event.message ?? "the worker ended" } });
    this.ready = new Promise((resolve, reject) => {
      this.onReady = resolve;
      this.onNotReady = reject;
    });
    this.current = null;
    this.waiting = null;
    this.lastId = 0;
    this.lastRunMs = 0;
    this.worker.postMessage({ type: "load", module });
  }

  /** Runs `job` as soon as the run at work has ended or is cancelled. `handlers`: opened, piece, done, failed, stretch, toml, declarations. */
  submit(job, handlers) {
    this.waiting = { job, handlers };
    if (this.current === null) this.start();
    else this.cancelWhenOld();
  }

  /** Forgets the waiting request and cancels the run at work. */
  stop() {
    this.waiting = null;
    if (this.current) this.cancel();
  }

  get isBusy() {
    return this.current !== null;
  }

  start() {
    if (this.waiting === null) return;
    const { job, handlers } = this.waiting;
    this.waiting = null;
    this.lastId += 1;
    this.current = { id: this.lastId, handlers, began: performance.now(), cancelled: false };
    this.worker.postMessage({ ...job, id: this.lastId });
  }

  cancelWhenOld() {
    const { id, began } = this.current;
    const grace = Math.max(Lab.Runner.GRACE_MS, Math.min(1.5 * this.lastRunMs, Lab.Runner.MAX_GRACE_MS));
    const left = grace - (performance.now() - began);
    if (left <= 0) this.cancel();
    else setTimeout(() => this.current?.id === id && this.waiting && this.cancel(), left);
  }

  cancel() {
    if (this.current.cancelled) return;
    this.current.cancelled = true;
    this.worker.postMessage({ type: "cancel", id: this.current.id });
  }

  receive(message) {
    if (message.type === "ready") {
      this.onReady(message.catalog);
      return;
    }
    if (this.current === null) {
      // Without a job at work, it is the module that could not be loaded; after that, this has no effect.
      if (message.type === "failed") this.onNotReady(new Error(message.error.message));
      return;
    }
    if (message.id !== this.current.id) return;
    const { handlers } = this.current;
    if (message.type === "done") this.lastRunMs = message.run_ms;
    handlers[message.type]?.(message);
    if (message.type === "opened" || message.type === "piece") return;
    this.current = null;
    this.start();
  }
};

/** The tables of a run, put together from pieces. */
Lab.Tables = class {
  constructor() {
    this.pieces = new Map();
    this.joined = new Map();
  }

  add(tables) {
    for (const [name, table] of Object.entries(tables)) {
      if (!this.pieces.has(name)) this.pieces.set(name, []);
      if (table.rows > 0 || this.pieces.get(name).length === 0) this.pieces.get(name).push(table);
      this.joined.delete(name);
    }
  }

  /** { rows, columns } of a table; a table that the run has not is empty. */
  get(name) {
    if (!this.joined.has(name)) this.joined.set(name, this.join(this.pieces.get(name) ?? []));
    return this.joined.get(name);
  }

  join(pieces) {
    if (pieces.length === 0) return { rows: 0, columns: {} };
    if (pieces.length === 1) return pieces[0];
    const rows = pieces.reduce((sum, piece) => sum + piece.rows, 0);
    const columns = {};
    for (const key of Object.keys(pieces[0].columns)) {
      const arrays = pieces.map((piece) => piece.columns[key].index ?? piece.columns[key]);
      const whole = new arrays[0].constructor(rows);
      let from = 0;
      for (const array of arrays) {
        whole.set(array, from);
        from += array.length;
      }
      const { names } = pieces[pieces.length - 1].columns[key];
      columns[key] = names ? { index: whole, names } : whole;
    }
    return { rows, columns };
  }
};

/** A run of an opened scenario with its tables, for figures and measures; `finished` is set at its end. */
Lab.makeRun = (catalog, opened, tables, declarations) => {
  const { resolved } = opened;
  const { registry } = catalog;
  let first = 0;
  const groups = resolved.flows.map((group) => {
    const count = Number(group.count ?? 1);
    first += count;
    return { name: group.name, count, first: first - count };
  });
  const queueInForce = (name) => resolved.link.find((link) => link.name === name)?.queue;

  /** The gauges of a queue in force, those of its inner queue first. */
  const gaugesInForce = (queue) => {
    if (!queue) return [];
    const name = queue.aqm?.name ?? queue.aqm;
    const aqm = registry.aqm.find((one) => one.name === name) ?? declarations.find((one) => one.name === name);
    const discipline = registry.discipline.find((one) => one.name === queue.discipline);
    return [...gaugesInForce(queue.queue), ...(discipline?.gauges ?? []), ...(aqm?.gauges ?? [])];
  };

  const gauges = new Map();
  for (const kind of ["aqm", "discipline"]) {
    for (const entry of registry[kind]) for (const gauge of entry.gauges ?? []) if (!gauges.has(gauge.name)) gauges.set(gauge.name, gauge);
  }
  for (const link of resolved.link) for (const gauge of gaugesInForce(link.queue)) gauges.set(gauge.name, gauge);
  const rateInterval_s = Lab.quantities.read(opened.record.rates_interval) || 1;
  return { opened, tables, groups, gauges, queueInForce, rateInterval_s, finished: null };
};
