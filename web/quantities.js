// The page's own names, and quantities with units.
"use strict";
const Lab = {};

Lab.quantities = (() => {
  const UNITS = {
    s: [["ns", 1e-9], ["us", 1e-6], ["ms", 1e-3], ["s", 1]],
    "bit/s": [["bps", 1], ["kbps", 1e3], ["Mbps", 1e6], ["Gbps", 1e9]],
    bytes: [["B", 1], ["kB", 1e3], ["MB", 1e6]],
  };
  const OTHER_SPELLINGS = { "µs": 1e-6, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, KB: 1e3, packets: 1, packet: 1, min: 60 };

  /** A number in the base unit from a quantity such as "5 ms"; NaN if it is not one number with a unit. */
  function read(text) {
    if (typeof text === "number") return text;
    const match = /^\s*([-+]?[\d_.]+(?:e[-+]?\d+)?)\s*([\p{L}/]*)\s*$/iu.exec(String(text ?? ""));
    if (!match) return NaN;
    const number = Number(match[1].replaceAll("_", ""));
    if (match[2] === "") return number;
    const known = Object.values(UNITS).flat().find(([name]) => name === match[2]);
    return number * (known?.[1] ?? OTHER_SPELLINGS[match[2]] ?? NaN);
  }

  /** A quantity in the unit that keeps its number short, such as "5 ms"; `unit` is "s", "bit/s" or "bytes". */
  function write(number, unit) {
    const units = UNITS[unit];
    if (number === 0) return `0 ${units[unit === "s" ? 3 : 0][0]}`;
    const [name, factor] = units.findLast(([, size]) => Math.abs(number) >= size * 0.9999999) ?? units[0];
    return `${withoutNoise(number / factor)} ${name}`;
  }

  /** A number without the digits that binary fractions add. */
  const withoutNoise = (number) => Number(number.toPrecision(12));

  /** A number for readers, of about four digits. */
  function readable(number, digits = 4) {
    if (number === undefined || number === null || Number.isNaN(number)) return "–";
    if (Number.isInteger(number) && Math.abs(number) < 1e7) return minus(String(number));
    const size = Math.abs(number);
    if (size >= 1e7 || (size > 0 && size < 1e-4)) return minus(number.toExponential(digits - 2));
    return minus(String(Number(number.toPrecision(digits))));
  }

  const minus = (text) => text.replace("-", "−");

  return { read, write, withoutNoise, readable };
})();

/** An element with attributes (`on...` are listeners) and children. */
Lab.element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
};

Lab.svgElement = (name, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
};
