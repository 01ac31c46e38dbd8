// Reads TOML 1.0 into a tree, without dates, which no scenario has. The engine has accepted the text before: a mistake here is a fault.
"use strict";

Lab.readToml = (() => {
  class Reader {
    constructor(text) {
      Object.assign(this, { text, at: 0 });
    }

    /** The whole text. */
    document() {
      const root = {};
      let table = root;
      for (this.skipBlank(); this.at < this.text.length; this.skipBlank()) {
        if (this.take("[[")) {
          const path = this.path();
          this.expect("]]");
          table = {};
          const parent = tableAt(root, path.slice(0, -1));
          (parent[path[path.length - 1]] ??= []).push(table);
        } else if (this.take("[")) {
          const path = this.path();
          this.expect("]");
          table = tableAt(root, path);
        } else this.member(table);
      }
      return root;
    }

    member(table) {
      const path = this.path();
      this.expect("=");
      this.skipSpace();
      tableAt(table, path.slice(0, -1))[path[path.length - 1]] = this.value();
    }

    path() {
      const keys = [];
      do {
        this.skipSpace();
        keys.push(/["']/.test(this.text[this.at]) ? this.string() : this.match(/[A-Za-z0-9_-]+/y));
        this.skipSpace();
      } while (this.take("."));
      return keys;
    }

    value() {
      const first = this.text[this.at];
      if (first === '"' || first === "'") return this.string();
      if (this.take("[")) return this.list();
      if (this.take("{")) return this.inlineTable();
      return scalar(this.match(/[^\s,\]}#]+/y));
    }

    list() {
      const values = [];
      for (this.skipBlank(); !this.take("]"); this.skipBlank()) {
        values.push(this.value());
        this.skipBlank();
        this.take(",");
      }
      return values;
    }

    inlineTable() {
      const table = {};
      for (this.skipBlank(); !this.take("}"); this.skipBlank()) {
        this.member(table);
        this.skipBlank();
        this.take(",");
      }
      return table;
    }

    string() {
      if (this.take('"""')) return unescape(this.until('"""').replace(/^\r?\n/, "").replace(/\\[ \t]*\r?\n\s*/g, ""));
      if (this.take("'''")) return this.until("'''").replace(/^\r?\n/, "");
      if (this.take("'")) return this.until("'");
      this.expect('"');
      const text = this.match(/(?:[^"\\]|\\.)*/y);
      this.expect('"');
      return unescape(text);
    }

    until(end) {
      const stop = this.text.indexOf(end, this.at);
      if (stop < 0) this.fail(end);
      const text = this.text.slice(this.at, stop);
      this.at = stop + end.length;
      return text;
    }

    skipSpace() {
      this.match(/[ \t]*/y);
    }

    /** Spaces, ends of lines and comments. */
    skipBlank() {
      this.match(/(?:\s|#[^\n]*)*/y);
    }

    take(token) {
      if (!this.text.startsWith(token, this.at)) return false;
      this.at += token.length;
      return true;
    }

    expect(token) {
      this.skipSpace();
      if (!this.take(token)) this.fail(token);
    }

    match(pattern) {
      pattern.lastIndex = this.at;
      const found = pattern.exec(this.text);
      if (found === null) this.fail(String(pattern));
      this.at = pattern.lastIndex;
      return found[0];
    }

    fail(expected) {
      throw new Error(`line ${this.text.slice(0, this.at).split("\n").length}: ${expected} is expected`);
    }
  }

  /** The table at a path; of a list of tables the last one. */
  function tableAt(root, path) {
    let table = root;
    for (const key of path) {
      table = table[key] ??= {};
      if (Array.isArray(table)) table = table[table.length - 1];
    }
    return table;
  }

  function scalar(word) {
    if (word === "true" || word === "false") return word === "true";
    const plain = word.replaceAll("_", "");
    const number = /^[+-]?0[xob]/.test(plain) || /^[+-]?(?:\d|\.)/.test(plain) ? Number(plain) : NaN;
    if (Number.isNaN(number)) throw new Error(`${word} is not a value that a scenario has`);
    return number;
  }

  const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b", '"': '"', "\\": "\\" };
  const unescape = (text) =>
    text.replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g, (_, four, eight, one) => (one ? (ESCAPES[one] ?? one) : String.fromCodePoint(parseInt(four ?? eight, 16))));

  return (text) => new Reader(text).document();
})();
