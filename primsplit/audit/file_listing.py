"""List a file as text, an op for each node, in its sections.

```
loss(w: float32[3,4], x: float32[N,3]):
  # forward: 3 nodes
  matmul: float32[N,4] = MatMul(x, w)      # mlp.py:5  hidden = np.tanh(x @ w)
  hidden: float32[N,4] = Tanh(matmul)      # mlp.py:5
  ...
  # backward: 9 nodes
  sub: float32[N,4]    = Sub(1.0, mul)     # mlp.py:5  pullback of Tanh
```
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Block, Const, Op, Type, Value, Var, walk
from primsplit.ir.notation.listing import Line, Printer, layout
from primsplit.ir.notation.literals import INLINE, Constants, array_text, is_bare, number_text, quoted, type_text


def list_file(file: Written) -> list[str]:
    """Return the listing of a file: the graph, then each of its functions."""
    printer = FilePrinter(file)
    return [layout(printer.block(block)) for block in (file.block, *file.functions.values())]


class FilePrinter(Printer):
    """Prints the ops of a file under its own names. An array that is no number and no short vector has its name."""

    def __init__(self, file: Written) -> None:
        names = {value: name for value, name in file.names.items() if isinstance(value, Var)}
        super().__init__(FileConstants(), names, brief=False)
        self.file = file

    def ops(self, block: Block, depth: int) -> Iterator[Line]:
        """Yield the lines of the ops of a block, those of the graph under the name of their section."""
        if block is not self.file.block or not self.file.sections[0].name:
            yield from super().ops(block, depth)
            return
        for section in self.file.sections:
            count = sum(1 for op in section.ops for _ in walk(Block("", (), (op,), ())))
            yield Line(depth, "", f"# {section.name}: {count} node{'s' if count > 1 else ''}", "")
            self.last = None
            for op in section.ops:
                yield from self.op(op, depth)

    def comment(self, op: Op) -> str:
        """Return the user's line and the rule; the node's own name where the file knows no line."""
        if op.place is None and not op.remark and not self.file.is_ours:
            return self.file.nodes[op]
        if op.place is not None and op.place.filename.endswith(".onnx") and not op.remark:
            return f"{op.place.short}  {op.place.function}"
        return super().comment(op).replace("call::", "")

    def value(self, value: Value | None, op: Op | None) -> str:
        """Return the text of an input or a result."""
        if isinstance(value, Const) and not is_literal(value):
            return quoted(self.file.names[value])
        return super().value(value, op)

    def typed(self, var: Var) -> str:
        """Return `name: type`, the name alone where the file does not tell the type."""
        told = self.file.told[var]
        return f"{self.names[var]}: {told}" if told else self.names[var]


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
