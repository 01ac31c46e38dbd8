// The editor for an AQM of the reader's own: a text field with line numbers, and errors at their line.
"use strict";

Lab.AQM_TEXTS = {
  Threshold: `class Threshold extends Aqm {
  /** Marks each packet that finds many others. */
  static parameters = {
    most: param(20, { whole: true, bounds: [1, 10000], unit: "packets", usual: [1, 60, "linear"], doc: "Queue length from which every packet is marked." }),
  };

  on_arrival(arrival) {
    return arrival.backlog.packets >= this.most ? mark() : PASS;
  }
}
`,
  MyRed: `class MyRed extends Aqm {
  /** RED without the spacing of marks: a probability that grows with the average queue length. */
  static parameters = {
    min_th: param(5, { bounds: [0, 10000], unit: "packets", usual: [1, 60, "linear"] }),
    max_th: param(25, { bounds: [1, 10000], unit: "packets", usual: [2, 120, "linear"] }),
    max_p: param(0.1, { bounds: [0, 1], usual: [0.01, 1, "log"] }),
    w_q: param(0.002, { bounds: [0, 1], usual: [0.0005, 0.1, "log"] }),
  };
  static gauges = { average: gauge(0, { unit: "packets" }), probability: gauge(0) };

  on_arrival(arrival) {
    this.average += this.w_q * (arrival.backlog.packets - this.average);
    const position = (this.average - this.min_th) / (this.max_th - this.min_th);
    this.probability = position < 0 ? 0 : position < 1 ? this.max_p * position : 1;
    return this.random() < this.probability ? mark() : PASS;
  }
}
`,
  Sojourn: `class Sojourn extends Aqm {
  /** Marks each packet that waited too long, as it leaves. */
  static parameters = {
    most: param(0.005, { bounds: [0, 10], unit: "s", usual: [0.0005, 0.1, "log"], doc: "Sojourn time from which a packet is marked." }),
  };

  on_arrival(arrival) {
    return PASS;
  }

  on_departure(departure) {
    return departure.waited_s >= this.most ? mark() : PASS;
  }
}
`,
};

Lab.AqmEditor = class {
  /** `use(source, side)` applies the text; `edited(source)` is called while it is typed, for the sides that use it. */
  constructor(root, { use, edited }) {
    const { element } = Lab;
    this.lines = element("pre", { class: "line-numbers", "aria-hidden": "true" });
    this.text = element("textarea", { id: "aqm-text", spellcheck: "false", autocapitalize: "off", rows: 18, wrap: "off" });
    this.text.value = Lab.AQM_TEXTS.Threshold;
    this.error = element("p", { class: "problems", role: "alert", id: "aqm-error" });
    this.text.setAttribute("aria-describedby", "aqm-error");
    this.template = element("select", { id: "aqm-template" }, Object.keys(Lab.AQM_TEXTS).map((name) => element("option", { value: name }, name)));
    this.template.addEventListener("change", () => {
      this.setText(Lab.AQM_TEXTS[this.template.value]);
      edited(this.source);
    });
    this.text.addEventListener("scroll", () => {
      this.lines.scrollTop = this.text.scrollTop;
    });
    this.text.addEventListener("input", () => {
      this.number();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => edited(this.source), 500);
    });
    const useButton = (side) => element("button", { type: "button", "data-use": side, onclick: () => use(this.source, side) }, `Use in ${side}`);
    root.append(
      element("p", { class: "hint" },
        "The class is asked for every packet. Its hooks are those of the Python class: on_start, on_arrival, on_departure, on_deadline, on_idle, on_rate. A hook answers PASS, mark() or drop()."),
      element("div", { class: "play" }, element("label", { for: "aqm-template" }, "begin with"), this.template, useButton("A"), useButton("B")),
      element("label", { for: "aqm-text", class: "visually-hidden" }, "JavaScript of the AQM"),
      element("div", { class: "editor" }, this.lines, this.text),
      this.error,
    );
    this.number();
  }

  get source() { return this.text.value; }

  setText(source) {
    this.text.value = source;
    this.number();
    this.showError(null);
  }

  number(wrong = null) {
    const count = this.text.value.split("\n").length;
    this.lines.replaceChildren(...Array.from({ length: count }, (_, index) =>
      Lab.element("span", { class: index + 1 === wrong ? "wrong" : "" }, `${index + 1}\n`)));
  }

  /** Shows an AqmError at its line, or removes it. */
  showError(error) {
    this.number(error?.line ?? null);
    if (error === null) {
      this.error.textContent = "";
      return;
    }
    const at = error.time_s === null || error.time_s === undefined ? "" : `, at ${error.time_s} s`;
    const place = [error.line ? `line ${error.line}` : null, error.hook ? `${error.hook}${at}` : null].filter(Boolean).join(", ");
    this.error.textContent = place ? `${place}: ${error.message}` : error.message;
    if (error.line) this.text.scrollTop = Math.max(0, (error.line - 6) * 18);
  }
};
