/* The graph of the dataflow: statements as boxes, values as arrows, laid out by dagre. */
"use strict";

const MOST = 90;
const AROUND = 40;
const SMALLEST = 0.6;
const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Graph {
  constructor(page, root) {
    Object.assign(this, { page, root, zoom: 1, drawn: null });
    const head = element("div", "sheethead");
    this.told = element("p", "told");
    const tools = element("span", "choice");
    for (const [text, title, act] of [
      ["\u2212", "Smaller", () => this.scale(this.zoom / 1.25)],
      ["Fit", "As large as fits", () => this.fit()],
      ["+", "Larger", () => this.scale(this.zoom * 1.25)],
    ]) {
      const button = element("button", "", text);
      Object.assign(button, { type: "button", title });
      button.addEventListener("click", act);
      tools.append(button);
    }
    head.append(this.told, tools);
    this.box = element("div", "graphbox");
    this.root.append(head, this.box);
  }

  isNode(row) {
    return !row.k || row.k === "ends";
  }

  /** Return the rows to draw: all if they are few, else those around what is chosen. */
  chosen() {
    const { rows } = this.page.view;
    const all = rows.map((_, i) => i).filter((i) => this.isNode(rows[i]));
    if (all.length <= MOST) return { nodes: new Set(all), isAll: true };
    const start = this.page.chosenRows().filter((i) => this.isNode(rows[i]));
    const next = (i) => [...Model.reads(rows[i], i), ...this.page.uses[i]].filter((j) => this.isNode(rows[j]));
    return { nodes: Model.around(start.length ? start : all.slice(0, 1), next, AROUND), isAll: false };
  }

  /** Draw the graph, unless it shows the same rows already. */
  draw() {
    const { nodes, isAll } = this.chosen();
    const key = `${this.page.viewIndex}:${[...nodes].join()}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.told.textContent = isAll ? "" : `${nodes.size} statements around what is chosen`;
      this.lay(nodes);
      this.relight();
      this.fit();
    }
    this.relight();
  }

  lay(nodes) {
    const graph = new dagre.graphlib.Graph({ multigraph: false });
    graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, marginx: 12, marginy: 12 });
    graph.setDefaultEdgeLabel(() => ({}));
    const { rows, split } = this.page.view;
    const linked = [...nodes].filter((i) => Model.reads(rows[i], i).some((j) => nodes.has(j)) || this.page.uses[i].some((j) => nodes.has(j)));
    for (const i of linked.length ? linked : nodes) {
      const text = rows[i].t.length > 34 ? `${rows[i].t.slice(0, 33)}\u2026` : rows[i].t;
      graph.setNode(String(i), { text, row: i, width: text.length * 6.7 + 20, height: 26 });
    }
    for (const i of linked) {
      for (const j of Model.reads(rows[i], i)) if (nodes.has(j)) graph.setEdge(String(j), String(i), { isCapture: j < split && i >= split });
    }
    dagre.layout(graph);
    this.paint(graph);
  }

  paint(graph) {
    const { width, height } = graph.graph();
    this.size = { width: Math.max(width, 40), height: Math.max(height, 40) };
    this.svg = shape("svg", { viewBox: `0 0 ${this.size.width} ${this.size.height}`, role: "img", "aria-label": "Graph of the dataflow" });
    for (const edge of graph.edges()) this.svg.append(this.edge(graph.edge(edge)));
    this.boxes = new Map();
    for (const key of graph.nodes()) {
      const node = graph.node(key);
      const box = this.node(node);
      this.boxes.set(node.row, box);
      this.svg.append(box);
    }
    this.box.replaceChildren(this.svg);
  }

  edge({ points, isCapture }) {
    const [first, ...rest] = points;
    let path = `M${first.x},${first.y}`;
    for (let i = 0; i < rest.length - 1; i++) {
      path += ` Q${rest[i].x},${rest[i].y} ${(rest[i].x + rest[i + 1].x) / 2},${(rest[i].y + rest[i + 1].y) / 2}`;
    }
    const last = rest[rest.length - 1];
    const group = shape("g", { class: isCapture ? "edge capture" : "edge" });
    group.append(shape("path", { d: `${path} L${last.x},${last.y}` }), shape("circle", { cx: last.x, cy: last.y, r: 2.6 }));
    return group;
  }

  node(node) {
    const row = this.page.view.rows[node.row];
    const late = node.row >= this.page.view.split;
    const group = shape("g", { class: `node ${row.k || "statement"} ${late ? "late" : "early"}`, tabindex: "0", role: "button" });
    group.append(
      shape("title", {}, `${row.t}${row.s ? `  ${row.s}` : ""}`),
      shape("rect", { x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height, rx: row.k ? 13 : 5 }),
      shape("text", { x: node.x, y: node.y + 4, "text-anchor": "middle" }, node.text),
    );
    group.addEventListener("click", () => this.page.goTo(node.row));
    group.addEventListener("keydown", (event) => event.key === "Enter" && this.page.goTo(node.row));
    group.addEventListener("pointerenter", () => this.page.hover({ row: node.row, list: null, name: null }));
    group.addEventListener("pointerleave", () => this.page.hover(null));
    return group;
  }

  /** Show all, as far as the texts stay legible, and what is chosen in the middle. */
  fit() {
    const wide = Math.max(this.box.clientWidth - 8, 100) / this.size.width;
    const high = Math.max(this.box.clientHeight - 8, 60) / this.size.height;
    this.scale(Math.min(Math.max(Math.min(wide, high), Math.min(wide, 0.85), SMALLEST), 1.1));
    this.center();
  }

  /** Scroll to what is chosen. */
  center() {
    const box = this.svg.querySelector(".node.chosen") || this.svg.querySelector(".node");
    if (!box) return;
    const [own, around] = [box.getBoundingClientRect(), this.box.getBoundingClientRect()];
    this.box.scrollLeft += own.x + own.width / 2 - around.x - around.width / 2;
    this.box.scrollTop += own.y + own.height / 2 - around.y - around.height / 2;
  }

  scale(zoom) {
    this.zoom = Math.min(Math.max(zoom, 0.2), 3);
    this.svg.style.width = `${this.size.width * this.zoom}px`;
    this.svg.style.height = `${this.size.height * this.zoom}px`;
  }

  relight() {
    if (!this.boxes) return;
    const { rows } = this.page.view;
    for (const [row, box] of this.boxes) {
      const how = this.page.lightOf(null, rows[row], row);
      box.classList.toggle("lit", how.isLit);
      box.classList.toggle("chosen", how.isChosen);
    }
  }
}
