// A figure as an SVG for a paper: the same series on the same scales, in the light colours.
"use strict";

Lab.svgFigure = (() => {
  const PANE = { width: 360, height: 220, left: 52, right: 10, top: 26, bottom: 40 };
  const LEGEND_LINE = 16;
  const escape = (text) => String(text).replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]);

  /** `panes`: [{ label, figure }]; `scales`: { x: [from, to], y: [from, to] }. */
  function svgFigure(panes, scales, caption) {
    const width = PANE.width * panes.length;
    const legendLines = Math.max(...panes.map(({ figure }) => figure.series.length));
    const captionLines = wrap(caption, width / 5.2);
    const height = PANE.height + legendLines * LEGEND_LINE + captionLines.length * 13 + 10;
    const body = panes.map((pane, index) => `<g transform="translate(${index * PANE.width} 0)">${paneText(pane, scales)}</g>`);
    const captionText = captionLines.map((line, index) => `<text x="8" y="${height - 8 - (captionLines.length - 1 - index) * 13}" font-size="9" fill="#555">${escape(line)}</text>`);
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif" font-size="11">`,
      `<title>${escape(panes[0].figure.title)}</title><rect width="${width}" height="${height}" fill="#fff"/>`,
      ...body, ...captionText, "</svg>\n",
    ].join("\n");
  }

  function paneText({ label, figure }, scales) {
    const plotWidth = PANE.width - PANE.left - PANE.right;
    const plotHeight = PANE.height - PANE.top - PANE.bottom;
    const toX = (x) => PANE.left + ((x - scales.x[0]) / (scales.x[1] - scales.x[0])) * plotWidth;
    const toY = (y) => PANE.top + plotHeight - ((y - scales.y[0]) / (scales.y[1] - scales.y[0])) * plotHeight;
    const bottom = PANE.top + plotHeight;
    const parts = [];
    for (const x of ticks(...scales.x, 6)) parts.push(`<line x1="${f(toX(x))}" x2="${f(toX(x))}" y1="${PANE.top}" y2="${bottom}" stroke="#ddd"/><text x="${f(toX(x))}" y="${bottom + 14}" text-anchor="middle">${x}</text>`);
    for (const y of ticks(...scales.y, 5)) parts.push(`<line x1="${PANE.left}" x2="${PANE.left + plotWidth}" y1="${f(toY(y))}" y2="${f(toY(y))}" stroke="#ddd"/><text x="${PANE.left - 5}" y="${f(toY(y) + 4)}" text-anchor="end">${y}</text>`);
    parts.push(`<rect x="${PANE.left}" y="${PANE.top}" width="${plotWidth}" height="${plotHeight}" fill="none" stroke="#555"/>`);
    figure.series.forEach((one, index) => {
      const stroke = `fill="none" stroke="${Lab.palette.color(index, false)}" stroke-width="1.2" stroke-linejoin="round"${dashText(index)}`;
      parts.push(`<path d="${pathOf(one, scales, toX, toY, plotWidth)}" ${stroke}/>`);
      const y = PANE.height + 2 + index * LEGEND_LINE;
      parts.push(`<line x1="${PANE.left}" x2="${PANE.left + 30}" y1="${y}" y2="${y}" ${stroke}/><text x="${PANE.left + 36}" y="${y + 4}">${escape(one.label)}</text>`);
    });
    const title = [label, figure.unit ? `${figure.title} (${figure.unit})` : figure.title].filter(Boolean).join(": ");
    parts.push(`<text x="${PANE.left}" y="16" font-weight="bold" font-size="${title.length > 52 ? 9 : 11}">${escape(title)}</text>`);
    parts.push(`<text x="${PANE.left + plotWidth / 2}" y="${bottom + 30}" text-anchor="middle">${escape(figure.xLabel)}</text>`);
    return parts.join("\n");
  }

  const f = (number) => Number(number.toFixed(1));
  const dashText = (index) => (Lab.palette.dash(index).length ? ` stroke-dasharray="${Lab.palette.dash(index).join(" ")}"` : "");

  /** The path of a series: in a column of half a unit at most its first, smallest, largest and last values. */
  function pathOf({ x, y }, scales, toX, toY, plotWidth) {
    const columnWidth = (scales.x[1] - scales.x[0]) / (plotWidth * 2);
    const points = [];
    let column = null;
    const flush = () => {
      if (column === null) return;
      const indices = [...new Set([column.first, column.min, column.max, column.last])].sort((a, b) => a - b);
      for (const index of indices) points.push(`${column.gap && index === column.first ? "M" : "L"}${f(toX(x[index]))} ${f(toY(Math.min(y[index], scales.y[1])))}`);
      column = null;
    };
    let gap = true;
    for (let index = 0; index < x.length; index++) {
      if (x[index] < scales.x[0] || x[index] > scales.x[1]) continue;
      if (Number.isNaN(y[index])) {
        flush();
        gap = true;
        continue;
      }
      const at = Math.floor((x[index] - scales.x[0]) / columnWidth);
      if (column === null || column.at !== at) {
        flush();
        column = { at, first: index, last: index, min: index, max: index, gap };
        gap = false;
      } else {
        column.last = index;
        if (y[index] < y[column.min]) column.min = index;
        if (y[index] > y[column.max]) column.max = index;
      }
    }
    flush();
    return points.join("");
  }

  function ticks(from, to, count) {
    const raw = (to - from) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
    const made = [];
    for (let at = Math.ceil(from / step) * step; at <= to + step * 1e-9; at += step) made.push(Number(at.toPrecision(10)));
    return made;
  }

  function wrap(text, width) {
    const lines = [];
    for (const word of text.split(" ")) {
      const last = lines[lines.length - 1];
      if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  }

  return svgFigure;
})();
