/* What is chosen, in one place: the user's line, its statements, its pullback, its captures; or a value and its uses. */
"use strict";

class Selection {
  constructor(page, root) {
    Object.assign(this, { page, root });
  }

  draw() {
    const { chosen, data } = this.page;
    this.root.replaceChildren();
    if (!chosen) {
      this.root.append(element("p", "hint", "Choose a line: its statements, its pullback and its captures are shown here. Names lead to their definitions."));
      return;
    }
    const [line] = chosen.lines;
    if (line !== undefined) {
      const [file, number, owner, text] = data.lines[line];
      const head = element("p", "chosenline");
      const code = element("code");
      appendCode(code, text);
      head.append(element("b", "", `${file}:${number}`), element("span", "owner", owner ? ` in ${owner}  ` : "  "), code);
      this.root.append(head);
    }
    const columns = element("div", "columns");
    const { rows, split } = this.page.view;
    const related = this.page.chosenRows();
    const titles = data.panes;
    columns.append(this.block(titles[0], related.filter((i) => i < split).map((i) => this.row(i))));
    if (titles.length > 1) columns.append(this.block(titles[1], related.filter((i) => i >= split).map((i) => this.row(i))));
    columns.append(this.block("Captures", this.page.captured.filter((c) => this.page.isCaptureOf(c, chosen)).map((c) => this.capture(c))));
    if (chosen.row !== null) {
      columns.append(this.block("Read by", this.page.uses[chosen.row].map((i) => this.row(i))));
      const row = rows[chosen.row];
      const told = [row.s, row.n, row.c ? `${row.c} node${row.c > 1 ? "s" : ""} of the file` : ""].filter(Boolean);
      if (told.length) columns.append(this.block("This statement", [element("li", "", told.join(", "))]));
    }
    this.root.append(columns);
  }

  block(title, items) {
    const block = element("div", "block");
    const list = element("ul");
    const most = 200;
    list.append(...items.slice(0, most));
    if (items.length > most) list.append(element("li", "hint", `and ${items.length - most} more`));
    if (!items.length) list.append(element("li", "hint", "none"));
    block.append(element("h3", "", title), list);
    return block;
  }

  row(index) {
    const item = element("li");
    const link = element("button", "rowlink");
    link.type = "button";
    appendCode(link, this.page.view.rows[index].t);
    link.addEventListener("click", () => this.page.goTo(index));
    item.append(link);
    return item;
  }

  capture(capture) {
    const item = element("li");
    const link = element("button", "rowlink", `${this.page.nameOf(capture)}: ${capture.type}`);
    link.type = "button";
    link.addEventListener("click", () => this.page.chooseCapture(capture));
    const bytes = capture.bytes === "0" ? capture.kind : `${capture.bytes} B`;
    item.append(link, element("span", "bytes", `  ${bytes}`));
    return item;
  }
}
