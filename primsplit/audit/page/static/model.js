/* What the page computes of its rows: folding, line breaks, search, sizes, neighbours. Nothing here draws.
 *
 * A row is {t: text, o: outline level, k: kind, l: line, m: other lines, a: links, s: shape, n: note, c: nodes, d: depth}.
 * Links are flat: start, length and row of definition of each name in the text. */
"use strict";

const Model = (() => {
  /** Return the offsets at which the lines of a text begin, for lines of so many columns; all but the first hang. */
  function wrap(text, columns, hang) {
    const starts = [0];
    let start = 0;
    let room = Math.max(columns, 8);
    while (text.length - start > room) {
      let end = text.lastIndexOf(" ", start + room);
      if (end <= start + 2) end = text.lastIndexOf(",", start + room - 1) + 1;
      if (end <= start + 2) end = start + room;
      while (text[end] === " ") end++;
      starts.push(end);
      start = end;
      room = Math.max(columns - hang, 8);
    }
    return starts;
  }

  /** Return for each row the row behind all that is folded with it. */
  function ends(rows) {
    const found = new Int32Array(rows.length);
    const open = [];
    rows.forEach((row, i) => {
      while (open.length && rows[open[open.length - 1]].o >= row.o) found[open.pop()] = i;
      open.push(i);
    });
    for (const i of open) found[i] = rows.length;
    return found;
  }

  /** Return the rows between two that no folded row hides. */
  function visible(ending, first, last, folded) {
    const shown = [];
    for (let i = first; i < last; i = folded.has(i) ? ending[i] : i + 1) shown.push(i);
    return shown;
  }

  /** Return the rows that must be unfolded to show a row. */
  function above(ending, row, folded) {
    return [...folded].filter((i) => i < row && row < ending[i]);
  }

  /** Return the rows whose text, note or shape contains the query, in any case. */
  function search(rows, query) {
    const wanted = query.trim().toLowerCase();
    const found = [];
    if (wanted) {
      rows.forEach((row, i) => {
        if (`${row.t}\n${row.n || ""}\n${row.s || ""}`.toLowerCase().includes(wanted)) found.push(i);
      });
    }
    return found;
  }

  /** Return for each row the rows that read what it defines. */
  function uses(rows) {
    const found = rows.map(() => []);
    rows.forEach((row, i) => {
      for (const definition of reads(row, i)) found[definition].push(i);
    });
    return found;
  }

  /** Return the rows that define the names that a row reads, each once. */
  function reads(row, own) {
    const found = new Set();
    const links = row.a || [];
    for (let k = 2; k < links.length; k += 3) if (links[k] !== own) found.add(links[k]);
    return [...found];
  }

  /** Return the lines of a row: its own and those of what is folded into it. */
  function lines(row) {
    return row.l === undefined ? row.m || [] : [row.l, ...(row.m || [])];
  }

  const CALLS = {
    max: Math.max,
    min: Math.min,
    floordiv: (a, b) => Math.floor(a / b),
    mod: (a, b) => a - b * Math.floor(a / b),
    broadcast: (a, b) => (a === 1 ? b : a),
  };

  /** Return the value of terms for sizes of the symbols: 16*N + 8 is `[[16, "N"], [8]]`. Null for an unknown size. */
  function evaluate(terms, sizes) {
    if (!terms) return null;
    const factor = (atom) => (Array.isArray(atom) ? CALLS[atom[0]](...atom.slice(1).map((t) => evaluate(t, sizes))) : sizes[atom]);
    return terms.reduce((sum, [count, ...atoms]) => sum + atoms.reduce((a, atom) => a * factor(atom), count), 0);
  }

  /** Return a number of bytes for people. */
  function bytes(count) {
    if (count === null) return "unknown";
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    let value = count;
    while (value >= 1000 && unit < units.length - 1) {
      value /= 1000;
      unit++;
    }
    return unit ? `${value.toPrecision(3)} ${units[unit]}` : `${value} B`;
  }

  /** Return at most so many nodes around some: neighbours first, then theirs. */
  function around(nodes, next, most) {
    const found = new Set(nodes.slice(0, most));
    for (const node of found) {
      for (const other of next(node)) {
        if (found.size >= most) return found;
        found.add(other);
      }
    }
    return found;
  }

  /** Return the parts of a text between two offsets, split at links and at matches of the query. */
  function parts(text, from, to, links, query) {
    const spans = [];
    for (let k = 0; k + 2 < links.length; k += 3) {
      spans.push({ start: links[k], end: links[k] + links[k + 1], link: links[k + 2] });
    }
    const wanted = query.trim().toLowerCase();
    const low = text.toLowerCase();
    const marks = [];
    for (let at = wanted ? low.indexOf(wanted) : -1; at >= 0; at = low.indexOf(wanted, at + wanted.length)) {
      marks.push([at, at + wanted.length]);
    }
    const cuts = new Set([from, to]);
    for (const span of spans) cuts.add(span.start).add(span.end);
    for (const [start, end] of marks) cuts.add(start).add(end);
    const inside = [...cuts].filter((c) => c >= from && c <= to).sort((a, b) => a - b);
    return inside.slice(0, -1).map((start, i) => ({
      text: text.slice(start, inside[i + 1]),
      link: (spans.find((s) => s.start <= start && start < s.end) || {}).link,
      isMatch: marks.some(([first, last]) => first <= start && start < last),
    }));
  }

  return { wrap, ends, visible, above, search, uses, reads, lines, evaluate, bytes, around, parts };
})();

if (typeof module !== "undefined") module.exports = Model;
