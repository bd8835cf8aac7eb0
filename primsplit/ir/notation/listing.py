"""Print a Block as text that a person can read and check; `parsing.parse` is the inverse, so nothing is left out.

```
mul.pullback(y: float32[3], x: float32[5,3], dz: float32[5,3]):  # captures y 12 B, x 60 B (inputs)
  a: float32[5,3] = Mul(dz, y)                                   # dx
  b: float32[5,3] = Mul(dz, x)
  c: float32[3]   = ReduceSum(b, [0], keepdims=0)                # dy, summed: y was broadcast
  return a, c
```

`literals` says how constants are written. A sub-block stands indented below its op, headed by the attribute's name.
Names that are no plain words are in backticks. What follows `#` is for the reader only: the user's line (its text at
the first op of a run of them), and the op's remark. Text from a file never breaks a line: see `plain_text`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from primsplit.ir import Block, Op, Value, Var, free, is_call
from primsplit.ir.analysis.orders import SUMMED
from primsplit.ir.errors import Place
from primsplit.ir.names import Names, variables
from primsplit.ir.notation.literals import WORDS, Constants, bytes_text, kind_text, quoted, type_text
from primsplit.ir.plain_text import in_one_line

MARGIN = 100
"""Headers and calls that are longer than this are broken over several lines."""
WIDEST_TARGET = 40
WIDEST_CODE = 90
LONGEST_SOURCE = 60


class SplitLike(Protocol):
    """The parts of a Split that the listing reads."""

    @property
    def primal(self) -> Block:
        """The program from parameters to results."""

    @property
    def pullback(self) -> Block:
        """The program from captures and cotangents to cotangents."""

    @property
    def captures(self) -> tuple[Var, ...]:
        """The Vars of the primal that the pullback reads."""

    def kinds(self) -> Mapping[Var, str]:
        """Return the kind of each capture: input, output, intermediate, shape."""


class Line(NamedTuple):
    """One line; `target` is what an op defines, and is aligned with those of the other ops."""

    depth: int
    target: str
    code: str
    comment: str


@dataclass(frozen=True, slots=True)
class Tape:
    """The program that an error carries: what was recorded so far, or the op whose rule failed and its program."""

    block: Block
    op: Op | None = None

    def __str__(self) -> str:
        return listing(self.block)


def listing(program: Block | SplitLike, names: Mapping[Var, str] | None = None, *, brief: bool = False) -> str:
    """Return a Block, or the primal and the pullback of a Split, as text. `names` fixes the names of Vars.

    A `brief` listing, for a reader and not for `parse`, has the body of a called function at its first call alone, and
    shows NumPy's functions that are recorded by name as they are called: `max(x, axes=(1,), keepdims=False)`.
    """
    blocks = (program,) if isinstance(program, Block) else (program.primal, program.pullback)
    printer = Printer.of(blocks, names or {}, brief=brief)
    if isinstance(program, Block):
        return layout(printer.block(program))
    primal, pullback = list(printer.block(program.primal)), list(printer.block(program.pullback))
    header = next(i for i, line in enumerate(pullback) if line.code.endswith(":"))
    told = printer.captures(program)
    if len(told) == 1:
        pullback[header] = pullback[header]._replace(comment=told[0])
    else:
        pullback[header + 1 : header + 1] = [Line(1, "", f"# {text}", "") for text in told]
    return layout([*primal, Line(0, "", "", ""), *pullback])


def constants(program: Block | SplitLike) -> dict[str, Any]:
    """Return what a listing shows by digest only: the long arrays, and the objects in attributes."""
    blocks = (program,) if isinstance(program, Block) else (program.primal, program.pullback)
    return Constants(*blocks).by_digest


def names_of(*blocks: Block, given: Mapping[Var, str] | None = None) -> Names:
    """Return a name for every Var of the blocks: the one in `given`, else its hint, else a letter.

    The programs of calls that a brief listing shows by their name get their letters last.
    """
    names = Names(WORDS)
    names.learn(*blocks)
    for var, name in (given or {}).items():
        names.give(var, name)
    for block in blocks:
        for var in (*free(block), *variables(block, lambda op: static_arguments(op) is None)):
            names.give(var)
    for block in blocks:
        for var in variables(block):
            names.give(var)
    return names


def static_arguments(op: Op) -> Mapping[str, Any] | None:
    """Return the static arguments of a call that a brief listing shows by its name; None for any other op."""
    rules = (op.attributes.get(name) for name in ("rule", "batch")) if is_call(op) else ()
    return next((found for rule in rules if (found := getattr(rule, "listed", None)) is not None), None)


def layout(lines: Iterator[Line] | Sequence[Line]) -> str:
    """Return the lines as text, with the `=` and the comments aligned.

    Every listing is made here, so no remark, name or text of a file gets a line of its own.
    """
    escaped = [Line(depth, *map(in_one_line, texts)) for depth, *texts in lines]
    width = max((len(t) for line in escaped if len(t := _indented(line)) <= WIDEST_TARGET and line.target), default=0)
    codes = [f"{_indented(line):{width}} = {line.code}" if line.target else _indented(line) for line in escaped]
    fitting = [len(c) for c, line in zip(codes, escaped, strict=True) if line.comment and len(c) <= WIDEST_CODE]
    column = max(fitting, default=0)
    texts = [f"{c:{column}}  # {n.comment}" if n.comment else c for c, n in zip(codes, escaped, strict=True)]
    return "\n".join(text.rstrip() for text in texts) + "\n"


def _indented(line: Line) -> str:
    return "  " * line.depth + (line.target or line.code)


class Printer:
    """Turns blocks into lines."""

    def __init__(self, constants: Constants, names: Mapping[Var, str], *, brief: bool) -> None:
        self.constants = constants
        self.names = {var: quoted(name) for var, name in names.items()}
        self.last: Place | None = None
        self.told: set[str] | None = set() if brief else None

    @classmethod
    def of(cls, blocks: Sequence[Block], given: Mapping[Var, str], *, brief: bool) -> "Printer":
        """Return the printer of some blocks, in which these names are given."""
        return cls(Constants(*blocks), names_of(*blocks, given=given).of, brief=brief)

    def block(self, block: Block) -> Iterator[Line]:
        """Yield the lines of a block that stands alone."""
        outer = free(block)
        captured = " with " + ", ".join(map(self.typed, outer)) if outer else ""
        yield from self.body(block, quoted(block.name or "program"), captured, 0)

    def body(self, block: Block, head: str, tail: str, depth: int) -> Iterator[Line]:
        params = [self.typed(p) for p in block.params]
        yield from wrapped(depth, "", f"{head}(", params, f"){tail}:", "")
        yield from self.ops(block, depth + 1)
        results = ", ".join(self.value(r, None) for r in block.results)
        yield Line(depth + 1, "", f"return {results}".rstrip(), "")

    def ops(self, block: Block, depth: int) -> Iterator[Line]:
        """Yield the lines of the ops of a block."""
        for op in block.ops:
            yield from self.op(op, depth)

    def op(self, op: Op, depth: int) -> Iterator[Line]:
        """Yield the lines of the op, and of its sub-blocks below it."""
        items = [self.value(v, op) for v in op.inputs]
        static = None if self.told is None else static_arguments(op)
        if static is not None:
            items += [f"{quoted(name)}={self.constants.attribute(name, value)}" for name, value in static.items()]
            kind = kind_text(op.kind.removeprefix("call::"))
            yield from wrapped(depth, ", ".join(map(self.typed, op.outputs)), f"{kind}(", items, ")", self.comment(op))
            return
        inner: list[tuple[str, Block]] = []
        for name, value in op.attributes.items():
            if isinstance(value, Block):
                inner.append((name, value))
            else:
                items.append(f"{quoted(name)}={self.constants.attribute(name, value)}")
        targets = ", ".join(map(self.typed, op.outputs))
        yield from wrapped(depth, targets, f"{kind_text(op.kind)}(", items, ")", self.comment(op))
        for name, block in inner:
            head = quoted(name) if block.name in {"", name} else f"{quoted(name)} = {quoted(block.name)}"
            if is_call(op) and self.is_told(block):
                yield Line(depth + 1, "", f"{head}, as above", "")
            else:
                yield from self.body(block, head, "", depth + 1)

    def is_told(self, body: Block) -> bool:
        """Whether the listing has this body already, apart from the names and places of its ops."""
        if self.told is None:
            return False
        own = Printer.of((body,), {}, brief=False)
        text = layout([line._replace(comment="") for line in own.block(body)])
        found = text in self.told
        self.told.add(text)
        return found

    def comment(self, op: Op) -> str:
        place = op.line
        if place is None:
            return "" if op.remark == SUMMED else op.remark
        told = place.short
        if place != self.last and not op.remark and place.source:
            source = place.source
            told += "  " + (source if len(source) <= LONGEST_SOURCE else source[: LONGEST_SOURCE - 3].rstrip() + "...")
        self.last = place
        return f"{told}  {op.remark}" if op.remark else told

    def value(self, value: Value | None, op: Op | None) -> str:
        return self.constants.value(value, op, self.names[value] if isinstance(value, Var) else "")

    def typed(self, var: Var) -> str:
        return f"{self.names[var]}: {type_text(var.type)}"

    def captures(self, split: SplitLike) -> list[str]:
        """Return what the pullback captures: one comment, or a table if it does not fit on one line."""
        rows = [(self.names[c], bytes_text(c.type.nbytes()), kind) for c, kind in split.kinds().items()]
        if not rows:
            return ["captures nothing"]
        kinds = {kind for _, _, kind in rows}
        if len(kinds) == 1 and len(rows) <= 4:
            plural = "s" if len(rows) > 1 and kinds != {"shape"} else ""
            return [f"captures {', '.join(f'{n} {b}' for n, b, _ in rows)} ({kinds.pop()}{plural})"]
        wide = [max(len(row[i]) for row in rows) for i in range(2)]
        table = [f"{name:{wide[0]}}  {count:>{wide[1]}}  {kind}" for name, count, kind in rows]
        return [("captures " if i == 0 else " " * 9) + text for i, text in enumerate(table)]


def wrapped(depth: int, target: str, head: str, items: Sequence[str], tail: str, comment: str) -> Iterator[Line]:
    """Yield `target = head items tail` on one line, or broken into lines of at most MARGIN characters."""
    whole = head + ", ".join(items) + tail
    if len(whole) + 2 * depth <= MARGIN or len(items) < 2:
        yield Line(depth, target, whole, comment)
        return
    yield Line(depth, target, head, comment)
    row = ""
    for item in items:
        if row and len(row) + len(item) + 2 * depth + 6 > MARGIN:
            yield Line(depth + 2, "", row, "")
            row = ""
        row = f"{row} {item}," if row else f"{item},"
    yield Line(depth + 2, "", row, "")
    yield Line(depth, "", tail, "")
