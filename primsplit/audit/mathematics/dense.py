"""List a call of dense linear algebra, which a file computes by many nodes, as one statement.

```
for t in range(6): row = a[t]; ...; f = tril((rows / (roots + cumsum(0 * roots))).T)   ->   f = cholesky(a)
```

Nodes say in the file's metadata which call they are of: where to look. What is listed is what they compute: the nodes
run on random matrices, and a function is claimed if its result is NumPy's up to rounding. What a file says there is not
taken for true.
"""

import bisect
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from primsplit.audit.mathematics.shortcuts import Idiom, computed_by, read_by_statement
from primsplit.audit.mathematics.sizes import READS_SHAPE, Sizes
from primsplit.audit.statements import Statement
from primsplit.audit.trees import name, tree
from primsplit.ir import AnyArray, Block, Op, Type, Value, Var, reads
from primsplit.ir.dims import Dim, same, substitute, symbols
from primsplit.ir.errors import PrimsplitError
from primsplit.onnx.save import serialize, to_model
from primsplit.programs.runtime import Session

Function = Callable[..., AnyArray]
SIZE, OTHER_SIZE = 37, 3
"""Sizes at run time for which nodes are run: the first one has more rows than a block of the factorizations."""
FREE = frozenset({"Unsqueeze", "Constant"})
"""Operators that are a part of the call that reads them, whatever they say. No trait: it is a matter of taste."""


def _turned(x: AnyArray) -> AnyArray:
    return np.swapaxes(x, -1, -2)


def _solves() -> Iterator[tuple[str, Function]]:
    """Yield the ways to solve: with all of a matrix or a triangle, or its transpose, for columns or for rows."""
    parts: tuple[tuple[str, str, Function], ...] = (
        ("solve", "", np.asarray),
        ("solve_triangular", ", lower=True", np.tril),
        ("solve_triangular", "", np.triu),
    )
    for (called, option, part), is_turned in itertools.product(parts, (False, True)):
        trans = option + ", trans='T'" if is_turned and part is not np.asarray else option
        matrix = "a.T" if is_turned and part is np.asarray else "a"
        turn = _turned if is_turned else np.asarray

        def solved(a: AnyArray, b: AnyArray, part: Function = part, turn: Function = turn) -> AnyArray:
            return np.linalg.solve(turn(part(a)), b)

        yield f"{called}({matrix}, b{trans})", solved
        yield f"{called}({matrix}, b.T{trans}).T", lambda a, b, solved=solved: _turned(solved(a, _turned(b)))
        yield f"{called}({matrix}, b{trans}).T", lambda a, b, solved=solved: _turned(solved(a, b))
        yield f"{called}({matrix}, b.T{trans})", lambda a, b, solved=solved: solved(a, _turned(b))


FUNCTIONS: Mapping[str, tuple[tuple[str, Function], ...]] = {
    "cholesky": (("cholesky(a)", np.linalg.cholesky), ("cholesky(a).T", lambda a: _turned(np.linalg.cholesky(a)))),
    "inverse_with": (("inv(a)", np.linalg.inv),),
    "solve_with": tuple(_solves()),
    "solve_by": tuple(_solves()),
}
"""The functions that calls of a name in a file may compute: each as a listing writes it, and as NumPy computes it."""


def with_dense(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a function by its name in the place of those that compute it."""
    if not any(s.op in sizes.calls for s in statements):
        return [*statements]
    return _Calls(statements, sizes).run()


@dataclass(frozen=True)
class _Claim:
    """A function of values that the statement of an op computes, and the text of it."""

    op: Op
    end: Var
    text: str
    given: tuple[Var, ...]


@dataclass
class _Calls:
    """Finds the calls in the statements of a body. `of` has the call of each value that a node of one computes."""

    statements: Sequence[Statement]
    sizes: Sizes
    made: dict[Var, Op] = field(default_factory=dict)
    place: dict[Op, int] = field(default_factory=dict)
    of: dict[Value, str] = field(default_factory=dict)
    readers: dict[Value | None, list[Statement]] = field(default_factory=dict)
    ends: dict[str, Var] = field(default_factory=dict)

    def run(self) -> list[Statement]:
        """Return the statements with one for each call that is recognized."""
        for statement in self.statements:
            for op in statement.ops:
                self.place[op] = len(self.place)
                self.made.update(dict.fromkeys(op.outputs, op))
                self.of.update(dict.fromkeys(op.outputs, self.sizes.calls.get(op, "")))
            for value in _reads(statement):
                self.readers.setdefault(value, []).append(statement)
        for call in dict.fromkeys(filter(None, self.of.values())):
            end = self.end(call) if call.partition(" ")[0] in FUNCTIONS else None
            if end is not None:
                self.ends[call] = end
        claims = {claim.op: claim for call, end in self.ends.items() if (claim := self.claim(call, end)) is not None}
        return self.written(claims) if claims else [*self.statements]

    def end(self, call: str) -> Var | None:
        """Return the result of a call: the last value that others read, or else its last; None without numbers.

        What they read besides is shared with another computation, such as an identity matrix.
        """
        own = [v for v, c in self.of.items() if c == call and isinstance(v, Var) and v.type.is_float]
        read = [v for v in own if v in self.sizes.results or any(not self.is_of(s) for s in self.readers.get(v, ()))]
        return self.before_turning((read or own)[-1]) if own else None

    def before_turning(self, value: Var) -> Var:
        """Return the value of a call that only its transpose, another one of the call, hands on."""
        op = self.made[value]
        source = op.inputs[0] if op.kind == "Transpose" else None
        return source if isinstance(source, Var) and self.of.get(source) == self.of[value] else value

    def is_of(self, statement: Statement) -> bool:
        """Whether a statement is a node of some call."""
        return statement.op in self.sizes.calls

    def claim(self, call: str, end: Var) -> _Claim | None:
        """Return what a call computes; None where that is no function that is known."""
        readers = self.readers.get(end, [])
        if len(readers) == 1 and readers[0].op.kind == "Squeeze" and end not in self.sizes.results:
            vector = self.claim_of(call, readers[0].op.outputs[0], FREE)
            if vector is not None:
                return vector
        return self.claim_of(call, end, frozenset({"Constant"}))

    def claim_of(self, call: str, end: Var, free: frozenset[str]) -> _Claim | None:
        """Return what a value of a call is; operators that are `free` are a part of the call too."""
        found = self.inside(call, end, free)
        if found is None or not all(v in self.sizes.names for v in found[0]):
            return None
        given, shapes, ops = found
        block = Block("call", (*given, *shapes), tuple(ops), (end,))
        for order in itertools.permutations(range(len(given))):
            text = _computed(block, order, FUNCTIONS[call.partition(" ")[0]], self.sizes.symbols)
            if text:
                text = text if end.type.rank == 2 else text.replace(".T", ".mT")
                return _Claim(self.made[end], end, text, tuple(given[i] for i in order))
        return None

    def inside(self, call: str, end: Var, free: frozenset[str]) -> tuple[list[Var], list[Var], list[Op]] | None:
        """Return the numbers that a value is computed of, the values of which only shapes matter, and the ops."""
        given, shapes, ops = dict[Var, None](), dict[Var, None](), dict[Op, None]()
        waiting: list[Var] = [end]
        while waiting:
            value = waiting.pop()
            op = self.made.get(value)
            if op in ops or value in given or value in self.sizes.constants:
                continue
            is_own = value is end or self.of.get(value) == call
            is_part = is_own or (bool(self.of.get(value)) and value not in self.ends.values())
            if op is None or not (is_part or op.kind in free or not value.type.is_float):
                if not value.type.is_float:
                    return None
                given[value] = None
            elif op.kind in READS_SHAPE and isinstance(op.inputs[0], Var):
                ops[op] = shapes[op.inputs[0]] = None
            else:
                ops[op] = None
                waiting += [v for v in reads(op) if isinstance(v, Var)]
        made = {v for op in ops for v in op.outputs}
        only = [v for v in shapes if v not in made and v not in given]
        return ([*given], only, sorted(ops, key=self.place.__getitem__)) if 1 <= len(given) <= 2 else None

    def written(self, claims: Mapping[Op, _Claim]) -> list[Statement]:
        """Return the statements with the claimed calls; what nobody else reads belongs to the next of them."""
        live: set[Value | None] = {v for v in self.sizes.results if v in self.made}
        shown: list[tuple[Statement, _Claim | None]] = []
        hidden: dict[Op, Statement] = {}
        for statement in reversed(self.statements):
            claim = claims.get(statement.op)
            if self.is_of(statement) and live.isdisjoint(statement.op.outputs):
                hidden[statement.op] = statement
                continue
            live.update(_reads(statement) if claim is None else claim.given)
            shown.append((statement, claim))
        found: list[Statement] = []
        order = sorted(hidden, key=self.place.__getitem__)
        last = next((s for s, claim in shown if claim is not None), None)
        if last is None:
            return [*self.statements]
        for statement, claim in reversed(shown):
            if claim is None:
                found.append(statement)
                continue
            place = self.place[claim.op]
            count = len(order) if statement is last else bisect.bisect_left(order, place, key=self.place.__getitem__)
            own, order = order[:count], order[count:]
            every = tuple(o for op in own for o in hidden[op].every_op())
            operands = dict(zip("ab", (name(self.sizes.names[v]) for v in claim.given), strict=False))
            title = claim.text.partition("(")[0]
            ops = (*every, *statement.every_op())
            made = computed_by(statement, title, claim.given, ops, tree(claim.text, **operands))
            own_op = replace(made.op, outputs=(claim.end,))
            found.append(replace(made, op=own_op, targets=(self.sizes.names[claim.end],)))
        return found


def _reads(statement: Statement) -> set[Value | None]:
    """Return the values that a statement reads; of what it is written as, where that stands for several nodes."""
    return {*statement.op.inputs} if isinstance(statement, Idiom) else {*read_by_statement(statement)}


def _computed(
    block: Block, order: Sequence[int], functions: Sequence[tuple[str, Function]], known: Collection[str]
) -> str:
    """Return the text of the function of the first parameters, in this order, that a block computes; "" for none.

    Sizes that are not made of those with `known` names are supposed to be the largest of the others: the run tells.
    """
    shapes = [p.type.shape or () for p in block.params]
    named = [s for shape in sorted(shapes, key=_is_square, reverse=True) for d in shape for s in sorted(symbols(d))]
    lengths = {
        symbol: OTHER_SIZE if i else SIZE for i, symbol in enumerate(dict.fromkeys(s for s in named if s in known))
    }
    made = [[substitute(d, lengths) if symbols(d) <= lengths.keys() else None for d in shape] for shape in shapes]
    most = max((d for shape in made for d in shape if isinstance(d, int)), default=SIZE)
    types = [
        Type(p.type.dtype, [most if d is None else d for d in shape])
        for p, shape in zip(block.params, made, strict=True)
    ]
    arrays = _matrices(types)
    try:
        model = to_model(block, [f"x{i}" for i in range(len(types))], ["y"])
        (result,) = Session(serialize(model), optimize=False)(*arrays)
    except PrimsplitError:
        return ""
    given = [arrays[i].astype(np.float64) for i in order]
    return next((text for text, function in functions if _is_same(result, function, given)), "")


def _is_square(shape: Sequence[Dim]) -> bool:
    return len(shape) > 1 and same(shape[-1], shape[-2])


def _matrices(types: Sequence[Type]) -> list[AnyArray]:
    """Return random arrays; square matrices are symmetric in no way but in their sign, and far from singular."""
    random = np.random.default_rng(0)
    made = []
    for type_ in types:
        shape = tuple(int(d) for d in type_.shape or ())
        array = random.uniform(-1, 1, shape)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            array = array / shape[-1] + 2 * np.eye(shape[-1])
        made.append(array.astype(type_.dtype))
    return made


def _is_same(result: AnyArray, function: Function, given: Sequence[AnyArray]) -> bool:
    try:
        wanted = function(*given)
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        return False
    most = 1e4 * np.finfo(result.dtype).eps
    if wanted.shape != result.shape:
        return False
    return bool(np.all(np.abs(result - wanted) <= most * np.max(np.abs(wanted), initial=1)))
