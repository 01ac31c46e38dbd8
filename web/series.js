// The series of a run as figures: { id, title, unit, xLabel, isTime, series: [{ label, x, y }] }.
"use strict";

Lab.series = (() => {
  const MAX_WINDOWS = 6;

  /** All figures of one side. `run` has tables (Lab.Tables), opened and catalog. */
  function figuresOf(run, queueName) {
    return [
      lengthFigure(run, queueName),
      sojournFigure(run, queueName),
      ...bandFigures(run, queueName),
      ...gaugeFigures(run, queueName),
      windowFigure(run),
      ...rateFigures(run),
      transactionFigure(run),
    ].filter((figure) => figure !== null && figure.series.length > 0);
  }

  function rowsWith({ index, names }, name) {
    const code = names.indexOf(name);
    const rows = [];
    for (let row = 0; row < index.length; row++) if (index[row] === code) rows.push(row);
    return rows;
  }

  const pick = (column, rows, factor = 1) => Float64Array.from(rows, (row) => column[row] * factor);
  const hasValue = (values) => values.some((value) => !Number.isNaN(value));
  const timeFigure = (id, title, unit, series) => ({ id, title, unit, xLabel: "time (s)", isTime: true, series });

  function queueRows(run, queueName) {
    const { rows, columns } = run.tables.get("series_queue");
    if (rows === 0) return null;
    return { columns, rows: rowsWith(columns.queue, queueName) };
  }

  function lengthFigure(run, queueName) {
    const found = queueRows(run, queueName);
    if (found === null) return null;
    const { columns, rows } = found;
    const x = pick(columns.time_s, rows);
    const average = pick(columns.average_packets, rows);
    const series = [{ label: "length", x, y: pick(columns.length_packets, rows) }];
    if (hasValue(average)) series.push({ label: "average of the AQM", x, y: average });
    return timeFigure("length", "Queue length", "packets", series);
  }

  function sojournFigure(run, queueName) {
    const found = queueRows(run, queueName);
    if (found === null) return null;
    const { columns, rows } = found;
    const x = pick(columns.time_s, rows);
    return timeFigure("sojourn", "Sojourn time in the queue", "ms", [
      { label: "largest", x, y: pick(columns.sojourn_max_s, rows, 1e3) },
      { label: "mean", x, y: pick(columns.sojourn_mean_s, rows, 1e3) },
    ]);
  }

  /** Sojourn time and length of each band, if the queue has several. */
  function bandFigures(run, queueName) {
    const { rows, columns } = run.tables.get("series_band");
    if (rows === 0) return [];
    const ofQueue = new Set(rowsWith(columns.queue, queueName));
    const seriesOf = (column, factor) => columns.band.names.map((band) => {
      const inBand = rowsWith(columns.band, band).filter((row) => ofQueue.has(row));
      return { label: `band ${band}`, x: pick(columns.time_s, inBand), y: pick(column, inBand, factor) };
    }).filter((one) => one.x.length > 0);
    return [
      timeFigure("bands", "Mean sojourn time by band", "ms", seriesOf(columns.sojourn_mean_s, 1e3)),
      timeFigure("band-lengths", "Queue length by band", "packets", seriesOf(columns.length_packets, 1)),
    ];
  }

  /** A figure for each unit of the gauges. */
  function gaugeFigures(run, queueName) {
    const { rows, columns } = run.tables.get("series_gauge");
    if (rows === 0) return [];
    const ofQueue = new Set(rowsWith(columns.queue, queueName));
    const byUnit = new Map();
    for (const gauge of columns.gauge.names) {
      const inGauge = rowsWith(columns.gauge, gauge).filter((row) => ofQueue.has(row));
      if (inGauge.length === 0) continue;
      const declared = run.gauges.get(gauge) ?? { unit: "1" };
      const inSeconds = declared.unit === "s";
      const unit = inSeconds ? "ms" : declared.unit;
      const label = declared.symbol ? `${gauge} (${declared.symbol})` : gauge;
      if (!byUnit.has(unit)) byUnit.set(unit, []);
      byUnit.get(unit).push({ label, x: pick(columns.time_s, inGauge), y: pick(columns.value, inGauge, inSeconds ? 1e3 : 1) });
    }
    return [...byUnit].map(([unit, series]) => {
      const title = `Internals of the AQM: ${series.map((one) => one.label.split(" ")[0]).join(", ")}`;
      return timeFigure(`gauge ${unit}`, title, unit === "1" ? "" : unit, series);
    });
  }

  function windowFigure(run) {
    const { rows, columns } = run.tables.get("series_window");
    if (rows === 0) return null;
    const perGroup = Math.max(1, Math.floor(MAX_WINDOWS / run.groups.length));
    const chosen = run.groups.flatMap((group) => Array.from({ length: Math.min(perGroup, group.count) }, (_, index) => [group, group.first + index]));
    const rowsOf = new Map(chosen.map(([, flow]) => [flow, []]));
    for (let row = 0; row < rows; row++) rowsOf.get(columns.flow[row])?.push(row);
    const series = chosen
      .map(([group, flow]) => ({ label: `${group.name}, flow ${flow}`, x: pick(columns.time_s, rowsOf.get(flow)), y: pick(columns.cwnd_packets, rowsOf.get(flow)) }))
      .filter((one) => one.x.length > 0)
      .slice(0, MAX_WINDOWS);
    return timeFigure("windows", "Congestion windows", "packets", series);
  }

  function rateFigures(run) {
    const { rows, columns } = run.tables.get("series_rate");
    if (rows === 0) return [];
    const bin_s = run.rateInterval_s;
    const of = (id, title, unit, column, factor) => {
      const series = run.groups.map((group) => {
        const inGroup = rowsWith(columns.group, group.name);
        return { label: group.name, x: pick(columns.time_s, inGroup), y: pick(columns[column], inGroup, factor(group)) };
      });
      return timeFigure(id, title, unit, series.filter((one) => one.x.length > 0));
    };
    return [
      of("goodput", "Goodput of a flow, mean of its group", "Mbit/s", "goodput_bps", (group) => 1e-6 / group.count),
      of("marks", "Marks by group", "packets/s", "marks", () => 1 / bin_s),
      of("drops", "Drops by group", "packets/s", "drops", () => 1 / bin_s),
    ];
  }

  /** Share of the transactions of each group that took at most a time. */
  function transactionFigure(run) {
    const { rows, columns } = run.tables.get("transfers");
    if (rows === 0) return null;
    const series = run.groups.map((group) => {
      const durations = pick(columns.duration_s, rowsWith(columns.group, group.name)).sort();
      return { label: group.name, x: durations, y: durations.map((_, index) => (index + 1) / durations.length) };
    });
    return {
      id: "transactions", title: "Duration of transactions: share that took at most this time", unit: "share", xLabel: "duration (s)", isTime: false,
      series: series.filter((one) => one.x.length > 1),
    };
  }

  /** Mean and largest value of a series within a range of x. */
  function summaryOf({ x, y }, [from, to]) {
    let [sum, count, max] = [0, 0, -Infinity];
    for (let index = 0; index < x.length; index++) {
      const value = y[index];
      if (x[index] < from || x[index] > to || Number.isNaN(value)) continue;
      sum += value;
      count += 1;
      if (value > max) max = value;
    }
    return { mean: count ? sum / count : NaN, max: count ? max : NaN };
  }

  return { figuresOf, summaryOf };
})();
