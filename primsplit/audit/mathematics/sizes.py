"""Find the sizes that integers of a file hold, such as `N` for `Shape(x)[0]`.

```
shape = Shape(x, start=0, end=1); count = Squeeze(shape)   ->   shape and count are N, for x: float32[N,3]
```
"""

import ast
from collections.abc import Mapping

from primsplit.audit.statement_maker import constants_of
from primsplit.audit.trees import literal, tuple_of
from primsplit.audit.written import UNKNOWN, Written
from primsplit.ir import Const, Op, Type, Value, Var, walk
from primsplit.ir import dims as sizes
from primsplit.ir.dims import Dim
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.parsing import parsed_text
from primsplit.ops.inference import infer

READS_SHAPE = frozenset({"Shape", "Size"})
COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Not", "And", "Or", "Squeeze"})
"""Operators that compare, or join comparisons. No trait: no other room asks for tests of sizes."""
Shape = tuple[Dim, ...]


class Sizes:
    """The sizes in a file, and the names of sizes that a reader knows: those in the types of the file's inputs.

    `is_folded` tells whether what only moves shapes is folded into its readers, `empty` the size that a test compares
    with 0, `names` the variables of values, `calls` the calls of linear algebra that nodes say they are of, `results`
    the values that the graph, a function or a body hands on.
    """

    def __init__(self, file: Written, *, everything: bool = False) -> None:
        self.is_folded = not everything
        self.constants = constants_of(file)
        self.told: Mapping[Var, str] = file.told
        self.symbols = {
            name for param in file.block.params for size in self.shape(param) or () for name in sizes.symbols(size)
        } - {UNKNOWN}
        self.names: dict[Value, str] = {}
        self.tests: set[Value] = set()
        self.empty: dict[Value | None, Dim] = {}
        self.calls: Mapping[Op, str] = file.calls
        self.results: set[Value] = set()
        self._known: dict[Var, Var] = {}
        for block in (file.block, *file.functions.values()):
            self.results.update(block.results)
            for op in walk(block):
                self.results.update(r for inner in op.blocks() for r in inner.results)
                self._learn(op)

    def type(self, value: Value) -> Type | None:
        """Return the type of a value; None where the file does not tell it."""
        if isinstance(value, Var) and not self.told.get(value):
            return None
        return value.type

    def shape(self, value: Value) -> Shape | None:
        """Return the shape of a value; None where the file does not tell all of it."""
        found = self.type(value)
        if found is None or found.shape is None or any(UNKNOWN in sizes.symbols(d) for d in found.shape):
            return None
        return found.shape

    def of(self, value: Value | None) -> Shape | None:
        """Return the sizes that an integer or a vector of integers holds, if they are known."""
        value = None if value is None else self.constants.get(value, value)
        if isinstance(value, Const):
            return value.sizes
        return None if value is None or value not in self._known else self._known[value].sizes

    def expression(self, value: Var) -> ast.expr | None:
        """Return the sizes that a value holds as an expression; None where a reader does not know their names."""
        found = self.of(value)
        trees = None if found is None else [self.tree(size) for size in found]
        if trees is None or any(t is None for t in trees):
            return None
        known = [t for t in trees if t is not None]
        return known[0] if len(known) == 1 else tuple_of(known)

    def tree(self, size: Dim) -> ast.expr | None:
        """Return a size as an expression of the names of sizes."""
        if isinstance(size, int):
            return literal(size)
        if not sizes.symbols(size) <= self.symbols:
            return None
        try:
            found = parsed_text(str(size), mode="eval").body
        except SyntaxError:
            return None
        called = {ast.unparse(node.func) for node in ast.walk(found) if isinstance(node, ast.Call)}
        return found if called <= {"max", "min"} else None

    def _learn(self, op: Op) -> None:
        """Note the sizes that an op computes from shapes and from other sizes."""
        if len(op.outputs) != 1 or op.blocks():
            return
        if op.kind in COMPARISONS and all(
            self.of(v) is not None or v in self.tests for v in op.inputs if v is not None
        ):
            self.tests.add(op.outputs[0])
        given = [self.of(v) for v in op.inputs]
        if op.kind == "Equal" and given[1] == (0,) and given[0] is not None and len(given[0]) == 1:
            self.empty[op.outputs[0]] = given[0][0]
        made = self.type(op.outputs[0])
        if made is None or made.dtype.kind != "i" or (made.rank or 0) > 1:
            return
        if op.kind not in READS_SHAPE and not any(isinstance(v, Var) and v in self._known for v in op.inputs):
            return
        if op.kind in READS_SHAPE and (op.inputs[0] is None or self.shape(op.inputs[0]) is None):
            return
        known = [None if v is None else self.constants.get(v, v) for v in op.inputs]
        inputs = [self._known.get(v, v) if isinstance(v, Var) else v for v in known]
        try:
            _, found = infer(op.kind, inputs, op.attributes)[0]
        except PrimsplitError:
            return
        if found is not None:
            self._known[op.outputs[0]] = Var(made, sizes=tuple(found))
