/* Buttons, keys, the height of the dock, and paper. The page starts here. */
"use strict";

Page.prototype.listen = function listen() {
  const query = byId("query");
  query.addEventListener("input", () => this.find(query.value));
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      query.value = "";
      this.find("");
      this.focus(0);
      event.stopPropagation();
    }
  });
  byId("folds").addEventListener("click", () => this.foldAll());
  byId("theme").addEventListener("click", () => this.nextTheme());
  byId("enlarge").addEventListener("click", () => this.enlarge(!document.body.classList.contains("enlarged")));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  document.addEventListener("keydown", (event) => this.pressed(event));
  addEventListener("hashchange", () => this.fromHash());
  addEventListener("beforeprint", () => this.print(true));
  addEventListener("afterprint", () => this.print(false));
  this.listenToGrip(byId("grip"));
};

/** Let the pointer and the arrow keys change the height of the dock. */
Page.prototype.listenToGrip = function listenToGrip(grip) {
  const resize = (height) => {
    const limited = Math.min(Math.max(height, 90), innerHeight - 220);
    document.documentElement.style.setProperty("--dock", `${limited}px`);
    this.isResized = true;
    this.rest();
  };
  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => {
    if (grip.hasPointerCapture(event.pointerId)) resize(innerHeight - event.clientY);
  });
  grip.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
    if (step) resize(byId("dock").clientHeight + step);
    if (step) event.stopPropagation();
  });
};

Page.prototype.focused = function focused() {
  const found = this.lists.findIndex((list) => list.scroller === document.activeElement);
  return found < 0 ? 0 : found;
};

Page.prototype.focus = function focus(index) {
  const list = this.lists[Math.min(Math.max(index, 0), this.lists.length - 1)];
  this.showFront(list);
  list.scroller.focus();
  if (list.active === null) list.move(0);
};

/** Go from the active row to the definition of what it reads, or to the first use of what it defines. */
Page.prototype.follow = function follow(list, isUse) {
  if (list.active === null || list.rows === this.sourceRows) return;
  const row = list.active;
  const [target] = isUse ? this.uses[row] : Model.reads(list.rows[row], row);
  if (target !== undefined) {
    this.goTo(target);
    this.listOf(target).scroller.focus({ preventScroll: true });
  }
};

Page.prototype.pressed = function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const at = this.focused();
  const list = this.lists[at];
  const page = Math.max(Math.floor(list.scroller.clientHeight / this.rowHeight) - 1, 1);
  const enter = () => {
    if (event.target !== list.scroller || list.active === null) return false;
    if (list.isHead(list.active)) list.toggle(list.active);
    else this.choose(list, list.active);
    return true;
  };
  const acts = {
    ArrowDown: () => list.move(1), j: () => list.move(1),
    ArrowUp: () => list.move(-1), k: () => list.move(-1),
    PageDown: () => list.move(page), PageUp: () => list.move(-page),
    Home: () => list.move(-list.shown.length), End: () => list.move(list.shown.length),
    ArrowLeft: () => this.focus(at - 1), h: () => this.focus(at - 1),
    ArrowRight: () => this.focus(at + 1), l: () => this.focus(at + 1),
    Enter: enter, " ": enter,
    Escape: () => this.choose(null, null),
    "/": () => byId("query").focus(),
    n: () => this.step(1), N: () => this.step(-1),
    d: () => this.follow(list, false), u: () => this.follow(list, true),
    f: () => this.foldAll(), t: () => this.nextTheme(),
    s: () => this.dock("selection"), c: () => this.dock("captures"), g: () => this.dock("graph"),
    e: () => this.docked && this.enlarge(!document.body.classList.contains("enlarged")),
    v: () => this.show((this.viewIndex + 1) % this.data.views.length),
    "?": () => byId("keys").showModal(),
  };
  const act = acts[event.key];
  if (act && act() !== false) event.preventDefault();
};

Page.prototype.print = function print(isPrinted) {
  for (const list of this.lists) list.print(isPrinted);
};

const page = new Page(read("data"));
