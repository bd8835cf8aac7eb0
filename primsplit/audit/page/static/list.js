/* A list of rows that folds and scrolls: only the rows in sight are elements of the page. */
"use strict";

const WORDS = /(\b(?:for|in|if|else|while|return|break|not|and|or|pass)\b)|('(?:[^'\\]|\\.)*'|"[^"]*")|((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?=\())|(\b\d[\w.]*(?:e[-+]?\d+)?)/g;
const LOOKS = ["word", "text", "call", "number"];

/** Return an element with a class and a text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Whether a row has space above it: heads, and what a program returns. */
function isSpaced(row) {
  return row.k === "part" || row.k === "function" || (row.k === "ends" && row.o === 0);
}

/** Append a text with words, calls and numbers set off. */
function appendCode(parent, text) {
  let last = 0;
  for (const found of text.matchAll(WORDS)) {
    parent.append(text.slice(last, found.index));
    const look = LOOKS[found.slice(1).findIndex((group) => group !== undefined)];
    parent.append(element("span", look, found[0]));
    last = found.index + found[0].length;
  }
  parent.append(text.slice(last));
}

class List {
  /** `page` says what is lit and found; `first` and `last` bound the rows of this list. */
  constructor(page, title, className, rows, first, last) {
    Object.assign(this, { page, title, rows, first, last, folded: new Set(), active: null, columns: 0, isPrinted: false });
    this.element = element("section", `pane ${className}`);
    this.element.setAttribute("aria-label", title);
    this.head = element("h2", "", title);
    this.scroller = element("div", "scroller");
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "tree");
    this.scroller.setAttribute("aria-label", title);
    this.space = element("div", "space");
    this.space.setAttribute("role", "presentation");
    this.scroller.append(this.space);
    this.element.append(this.head, this.scroller);
    this.drawn = new Map();
    this.prefix = `${className}-`;
    this.scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    this.scroller.addEventListener("click", (event) => this.clicked(event));
    this.scroller.addEventListener("pointerover", (event) => this.pointed(event));
    this.scroller.addEventListener("pointerleave", () => page.hover(null));
    new ResizeObserver(() => this.resized()).observe(this.scroller);
  }

  /** Show other rows. */
  replace(rows, first, last) {
    Object.assign(this, { rows, first, last, folded: new Set(), active: null });
    this.lay();
  }

  resized() {
    if (this.isPrinted) return;
    const columns = Math.floor((this.scroller.clientWidth - this.page.gutter()) / this.page.charWidth);
    if (columns !== this.columns && this.scroller.clientWidth > 0) {
      this.columns = columns;
      this.lay();
    } else {
      this.soon();
    }
  }

  /** Compute which rows are shown, and at which height each begins. */
  lay() {
    this.ending = this.page.endsOf(this.rows);
    this.shown = Model.visible(this.ending, this.first, this.last, this.folded);
    this.tops = new Float64Array(this.shown.length + 1);
    this.breaks = new Map();
    const height = this.page.rowHeight;
    for (let i = 0; i < this.shown.length; i++) {
      const row = this.rows[this.shown[i]];
      const columns = this.room(row);
      let count = 1;
      if (row.t.length > columns) {
        const starts = Model.wrap(row.t, columns, 4);
        this.breaks.set(this.shown[i], starts);
        count = starts.length;
      }
      this.tops[i + 1] = this.tops[i] + count * height + (isSpaced(row) ? height / 2 : 0);
    }
    this.space.style.height = `${this.tops[this.shown.length] + height}px`;
    this.clear();
    this.draw();
  }

  room(row) {
    return this.columns - (row.d || 0) * this.page.indent;
  }

  clear() {
    this.space.replaceChildren();
    this.drawn.clear();
  }

  soon() {
    if (this.isPrinted || this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    });
  }

  /** Return the position among the shown rows of the one at a height. */
  at(height) {
    let low = 0;
    let high = this.shown.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle] <= height) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Make the elements of the rows in sight, and drop the others. */
  draw() {
    if (!this.shown || this.isPrinted) return;
    const top = this.scroller.scrollTop;
    const from = Math.max(this.at(top) - 8, 0);
    const to = Math.min(this.at(top + (this.scroller.clientHeight || 800)) + 9, this.shown.length);
    const wanted = new Set(this.shown.slice(from, to));
    for (const [row, drawn] of this.drawn) {
      if (!wanted.has(row)) {
        drawn.remove();
        this.drawn.delete(row);
      }
    }
    const added = document.createDocumentFragment();
    for (let i = from; i < to; i++) {
      const row = this.shown[i];
      if (!this.drawn.has(row)) {
        const made = this.make(row);
        made.style.top = `${this.tops[i]}px`;
        made.style.height = `${this.tops[i + 1] - this.tops[i]}px`;
        this.drawn.set(row, made);
        added.append(made);
      }
    }
    this.space.append(added);
  }

  /** Return the element of a row. */
  make(index) {
    const row = this.rows[index];
    const made = element("div", `row ${row.k || "statement"}${isSpaced(row) ? " spaced" : ""}`);
    made.id = `${this.prefix}${index}`;
    made.setAttribute("role", "treeitem");
    made.setAttribute("aria-level", row.o + 1);
    made.dataset.row = index;
    made.append(element("span", "gutter", this.number(index)));
    const folds = this.ending[index] > index + 1;
    made.append(element("span", folds ? "fold" : "fold none", ""));
    if (folds) made.setAttribute("aria-expanded", String(!this.folded.has(index)));
    made.append(this.code(row, index), this.beside(row, index));
    this.light(made, index);
    return made;
  }

  code(row, index) {
    const code = element("span", "code");
    code.style.marginLeft = `${(row.d || 0) * this.page.indent}ch`;
    const starts = this.isPrinted ? [0] : this.breaks.get(index) || [0];
    const sign = row.k === "grad" || row.k === "line" ? row.t.match(/^# (Grad of: )?/)[0].length : 0;
    starts.forEach((start, i) => {
      const line = element("span", i ? "hanging" : "first");
      const end = i + 1 < starts.length ? starts[i + 1] : row.t.length;
      if (sign && !i) line.append(element("span", "sign", row.t.slice(0, sign)));
      const from = i ? start : sign;
      for (const part of Model.parts(row.t, from, end, row.a || [], this.page.query)) this.appendPart(line, part, index);
      code.append(line);
    });
    return code;
  }

  appendPart(line, part, index) {
    const parent = part.isMatch ? element("mark") : line;
    if (parent !== line) line.append(parent);
    if (part.link === undefined) {
      appendCode(parent, part.text);
      return;
    }
    const name = element("a", part.link === index ? "name defined" : "name", part.text);
    name.dataset.link = part.link;
    parent.append(name);
  }

  /** Return what stands at the right: the shape, if the last line leaves room, and the count of nodes of a part. */
  beside(row, index) {
    const starts = this.breaks.get(index) || [0];
    const used = row.t.length - starts[starts.length - 1] + (starts.length > 1 ? 4 : 0);
    const nodes = row.c ? [`${row.c} node${row.c > 1 ? "s" : ""}`] : [];
    const told = row.k === "part" ? [...nodes, row.n].filter(Boolean).join(", ") : row.s || row.n || "";
    const fits = used + told.length + 3 <= this.room(row);
    const made = element("span", "beside", fits || this.isPrinted ? told : "");
    return made;
  }

  /** Return the number of the user's line, at the first of the rows of a line. */
  number(index) {
    const row = this.rows[index];
    if (row.l === undefined) return "";
    const before = index > this.first ? this.rows[index - 1] : {};
    return before.l === row.l && row.k !== "grad" ? "" : String(this.page.data.lines[row.l][1]);
  }

  light(made, index) {
    const how = this.page.lightOf(this, this.rows[index], index);
    made.classList.toggle("lit", how.isLit);
    made.classList.toggle("chosen", how.isChosen);
    made.classList.toggle("own", how.isOwn);
    made.classList.toggle("found", how.isFound);
    made.classList.toggle("active", this.active === index);
    made.setAttribute("aria-selected", String(how.isChosen));
  }

  relight() {
    for (const [index, made] of this.drawn) this.light(made, index);
  }

  /** Draw all rows anew, for another query. */
  redraw() {
    this.clear();
    this.draw();
  }

  rowOf(event) {
    const made = event.target.closest(".row");
    return made ? Number(made.dataset.row) : null;
  }

  clicked(event) {
    const row = this.rowOf(event);
    if (row === null) return;
    const name = event.target.closest("a.name");
    this.setActive(row);
    if (name && !name.classList.contains("defined")) this.page.goTo(Number(name.dataset.link));
    else if (this.ending[row] > row + 1 && (event.target.closest(".fold") || this.isHead(row))) this.toggle(row);
    else this.page.choose(this, row);
  }

  isHead(row) {
    return this.rows[row].k === "part" || this.rows[row].k === "function";
  }

  pointed(event) {
    if (event.pointerType === "touch") return;
    const row = this.rowOf(event);
    const name = event.target.closest("a.name");
    this.page.hover(row === null ? null : { list: this, row, name: name ? Number(name.dataset.link) : null });
  }

  toggle(row) {
    if (!this.folded.delete(row)) this.folded.add(row);
    this.lay();
  }

  /** Fold the heads of these kinds, or unfold all. */
  foldAll(isFolded) {
    this.folded = new Set();
    for (let i = this.first; isFolded && i < this.last; i++) {
      if (this.ending[i] > i + 1 && this.rows[i].k) this.folded.add(i);
    }
    this.lay();
  }

  setActive(row) {
    this.active = row;
    this.scroller.setAttribute("aria-activedescendant", `${this.prefix}${row}`);
    this.relight();
  }

  /** Scroll so that a row is in sight, and unfold what hides it. */
  reveal(row, isSmooth) {
    const hidden = Model.above(this.ending, row, this.folded);
    if (hidden.length) {
      for (const i of hidden) this.folded.delete(i);
      this.lay();
    }
    const position = this.shown.indexOf(row);
    const top = this.tops[position];
    const view = this.scroller;
    if (top < view.scrollTop + this.page.rowHeight || this.tops[position + 1] > view.scrollTop + view.clientHeight - this.page.rowHeight) {
      view.scrollTo({ top: Math.max(top - view.clientHeight / 3, 0), behavior: isSmooth ? "smooth" : "auto" });
    }
    this.soon();
  }

  /** Move the active row by so many shown rows. */
  move(count) {
    const position = this.active === null ? this.at(this.scroller.scrollTop) - count : this.shown.indexOf(this.active);
    const next = Math.min(Math.max(position + count, 0), this.shown.length - 1);
    this.setActive(this.shown[next]);
    this.reveal(this.active, false);
    this.page.hover({ list: this, row: this.active, name: null });
  }

  /** Make all rows elements, one below the other, for paper; or return to rows in sight. */
  print(isPrinted) {
    this.isPrinted = isPrinted;
    if (!isPrinted) {
      this.lay();
      return;
    }
    const all = document.createDocumentFragment();
    for (let i = this.first; i < this.last; i++) all.append(this.make(i));
    this.space.style.height = "auto";
    this.space.replaceChildren(all);
    this.drawn.clear();
  }
}
