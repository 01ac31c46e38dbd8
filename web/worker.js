if (typeof Engine === "undefined") importScripts("engine.js");
// A worker of the page: it holds one instance of the engine and runs one scenario at a time, in slices between which it hears messages.
//
// Messages to it:    load { module }, run { id, request, source, seed, pieces, until_s }, packets { id, request, source, seed, queue, from_s, to_s },
//                    toml { id, request, source }, check { id, request, source }, declarations { id, source }, cancel { id }
// Messages from it:  ready { catalog }, opened { id, opened }, piece { id, fresh }, done { id, finished, run_ms }, stretch { id, stretch },
//                    toml { id, toml }, checked { id }, declarations { id, declarations }, cancelled { id }, failed { id, error }
"use strict";

const EVENTS_PER_SLICE = 32768;
// Time between two pieces of a run, whose pictures grow meanwhile.
const PIECE_MS = 120;

let compiled = null;
let engine = null;
let loadedSource = null;
let declarations = [];
let hasDeclared = false;
const cancelled = new Set();
const jobs = [];
let working = false;

// A slice ends with a message to itself, which the browser delivers after the messages that came meanwhile.
const channel = new MessageChannel();
let resume = null;
channel.port1.onmessage = () => resume();
const hearMessages = () =>
  new Promise((resolve) => {
    resume = resolve;
    channel.port2.postMessage(0);
  });

onmessage = async ({ data }) => {
  if (data.type === "cancel") cancelled.add(data.id);
  else jobs.push(data);
  if (working) return;
  working = true;
  while (jobs.length > 0) await work(jobs.shift());
  working = false;
};

async function work(job) {
  try {
    if (job.type === "load") {
      compiled = job.module;
      await makeInstance();
      postMessage({ type: "ready", catalog: engine.catalog() });
      return;
    }
    if (engine === null) await makeInstance();
    await useSource(job.source ?? "");
    if (job.type === "declarations") postMessage({ type: "declarations", id: job.id, declarations });
    else await withLab(job);
  } catch (error) {
    postMessage({ type: "failed", id: job.id, error: describeError(error) });
    // After a trap the instance is of no use.
    if (!isExpected(error)) engine = null;
  } finally {
    cancelled.delete(job.id);
  }
}

async function makeInstance() {
  engine = await Engine.load(compiled);
  loadedSource = null;
  declarations = [];
  hasDeclared = false;
}

async function useSource(source) {
  if (source === loadedSource) return;
  // A declaration lives as long as its instance. Each text has an instance of its own, so that the edits of a text do not fill the memory.
  if (hasDeclared) await makeInstance();
  loadedSource = null;
  hasDeclared = source.trim() !== "";
  declarations = source.trim() === "" ? [] : engine.loadAqms(source);
  loadedSource = source;
}

const isExpected = (error) => ["AqmError", "RunError"].includes(error?.name) || ["AqmError", "RunError"].includes(error?.constructor?.name);

function describeError(error) {
  const { aqm = null, hook = null, time_s = null, packet = null, line = null, column = null } = error ?? {};
  const kind = error?.name && error.name !== "Error" ? error.name : (error?.constructor?.name ?? "Error");
  return { kind, message: String(error?.message ?? error), aqm, hook, time_s, packet, line, column };
}

async function withLab(job) {
  const began = performance.now();
  const opened = openForJob(job);
  if (opened.problems) {
    postMessage({ type: "failed", id: job.id, error: { kind: "ScenarioError", message: "", problems: opened.problems } });
    return;
  }
  try {
    if (job.type === "toml") postMessage({ type: "toml", id: job.id, toml: engine.toml(opened.lab) });
    if (job.type === "check") postMessage({ type: "checked", id: job.id });
    if (job.type === "run") await run(job, opened, began);
    if (job.type === "packets") await recordStretch(job, opened);
  } finally {
    if (engine !== null) engine.close(opened.lab);
  }
}

/** Opens the scenario, and again with the recording that suits its duration: intervals that give some thousand samples. */
function openForJob(job) {
  const request = { ...job.request, aqms: declarations };
  const opened = engine.open(request);
  if (opened.problems || !["run", "packets"].includes(job.type)) return opened;
  engine.close(opened.lab);
  return engine.open({ ...request, record: recordFor(job, opened.duration_s) });
}

/** Lower bounds of `record.queue` and `record.window`, and of `record.rates_interval`. */
const LEAST_SAMPLE_INTERVAL_S = 1e-6, LEAST_RATES_INTERVAL_S = 1e-3;

function recordFor(job, duration_s) {
  const nothing = { queue: "off", window: "off", rates: "false", events: "false", distributions: "false", transfers: "false", arrivals: "false" };
  if (job.type === "packets") return { ...nothing, arrivals: "true" };
  if (job.measuresOnly) return nothing;
  const every = (share, least_s) => seconds(Math.max(least_s, roundInterval(duration_s / share)));
  const series = { queue: every(6000, LEAST_SAMPLE_INTERVAL_S), window: every(1200, LEAST_SAMPLE_INTERVAL_S), rates_interval: every(120, LEAST_RATES_INTERVAL_S) };
  return { ...nothing, ...series, rates: "true", transfers: "true" };
}

/** The next of 1, 2, 5, 10, ... times a power of ten. */
function roundInterval(seconds_) {
  const power = 10 ** Math.floor(Math.log10(seconds_));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= seconds_ * 0.999999);
}

const seconds = (number) => `${number.toFixed(12).replace(/0+$/, "").replace(/\.$/, "")} s`;

async function run(job, opened, began) {
  postMessage({ type: "opened", id: job.id, opened });
  const { lab } = opened;
  engine.start(lab, job.seed);
  let pieceAt = performance.now();
  for (let now = 0; now < opened.duration_s;) {
    now = engine.advance(lab, opened.duration_s, EVENTS_PER_SLICE);
    await hearMessages();
    if (cancelled.has(job.id)) {
      postMessage({ type: "cancelled", id: job.id });
      return;
    }
    if (job.pieces && performance.now() - pieceAt > PIECE_MS) {
      postPiece(job.id, engine.fresh(lab));
      pieceAt = performance.now();
    }
  }
  if (job.pieces) postPiece(job.id, engine.fresh(lab));
  const finished = engine.finish(lab, { recorded: false });
  postMessage({ type: "done", id: job.id, finished, run_ms: performance.now() - began });
}

const postPiece = (id, fresh) => postMessage({ type: "piece", id, fresh }, buffersOf(fresh.tables));

const buffersOf = (tables) =>
  Object.values(tables).flatMap((table) => Object.values(table.columns).map((column) => (column.index ?? column).buffer));

/** Runs until the end of a stretch, and answers which packets waited at its begin and each event of the queue within it. */
async function recordStretch(job, opened) {
  const { lab } = opened;
  engine.start(lab, job.seed);
  const waiting = new Map();
  const events = [];
  let truncated = false;
  let atBegin = null;
  for (let now = 0; now < job.to_s && !truncated;) {
    now = engine.advance(lab, Math.min(job.to_s, opened.duration_s), EVENTS_PER_SLICE);
    const log = engine.fresh(lab).tables.arrivals;
    if (log) {
      for (const event of eventsOf(log, job.queue)) {
        if (event.time_s >= job.from_s) {
          atBegin ??= [...waiting.values()].map((packet) => ({ ...packet }));
          if (events.length >= MAX_STRETCH_EVENTS) truncated = true;
          else events.push(event);
        } else applyEvent(waiting, event);
      }
    }
    await hearMessages();
    if (cancelled.has(job.id)) {
      postMessage({ type: "cancelled", id: job.id });
      return;
    }
    if (now >= opened.duration_s) break;
  }
  atBegin ??= [...waiting.values()];
  postMessage({ type: "stretch", id: job.id, stretch: { from_s: job.from_s, to_s: job.to_s, atBegin, events, truncated } });
}

const MAX_STRETCH_EVENTS = 200000;
const PACKET_EVENTS = new Set(["arrival", "mark", "drop", "departure"]);

function* eventsOf(log, queueName) {
  const { time_ps, queue, event, number, size_bytes, ecn, value, cause } = log.columns;
  for (let row = 0; row < log.rows; row++) {
    const kind = event.names[event.index[row]];
    if (!PACKET_EVENTS.has(kind) || queue.names[queue.index[row]] !== queueName) continue;
    yield {
      time_s: Number(time_ps[row]) * 1e-12,
      kind,
      number: number[row],
      size: size_bytes[row],
      ecn: ecn.names[ecn.index[row]],
      ...flowOf(Number(value[row])),
      cause: cause.names[cause.index[row]],
    };
  }
}

/** Queues tell flows apart by flow, direction and connection: bits 1 to 32, bit 0, and the bits from 33 on. */
function flowOf(queueFlow) {
  return { queueFlow, flow: Math.floor((queueFlow % 2 ** 33) / 2), isAck: queueFlow % 2 === 1 };
}

function applyEvent(waiting, event) {
  if (event.kind === "arrival") waiting.set(event.number, { ...event, arrived_as: event.ecn });
  else if (event.kind === "mark") {
    const packet = waiting.get(event.number);
    if (packet) packet.ecn = event.ecn;
  } else waiting.delete(event.number);
}
