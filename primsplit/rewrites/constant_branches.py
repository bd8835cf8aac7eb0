"""Inline branches that are always taken, and use in a branch what other Ifs of the same condition return there.

```
If(True): then Exp(x), else Sin(x)   ->   Exp(x)
```
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, free, inline, renamed, walk
from primsplit.ir.dims import Dim, Size, same
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewrites.table import number
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.regions import visible


@fault(
    "constant_condition_around_loops",
    kind="aborts",
    operators=("If", "Loop", "Scan"),
    says="An If of a constant condition that holds other Ifs and loops ends the process while the file is loaded.",
)
class Taking(Rewriter):
    """A walk that inlines the branch of each If with a constant condition.

    onnxruntime does so when it loads a file, and ends the process if such an If holds others and loops. An If may
    declare less of a size than its branch: `sizes` maps such symbols to what they turned out to be. `given` maps
    results to the Ifs that stay.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, Dim] = {}
        self.path: list[Block] = []
        self.uses: dict[int, tuple[Block, Counter[str]]] = {}
        self.firsts: dict[str, Var] | None = None
        """The first value of the outermost block that has each symbol; None until it is asked for."""
        self.read_anywhere: frozenset[Value | None] | None = None
        self.given: dict[Var, Op] = {}

    def visit(self, op: Op) -> Op | None:
        """None for an If whose branch is known."""
        if op.kind != "If":
            return super().visit(op)
        known = number(op.inputs[0])
        self.given.update(dict.fromkeys(op.outputs, op))
        if known is None:
            return super().visit(op)
        taken: Block = op.attributes[_taken(known)]
        if not all(self._is_told(r.type, v) for r, v in zip(taken.results, op.outputs, strict=True)):
            return super().visit(op)
        ops: list[Op] = []
        results = inline(taken, [], ops)
        for inner in ops:
            found = super().visit(self.read(inner))
            self.kept += [] if found is None else [found]
        for output, result in zip(op.outputs, map(self.value, results), strict=True):
            self.replaced[output] = result
            if self.is_read(output):
                self._learn(output.type, result.type)
        return None

    def inside(self, op: Op) -> Mapping[str, object]:
        """Return the attributes with their blocks rewritten: the branches of an If, with what is known in each."""
        condition = renamed(op.inputs[0], self.replaced) if op.kind == "If" else None
        if not isinstance(condition, Var):
            return super().inside(op)
        branches = {name: op.attributes[name] for name in ("then_branch", "else_branch")}
        found = {name: self._in_branch(block, condition, name) for name, block in branches.items()}
        return op.attributes if all(found[name] is block for name, block in branches.items()) else found

    def _in_branch(self, block: Block, condition: Var, name: str) -> Block:
        told: dict[Var, Value] = {}
        for var in free(block):
            given = self.given.get(var)
            if given is not None and given.inputs[0] is condition:
                result = self._constant(_result(given, name, var))
                told.update({} if result is None else {var: result})
        before = {var: self.replaced[var] for var in told if var in self.replaced}
        self.replaced.update(told)
        found = self.run(block)
        for var in told:
            del self.replaced[var]
        self.replaced.update(before)
        return found

    def _constant(self, value: Value) -> Const | None:
        """Return the short constant that a value is, through remaining Ifs of known conditions.

        None if it has no elements.
        """
        while isinstance(value, Var):
            made = self.given.get(value)
            known = None if made is None else number(made.inputs[0])
            if made is None or known is None:
                return None
            value = _result(made, _taken(known), value)
        return value if value.is_small and value.numpy().size else None

    def enter(self, block: Block) -> None:
        """The first block that is entered holds all others."""
        self.path.append(block)
        super().enter(block)

    def leave(self, block: Block) -> None:
        """The outermost block stays."""
        super().leave(block)
        if len(self.path) > 1:
            self.path.pop()

    def is_read(self, var: Var) -> bool:
        """Whether anything in the outermost block read the Var before the walk."""
        if self.read_anywhere is None:
            self.read_anywhere = frozenset(_read_in(self.path[0])) if self.path else frozenset()
        return var in self.read_anywhere

    def _learn(self, declared: Type, told: Type) -> None:
        for size, known in zip(declared.shape or (), told.shape or (), strict=True):
            symbol = size.symbol if isinstance(size, Size) and not same(size, known) else None
            if symbol is not None and self._is_own(symbol):
                self.sizes.setdefault(symbol, known)

    def _is_own(self, symbol: str) -> bool:
        """Whether only values of the block being walked have the symbol.

        Sizes that are learned in a branch hold only there, and those learned in a step only in this step.
        """
        whole, inner = self.path[0], self.path[-1]
        return whole is inner or self._uses(whole)[symbol] == self._uses(inner)[symbol]

    def _uses(self, block: Block) -> Counter[str]:
        """Return how many values, in sub-blocks too, have each symbol; computed once."""
        found = self.uses.get(id(block))
        if found is None:
            # The block is kept too, so that its id stays its own.
            found = self.uses[id(block)] = block, Counter(s for v in _made_in(block) for s in visible([v]))
        return found[1]

    def _is_first(self, var: Var, symbol: str) -> bool:
        """Whether a value, or constants before it, are the first that have the symbol.

        The size of one that was computed before is known to the run alone. That a later value has it is then a claim,
        for which an op such as Reshape fails in other runs: the claim must not make that op needless.
        """
        if self.firsts is None:
            self.firsts = {}
            for each in _made_in(self.path[0]):
                for name in visible([each]):
                    self.firsts.setdefault(name, each)
        first = self.firsts.get(symbol, var)
        return first is var or isinstance(self.replaced.get(first), Const)

    def replace_told(self, var: Var, value: Const) -> bool:
        """Replace a value with symbolic sizes, none of them a parameter's, by a constant, and learn the sizes.

        Return False for a value whose sizes another one may contradict in the run.
        """
        if var.type.dtype != value.type.dtype or var.type.rank != value.type.rank:
            return False
        if not self.learn_first(var, value.type):
            return False
        self.replaced[var] = value
        return True

    def learn_first(self, var: Var, told: Type) -> bool:
        """Learn the sizes of a value, whose type has this rank; return whether all that differ could be learned.

        None may be a parameter's, or one that another value may contradict in the run.
        """
        given = visible(self.path[0].params)
        pairs = [(a, b) for a, b in zip(var.type.shape or (), told.shape or (), strict=True) if not same(a, b)]
        symbols = [a.symbol for a, _ in pairs if isinstance(a, Size)]
        if len(symbols) < len(pairs) or not all(s is not None and s not in given and self._is_own(s) for s in symbols):
            return False
        if not all(s is not None and self._is_first(var, s) for s in symbols):
            return False
        self._learn(var.type, told)
        return True

    def _is_told(self, result: Type, output: Var) -> bool:
        """Whether a branch's result determines every size that its If declares.

        A value that only the other branch keeps is empty here, and a pullback that does not run need not make sense of
        it: it must have no reader left.
        """
        if result.dtype != output.type.dtype or result.shape is None or output.type.shape is None:
            return False
        pairs = [(a, b) for a, b in zip(result.shape, output.type.shape, strict=True) if not same(a, b)]
        if self.is_read(output) and any(same(a, 0) for a, _ in pairs):
            return False
        return all(isinstance(b, Size) and b.symbol is not None for _, b in pairs)


def _taken(condition: np.generic) -> str:
    return "then_branch" if bool(condition) else "else_branch"


def _result(op: Op, branch: str, output: Var) -> Value:
    """Return the value that an If's output has in this branch."""
    block: Block = op.attributes[branch]
    return block.results[op.outputs.index(output)]


def _read_in(block: Block) -> Iterator[Value | None]:
    """Yield what the ops of a block and of its sub-blocks read, and their outputs."""
    yield from block.results
    for op in walk(block):
        yield from op.inputs
        for inner in op.blocks():
            yield from inner.results


def _made_in(block: Block) -> Iterator[Var]:
    """Yield the values that a block and its sub-blocks define, and their parameters."""
    yield from block.params
    for op in block.ops:
        yield from op.outputs
        for inner in op.blocks():
            yield from _made_in(inner)


def with_sizes(block: Block, sizes: Mapping[str, Dim]) -> Block:
    """Return the block with sizes in place of these symbols."""
    ops: list[Op] = []
    results = inline(block, block.params, ops, sizes)
    return Block(block.name, block.params, tuple(ops), tuple(results))
