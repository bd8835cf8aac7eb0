"""primsplit from scratch: a function in, two flat lists of operations out, in one file that you can read in an hour.

The package does this for 200 operators, symbolic sizes, control flow and files. The kernel is small, and it is all
here. Read from top to bottom; `python docs/from_scratch.py` prints what the end of the file computes.

CHAPTER 1: A PROGRAM IS A LIST
A program is no graph of objects that point at each other. It is a flat list of operations in the order in which they
run. A value is known by its identity alone: two Vars are never equal.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from string import ascii_lowercase
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Var:
    """A value that the run will know: only its shape is known now, and perhaps what the user calls it."""

    shape: tuple[int, ...]
    name: str = ""


Value = Var | np.ndarray
"""The input of an operation: a Var, or a constant, which is an array."""


@dataclass(frozen=True, eq=False)
class Op:
    """One step: an operator by its name, what it reads, what it makes."""

    kind: str
    inputs: tuple[Value, ...]
    output: Var
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """A program: parameters, steps, results. It may read Vars that it does not define: its captures."""

    params: tuple[Var, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]

    @property
    def captures(self) -> list[Var]:
        """The Vars that are read here and made elsewhere."""
        own = {*self.params, *(op.output for op in self.ops)}
        read = [v for op in self.ops for v in op.inputs] + list(self.results)
        return list(dict.fromkeys(v for v in read if isinstance(v, Var) and v not in own))


# CHAPTER 2: WHAT AN OPERATION COMPUTES
# The package hands its lists to onnxruntime. Here NumPy runs them, one step after the other.

NAMES = "add subtract multiply divide negative exp log sin cos tanh matmul transpose reshape broadcast_to sum"
KERNELS: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in NAMES.split()}


def look(names: dict[Var, Any], value: Value) -> Any:
    """Return the value of a Var by `names`; a constant, or a Var without a name here, stands for itself."""
    return names.get(value, value) if isinstance(value, Var) else value


def evaluate(block: Block, *arrays: Any) -> list[np.ndarray]:
    """Run a block that captures nothing on arrays."""
    known: dict[Var, Any] = dict(zip(block.params, arrays, strict=True))
    for op in block.ops:
        known[op.output] = KERNELS[op.kind](*(look(known, v) for v in op.inputs), **dict(op.attributes))
    return [np.asarray(look(known, r)) for r in block.results]


# CHAPTER 3: RECORDING
# To get the list of a Python function, call it with handles instead of arrays. NumPy offers every function that meets a
# handle to the handle first (`__array_ufunc__`, `__array_function__`). The handle runs nothing: it notes a step.

recordings: list[list[Op]] = []
"""The lists that are being recorded, the innermost last."""


@contextmanager
def recording() -> Iterator[list[Op]]:
    """Collect in a new list what is recorded inside."""
    recordings.append([])
    try:
        yield recordings[-1]
    finally:
        recordings.pop()


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """A handle: it stands for an array while a function is recorded. The mixin turns `x + y` into `np.add(x, y)`."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.shape = value.shape

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> "Array":
        return record(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], named: dict[str, Any]) -> "Array":
        # Of these functions the array is the first argument; all others are attributes, by name.
        names = list(signature(function).parameters)[1:]
        return record(function.__name__, args[0], **dict(zip(names, args[1:], strict=False)), **named)


def record(kind: str, *inputs: Any, **attributes: Any) -> Array:
    """Note a step. The shape of its result is found by trying the step on ones."""
    values = tuple(x.value if isinstance(x, Array) else np.asarray(x, float) for x in inputs)
    tried = KERNELS[kind](*(np.ones(v.shape) for v in values), **attributes)
    recordings[-1].append(Op(kind, values, Var(np.shape(tried)), tuple(attributes.items())))
    return Array(recordings[-1][-1].output)


def trace(function: Callable[..., Any], *arrays: Any) -> Block:
    """The block of a function, for arguments of these shapes."""
    params = tuple(Var(np.shape(a), n) for n, a in zip(signature(function).parameters, arrays, strict=True))
    with recording() as ops:
        result = function(*map(Array, params))
    return Block(params, tuple(ops), (result.value,))


# CHAPTER 4: RULES
# A rule is a Python function `inputs -> (output, pullback)`. What it does before it returns is done forward. What
# `pullback` does is done backward: it takes the cotangent of the output and gives one for each input. Rules are written
# in NumPy, like any function. So a rule uses operators that have rules, and derivatives of derivatives need no more.
def sum_to(x: Any, like: Any) -> Any:
    """`x` summed over what broadcasting stretched of `like`: the way back of a broadcast."""
    padded = (1,) * (len(x.shape) - len(like.shape)) + like.shape
    stretched = tuple(i for i, (n, m) in enumerate(zip(padded, x.shape, strict=True)) if n != m)
    total = np.sum(x, axis=stretched, keepdims=True) if stretched else x
    return total if total.shape == like.shape else np.reshape(total, like.shape)


def _sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    kept = np.sum(np.ones(x.shape), axis=axis, keepdims=True).shape
    return np.sum(x, axis=axis, keepdims=keepdims), lambda dy: (np.broadcast_to(np.reshape(dy, kept), x.shape),)


RULES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: (x + y, lambda dz: (sum_to(dz, x), sum_to(dz, y))),
    "subtract": lambda x, y: (x - y, lambda dz: (sum_to(dz, x), sum_to(-dz, y))),
    "multiply": lambda x, y: (x * y, lambda dz: (sum_to(dz * y, x), sum_to(dz * x, y))),
    "divide": lambda x, y: (x / y, lambda dz: (sum_to(dz / y, x), sum_to(-dz * x / (y * y), y))),
    "negative": lambda x: (-x, lambda dy: (-dy,)),
    "sin": lambda x: (np.sin(x), lambda dy: (dy * np.cos(x),)),
    "cos": lambda x: (np.cos(x), lambda dy: (-dy * np.sin(x),)),
    "log": lambda x: (np.log(x), lambda dy: (dy / x,)),
    "exp": lambda x: (y := np.exp(x), lambda dy: (dy * y,)),
    "tanh": lambda x: (y := np.tanh(x), lambda dy: (dy * (1.0 - y * y),)),  # the output is captured, x is not
    "matmul": lambda x, y: (x @ y, lambda dz: (dz @ np.transpose(y), np.transpose(x) @ dz)),
    "transpose": lambda x: (np.transpose(x), lambda dy: (np.transpose(dy),)),
    "reshape": lambda x, shape: (np.reshape(x, shape), lambda dy: (np.reshape(dy, x.shape),)),
    "broadcast_to": lambda x, shape: (np.broadcast_to(x, shape), lambda dy: (sum_to(dy, x),)),
    "sum": _sum,
}


# CHAPTER 5: A RULE RUNS ONCE
# `pullback` is a closure, and a closure cannot be written to a file. So the rule is run once, in an empty recording, on
# fresh Vars: two lists come out, and the closure is thrown away. What the second list reads of the first are the
# captures: what the forward pass must keep.
@dataclass(frozen=True, eq=False)
class Split:
    """A program and its pullback, which maps cotangents of the results to cotangents of the parameters."""

    primal: Block
    pullback: Block


@cache
def split_op(kind: str, shapes: tuple[tuple[int, ...], ...], attributes: tuple[tuple[str, Any], ...]) -> Split:
    """The Split of one operator. It knows nothing of where the operator stands, so one serves all places."""
    params = tuple(map(Var, shapes))
    with recording() as forward:
        output, pullback = RULES[kind](*map(Array, params), **dict(attributes))
    seed = Var(output.shape)
    with recording() as backward:
        gradients = pullback(Array(seed))
    primal = Block(params, tuple(forward), (output.value,))
    return Split(primal, Block((seed,), tuple(backward), tuple(g.value for g in gradients)))


# CHAPTER 6: SPLITS COMPOSE
# The Split of a program: the primal lists of its steps in order, the pullback lists in reverse. Captures are renamed to
# the program's own values. The result is of the same kind as its parts: a Split.
def replay(block: Block, given: Sequence[Value], names: dict[Var, Value]) -> list[Value]:
    """Record the steps of a block once more, on these values; `names` learns what stands for each of its Vars."""
    names.update(zip(block.params, given, strict=True))
    for op in block.ops:
        handles = (Array(look(names, v)) for v in op.inputs)
        names[op.output] = record(op.kind, *handles, **dict(op.attributes)).value
    return [look(names, r) for r in block.results]


def live(ops: Sequence[Op], needed: Sequence[Value]) -> tuple[Op, ...]:
    """The steps that these values need. What nobody asked for is dropped."""
    wanted, kept = {v for v in needed if isinstance(v, Var)}, list[Op]()
    for op in reversed(ops):
        if op.output in wanted:
            wanted.update(v for v in op.inputs if isinstance(v, Var))
            kept.append(op)
    return tuple(reversed(kept))


def split(block: Block) -> Split:
    """The Split of a block, by all of its parameters."""
    names, steps = dict[Var, Value](), list[tuple[Op, Split, dict[Var, Value]]]()
    with recording() as forward:
        for op in block.ops:
            inputs = [look(names, v) for v in op.inputs]
            own, inside = split_op(op.kind, tuple(v.shape for v in inputs), op.attributes), dict[Var, Value]()
            (names[op.output],) = replay(own.primal, inputs, inside)
            steps.append((op, own, inside))
    results = tuple(look(names, r) for r in block.results)

    cotangents = dict[Var, Array]()

    def arrive(at: Value, cotangent: Value) -> None:
        """Cotangents that meet at one value are added."""
        if isinstance(at, Var):
            cotangents[at] = cotangents[at] + Array(cotangent) if at in cotangents else Array(cotangent)

    seeds = tuple(Var(r.shape, f"d_y{i or ''}") for i, r in enumerate(results))
    with recording() as backward:
        for result, seed in zip(block.results, seeds, strict=True):
            arrive(result, seed)
        for op, own, inside in reversed(steps):
            if op.output in cotangents:
                for at, d in zip(op.inputs, replay(own.pullback, [cotangents[op.output].value], inside), strict=True):
                    arrive(at, d)
    gradients = tuple(cotangents[p].value if p in cotangents else np.zeros(p.shape) for p in block.params)
    pullback = Block(seeds, live(backward, gradients), gradients)
    return Split(Block(block.params, live(forward, [*results, *pullback.captures]), results), pullback)


# CHAPTER 7: ONE PROGRAM WITH BOTH PASSES
# Both lists, one after the other, are a program: this is what the package writes to a file. It is a block like any
# other, so it is called in a traced function, and differentiated again.
def joint(made: Split) -> Block:
    """From parameters and cotangents of results: results and cotangents of parameters."""
    (a, b) = made.primal, made.pullback
    return Block(a.params + b.params, a.ops + b.ops, a.results + b.results)


def gradient(block: Block) -> Block:
    """The gradient of a block with one result, a number."""
    with recording() as ops:
        _, *found = replay(joint(split(block)), [*block.params, np.ones(())], {})
    return Block(block.params, live(ops, found), tuple(found))


# CHAPTER 8: FORWARD MODE, FOR NOTHING
# A pullback is linear in its cotangents. The pullback of a linear map is its transpose. The transpose of "cotangents of
# results to cotangents of parameters" is "tangents of parameters to tangents of results". So no rule is written.
def pushforward(made: Split) -> Block:
    """From parameters and their tangents: results and their tangents."""
    turned = split(made.pullback)
    results = made.primal.results + turned.pullback.results
    ops = live(made.primal.ops + turned.primal.ops + turned.pullback.ops, results)
    return Block(made.primal.params + turned.pullback.params, ops, results)


# CHAPTER 9: THE LISTING
def listing(*blocks: Block) -> str:
    """Blocks as text, with letters for values that have no name."""
    letters = (a + b for a in ["", *ascii_lowercase] for b in ascii_lowercase)
    names, lines = dict[Var, str](), list[str]()

    def told(*values: Value) -> str:
        names.update({v: v.name or next(letters) for v in values if isinstance(v, Var) and v not in names})
        return ", ".join(names[v] if isinstance(v, Var) else str(v.tolist()) for v in values)

    for block in blocks:
        lines.append(f"program({told(*block.params)}):  # captures: {told(*block.captures) or 'none'}")
        for op in block.ops:
            named = "".join(f", {name}={value}" for name, value in op.attributes)
            lines.append(f"  {told(op.output)}: {list(op.output.shape)} = {op.kind}({told(*op.inputs)}{named})")
        lines.append(f"  return {told(*block.results)}\n")
    return "\n".join(lines)


def loss(w: Any, x: Any) -> Any:
    """A layer and its mean square, in plain NumPy."""
    hidden = np.tanh(x @ w)
    return np.sum(hidden * hidden) / 2.0


if __name__ == "__main__":
    made = split(trace(loss, np.ones((3, 4)), np.ones((2, 3))))
    print(listing(made.primal, made.pullback))
