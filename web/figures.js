// Figures on the page: uPlot's canvases for A and B on shared scales, with legend, summary, table and SVG.
"use strict";

Lab.palette = (() => {
  // Okabe and Ito's colours, which readers with any colour vision can tell apart; the lines differ in their dashes too.
  const LIGHT = ["#0072B2", "#D55E00", "#007A59", "#A8568A", "#8A6100", "#000000"];
  const DARK = ["#56B4E9", "#E69F00", "#2EC4A0", "#F0A5CF", "#F0E442", "#FFFFFF"];
  const DASHES = [[], [7, 3], [2, 2], [10, 3, 2, 3], [4, 4], [1, 3]];
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const color = (index, dark = isDark()) => (dark ? DARK : LIGHT)[index % LIGHT.length];
  const dash = (index) => DASHES[index % DASHES.length];
  return { color, dash, isDark };
})();

Lab.Figures = class {
  /** `view` has range (or null), head_s (or null), setRange(range) and setHead(time_s). */
  constructor(root, view) {
    Object.assign(this, { root, view, rows: new Map(), sides: { A: [], B: [] }, shown: ["A"], labels: { A: "A", B: "B" }, only: null });
    this.visible = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const row = this.rows.get(entry.target.dataset.figure);
        if (!row) continue;
        row.isVisible = entry.isIntersecting;
        if (row.isVisible && row.isDirty) this.drawRow(row);
      }
    }, { rootMargin: "200px" });
    new ResizeObserver(() => this.resize()).observe(root);
  }

  /** Shows the figures of the sides; those outside of the window are drawn later. */
  show(sides, shown, labels, only = null) {
    Object.assign(this, { sides, shown, labels, only });
    const ids = [];
    for (const side of shown) for (const figure of sides[side]) if (!ids.includes(figure.id) && (only === null || only.includes(figure.id))) ids.push(figure.id);
    if (only !== null) ids.sort((a, b) => only.indexOf(a) - only.indexOf(b));
    for (const [id, row] of this.rows) {
      if (ids.includes(id)) continue;
      this.visible.unobserve(row.element);
      row.destroy();
      this.rows.delete(id);
    }
    ids.forEach((id) => {
      if (!this.rows.has(id)) {
        this.rows.set(id, new Lab.FigureRow(this, id));
        this.visible.observe(this.rows.get(id).element);
      }
    });
    const wanted = ids.map((id) => this.rows.get(id).element);
    if (wanted.some((element, index) => this.root.children[index] !== element)) this.root.replaceChildren(...wanted);
    for (const row of this.rows.values()) {
      row.isDirty = true;
      if (row.isVisible) this.drawRow(row);
    }
    this.drawRestSoon();
  }

  drawRestSoon() {
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      for (const row of this.rows.values()) if (row.isDirty) this.drawRow(row);
    }, 400);
  }

  drawRow(row) {
    row.draw();
    row.isDirty = false;
  }

  redraw() {
    for (const row of this.rows.values()) this.drawRow(row);
  }

  recolor() {
    for (const row of this.rows.values()) row.forget();
    this.redraw();
  }

  resize() {
    for (const row of this.rows.values()) row.resize();
  }

  showHead() {
    for (const row of this.rows.values()) row.showHead();
  }

  figure(side, id) {
    return this.sides[side].find((one) => one.id === id);
  }

  /** The range of x and y that a figure has on both sides. */
  scalesOf(id) {
    const figures = this.shown.map((side) => this.figure(side, id)).filter(Boolean);
    const isTime = figures[0].isTime;
    let last = 0;
    for (const { series } of figures) for (const { x } of series) if (x.length) last = Math.max(last, x[x.length - 1]);
    const whole = [0, isTime ? Math.max(last, this.view.end_s ?? 0) : last];
    const range = isTime && this.view.range ? this.view.range : whole;
    let top = 0;
    for (const { series } of figures) for (const one of series) top = Math.max(top, Lab.series.summaryOf(one, range).max || 0);
    return { x: range, y: [0, top > 0 ? top * 1.05 : 1], isTime };
  }
};

Lab.FigureRow = class {
  constructor(figures, id) {
    Object.assign(this, { figures, id, isVisible: false, isDirty: true, plots: {} });
    const { element } = Lab;
    this.title = element("h3", {});
    this.table = element("div", { class: "values", tabindex: "0", role: "region" });
    this.tableDetails = element("details", { class: "table" }, element("summary", {}, "Values as a table"), this.table);
    this.tableDetails.addEventListener("toggle", () => this.fillTable());
    this.saveButton = element("button", { type: "button", class: "small", onclick: () => this.save() }, "SVG");
    this.panes = Object.fromEntries(
      ["A", "B"].map((side) => {
        const plot = element("div", { class: "plot", role: "img" });
        const legend = element("ul", { class: "legend" });
        const name = element("h4", {});
        return [side, { pane: element("div", { class: `pane side-${side}` }, name, plot, legend), plot, legend, name }];
      }),
    );
    this.element = element(
      "section", { class: "figure", "data-figure": id },
      element("div", { class: "figure-head" }, this.title, this.saveButton),
      element("div", { class: "panes" }, this.panes.A.pane, this.panes.B.pane),
      this.tableDetails,
    );
  }

  draw() {
    const { figures, id } = this;
    const first = figures.shown.map((side) => figures.figure(side, id)).find(Boolean);
    if (!first) return;
    this.title.textContent = first.unit ? `${first.title} (${first.unit})` : first.title;
    this.saveButton.setAttribute("aria-label", `Save “${first.title}” as SVG`);
    this.table.setAttribute("aria-label", `Values of “${first.title}”`);
    this.scales = figures.scalesOf(id);
    for (const side of ["A", "B"]) {
      const { pane, name } = this.panes[side];
      pane.hidden = !figures.shown.includes(side);
      if (pane.hidden) continue;
      name.textContent = figures.labels[side];
      name.hidden = figures.shown.length < 2;
      this.drawSide(side, figures.figure(side, id));
    }
    if (this.tableDetails.open) this.fillTable();
  }

  drawSide(side, figure) {
    const { plot, legend } = this.panes[side];
    if (!figure) {
      this.forgetSide(side);
      plot.replaceChildren(Lab.element("p", { class: "none" }, `${side} has no such series.`));
      plot.setAttribute("aria-label", `${side} has no such series`);
      legend.replaceChildren();
      return;
    }
    const labels = figure.series.map((one) => one.label).join("\n");
    if (this.plots[side]?.labels !== labels) {
      this.forgetSide(side);
      plot.replaceChildren();
      this.plots[side] = { labels, chart: this.makeChart(plot, figure) };
      this.fillLegend(legend, figure);
    }
    const { chart } = this.plots[side];
    chart.setData(this.aligned(figure.series), false);
    chart.batch(() => {
      chart.setScale("x", { min: this.scales.x[0], max: this.scales.x[1] });
      chart.setScale("y", { min: this.scales.y[0], max: this.scales.y[1] });
    });
    plot.setAttribute("aria-label", this.describe(side, figure));
  }

  /** The series on one axis of x; where a series has no sample, it has none. */
  aligned(series) {
    const [first] = series;
    const same = series.every(({ x }) => x.length === first.x.length && x[0] === first.x[0] && x[x.length - 1] === first.x[x.length - 1]);
    if (same && this.scales.isTime) return [first.x, ...series.map(({ y }) => gapsAsNull(y))];
    return uPlot.join(series.map(({ x, y }) => [x, gapsAsNull(y)]), series.map(() => [1]));
  }

  makeChart(plot, figure) {
    const { color, dash } = Lab.palette;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink-2").trim();
    const grid = { stroke: style.getPropertyValue("--grid").trim(), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const { view } = this.figures;
    const options = {
      width: Math.max(200, plot.clientWidth || 320),
      height: 170,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: { sync: figure.isTime ? { key: "lab", setSeries: false } : undefined, drag: { x: true, y: false, setScale: false }, points: { show: false } },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [{ ...axis, size: 28 }, { ...axis, size: 46 }],
      series: [{}, ...figure.series.map((one, index) => ({
        label: one.label, stroke: color(index), dash: dash(index), width: 1.5, points: { show: false }, spanGaps: !figure.isTime || figure.id === "windows",
      }))],
      hooks: {
        draw: [(chart) => this.drawHead(chart, figure)],
        setSelect: [(chart) => {
          if (chart.select.width > 4 && figure.isTime) view.setRange([chart.posToVal(chart.select.left, "x"), chart.posToVal(chart.select.left + chart.select.width, "x")]);
          chart.setSelect({ width: 0, height: 0 }, false);
        }],
      },
    };
    const chart = new uPlot(options, [[], ...figure.series.map(() => [])], plot);
    if (figure.isTime) {
      chart.over.addEventListener("dblclick", () => view.setRange(null));
      let pressed = null;
      chart.over.addEventListener("mousedown", (event) => { pressed = event.clientX; });
      chart.over.addEventListener("mouseup", (event) => {
        if (pressed !== null && Math.abs(event.clientX - pressed) < 3) view.setHead(chart.posToVal(event.offsetX, "x"));
        pressed = null;
      });
    }
    return chart;
  }

  drawHead(chart, figure) {
    const { head_s } = this.figures.view;
    if (head_s === null || !figure.isTime) return;
    const x = Math.round(chart.valToPos(head_s, "x", true));
    const { left, top, width, height } = chart.bbox;
    if (x < left || x > left + width) return;
    chart.ctx.save();
    chart.ctx.strokeStyle = Lab.palette.isDark() ? "#fff" : "#000";
    chart.ctx.lineWidth = devicePixelRatio;
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, top);
    chart.ctx.lineTo(x, top + height);
    chart.ctx.stroke();
    chart.ctx.restore();
  }

  showHead() {
    for (const { chart } of Object.values(this.plots)) chart.redraw(false);
  }

  fillLegend(legend, figure) {
    legend.replaceChildren(...figure.series.map((one, index) => {
      const line = Lab.svgElement("line", { x1: 0, y1: 5, x2: 30, y2: 5, stroke: Lab.palette.color(index), "stroke-width": 2.5, "stroke-dasharray": Lab.palette.dash(index).join(" ") });
      return Lab.element("li", {}, Lab.svgElement("svg", { width: 30, height: 10, "aria-hidden": "true" }, line), one.label);
    }));
  }

  describe(side, figure) {
    const parts = figure.series.map((one) => {
      const { mean, max } = Lab.series.summaryOf(one, this.scales.x);
      return `${one.label}: mean ${Lab.quantities.readable(mean, 3)}, largest ${Lab.quantities.readable(max, 3)} ${figure.unit}`.trim();
    });
    return `${figure.title}, ${side}. ${parts.join("; ")}.`;
  }

  /** A row for each of 21 points of x, with the value of each series there. */
  fillTable() {
    if (!this.tableDetails.open) return;
    const { element } = Lab;
    const { readable } = Lab.quantities;
    const columns = this.figures.shown.flatMap((side) => (this.figures.figure(side, this.id)?.series ?? []).map((one) => ({ ...one, side })));
    const [from, to] = this.scales.x;
    const xLabel = this.figures.shown.map((side) => this.figures.figure(side, this.id)).find(Boolean).xLabel;
    const rows = Array.from({ length: 21 }, (_, index) => {
      const x = from + ((to - from) * index) / 20;
      return element("tr", {}, element("th", { scope: "row" }, readable(x)), ...columns.map((one) => element("td", {}, readable(valueNear(one, x), 4))));
    });
    const head = element("tr", {}, element("th", { scope: "col" }, xLabel), ...columns.map((one) => element("th", { scope: "col" }, this.figures.shown.length > 1 ? `${one.side}: ${one.label}` : one.label)));
    this.table.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, rows)));
  }

  save() {
    const panes = this.figures.shown
      .map((side) => ({ label: this.figures.shown.length > 1 ? this.figures.labels[side] : "", figure: this.figures.figure(side, this.id) }))
      .filter((one) => one.figure);
    Lab.download(`${this.id.replace(/\W+/g, "-")}.svg`, "image/svg+xml", Lab.svgFigure(panes, this.scales, this.figures.view.caption()));
  }

  resize() {
    for (const [side, { chart }] of Object.entries(this.plots)) {
      const width = this.panes[side].plot.clientWidth;
      if (width > 0 && Math.abs(width - chart.width) > 1) chart.setSize({ width, height: 170 });
    }
  }

  forgetSide(side) {
    this.plots[side]?.chart.destroy();
    delete this.plots[side];
  }

  forget() {
    for (const side of Object.keys(this.plots)) this.forgetSide(side);
  }

  destroy() {
    this.forget();
    this.element.remove();
  }
};

/** uPlot draws a gap at null, and takes NaN for a number. */
function gapsAsNull(values) {
  let clean = true;
  for (let index = 0; index < values.length; index++) if (Number.isNaN(values[index])) { clean = false; break; }
  return clean ? values : Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

function valueNear({ x, y }, at) {
  if (x.length === 0 || at > x[x.length - 1] + (x.length > 1 ? x[1] - x[0] : 0)) return NaN;
  let [low, high] = [0, x.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < at) low = middle + 1;
    else high = middle;
  }
  return y[low];
}

Lab.download = (name, type, text) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = Lab.element("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};
