// The page's own names, and quantities with units.
"use strict";
const Lab = {};

Lab.quantities = (() => {
  // The engine's units by the unit of results: [{ spellings, factor }].
  let units = {};

  /** Takes the units of a catalogue. */
  function use(ofCatalog) {
    units = ofCatalog;
  }

  const withSpelling = (spelling) => Object.values(units).flat().find((unit) => unit.spellings.includes(spelling));

  /** A number in the base unit from a quantity such as "5 ms"; NaN if it is not one number with a unit. */
  function read(text) {
    if (typeof text === "number") return text;
    const match = /^\s*([-+]?[\d_.]+(?:e[-+]?\d+)?)\s*([\p{L}/]*)\s*$/iu.exec(String(text ?? ""));
    if (!match) return NaN;
    const number = Number(match[1].replaceAll("_", ""));
    return match[2] === "" ? number : number * (withSpelling(match[2])?.factor ?? NaN);
  }

  const isPowerOf1000 = ({ factor }) => Number.isInteger(Math.round(1e9 * Math.log10(factor)) / 3e9);

  /** A quantity in the unit that keeps its number short, such as "5 ms"; `unit` is "s", "bit/s" or "bytes". */
  function write(number, unit) {
    const sizes = units[unit].filter(isPowerOf1000).sort((a, b) => a.factor - b.factor);
    const base = sizes.find(({ factor }) => factor === 1);
    const { spellings, factor } = number === 0 ? base : (sizes.findLast((one) => Math.abs(number) >= one.factor * 0.9999999) ?? sizes[0]);
    return `${withoutNoise(number / factor)} ${spellings[0]}`;
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

  return { use, read, write, withoutNoise, readable };
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
