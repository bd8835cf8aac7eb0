"""List a file as text, an op for each node, in its sections, under the user's lines.

```
loss(w: float32[3,4], x: float32[N,3]):
  # forward: 3 nodes
  # mlp.py:5  hidden = np.tanh(x @ w)
  matmul_x: float32[N,4] = MatMul(x, w)
  hidden: float32[N,4]   = Tanh(matmul_x)
  ...
  # backward: 9 nodes
  # Grad of: hidden = np.tanh(x @ w)
  sub_hidden: float32[N,4] = Sub(1.0, mul_hidden)  # pullback of Tanh
```

The number of a line stands once, beside its text. A change elsewhere leaves the other lines of a listing as they are:
a name depends on the names of operands, and the only column is that of `=` below one header.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primsplit.audit.line_order import by_demand, by_lines
from primsplit.audit.sections import GRADS, NO_LINE
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Block, Const, Op, Type, Value, Var, walk
from primsplit.ir.analysis.orders import SUMMED
from primsplit.ir.errors import Place
from primsplit.ir.notation.listing import Line, Printer, layout
from primsplit.ir.notation.literals import INLINE, Constants, array_text, is_bare, number_text, quoted, type_text

SIZE = re.compile(r"(?<![\w`])([A-Za-z]+)_\d+(?![\w`])")
"""A size of a type whose name is a word with a number."""


def list_file(file: Written) -> list[str]:
    """Return the listing of a file: the graph, then each of its functions."""
    printer = FilePrinter(file)
    return [_in_groups([*printer.block(block)]) for block in (file.block, *file.functions.values())]


def _in_groups(lines: Sequence[Line]) -> str:
    """Return the lines as text, with columns of their own below each header."""
    starts = [0, *(i for i, line in enumerate(lines) if line.code.startswith("#")), len(lines)]
    return "".join(layout(lines[a:b]) for a, b in pairwise(starts) if a < b)


class FilePrinter(Printer):
    """Prints the ops of a file under its own names. An array that is no number and no short vector has its name."""

    def __init__(self, file: Written) -> None:
        names = {value: name for value, name in file.names.items() if isinstance(value, Var)}
        super().__init__(FileConstants(), names, brief=False)
        self.file = file
        self.part = ""
        self.group: tuple[str, Place | None] | None = None
        self.told_places: set[Place] = set()
        given = (m[0] for p in file.block.params for m in SIZE.finditer(file.told.get(p, "")))
        self.sizes = {name: name for name in given}
        self.counts: dict[str, int] = {}
        self.places: dict[str, set[Place]] = defaultdict(set)
        for place in (op.place.whole_line for op in file.ops() if op.place is not None):
            self.places[_text(place)].add(place)

    def ops(self, block: Block, depth: int) -> Iterator[Line]:
        """Yield the lines of the ops of a block, those of the graph under the name of their section."""
        if block is not self.file.block or not self.file.sections[0].name:
            if depth == 1:
                self.part, self.group = "", None
            yield from super().ops(block, depth)
            return
        order = by_demand(block)
        for section in self.file.sections:
            count = sum(1 for op in section.ops for _ in walk(Block("", (), (op,), ())))
            yield Line(depth, "", f"# {section.name}: {count} node{'s' if count > 1 else ''}", "")
            self.part, self.group = section.name, None
            for op in by_lines(sorted(section.ops, key=order.__getitem__)):
                yield from self.op(op, depth)

    def op(self, op: Op, depth: int) -> Iterator[Line]:
        """Yield the lines of an op, under the user's line if that is another one than before."""
        place = op.line
        group = self.part, place
        if group != self.group:
            if place is not None or (self.group is not None and self.group[1] is not None):
                yield Line(depth, "", f"# {self.header(place)}", "")
            self.group = group
        for line in super().op(op, depth):
            yield line._replace(code=f"{line.code}  # {line.comment}", comment="") if line.comment else line

    def header(self, place: Place | None) -> str:
        """Return a line of the user's: its number with the first header of it, and where its text does not tell it."""
        if place is None:
            return NO_LINE
        text = _text(place)
        grad = GRADS.get(self.part, "")
        if place in self.told_places and text and len(self.places[text]) == 1:
            return f"{grad}{text}"
        self.told_places.add(place)
        return f"{grad}{place.short}  {text}".rstrip()

    def comment(self, op: Op) -> str:
        """Return the rule; the node's own name where the file knows no line."""
        if op.place is None and not op.remark and not self.file.is_ours:
            return self.file.nodes[op]
        return "" if op.remark == SUMMED else op.remark.replace("call::", "")

    def size(self, found: re.Match[str]) -> str:
        """Return the name of a size: one that only the run knows has the next number of its word."""
        name, word = found[0], found[1]
        if name not in self.sizes:
            self.counts[word] = self.counts.get(word, 0) + 1
            self.sizes[name] = f"{word}_{self.counts[word]}"
        return self.sizes[name]

    def value(self, value: Value | None, op: Op | None) -> str:
        """Return the text of an input or a result."""
        if isinstance(value, Const) and not is_literal(value):
            return quoted(self.file.names[value])
        return super().value(value, op)

    def typed(self, var: Var) -> str:
        """Return `name: type`, the name alone where the file does not tell the type."""
        told = SIZE.sub(self.size, self.file.told[var]) if self.file.is_ours else self.file.told[var]
        return f"{self.names[var]}: {told}" if told else self.names[var]


def _text(place: Place) -> str:
    """Return the text of a line; of a node of an ONNX file its name."""
    return place.source or (place.function if place.filename.endswith(".onnx") else "")


def is_literal(const: Const) -> bool:
    """Whether a listing shows the numbers of a constant in the place of its name."""
    is_vector = const.type.rank == 1 and const.type.dtype == np.int64 and const.data.shape[0] <= INLINE
    return const.is_short and (const.type.rank == 0 or is_vector or const.number is not None)


class FileConstants(Constants):
    """The texts of a file's constants, each made when it is asked for."""

    def value(self, value: Value | None, op: Op | None, name: str) -> str:
        """Return the text of an input of an op, or of a result; `name` is that of a variable."""
        if not isinstance(value, Const):
            return super().value(value, op, name)
        array = value.numpy()
        if array.ndim == 1 and array.dtype == np.int64 and array.size <= INLINE:
            return str(array.tolist())
        bare = array.ndim == 0 and op is not None and is_bare(value, op) and array.dtype.kind in "biuf"
        number = number_text(array[()]) if bare else "0x"
        return number if not number.startswith("0x") else array_text(array) or quoted(value.hint)

    def attribute(self, name: str, value: Any) -> str:
        """Return the text of an attribute that is no block."""
        if isinstance(value, np.ndarray) and id(value) not in self.texts:
            long: dict[int, AnyArray] = {}
            self._add(id(value), value, long)
            texts = {key: type_text(Type(array.dtype, array.shape)) for key, array in long.items()}
            self.texts.update((key, f"{text}@{self._digests[key][:8]}") for key, text in texts.items())
        return super().attribute(name, value)
