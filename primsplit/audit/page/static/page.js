/* The page: panes, what is lit and chosen, search, keys. */
"use strict";

const DOCKS = ["selection", "captures", "graph"];
const THEMES = ["auto", "light", "dark"];

class Page {
  constructor(data) {
    Object.assign(this, { data, viewIndex: 0, hovered: null, chosen: null, query: "", matches: [], match: -1, isFolded: false });
    this.endsFound = new WeakMap();
    this.usesFound = new WeakMap();
    this.measure();
    this.about();
    this.makePanes();
    this.makeViews();
    this.captures = new Captures(this, byId("captures"));
    this.graph = new Graph(this, byId("graph"));
    this.selection = new Selection(this, byId("selection"));
    this.makeTabs();
    this.listen();
    this.selection.draw();
    this.fromHash();
  }

  /** Return the view that is shown; its rows are read when it is shown first. */
  get view() {
    const view = this.data.views[this.viewIndex];
    view.rows ??= read(`rows-${this.viewIndex}`);
    return view;
  }

  /** Return the captures, which are read when they are shown first. */
  get captured() {
    this.data.captures ??= read("captured");
    return this.data.captures;
  }

  get uses() {
    const { rows } = this.view;
    if (!this.usesFound.has(rows)) this.usesFound.set(rows, Model.uses(rows));
    return this.usesFound.get(rows);
  }

  endsOf(rows) {
    if (!this.endsFound.has(rows)) this.endsFound.set(rows, Model.ends(rows));
    return this.endsFound.get(rows);
  }

  /** Measure a character and a row. */
  measure() {
    const probe = element("div", "row statement");
    const text = element("span", "", "0".repeat(100));
    probe.append(text);
    document.body.append(probe);
    this.charWidth = text.getBoundingClientRect().width / 100 || 8;
    this.rowHeight = Math.round(parseFloat(getComputedStyle(probe).lineHeight)) || 21;
    probe.remove();
    this.indent = innerWidth < 700 ? 2 : 4;
  }

  gutter() {
    return this.charWidth * 6 + 30;
  }

  about() {
    const [name, inputs, outputs] = this.data.signature;
    const title = byId("signature");
    title.append(element("b", "", name), element("span", "arguments", `(${inputs})`), element("span", "results", ` \u2192 ${outputs}`));
    const facts = [];
    for (const file of this.data.files) {
      const nodes = Object.values(file.sections).reduce((a, b) => a + b, 0);
      const parts = Object.entries(file.sections).filter(([key]) => key !== "nodes").map(([key, count]) => `${count} ${key}`);
      facts.push(file.name, Model.bytes(file.bytes), `${nodes} nodes${parts.length > 1 ? ` (${parts.join(", ")})` : ""}`);
    }
    if (this.data.panes.length > 1) facts.push(this.data.stored.length > 40 ? `${this.captured.length} captures` : `captures ${this.data.stored}`);
    byId("facts").append(...facts.map((fact) => element("span", "", fact)));
    for (const file of this.data.files) {
      if (file.producer) byId("facts").append(element("span", "", file.producer));
      const digest = element("span", "digest", `sha256 ${file.sha256.slice(0, 10)}\u2026`);
      digest.title = file.sha256;
      byId("facts").append(digest);
    }
  }

  makePanes() {
    this.sourceRows = sourceRows(this.data.lines);
    const { rows, split } = this.view;
    this.lists = [];
    if (this.sourceRows.length) this.lists.push(new List(this, "Source", "source", this.sourceRows, 0, this.sourceRows.length));
    this.lists.push(new List(this, this.data.panes[0], "forward", rows, 0, split));
    if (this.data.panes.length > 1) this.lists.push(new List(this, this.data.panes[1], "backward", rows, split, rows.length));
    byId("main").append(...this.lists.map((list) => list.element));
    byId("main").dataset.panes = this.lists.length;
  }

  makeViews() {
    byId("views").hidden = this.data.views.length < 2;
    this.data.views.forEach((view, i) => {
      const button = element("button", "", view.title);
      button.type = "button";
      button.setAttribute("aria-pressed", String(i === this.viewIndex));
      button.addEventListener("click", () => this.show(i));
      byId("views").append(button);
    });
  }

  /** Show another view of the file. */
  show(index) {
    const line = this.chosen && this.chosen.lines[0];
    this.viewIndex = index;
    [...byId("views").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    const { rows, split } = this.view;
    const [forward, backward] = this.lists.filter((list) => list.rows !== this.sourceRows);
    forward.replace(rows, 0, split);
    if (backward) backward.replace(rows, split, rows.length);
    this.chosen = line === null || line === undefined ? null : { lines: [line], row: null };
    this.find(this.query);
    this.captures.rename();
    this.changed();
  }

  /** Return the name of a capture in the view. */
  nameOf(capture) {
    return capture.names[this.viewIndex];
  }

  makeTabs() {
    const tabs = [...this.lists.map((list) => [list.title, list.element]), ...DOCKS.slice(1).map((id) => [byId(id).getAttribute("aria-label"), id])];
    for (const [title, target] of tabs) {
      const tab = element("button", "", title);
      tab.type = "button";
      tab.addEventListener("click", () => this.showTab(tab, target));
      byId("tabs").append(tab);
    }
    for (const id of DOCKS) {
      const tab = element("button", "", byId(id).getAttribute("aria-label"));
      Object.assign(tab, { type: "button", id: `tab-${id}` });
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", id);
      tab.addEventListener("click", () => this.dock(this.docked === id ? null : id));
      byId("docktabs").append(tab);
    }
    this.showTab(byId("tabs").firstChild, this.lists[0].element);
    this.dock(innerWidth < 700 ? null : "selection");
  }

  /** On a phone, show one pane. */
  showTab(tab, target) {
    for (const other of byId("tabs").children) other.setAttribute("aria-pressed", String(other === tab));
    const isDock = typeof target === "string";
    document.body.classList.toggle("onlydock", isDock);
    if (isDock) {
      this.dock(target);
      return;
    }
    for (const list of this.lists) list.element.classList.toggle("front", list.element === target);
    if (innerWidth < 700) this.dock(null);
  }

  /** Open a sheet of the dock; null closes it. */
  dock(id) {
    this.docked = id;
    document.body.classList.toggle("docked", id !== null);
    this.rest();
    if (id === null && document.body.classList.contains("enlarged")) this.enlarge(false);
    for (const other of DOCKS) {
      byId(other).hidden = other !== id;
      byId(`tab-${other}`).setAttribute("aria-selected", String(other === id));
    }
    if (id === "graph") this.graph.draw();
    if (id === "captures") this.captures.draw();
    if (id === "selection") this.selection.draw();
  }

  /** Let the dock be no higher than its hint while nothing is chosen, unless somebody has sized it. */
  rest() {
    const isResting = this.docked === "selection" && !this.chosen && !this.isResized;
    if (document.body.classList.contains("resting") === isResting) return;
    document.body.classList.toggle("resting", isResting);
    for (const list of this.lists) list.soon();
  }

  /** Let the dock take the place of the panes, or give it back. */
  enlarge(isLarge) {
    document.body.classList.toggle("enlarged", isLarge);
    byId("enlarge").textContent = isLarge ? "Reduce" : "Enlarge";
    if (this.docked === "graph") this.graph.fit();
    for (const list of this.lists) list.soon();
  }

  where(line) {
    return line === null || line === undefined ? "" : `${this.data.lines[line][0]}:${this.data.lines[line][1]}`;
  }

  /** Light up what belongs to a row, a capture; null for nothing. */
  hover(target) {
    let found = null;
    if (target && target.capture) found = this.targetOfCapture(target.capture);
    else if (target) found = this.targetOf(target.list, target.row);
    if (found && target.name !== null && target.name !== undefined) found.name = target.name;
    if (JSON.stringify(found) === JSON.stringify(this.hovered)) return;
    this.hovered = found;
    this.relight();
  }

  targetOf(list, row) {
    if (list && list.rows === this.sourceRows) {
      const { l: line, k: kind } = this.sourceRows[row];
      return kind || line === undefined ? null : { lines: [line], row: null };
    }
    const { k: kind, l: line } = this.view.rows[row];
    if (kind === "part" || kind === "function") return null;
    return { lines: line === undefined ? [] : [line], row };
  }

  targetOfCapture(capture) {
    return { lines: capture.line === null ? [] : [capture.line], row: capture.rows[this.viewIndex] };
  }

  lightOf(list, row, index) {
    const isSource = list !== null && list.rows === this.sourceRows;
    const own = isSource ? null : index;
    return {
      isLit: this.isIn(this.hovered, row, own),
      isChosen: this.isIn(this.chosen, row, own),
      isOwn: own !== null && ((this.chosen && this.chosen.row === own) || (this.hovered && (this.hovered.row === own || this.hovered.name === own))),
      isFound: this.query !== "" && (isSource ? this.sourceMatches : this.rowMatches).has(index),
    };
  }

  /** Whether a row belongs to a target: it is the row itself, of one of its lines, or beside it without any line. */
  isIn(target, row, index) {
    if (!target || row.k === "part" || row.k === "function") return false;
    if (index !== null && target.row === index) return true;
    if (target.lines.length) return Model.lines(row).some((line) => target.lines.includes(line));
    return index !== null && target.row !== null && (this.uses[target.row].includes(index) || this.uses[index].includes(target.row));
  }

  isCaptureOf(capture, target) {
    const row = capture.rows[this.viewIndex];
    if (target.row !== null && row === target.row) return true;
    if (capture.line !== null && target.lines.includes(capture.line)) return true;
    return row !== null && this.uses[row].some((i) => i >= this.view.split && this.isIn(target, this.view.rows[i], i));
  }

  isCaptureLit(capture) {
    const target = this.hovered || this.chosen;
    return target !== null && this.isCaptureOf(capture, target);
  }

  /** Return the statements that belong to what is chosen. */
  chosenRows() {
    const { rows } = this.view;
    const found = [];
    rows.forEach((row, i) => {
      if ((!row.k || row.k === "ends") && this.isIn(this.chosen, row, i)) found.push(i);
    });
    return found;
  }

  choose(list, row) {
    const target = row === null ? null : this.targetOf(list, row);
    const isSame = JSON.stringify(target) === JSON.stringify(this.chosen);
    this.chosen = isSame ? null : target;
    this.changed();
    if (!this.chosen) return;
    for (const other of this.lists) if (other !== list) this.revealIn(other);
    if (innerWidth < 700) {
      this.dock("selection");
      requestAnimationFrame(() => list.reveal(row, true));
    }
  }

  chooseCapture(capture) {
    this.chosen = this.targetOfCapture(capture);
    this.changed();
    for (const list of this.lists) this.revealIn(list);
  }

  changed() {
    this.rest();
    this.relight();
    if (this.docked === "selection") this.selection.draw();
    if (this.docked === "graph") this.graph.draw();
    const line = this.chosen && this.chosen.lines[0];
    const hash = line === null || line === undefined ? "" : `#${encodeURIComponent(this.where(line))}`;
    if (location.hash !== hash) history.replaceState(null, "", hash || location.href.split("#")[0]);
  }

  fromHash() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const line = this.data.lines.findIndex((_, i) => this.where(i) === wanted);
    if (!wanted || line < 0) return;
    this.chosen = { lines: [line], row: null };
    this.changed();
    requestAnimationFrame(() => this.lists.forEach((list) => this.revealIn(list)));
  }

  /** Scroll a list to the first row of what is chosen. */
  revealIn(list) {
    if (!list.ending) return;
    const isSource = list.rows === this.sourceRows;
    for (let i = list.first; i < list.last; i++) {
      if (this.isIn(this.chosen, list.rows[i], isSource ? null : i)) {
        list.reveal(i, true);
        return;
      }
    }
  }

  /** Choose a row of a view, in the pane that has it. */
  goTo(row) {
    const list = this.listOf(row);
    this.chosen = this.targetOf(list, row);
    this.showFront(list);
    list.setActive(row);
    list.reveal(row, true);
    this.changed();
    for (const other of this.lists) if (other !== list) this.revealIn(other);
  }

  listOf(row) {
    return this.lists.find((list) => list.rows !== this.sourceRows && list.first <= row && row < list.last);
  }

  showFront(list) {
    if (innerWidth < 700) this.showTab(byId("tabs").children[this.lists.indexOf(list)], list.element);
  }

  relight() {
    for (const list of this.lists) list.relight();
    if (this.docked === "captures") this.captures.relight();
    if (this.docked === "graph") this.graph.relight();
  }

  /** Search all panes. */
  find(query) {
    this.query = query;
    const { rows } = this.view;
    this.sourceMatches = new Set(Model.search(this.sourceRows, query));
    this.rowMatches = new Set(Model.search(rows, query));
    this.matches = [
      ...[...this.sourceMatches].map((row) => ({ list: this.lists[0], row })),
      ...[...this.rowMatches].map((row) => ({ list: this.listOf(row), row })),
    ];
    this.match = -1;
    this.countMatches();
    for (const list of this.lists) list.redraw();
  }

  countMatches() {
    const count = this.matches.length;
    byId("matches").textContent = this.query ? `${this.match >= 0 ? `${this.match + 1} of ` : ""}${count}` : "";
  }

  step(count) {
    if (!this.matches.length) return;
    const next = this.match < 0 && count < 0 ? this.matches.length - 1 : this.match + count;
    this.match = (next + this.matches.length) % this.matches.length;
    const { list, row } = this.matches[this.match];
    this.showFront(list);
    list.reveal(row, false);
    list.setActive(row);
    this.countMatches();
  }

  foldAll() {
    this.isFolded = !this.isFolded;
    for (const list of this.lists) list.foldAll(this.isFolded);
    byId("folds").textContent = this.isFolded ? "Unfold" : "Fold";
  }

  nextTheme() {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "auto") + 1) % THEMES.length];
    document.documentElement.dataset.theme = next;
    byId("theme").textContent = { auto: "Theme", light: "Light", dark: "Dark" }[next];
  }
}

/** Return the rows of the source pane: heads of files and functions, lines, and gaps between them. */
function sourceRows(lines) {
  const rows = [];
  lines.forEach(([file, number, owner, text], i) => {
    const [lastFile, lastNumber, lastOwner] = i ? lines[i - 1] : [];
    if (file !== lastFile) rows.push({ t: file, o: 0, k: "part" });
    if (owner && (owner !== lastOwner || file !== lastFile)) rows.push({ t: owner, o: 1, k: "function" });
    else if (file === lastFile && number > lastNumber + 1) rows.push({ t: "\u22ee", o: 2, k: "gap" });
    rows.push({ t: text || `${file}:${number}`, o: 2, l: i });
  });
  return rows;
}

/** Return the data of an element. */
function read(id) {
  return JSON.parse(byId(id).textContent);
}

function byId(id) {
  return document.getElementById(id);
}
