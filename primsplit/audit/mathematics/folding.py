"""Fold statements into their readers: values that are used once, and what only moves shapes.

```
matmul = np.matmul(x, w); add = matmul + b; hidden = np.tanh(add)   ->   hidden = tanh(x @ w + b)
expanded = _expand(total, shape); d_x = expanded * x                ->   d_x = total * x
```

An expression may have fewer axes than the variable of the file: what reads it repeats it, as NumPy does. Where a
reader needs all of it, it is written out.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from primsplit.audit.mathematics import plumbing
from primsplit.audit.mathematics.constants import constant, repeated
from primsplit.audit.mathematics.folded import Folded, materialized, same_view, whole
from primsplit.audit.mathematics.idioms import recognized
from primsplit.audit.mathematics.plain import plain_value
from primsplit.audit.mathematics.shortcuts import Idiom, is_elementwise
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import simplified, text_of
from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.mathematics.terms import has_product
from primsplit.audit.mathematics.uses import Uses
from primsplit.audit.sections import part_of
from primsplit.audit.statements import Assignment, Function, Statement
from primsplit.audit.trees import fill, literal, name, variables_in
from primsplit.ir import Const, Op, Value, Var, dims, reads, walk
from primsplit.ir.dims import broadcast_shapes
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.traits import traits

LONGEST = 88
"""The most characters of an expression that others are folded into."""
SHORT = 12
"""The most characters of `x.T`, `-x` or `x[:, 0]` where it is written at each of its readers."""
USUAL = 6
"""The characters that a value counts for whose name in the file is ours."""
FREE = frozenset({"Transpose", "Neg", "Slice", "Gather"})
"""Operators that are written at each reader where they are short. No trait: it is a matter of taste."""
Show = Callable[["Folding", Statement], None]


@dataclass
class Folding:
    """Folds the statements of a function. `named` are the variables whose names are the user's.

    `control` shows statements that have bodies, `constants` are those that have names. `axes` has the shapes of values
    that are shown in other axes than the file's, `flipped` the values of arrays that are split and joined the other way
    round.
    """

    function: Function
    sizes: Sizes
    named: frozenset[str]
    control: Show
    constants: Mapping[str, Const] = field(default_factory=dict)
    uses: Uses = field(default_factory=Uses)
    of: dict[str, Var] = field(default_factory=dict)
    env: dict[str, Folded] = field(default_factory=dict)
    lines: list[Shown] = field(default_factory=list)
    plumbing: list[Op] = field(default_factory=list)
    section: str = ""
    steps: list[str] = field(default_factory=list)
    handed_on: dict[str, str] = field(default_factory=dict)
    flipped: dict[Var, ast.expr] = field(default_factory=dict)
    axes: dict[str, Shape | None] = field(default_factory=dict)
    reading: dict[Var, list[Op]] = field(default_factory=dict)
    made: dict[Var, Op] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)
    named_as: dict[Const, str] = field(default_factory=dict)

    def run(self) -> list[Shown]:
        """Return the lines that the page shows for the function."""
        self.sizes.names.update(self.function.names)
        for value, own in self.function.names.items():
            if isinstance(value, Var):
                self.of.setdefault(own, value)
        self.unnamed = {*self.of} - self.named - {*self.function.params}
        self.named_as = {const: own for own, const in self.constants.items()}
        if self.sizes.is_folded:
            self.env.update(repeated(self.constants))
        for op in walk(self.function.block):
            self.made.update((value, op) for value in op.outputs)
            for value in reads(op):
                self.reading.setdefault(value, []).append(op)
        statements = recognized(self.function.statements, self.sizes)
        self.uses.count(statements, self.sizes)
        for result in self.function.results:
            self.uses.keep(variables_in(result))
        self.suite(statements, 0)
        return self.lines

    def suite(self, statements: Sequence[Statement], key: int) -> None:
        """Show the statements of a body, which has this key."""
        for statement in statements:
            if not key:
                self.section = statement.section
            if isinstance(statement, Assignment):
                self.assignment(statement, key)
            else:
                self.control(self, statement)

    def assignment(self, statement: Assignment, key: int) -> None:
        """Show an assignment, or keep its value for its readers."""
        target = statement.targets[0]
        op = statement.op
        if op.kind == "Split" and self.sizes.is_folded and self.turned(statement):
            return
        if len(statement.targets) == 1 and target not in self.named and self.moved(statement, target):
            return
        if target in self.named and (same := self.renamed(statement)) is not None:
            self.show(statement, same, [*self.taken(variables_in(statement.value)), *statement.ops])
            return
        value, shape, view, ops = self.filled(statement)
        found = Folded(value, shape, [*ops, *statement.ops], statement=statement, added=self.added(op), view=view)
        is_single = len(statement.targets) == 1 and op.kind != "listed::checked"  # which says what it raises
        if is_single and target not in self.named and self.width(value) <= LONGEST:
            if self.uses.is_once(target, key, part_of(op, statement.section)):
                self.env[target] = found
                return
            is_free = op.kind in FREE and self.width(value) <= SHORT and self.uses.is_near(target, key)
            if is_free or self.uses.is_test(target):
                self.env[target] = replace(found, statement=None)
                return
        if view is not None and target not in self.named and key == 0:
            self.show(statement, value, found.ops)
            self.env[target] = Folded(name(target), shape, view=view)
            self.axes[target] = shape
            return
        self.show(statement, materialized(found, self.sizes.shape(op.outputs[0]), self.sizes), found.ops)

    def turned(self, statement: Assignment) -> bool:
        """Keep the array of a split whose parts, of one element each, are joined the other way round: `x[::-1]`."""
        op, axis = statement.op, statement.op.attributes.get("axis", 0)
        readers = {id(r): r for v in op.outputs for r in self.reading.get(v, ())}
        join = next(iter(readers.values()), op)
        shapes = [self.sizes.shape(v) for v in op.outputs]
        is_each = all(s is not None and dims.is_one(s[axis]) for s in shapes)
        is_turned = join.kind == "Concat" and [*join.inputs] == [*reversed(op.outputs)]
        if len(readers) != 1 or not is_each or not is_turned or join.attributes["axis"] != axis:
            return False
        if any(self.uses.count_of(target) > 1 for target in statement.targets) or axis < 0:
            return False
        found = whole(self.inputs(op)[0], self.sizes)
        assert found is not None
        index: list[ast.expr] = [*([ast.Slice()] * axis), ast.Slice(None, None, literal(-1))]
        at = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        self.flipped[join.outputs[0]] = simplified(ast.Subscript(found.value, at, ast.Load()))
        ops = [*self.taken(variables_in(statement.value)), *statement.ops]
        for target in statement.targets:
            self.env[target] = Folded(name(target), None, ops)
            ops = []
        return True

    def shape_of(self, own: str) -> Shape | None:
        """Return the shape that a variable is shown in; None where it is not known."""
        if own in self.axes:
            return self.axes[own]
        return self.sizes.shape(self.of[own]) if own in self.of else None

    def moved(self, statement: Assignment, target: str) -> bool:
        """Keep the value of a statement that computes a size or only moves shapes; False for another one."""
        op = statement.op
        if not self.sizes.is_folded:
            return False
        self.write_products(statement, target)
        size = self.sizes.expression(op.outputs[0])
        if size is not None:
            known = self.sizes.of(op.outputs[0]) or ()
            is_one = len(known) == 1
            shape = () if is_one else self.sizes.shape(op.outputs[0])
            self.env[target] = Folded(size, shape, size=known[0] if is_one else None)
            self.plumbing += self.taken(variables_in(statement.value))
        elif (found := plumbing.folded(op, self.inputs(op), self.sizes)) is not None and self.is_told(op, found):
            self.env[target] = replace(found, ops=self.taken(variables_in(statement.value)), statement=statement)
        elif self.uses.count_of(target):
            return False
        self.plumbing += statement.ops
        return True

    def write_products(self, statement: Assignment, target: str) -> None:
        """Show a product of matrices that waits for a reader, if what moves its shape has several."""
        if statement.op.kind not in plumbing.RESHAPES or self.uses.count_of(target) <= 1:
            return
        for read in variables_in(statement.value):
            waiting = self.env.get(read)
            is_waiting = waiting is not None and waiting.statement is not None and bool(waiting.ops)
            if waiting is not None and is_waiting and has_product(waiting.value):
                self.write_out(read)

    def renamed(self, statement: Assignment) -> ast.expr | None:
        """Return what a variable of the user's holds that only moves the shape of another; None for another one."""
        op = statement.op
        found = plumbing.folded(op, self.inputs(op), self.sizes) if self.sizes.is_folded else None
        return None if found is None else materialized(found, self.sizes.shape(op.outputs[0]), self.sizes)

    def is_told(self, op: Op, found: Folded) -> bool:
        """Whether a folded value has the shape of its variable, or a reader that needs it can be told that shape."""
        shape = self.sizes.shape(op.outputs[0])
        if shape is None or found.shape is None or dims.same_shape(found.shape, shape):
            return True
        is_named = all(self.sizes.tree(size) is not None for size in shape)
        return is_named or all(traits(r.kind).broadcasts == "all" for r in self.reading.get(op.outputs[0], ()))

    def added(self, op: Op) -> dims.Dim | None:
        """Return the number of elements that a sum adds for each element of its result."""
        if op.kind == "Neg" and op.inputs[0] is not None:
            return self.input(op.inputs[0]).added
        shape = None if op.kind != "ReduceSum" or op.inputs[0] is None else self.sizes.shape(op.inputs[0])
        result = self.sizes.shape(op.outputs[0])
        return (
            None if shape is None or result is None else dims.exact_quotient(dims.product(shape), dims.product(result))
        )

    def inputs(self, op: Op) -> list[Folded | None]:
        """Return the inputs of an op as they are folded."""
        return [None if v is None else self.input(v) for v in op.inputs]

    def input(self, value: Value) -> Folded:
        """Return an input as it is folded."""
        value = self.sizes.constants.get(value, value)
        if isinstance(value, Const):
            return constant(value, self.named_as.get(value, value.hint))
        own = self.function.names[value]
        return self.env.get(own) or Folded(name(own), self.sizes.shape(value))

    def taken(self, names: Iterable[str]) -> list[Op]:
        """Return the ops that values folded into a statement stand for, which are counted there."""
        found: list[Op] = []
        for read in sorted(names):
            folded = self.env.get(read)
            if folded is not None and folded.ops:
                found += folded.ops
                self.env[read] = replace(folded, ops=[])
        return found

    def filled(self, statement: Assignment) -> tuple[ast.expr, Shape | None, Shape | None, list[Op]]:
        """Return the value of an assignment with folded values in it, its shape and view, and the ops in it."""
        read = variables_in(statement.value)
        while True:
            value, shape, view = self.value(statement)
            if self.width(value) <= LONGEST:
                break
            waiting = [n for n in sorted(read) if n in self.env and self.env[n].statement and self.env[n].ops]
            longest = max(waiting, key=lambda n: self.width(self.env[n].value), default="")
            if not longest or self.width(self.env[longest].value) < SHORT:
                break
            self.write_out(longest)
        return value, shape, view, self.taken(read)

    def width(self, value: ast.expr) -> int:
        """Return how long an expression is, where each value without a name of the user's has one of usual length."""
        read = (n.id for n in ast.walk(value) if isinstance(n, ast.Name))
        own = (n for n in read if n in self.unnamed)
        return len(text_of(value)) + sum(USUAL - len(n) for n in own)

    def write_out(self, target: str) -> None:
        """Show a value that waits for its reader."""
        found = self.env.pop(target)
        assert found.statement is not None
        if found.view is not None and found.shape is not None and target not in self.named:
            self.show(found.statement, found.value, found.ops)
            self.env[target] = Folded(name(target), found.shape, view=found.view)
            self.axes[target] = found.shape
            return
        result = self.sizes.shape(found.statement.op.outputs[0])
        self.show(found.statement, materialized(found, result, self.sizes), found.ops)

    def value(self, statement: Assignment) -> tuple[ast.expr, Shape | None, Shape | None]:
        """Return the expression of an assignment, the shape that it has, and its view."""
        op, inputs = statement.op, self.inputs(statement.op)
        result = self.sizes.shape(op.outputs[0])
        if (
            self.sizes.is_folded
            and (plain := plain_value(statement, result, self.reading, self.made)) is not statement.value
        ):
            statement = replace(statement, value=plain)
        if op.outputs[0] in self.flipped:
            return self.flipped[op.outputs[0]], result, None
        axes = same_view(inputs, result) if is_elementwise(statement) and len(op.outputs) == 1 else None
        holes = {n: self.env[n].value for n in variables_in(statement.value) if n in self.env}
        if axes is not None:
            return simplified(fill(statement.value, holes)), *axes
        contraction = plumbing.contraction(op, inputs) if self.sizes.is_folded else None
        if contraction is not None:
            return contraction, result, None
        inputs = [whole(f, self.sizes) for f in inputs]
        special = plumbing.idiom(op, inputs, self.sizes)
        if special is not None:
            return simplified(special), result, None
        is_each = traits(op.kind).broadcasts == "all" or (is_elementwise(statement) and len(op.inputs) == 1)
        shape = _broadcast(inputs) if is_each and len(op.outputs) == 1 and result is not None else None
        if shape is None:
            return self.fill(statement.value), result, None
        in_full = {n: whole(self.env[n], self.sizes) for n in holes}
        holes = {n: f.value for n, f in in_full.items() if f is not None}
        return simplified(fill(statement.value, holes)), shape, None

    def fill(self, value: ast.expr) -> ast.expr:
        """Return an expression with folded values, each in the shape of its variable."""
        holes = {}
        for read in variables_in(value):
            found = self.env.get(read)
            if found is not None:
                shape = self.sizes.shape(self.of[read]) if read in self.of else found.shape
                is_constant = read in self.constants
                holes[read] = name(read) if is_constant else materialized(found, shape, self.sizes)
        return simplified(fill(value, holes))

    def show(self, statement: Statement, value: ast.expr, ops: Sequence[Op]) -> None:
        """Add an assignment to what is shown."""
        result = statement.op.outputs[0] if len(statement.targets) == 1 else None
        self.lines.append(
            Shown(
                op=statement.op,
                ops=[*ops],
                target=", ".join(statement.targets),
                value=value,
                result=result,
                section=self.section,
                note=statement.note if isinstance(statement, Idiom) else "",
            )
        )


def _broadcast(inputs: Sequence[Folded | None]) -> Shape | None:
    """Return the shape that NumPy gives to an elementwise expression; None where it is not known."""
    shapes = [f.shape for f in inputs if f is not None]
    known = [s for s in shapes if s is not None]
    try:
        return broadcast_shapes(*known) if len(known) == len(shapes) else None
    except PrimsplitError:
        return None
