/* Tests of model.js, whose path is the argument. */
"use strict";

const assert = require("node:assert/strict");
const Model = require(process.argv[2]);

const rows = [
  { t: "Forward", o: 0, k: "part" },
  { t: "x", o: 3, k: "ends", a: [0, 1, 1] },
  { t: "for t in range(T):", o: 3, a: [] },
  { t: "h = np.tanh(x)", o: 5, l: 0, d: 1, a: [0, 1, 3, 12, 1, 1] },
  { t: "y = h + x", o: 3, l: 1, m: [0], a: [0, 1, 4, 4, 1, 3, 8, 1, 1] },
  { t: "Backward", o: 0, k: "part", n: "Of all" },
];
const ends = Model.ends(rows);

const tests = {
  "a head ends behind all that is below it"() {
    assert.deepEqual([...ends], [5, 2, 4, 4, 5, 6]);
  },
  "folded rows hide what is below them, and nothing else"() {
    assert.deepEqual(Model.visible(ends, 0, 6, new Set()), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(Model.visible(ends, 0, 6, new Set([2])), [0, 1, 2, 4, 5]);
    assert.deepEqual(Model.visible(ends, 0, 6, new Set([0, 2])), [0, 5]);
    assert.deepEqual(Model.above(ends, 3, new Set([0, 2, 5])), [0, 2]);
  },
  "long texts break at spaces and hang"() {
    const text = "hidden = np.tanh(x @ weights + offsets)";
    const starts = Model.wrap(text, 20, 4);
    const lines = starts.map((start, i) => text.slice(start, starts[i + 1]));
    assert.deepEqual(lines, ["hidden = np.tanh(x @ ", "weights + ", "offsets)"]);
    assert.ok(lines.every((line, i) => line.trimEnd().length <= (i ? 16 : 20)));
  },
  "a text without spaces breaks all the same, and no letter is lost"() {
    const text = "a".repeat(100);
    const starts = Model.wrap(text, 30, 4);
    assert.equal(starts.map((start, i) => text.slice(start, starts[i + 1])).join(""), text);
    assert.deepEqual(starts, [0, 30, 56, 82]);
    assert.deepEqual(Model.wrap("short", 30, 4), [0]);
  },
  "a search finds texts and notes in any case"() {
    assert.deepEqual(Model.search(rows, "TANH"), [3]);
    assert.deepEqual(Model.search(rows, "of all"), [5]);
    assert.deepEqual(Model.search(rows, "  "), []);
    assert.deepEqual(Model.search(rows, "<b>"), []);
  },
  "uses are the reverse of links to definitions"() {
    assert.deepEqual(Model.uses(rows), [[], [3, 4], [], [4], [], []]);
    assert.deepEqual(Model.reads(rows[4], 4), [3, 1]);
    assert.deepEqual(Model.lines(rows[4]), [1, 0]);
    assert.deepEqual(Model.lines(rows[0]), []);
  },
  "sizes are computed from terms"() {
    assert.equal(Model.evaluate([[16, "N"], [8]], { N: 10 }), 168);
    assert.equal(Model.evaluate([[2, "N", "N"]], { N: 3 }), 18);
    assert.equal(Model.evaluate([[4, ["max", [[0]], [[1, "T"], [-1]]]]], { T: 6 }), 20);
    assert.equal(Model.evaluate([[1, ["floordiv", [[1, "N"]], [[2]]]], [1, ["mod", [[1, "N"]], [[2]]]]], { N: 7 }), 4);
    assert.equal(Model.evaluate([[1, ["broadcast", [[1]], [[1, "N"]]]]], { N: 7 }), 7);
    assert.equal(Model.evaluate(null, {}), null);
    assert.deepEqual([0, 999, 1500, 2.5e7, null].map(Model.bytes), ["0 B", "999 B", "1.50 kB", "25.0 MB", "unknown"]);
  },
  "the nearest neighbours are found first"() {
    const next = (node) => [node - 1, node + 1];
    assert.deepEqual([...Model.around([5], next, 4)], [5, 4, 6, 3]);
    assert.deepEqual([...Model.around([5], () => [], 4)], [5]);
  },
  "a text is split at names and at matches"() {
    const { t: text, a: links } = rows[3];
    const parts = Model.parts(text, 0, text.length, links, "TAN");
    assert.equal(parts.map((part) => part.text).join(""), text);
    assert.deepEqual(parts.filter((part) => part.link !== undefined).map((part) => [part.text, part.link]), [["h", 3], ["x", 1]]);
    assert.deepEqual(parts.filter((part) => part.isMatch).map((part) => part.text), ["tan"]);
    assert.equal(Model.parts(text, 4, 11, links, "").map((part) => part.text).join(""), "np.tanh");
  },
};

for (const [name, test] of Object.entries(tests)) {
  try {
    test();
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
}
console.log(`${Object.keys(tests).length} passed`);
