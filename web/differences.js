// The table of measures: A, B and B - A, of one seed or as means over several with 95 % intervals.
"use strict";

Lab.differences = (() => {
  const { element, svgElement } = Lab;
  const { readable } = Lab.quantities;
  const MAX_GROUPS = 8;

  /** Measures of a finished run, by their label: { value, unit }. */
  function measuresOf(run, queueName) {
    const { tables } = run.finished;
    const made = new Map();
    const add = (label, unit, value) => made.set(label, { unit, value: value ?? NaN });
    const cell = (table, column, row = 0) => {
      const values = tables[table]?.columns[column];
      return values === undefined ? NaN : Number(values[row]);
    };
    add("throughput", "Mbit/s", cell("total", "throughput_bps") * 1e-6);
    add("Jain's index of goodput", "", cell("total", "jain_goodput"));
    add("one-way delay, 95th percentile", "ms", cell("total", "delay_p95_s") * 1e3);
    const queues = tables.queues;
    const queue = queues ? rowNamed(queues.columns.queue, queueName) : -1;
    if (queue >= 0) {
      add("mean queue length", "packets", cell("queues", "length_mean_packets", queue));
      add("sojourn time, mean", "ms", cell("queues", "sojourn_mean_s", queue) * 1e3);
      add("sojourn time, 95th percentile", "ms", cell("queues", "sojourn_p95_s", queue) * 1e3);
      add("utilisation", "%", cell("queues", "utilisation", queue) * 100);
      add("marks", "packets", cell("queues", "marks", queue));
      add("drops", "packets", cell("queues", "drops", queue));
    }
    add("timeouts", "", cell("total", "timeouts"));
    const bands = tables.bands;
    for (let row = 0; row < (bands?.rows ?? 0); row++) {
      const { queue: names, band } = bands.columns;
      if (names.names[names.index[row]] !== queueName) continue;
      const name = band.names[band.index[row]];
      add(`band ${name}: sojourn time, mean`, "ms", cell("bands", "sojourn_mean_s", row) * 1e3);
      add(`band ${name}: sojourn time, 99th percentile`, "ms", cell("bands", "sojourn_p99_s", row) * 1e3);
    }
    const groups = tables.groups;
    for (let row = 0; row < Math.min(groups?.rows ?? 0, MAX_GROUPS); row++) {
      const { group } = groups.columns;
      const name = group.names[group.index[row]];
      const flows = cell("groups", "flows", row);
      add(`${name}: base RTT, mean`, "ms", baseRtt(tables.flows, name) * 1e3);
      add(`${name}: goodput of a flow`, "Mbit/s", (cell("groups", "goodput_bps", row) / flows) * 1e-6);
      add(`${name}: one-way delay, 95th percentile`, "ms", cell("groups", "delay_p95_s", row) * 1e3);
      add(`${name}: marks`, "packets", cell("groups", "marks", row));
      add(`${name}: drops`, "packets", cell("groups", "drops", row));
      if (cell("groups", "transactions", row) > 0) {
        add(`${name}: transactions`, "", cell("groups", "transactions", row));
        add(`${name}: duration of a transaction, mean`, "ms", cell("groups", "transaction_mean_s", row) * 1e3);
        add(`${name}: duration of a transaction, 95th percentile`, "ms", cell("groups", "transaction_p95_s", row) * 1e3);
      }
    }
    return made;
  }

  function baseRtt({ rows, columns: { group, base_rtt_s } }, name) {
    let [sum, count] = [0, 0];
    for (let row = 0; row < rows; row++) {
      if (group.names[group.index[row]] !== name) continue;
      sum += base_rtt_s[row];
      count += 1;
    }
    return sum / count;
  }

  const rowNamed = ({ index, names }, name) => index.findIndex((code) => names[code] === name);

  /**
   * Fills the table. `samples`: by side, a Map of measures for each seed, in the order of the seeds; a difference is paired by seed.
   */
  function fill(table, samples, shown, labels, rowsOnly) {
    const seeds = shown.map((side) => samples[side].length);
    const n = Math.min(...seeds);
    if (n === 0) return;
    const rows = [...new Set(shown.flatMap((side) => [...samples[side][0].keys()]))].filter((label) => !rowsOnly || rowsOnly.some((one) => label === one || (one.startsWith("*") && label.endsWith(one.slice(1)))));
    const compared = shown.length > 1;
    const head = ["measure", ...shown.map((side) => labels[side]), ...(compared ? ["B − A"] : []), ...(compared && n > 1 ? ["intervals"] : [])];
    table.tHead.replaceChildren(element("tr", {}, head.map((text) => element("th", { scope: "col" }, text))));
    table.tBodies[0].replaceChildren(...rows.map((label) => rowElement(label, samples, shown, n, compared)));
    table.caption.textContent =
      n > 1
        ? `Means over n = ${n} seeds ± half width of the 95 % interval (Student's t)${compared ? "; differences are paired by seed" : ""}`
        : "One seed, without an interval; more seeds follow in the background";
  }

  function rowElement(label, samples, shown, n, compared) {
    const unit = shown.map((side) => samples[side][0].get(label)?.unit).find((one) => one !== undefined);
    const values = Object.fromEntries(shown.map((side) => [side, samples[side].slice(0, n).map((one) => one.get(label)?.value ?? NaN)]));
    const estimates = Object.fromEntries(shown.map((side) => [side, Lab.stats.estimate(values[side])]));
    const cells = shown.map((side) => element("td", {}, estimateText(estimates[side])));
    if (compared) {
      const difference = Lab.stats.estimateDifference(values.A, values.B);
      cells.push(element("td", { class: Lab.stats.isClear(difference) ? "clear" : "" }, estimateText(difference, true)));
    }
    if (compared && n > 1) cells.push(element("td", { class: "strip" }, strip(label, estimates, shown)));
    return element("tr", {}, element("th", { scope: "row" }, unit ? `${label} (${unit})` : label), ...cells);
  }

  function estimateText({ mean, half }, signed = false) {
    const sign = signed && mean > 0 ? "+" : "";
    return `${sign}${readable(mean)}${Number.isNaN(half) ? "" : ` ± ${readable(half, 2)}`}`;
  }

  /** A and B with their intervals on one axis: a disc and a square. */
  function strip(label, estimates, shown) {
    const width = 120;
    const known = shown.filter((side) => !Number.isNaN(estimates[side].mean));
    const ends = known.flatMap((side) => [estimates[side].mean - (estimates[side].half || 0), estimates[side].mean + (estimates[side].half || 0)]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const toX = (value) => (high > low ? 8 + ((value - low) / (high - low)) * (width - 16) : width / 2);
    const marks = known.map((side) => {
      const { mean, half } = estimates[side];
      const y = side === "A" ? 6 : 14;
      const color = Lab.palette.color(side === "A" ? 0 : 1);
      const symbol = side === "A" ? svgElement("circle", { cx: toX(mean), cy: y, r: 3.5, fill: color }) : svgElement("rect", { x: toX(mean) - 3.5, y: y - 3.5, width: 7, height: 7, fill: color });
      return [svgElement("line", { x1: toX(mean - (half || 0)), x2: toX(mean + (half || 0)), y1: y, y2: y, stroke: color, "stroke-width": 2 }), symbol];
    });
    return svgElement("svg", { width, height: 20, role: "img", "aria-label": `Intervals of ${label}` }, marks.flat());
  }

  return { measuresOf, baseRtt, fill };
})();
