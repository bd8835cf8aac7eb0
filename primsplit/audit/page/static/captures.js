/* The chart of the captures: what the backward pass reads of the forward pass, with the bytes that are kept for it. */
"use strict";

class Captures {
  constructor(page, root) {
    Object.assign(this, { page, root, sizes: {}, bars: [] });
    for (const symbol of page.data.symbols) this.sizes[symbol] = 32;
  }

  /** Make the chart when it is shown first. */
  draw() {
    if (!this.list) {
      this.root.append(this.heading(), this.chart());
      this.measure();
      this.rename();
    }
    this.relight();
  }

  /** Show the names of the view. */
  rename() {
    for (const { capture, name } of this.bars) name.textContent = this.page.nameOf(capture);
  }

  heading() {
    const head = element("div", "sheethead");
    this.told = element("p", "told");
    head.append(this.told);
    if (this.page.data.symbols.length) {
      const sizes = element("form", "sizes");
      sizes.append(element("span", "", "Sizes at run time:"));
      for (const symbol of this.page.data.symbols) sizes.append(this.size(symbol));
      sizes.addEventListener("submit", (event) => event.preventDefault());
      head.append(sizes);
    }
    return head;
  }

  size(symbol) {
    const label = element("label", "", `${symbol} = `);
    const input = element("input");
    Object.assign(input, { type: "number", min: "0", step: "1", value: String(this.sizes[symbol]) });
    input.addEventListener("input", () => {
      this.sizes[symbol] = Math.max(Math.floor(Number(input.value) || 0), 0);
      this.measure();
    });
    label.append(input);
    return label;
  }

  chart() {
    this.list = element("ol", "bars");
    this.bars = this.page.captured.map((capture) => {
      const item = element("li", `bar ${capture.kind}`);
      const name = element("button", "barname");
      name.type = "button";
      name.title = `${capture.name} in the file: ${capture.type}`;
      name.addEventListener("click", () => this.page.chooseCapture(capture));
      const track = element("span", "track");
      const fill = element("span", "fill");
      track.append(fill);
      const told = element("span", "bytes");
      const formula = element("span", "formula", /^\d+$/.test(capture.size) ? "" : `= ${capture.size} B`);
      formula.title = formula.textContent;
      item.append(name, element("span", "bartype", capture.type), track, told, formula, element("span", "why", this.why(capture)));
      item.addEventListener("pointerenter", () => this.page.hover({ capture }));
      item.addEventListener("pointerleave", () => this.page.hover(null));
      return { capture, item, name, fill, told };
    });
    return this.list;
  }

  why(capture) {
    if (capture.kind === "input") return "an input: nothing is stored";
    if (capture.kind === "output") return "an output: nothing more is stored";
    return this.page.where(capture.line);
  }

  /** Compute the bytes for the sizes, and order the bars by them. */
  measure() {
    const isStored = (capture) => capture.kind !== "input" && capture.kind !== "output";
    for (const bar of this.bars) bar.count = Model.evaluate(bar.capture.terms, this.sizes);
    const stored = this.bars.filter((bar) => isStored(bar.capture));
    const most = Math.max(...this.bars.map((bar) => bar.count || 0), 1);
    this.bars.sort((a, b) => isStored(b.capture) - isStored(a.capture) || (b.count || 0) - (a.count || 0));
    for (const bar of this.bars) {
      bar.fill.style.width = `${bar.count ? Math.max((100 * bar.count) / most, 0.5) : 0}%`;
      bar.told.textContent = Model.bytes(bar.count);
    }
    this.list.append(...this.bars.map((bar) => bar.item));
    const total = stored.reduce((sum, bar) => sum + (bar.count || 0), 0);
    const count = `${this.bars.length} value${this.bars.length === 1 ? "" : "s"} of the forward pass`;
    this.told.textContent = this.bars.length
      ? `The backward pass reads ${count}; ${Model.bytes(total)} are stored for it.`
      : "The backward pass reads no value of the forward pass.";
  }

  relight() {
    for (const { capture, item } of this.bars) item.classList.toggle("lit", this.page.isCaptureLit(capture));
  }
}
