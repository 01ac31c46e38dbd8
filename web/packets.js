// The play head: the packets that wait in a queue at an instant, with their marks, from the recorded events of a stretch.
"use strict";

Lab.Stretch = class {
  constructor({ from_s, to_s, atBegin, events, truncated }) {
    Object.assign(this, { from_s, to_s, atBegin, events, truncated });
    this.rewind();
  }

  rewind() {
    this.next = 0;
    this.waiting = new Map(this.atBegin.map((packet) => [packet.number, { ...packet }]));
    this.recent = [];
  }

  /** The packets that wait at a time, oldest first, and the last events before it. */
  at(time_s) {
    if (this.next > 0 && this.events[this.next - 1].time_s > time_s) this.rewind();
    while (this.next < this.events.length && this.events[this.next].time_s <= time_s) this.apply(this.events[this.next++]);
    return { packets: [...this.waiting.values()], recent: this.recent };
  }

  apply(event) {
    this.recent.push(event);
    if (this.recent.length > 6) this.recent.shift();
    if (event.kind === "arrival") this.waiting.set(event.number, { ...event, arrived_as: event.ecn });
    else if (event.kind === "mark") {
      const packet = this.waiting.get(event.number);
      if (packet) packet.ecn = event.ecn;
    } else this.waiting.delete(event.number);
  }

  /** The time of the event after or before a time. */
  step(time_s, direction) {
    if (direction > 0) return this.events.find((event) => event.time_s > time_s)?.time_s ?? this.to_s;
    return this.events.findLast((event) => event.time_s < time_s - 1e-12)?.time_s ?? this.from_s;
  }
};

Lab.PlayHead = class {
  /** `view` as for figures, with requestStretch(side, from_s, to_s) that answers a promise of a Stretch. */
  constructor(root, view) {
    Object.assign(this, { root, view, stretches: {}, time_s: 0, timer: null, requested: 0 });
    const { element } = Lab;
    const button = (text, label, action) => element("button", { type: "button", class: "small", "aria-label": label, onclick: action }, text);
    this.from = element("input", { type: "number", id: "stretch-from", min: 0, step: "any", class: "exact" });
    this.length = element("input", { type: "number", id: "stretch-length", min: 0, step: "any", class: "exact" });
    for (const field of [this.from, this.length]) field.addEventListener("change", () => this.record());
    this.slider = element("input", { type: "range", id: "play-head", min: 0, max: 1000, step: 1, "aria-label": "Play head" });
    this.slider.addEventListener("input", () => this.moveTo(this.begin + (Number(this.slider.value) / 1000) * this.span));
    this.playButton = button("Play", "Play", () => this.toggle());
    this.speed = element("select", { id: "play-speed" }, [["100", "100 times slower"], ["20", "20 times slower"], ["5", "5 times slower"], ["1", "real time"]].map(([value, text]) => element("option", { value }, text)));
    this.speed.value = "20";
    this.lanes = Object.fromEntries(["A", "B"].map((side) => [side, element("div", { class: `lanes side-${side}` })]));
    const keys = element("div", { class: "play", role: "group", "aria-label": "Play head", onkeydown: (event) => this.onKey(event) },
      this.playButton, button("‹", "To the event before", () => this.step(-1)), button("›", "To the next event", () => this.step(1)), this.slider,
      element("label", { for: "play-speed" }, "speed"), this.speed);
    root.append(
      element("div", { class: "play" }, element("label", { for: "stretch-from" }, "from (s)"), this.from, element("label", { for: "stretch-length" }, "length (s)"), this.length,
        element("span", { class: "hint" }, "or click at a figure")),
      keys, this.lanes.A, this.lanes.B,
      element("p", { class: "hint" }, "Each square is a packet, the oldest at the left, in the colour of its group. A disc in it: marked (CE). A bar at its top: not ECN-capable."),
    );
  }

  get begin() { return Number(this.from.value); }
  get span() { return Number(this.length.value); }
  get isOpen() { return this.root.closest("details").open; }

  /** New runs: their packets are recorded again if the section is open. */
  onRuns(runs, shown, queueName) {
    Object.assign(this, { runs, shown, queueName });
    const run = runs[shown[0]];
    if (!this.wasSet && run) {
      const { duration_s, resolved } = run.opened;
      const link = resolved.link.find((one) => one.name === queueName);
      const rate = Lab.quantities.read(link?.rate) || 1e7;
      const length = Math.min(duration_s / 4, (1000 * 12000) / rate);
      this.length.value = Number(length.toPrecision(1));
      this.from.value = Number((duration_s / 2).toPrecision(2));
      this.wasSet = true;
    }
    if (this.isOpen) this.record();
  }

  reset() {
    this.pause();
    this.wasSet = false;
  }

  setHead(time_s) {
    this.root.closest("details").open = true;
    this.from.value = Number(time_s.toPrecision(6));
    this.record();
  }

  async record() {
    if (!this.runs || !(this.span > 0) || !(this.begin >= 0)) return;
    const request = ++this.requested;
    this.root.setAttribute("aria-busy", "true");
    const stretches = {};
    try {
      for (const side of this.shown) stretches[side] = await this.view.requestStretch(side, this.begin, this.begin + this.span);
    } catch {
      if (request === this.requested) this.root.removeAttribute("aria-busy");
      return;
    }
    if (request !== this.requested) return;
    this.root.removeAttribute("aria-busy");
    this.stretches = Object.fromEntries(Object.entries(stretches).filter(([, one]) => one).map(([side, one]) => [side, new Lab.Stretch(one)]));
    this.moveTo(this.begin);
  }

  moveTo(time_s) {
    this.time_s = Math.min(Math.max(time_s, this.begin), this.begin + this.span);
    this.slider.value = Math.round(((this.time_s - this.begin) / this.span) * 1000);
    this.slider.setAttribute("aria-valuetext", `${this.time_s.toFixed(6)} s`);
    this.view.showHead(this.time_s);
    for (const side of ["A", "B"]) this.draw(side);
    this.root.dataset.time = this.time_s;
  }

  step(direction) {
    this.pause();
    const times = Object.values(this.stretches).map((stretch) => stretch.step(this.time_s, direction));
    if (times.length) this.moveTo(direction > 0 ? Math.min(...times) : Math.max(...times));
  }

  toggle() {
    if (this.timer !== null) this.pause();
    else this.play();
  }

  play() {
    if (this.time_s >= this.begin + this.span) this.moveTo(this.begin);
    let last = performance.now();
    const frame = (now) => {
      this.moveTo(this.time_s + (now - last) / 1000 / Number(this.speed.value));
      last = now;
      if (this.time_s >= this.begin + this.span) this.pause();
      else this.timer = requestAnimationFrame(frame);
    };
    this.timer = requestAnimationFrame(frame);
    this.playButton.textContent = "Pause";
    this.playButton.setAttribute("aria-label", "Pause");
  }

  pause() {
    if (this.timer !== null) cancelAnimationFrame(this.timer);
    this.timer = null;
    this.playButton.textContent = "Play";
    this.playButton.setAttribute("aria-label", "Play");
  }

  onKey(event) {
    if (event.target === this.speed) return;
    const isButton = event.target instanceof HTMLButtonElement;
    if (event.key === " " && !isButton) this.toggle();
    else if (event.key === "," || (event.key === "ArrowLeft" && event.target !== this.slider)) this.step(-1);
    else if (event.key === "." || (event.key === "ArrowRight" && event.target !== this.slider)) this.step(1);
    else return;
    event.preventDefault();
  }

  draw(side) {
    const lanes = this.lanes[side];
    const stretch = this.stretches[side];
    lanes.hidden = !this.shown.includes(side) || !stretch;
    if (lanes.hidden) return;
    const { packets, recent } = stretch.at(this.time_s);
    const run = this.runs[side];
    const groupOf = (flow) => run.groups.findIndex((group) => flow >= group.first && flow < group.first + group.count);
    const marked = packets.filter((one) => one.ecn.endsWith("ce")).length;
    const text = `${side}, ${this.time_s.toFixed(6)} s: ${packets.length} packets wait, ${marked} of them marked.`;
    const rows = this.laneNames(run, packets).map(([name, members]) => this.laneElement(name, members, groupOf));
    const events = recent.map((event) => Lab.element("li", { class: event.kind }, eventText(event, run, groupOf(event.flow))));
    const note = stretch.truncated ? " The stretch has more events than are kept; choose a shorter one." : "";
    lanes.replaceChildren(Lab.element("h4", {}, text + note), ...rows, Lab.element("ol", { class: "events", "aria-label": `Last events in ${side}` }, events));
  }

  /** Packets by lane: the bands of DualPI2, the flows of a discipline that separates them, or one lane. */
  laneNames(run, packets) {
    const discipline = run.queueInForce(this.queueName)?.discipline ?? "fifo";
    if (discipline === "dualpi2") {
      const isLow = (one) => one.arrived_as.endsWith("ect1") || one.arrived_as.endsWith("ce");
      return [["L", packets.filter(isLow)], ["C", packets.filter((one) => !isLow(one))]];
    }
    if (!["fq", "drr", "sfq"].includes(discipline)) return [["", packets]];
    const byFlow = new Map();
    for (const one of packets) byFlow.set(one.queueFlow, [...(byFlow.get(one.queueFlow) ?? []), one]);
    return [...byFlow].sort(([a], [b]) => a - b).map(([, members]) => [`flow ${members[0].flow}`, members]);
  }

  laneElement(name, packets, groupOf) {
    const [size, gap, most] = [12, 3, 240];
    const { svgElement } = Lab;
    const perRow = Math.max(8, Math.floor((this.root.clientWidth - 70) / (size + gap) / (this.shown.length > 1 && this.root.clientWidth > 900 ? 2 : 1)));
    const shapes = packets.slice(0, most).flatMap((packet, index) => {
      const x = (index % perRow) * (size + gap) + 1;
      const y = Math.floor(index / perRow) * (size + gap) + 1;
      const color = Lab.palette.color(Math.max(0, groupOf(packet.flow)));
      const shape = [svgElement("rect", { x, y, width: size, height: size, fill: color, "fill-opacity": 0.55, stroke: color })];
      const paper = Lab.palette.isDark() ? "#fff" : "#000";
      if (packet.ecn.endsWith("ce")) shape.push(svgElement("circle", { cx: x + size / 2, cy: y + size / 2, r: 3.4, fill: paper }));
      if (packet.ecn.endsWith("not-ect")) shape.push(svgElement("rect", { x, y, width: size, height: 3, fill: paper }));
      return shape;
    });
    const rows = Math.max(1, Math.ceil(Math.min(packets.length, most) / perRow));
    const svg = svgElement("svg", { width: perRow * (size + gap), height: rows * (size + gap) + 2, role: "img", "aria-label": `${name} ${packets.length} packets`.trim() }, shapes);
    const more = packets.length > most ? `and ${packets.length - most} more` : "";
    return Lab.element("div", { class: "lane" }, Lab.element("span", { class: "lane-name" }, name), svg, more);
  }
};

function eventText(event, run, group) {
  const words = { arrival: "arrives", mark: "is marked", drop: "is dropped", departure: "leaves" };
  const cause = event.cause === "none" ? "" : ` (${event.cause})`;
  const name = run.groups[group]?.name;
  return `${event.time_s.toFixed(6)} s: ${event.isAck ? "ACK" : "packet"} ${event.number} of flow ${event.flow}${name ? `, ${name},` : ""} ${words[event.kind]}${cause}, ${event.ecn}`;
}
