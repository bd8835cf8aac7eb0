"""Prints nests and their derivatives: one operation per line, with the loops that each value depends on.

    amulb(C[:, :], A[:, :], B[:, :]):
      for m in range(A.shape[0]), n in range(B.shape[1]), k in range(A.shape[1])
      a[m, k] = A[m, k]
      b[n, k] = B[k, n]
      c[m, n, k] = a * b
      d[m, n] = sum(c for k)
      C.1[m, n] = d  # else C
      return C.1

Numbers, loop turns and lengths are written where they are read. A store that leaves some elements unchanged names the
array they come from, and the loops that it runs over if its indices do not name them.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from primsplit.frontends.loops.building import loops_of, pruned
from primsplit.frontends.loops.derivation import Derivation, derive
from primsplit.frontends.loops.keeping import Choice
from primsplit.frontends.loops.loopset import (
    Axis,
    Bent,
    Extreme,
    Index,
    Linear,
    LoopSet,
    Operation,
    Picked,
    Quotient,
    Reference,
)
from primsplit.frontends.loops.sizes import Sizes

INFIX: Mapping[str, tuple[str, int]] = {
    "logical_or": ("or", 1),
    "logical_and": ("and", 2),
    "less": ("<", 4),
    "less_equal": ("<=", 4),
    "greater": (">", 4),
    "greater_equal": (">=", 4),
    "equal": ("==", 4),
    "not_equal": ("!=", 4),
    "add": ("+", 5),
    "subtract": ("-", 5),
    "multiply": ("*", 6),
    "divide": ("/", 6),
    "floor_divide": ("//", 6),
    "mod": ("%", 6),
    "power": ("**", 8),
}
"""Python's operator for a function, and how tightly it binds."""

PREFIX: Mapping[str, tuple[str, int]] = {"logical_not": ("not ", 3), "negative": ("-", 7)}
REDUCED: Mapping[str, str] = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
ATOM = 9


def list_nest(nest: LoopSet) -> str:
    """The listing of a nest."""
    return "\n".join(_nest_lines(nest))


def list_derivation(derivation: Derivation, sizes: Sizes | None = None, itemsize: int = 8) -> str:
    """The listings of the forward and the reverse nest, and how the second gets what it reads of the first.

    With `sizes`, those of the forward nest, and the bytes of an element, the shapes and bytes of temporaries too.
    """
    lines = _Texts(derivation.forward)
    kept = {temporary.line: temporary for temporary in derivation.temporaries}
    told = []
    for choice in derivation.choices:
        if derivation.forward.operations[choice.line].kind == "load" and choice.how == "again":
            continue
        temporary = kept.get(choice.line)
        text = f"  {_HOW[choice.how]} {lines.value(choice.line)}: {_cost(choice)} to compute"
        if temporary is not None:
            text = f"  {_HOW[choice.how]} {temporary.name}[{', '.join(temporary.loops)}] = {lines.value(choice.line)}"
            text += f": {_cost(choice)} to compute"
            if sizes is not None:
                shape = ", ".join(map(str, temporary.shape(sizes)))
                text += f", [{shape}] {temporary.nbytes(sizes, itemsize)} B"
        told.append(text)
    header = f"read by the reverse nest ({len(kept)} kept):" if told else "read by the reverse nest: elements alone"
    return "\n".join([*_nest_lines(derivation.forward), "", *_nest_lines(derivation.reverse), "", header, *told])


_HOW = {"again": "computed again:", "read": "read from a result:", "kept": "kept:"}


def _cost(choice: Choice) -> str:
    return f"{choice.cost:g}" if choice.cost != float("inf") else "much"


def list_gradient(nest: LoopSet, tracked: Collection[str]) -> str:
    """The cotangent of each tracked array from the results' cotangents, in one expression where possible.

    What is read more than once has a name. What is computed of no element alone, such as a sum, stands in front.
    """
    derivation = derive(nest, tracked, threshold=math.inf)
    kept = tuple((temporary.name, temporary.name) for temporary in derivation.temporaries)
    before = _Texts(pruned(replace(derivation.forward, results=kept)), inline=True).statements()
    return "\n".join([*before, *_Texts(derivation.reverse, inline=True).statements()])


def _nest_lines(nest: LoopSet) -> Iterator[str]:
    shown = [
        f"{name}: int" if name in nest.integers else name + (f"[{', '.join(':' * rank)}]" if rank else "")
        for name, rank in nest.arguments
    ]
    yield f"{nest.name or 'nest'}({', '.join(shown)}):"
    if nest.loops:
        yield "  for " + ", ".join(f"{loop.name} in {_range(loop.start, loop.stop)}" for loop in nest.loops)
    yield from ("  " + line for line in _Texts(nest).statements())
    yield f"  return {', '.join(version for _, version in nest.results)}"


def _range(start: Linear, stop: Linear) -> str:
    return f"range({linear_text(stop)})" if start == Linear() else f"range({linear_text(start)}, {linear_text(stop)})"


class _Texts:
    """The text of each line of a nest. With `inline`, what one line alone reads stands in it, and so do elements."""

    def __init__(self, nest: LoopSet, *, inline: bool = False) -> None:
        self.nest = nest
        self.inline = inline
        self.uses = Counter(parent for line in nest.operations for parent in line.parents)
        taken = {name for name, _ in nest.arguments} | {line.makes for line in nest.operations}
        self.taken = taken | {loop.name for loop in nest.loops} | {version for _, version in nest.results}
        self.texts: list[tuple[str, int]] = []
        self.lines: list[str] = []
        for at, operation in enumerate(nest.operations):
            self._one(at, operation)

    def statements(self) -> list[str]:
        """The lines that are written out."""
        return self.lines

    def value(self, at: int) -> str:
        """The text for the value of a line where it is read."""
        return self.texts[at][0]

    def _one(self, at: int, operation: Operation) -> None:
        text, binds = self._text(operation)
        if operation.kind == "store":
            self.lines.append(self._store(operation, text))
        elif operation.kind not in {"constant", "index", "size"} and not self._is_inline(at, operation):
            name = self._name(operation.name)
            loops = f"[{', '.join(operation.loops)}]" if operation.loops else ""
            self.lines.append(f"{name}{loops} = {text}")
            text, binds = name, ATOM
        self.texts.append((text, binds))

    def _is_inline(self, at: int, operation: Operation) -> bool:
        return self.inline and (operation.kind == "load" or self.uses[at] == 1)

    def _name(self, wanted: str) -> str:
        """The user's name for a value, or the next letter."""
        number = 0
        name = wanted
        while not name or name in self.taken:
            name = f"{chr(ord('a') + number % 26)}{number // 26 or ''}"
            number += 1
        self.taken.add(name)
        return name

    def _text(self, operation: Operation) -> tuple[str, int]:
        """The text of an operation, and how tightly it binds."""
        parents = [self.texts[parent] for parent in operation.parents]
        if operation.kind == "constant":
            return operation.function, ATOM if not operation.function.startswith("-") else PREFIX["negative"][1]
        if operation.kind == "size" and operation.length is not None:
            text = linear_text(operation.length)
            return text, ATOM if len(operation.length.terms) == 1 else INFIX["add"][1]
        if operation.kind == "load" and operation.reference is not None:
            return reference_text(operation.reference), ATOM
        if operation.kind == "reduce":
            combined = f"{REDUCED[operation.function]}({parents[-1][0]} for {', '.join(operation.reduced)})"
            return applied(operation.function, [parents[0], (combined, ATOM)]) if len(parents) > 1 else (combined, ATOM)
        if operation.kind == "compute":
            return applied(operation.function, parents)
        return (operation.function, ATOM) if operation.kind == "index" else parents[0]

    def _store(self, operation: Operation, value: str) -> str:
        reference = operation.reference
        assert reference is not None
        where = reference_text(Reference(operation.makes, reference.indices))
        notes = [] if reference.array == operation.makes else [f"else {reference.array}"]
        if set(loops_of(reference)) != set(operation.loops):
            notes.append(f"over {', '.join(operation.loops)}")
        return f"{where} {'+=' if operation.adds else '='} {value}" + (f"  # {', '.join(notes)}" if notes else "")


def applied(function: str, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """A function of texts, as Python writes it."""
    if function in INFIX:
        sign, binds = INFIX[function]
        tight = binds + (function == "power"), binds + (function != "power")
        left, right = (
            text if inner >= least else f"({text})" for (text, inner), least in zip(operands, tight, strict=True)
        )
        return f"{left} {sign} {right}", binds
    if function in PREFIX:
        sign, binds = PREFIX[function]
        ((text, inner),) = operands
        return sign + (text if inner >= binds else f"({text})"), binds
    return f"{function}({', '.join(text for text, _ in operands)})", ATOM


def reference_text(reference: Reference) -> str:
    """An element: `A[rows[i], j + 1]`."""
    if not reference.indices:
        return reference.array
    return f"{reference.array}[{', '.join(map(_index_text, reference.indices))}]"


def _index_text(index: Index) -> str:
    if isinstance(index, Picked):
        return reference_text(index.reference)
    if isinstance(index, Bent):
        fill = f", {index.fill:g}" if index.how == "pad" and index.fill else ""
        return f"{index.how}({linear_text(index.index)}{fill})"
    return linear_text(index)


def linear_text(linear: Linear) -> str:
    """A linear expression: `2*i + a - 1`."""
    text = ""
    for symbol, factor in sorted(linear.terms, key=lambda term: term[1] < 0):
        size = "" if abs(factor) == 1 else f"{abs(factor)}*"
        sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
        text += f"{sign}{size}{_symbol_text(symbol)}"
    if not text:
        return str(linear.offset)
    return text + (f" {'-' if linear.offset < 0 else '+'} {abs(linear.offset)}" if linear.offset else "")


def _symbol_text(symbol: object) -> str:
    if isinstance(symbol, Axis):
        return f"{symbol.array}.shape[{symbol.axis}]"
    if isinstance(symbol, Quotient):
        whole = linear_text(symbol.of)
        return f"({whole if len(symbol.of.terms) == 1 and not symbol.of.offset else f'({whole})'} // {symbol.by})"
    if isinstance(symbol, Extreme):
        return f"{symbol.which}({', '.join(map(linear_text, symbol.of))})"
    return str(symbol)
