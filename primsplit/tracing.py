"""Recording: the stack of recordings, `emit`, the user's line.

A Recording collects ops. Recordings nest: an op recorded inside may read a Var of a recording around it, which makes
that Var a capture of the inner block. This stack and the table of rules are the only state of the process.
"""

import functools
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import numpy as np

from primsplit import dims, ir
from primsplit.dims import Dim, Size
from primsplit.errors import Place, PrimsplitError, TraceError
from primsplit.infer import fresh, infer
from primsplit.ir import Block, Const, Op, Type, Value, Var


class Path(Protocol):
    """The way through a function's branches that is being recorded."""

    def decide(self, condition: Value, place: Place | None) -> bool:
        """The answer of this path to a condition that only the run knows."""
        ...


class Example(Protocol):
    """Arrays for the inputs of a recording."""

    def value_of(self, ops: Sequence[Op], wanted: Value) -> Any:
        """What the ops compute for these arrays; None where they read more than the inputs."""
        ...


class Recording:
    """The ops recorded so far, and where each symbol's number can be read.

    `bindings` tell which value of the recordings around it a parameter stands for, where it stands for one alone.
    """

    __slots__ = (
        "bindings",
        "closed",
        "example",
        "explores",
        "known",
        "ops",
        "outer",
        "path",
        "place",
        "remark",
        "sources",
    )

    def __init__(
        self, outer: "Recording | None", *, place: Place | None = None, remark: str = "", explores: bool = True
    ) -> None:
        self.outer = outer
        self.explores: bool = explores and (outer is None or outer.explores)
        self.path: Path | None = None
        self.example: Example | None = None if outer is None else outer.example
        self.bindings: dict[Var, Value] = {}
        self.ops: list[Op] = []
        self.closed = False
        self.place = place
        self.remark = remark
        self.sources: dict[str, tuple[Var, int]] = {}
        self.known: dict[str, Value] = {}

    def param(self, type: Type, hint: str = "") -> Var:
        """A fresh Var that stands for an input."""
        var = Var(type, hint)
        self.learn(var)
        return var

    def learn(self, var: Var) -> None:
        """Remember that the sizes of this Var can be read from it."""
        for axis, dim in enumerate(var.type.shape or ()):
            if isinstance(dim, int):
                continue
            self.sources.setdefault(dim.text, (var, axis))
            if (name := _only_atom(dim)) is not None:
                known = self.sources.get(name)
                if known is None or (dim.text == name and _dim_at(known).text != name):
                    self.sources[name] = (var, axis)


def _only_atom(dim: Size) -> str | None:
    """The symbol, or the function of sizes, of a size `a*atom + b`, which can be solved for it."""
    if dim.symbol is not None:
        return dim.symbol
    found = [m for m, _ in dim.terms if m]
    return str(found[0][0]) if len(found) == 1 and len(found[0]) == 1 else None


def _dim_at(source: tuple[Var, int]) -> Size:
    var, axis = source
    dim = (var.type.shape or ())[axis]
    if not isinstance(dim, Size):
        raise PrimsplitError(f"axis {axis} of {var} is no symbol")
    return dim


class _Stack(threading.local):
    top: Recording | None = None


_stack = _Stack()


def current() -> Recording:
    """The innermost recording. Raises TraceError outside of any."""
    if _stack.top is None:
        raise TraceError(
            "nothing is being traced here", cure="Call this inside a function given to ps.trace or ps.grad."
        )
    return _stack.top


def is_recording() -> bool:
    """True while a function is being traced in this thread."""
    return _stack.top is not None


@contextmanager
def recording(*, place: Place | None = None, remark: str = "", explores: bool = True) -> Iterator[Recording]:
    """Record what is emitted inside, in a recording nested in the current one.

    `explores` tells whether Python branches on traced values are followed both ways there, and in recordings inside.
    """
    outer = _stack.top
    inner = Recording(outer, place=place, remark=remark, explores=explores)
    _stack.top = inner
    try:
        yield inner
    finally:
        inner.closed = True
        _stack.top = outer


@contextmanager
def errors_of_elements() -> Iterator[None]:
    """Raise the error that NumPy hides behind `setting an array element with a sequence`."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not isinstance(error, PrimsplitError) and isinstance(error.__cause__, PrimsplitError):
            raise error.__cause__ from None
        raise


@contextmanager
def fresh_stack() -> Iterator[None]:
    """Record as if nothing else were being traced: what is recorded inside can capture nothing."""
    outer = _stack.top
    _stack.top = None
    try:
        yield
    finally:
        _stack.top = outer


@contextmanager
def resumed(outer: Recording) -> Iterator[None]:
    """Record in an enclosing recording what belongs to a value of it."""
    inner = _stack.top
    _stack.top = outer
    try:
        yield
    finally:
        _stack.top = inner


def value_for_example(wanted: Value) -> Any:
    """The value that the example of the current recording gives; None where there is none, or it does not tell."""
    level = current()
    example = level.example
    if example is None:
        return None
    levels: list[Recording] = []
    outer: Recording | None = level
    while outer is not None:
        levels.append(outer)
        outer = outer.outer
    renaming: ir.Renaming = {}
    ops: list[Op] = []
    for inner in reversed(levels):
        renaming.update((p, renaming.get(v, v) if isinstance(v, Var) else v) for p, v in inner.bindings.items())
        ops += [ir.rename(op, renaming) for op in inner.ops]
    return example.value_of(ops, renaming.get(wanted, wanted) if isinstance(wanted, Var) else wanted)


def is_open(recording: Recording) -> bool:
    """True where the recording is on the stack, so that its Vars may be read."""
    inner = _stack.top
    while inner is not None:
        if inner is recording:
            return True
        inner = inner.outer
    return False


_LIBRARIES = tuple(
    os.path.dirname(os.path.abspath(module.__file__ or "")) + os.sep for module in (sys.modules["primsplit.errors"], np)
)
_SCIPY = f"{os.sep}site-packages{os.sep}scipy{os.sep}"


@functools.cache
def is_library(filename: str) -> bool:
    """True for a file of primsplit, NumPy or SciPy, whose lines are none of the user's."""
    return filename.startswith(_LIBRARIES) or _SCIPY in filename


def user_place() -> Place | None:
    """The innermost line outside primsplit, NumPy and SciPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            return Place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


def emit(
    kind: str,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    outputs: int = 1,
    types: Sequence[Type] | None = None,
) -> tuple[Value, ...]:
    """Record one op and return its outputs.

    `types` declares the output types where the caller knows more than inference; an op with a sub-block (Loop, If,
    Scan) is not inferred then. Vectors of sizes that turn out to be literal become constants. Raises ShapeError or
    DtypeError at the user's line.
    """
    into = current()
    attributes = attributes or {}
    place = into.place or user_place()
    if types is not None and any(isinstance(value, Block) for value in attributes.values()):
        declared = tuple(Var(t.abbreviated()) for t in types)
        append(Op(kind, tuple(inputs), declared, attributes, place, into.remark))
        return declared
    try:
        inferred = infer(kind, inputs, attributes, outputs)
    except PrimsplitError as error:
        if error.place is None:
            error.place = place
        raise
    first = inferred[0][1]
    if first is not None and not any(isinstance(d, Size) for d in first):
        known = inferred[0][0]
        literal = np.array([int(d) for d in first], dtype=known.dtype)
        return (Const(literal.reshape([int(d) for d in known.shape or ()])),)
    made = tuple(
        Var((known if types is None else types[i]).abbreviated(), sizes=sizes)
        for i, (known, sizes) in enumerate(inferred)
    )
    append(Op(kind, tuple(inputs), made, attributes, place, into.remark))
    return made


def append(op: Op) -> None:
    """Add a finished op to the current recording."""
    into = current()
    into.ops.append(op)
    for var in op.outputs:
        if var.type.shape and any(not isinstance(d, int) for d in var.type.shape):
            into.learn(var)


def size_vector(sizes: Sequence[Dim]) -> Value:
    """An int64 vector of these sizes, read from the shapes of Vars where they are symbolic."""
    if not any(isinstance(d, Size) for d in sizes):
        return Const(np.array(sizes, dtype=np.int64).reshape(-1))
    whole = _whole_shape(tuple(sizes))
    if whole is not None:
        return whole
    parts: list[Value] = []
    literals: list[int] = []
    for dim in sizes:
        if isinstance(dim, int):
            literals.append(dim)
            continue
        if literals:
            parts.append(Const(np.array(literals, dtype=np.int64)))
            literals = []
        parts.append(size_of(dim))
    if literals:
        parts.append(Const(np.array(literals, dtype=np.int64)))
    return parts[0] if len(parts) == 1 else emit("Concat", parts, {"axis": 0})[0]


def _whole_shape(sizes: tuple[Dim, ...]) -> Value | None:
    """The Shape of one Var, where that is the vector asked for."""
    first = next(d for d in sizes if isinstance(d, Size))
    source = _find_source(first.symbol) if first.symbol is not None else None
    if source is None or len(sizes) < 2 or not dims.same_shape(source[0].type.shape or (), sizes):
        return None
    return emit("Shape", [source[0]])[0]


def size_of(dim: Dim) -> Value:
    """An int64 vector of one element, the size."""
    if isinstance(dim, int):
        return Const(np.array([dim], dtype=np.int64))
    into = current()
    known = _find_known(dim.text)
    if known is None:
        known = into.known[dim.text] = _read(dim)
    return known


def _read(dim: Size) -> Value:
    """The size read from a value that has it, or computed from sizes that can be read."""
    source = _find_source(dim.text)
    if source is not None:
        return _solved(dim, source)
    if dim.symbol is None:
        part = _readable_part(dim)
        return _compute(dim) if part is None else emit("Add", [size_of(part), size_of(dim - part)])[0]
    raise TraceError(f"the size {dim} cannot be read: no value here has it as a size", place=user_place())


def _readable_part(dim: Size) -> Size | None:
    """A size of some value that is part of this sum, where a symbol of the sum cannot be read by itself."""
    if all(_find_source(name) is not None for name in dims.symbols(dim)):
        return None
    level: Recording | None = _stack.top
    while level is not None:
        for source in level.sources.values():
            part = _dim_at(source)
            rest = dim - part
            if len(part.terms) > 1 and (isinstance(rest, int) or len(rest.terms) < len(dim.terms)):
                return part
        level = level.outer
    return None


def _find_known(text: str) -> Value | None:
    level: Recording | None = _stack.top
    while level is not None:
        if text in level.known:
            return level.known[text]
        level = level.outer
    return None


def _find_source(name: str) -> tuple[Var, int] | None:
    level: Recording | None = _stack.top
    while level is not None:
        if name in level.sources:
            return level.sources[name]
        level = level.outer
    return None


def _solved(dim: Size, source: tuple[Var, int]) -> Value:
    """The size read from an axis that it is, or that is `a*dim + b`."""
    var, axis = source
    (value,) = emit("Shape", [var], {"start": axis, "end": axis + 1})
    full = _dim_at(source)
    if full.text == dim.text:
        return value
    (slope, offset) = (next(c for m, c in full.terms if m), next((c for m, c in full.terms if not m), 0))
    (value,) = emit("Sub", [value, Const(np.array([offset]))])
    return emit("Div", [value, Const(np.array([slope]))])[0]


_ATOMS = {"floordiv": "Div", "max": "Max", "min": "Min", "mod": "Mod"}


def _compute(dim: Size) -> Value:
    total: Value | None = None
    for monomial, coefficient in dim.terms:
        term = _product(monomial, whole=len(dim.terms) == 1 and coefficient == 1)
        if term is None:
            term = Const(np.array([coefficient]))
        elif coefficient != 1:
            term = emit("Mul", [term, Const(np.array([coefficient]))])[0]
        total = term if total is None else emit("Add", [total, term])[0]
    if total is None:
        raise PrimsplitError(f"the size {dim} has no terms")
    return total


def _product(monomial: dims.Monomial, *, whole: bool) -> Value | None:
    """The product of atoms, read as one where a value has it as a size; None for no atoms."""
    together = Size(((monomial, 1),))
    if len(monomial) > 1 and not whole and _find_source(together.text) is not None:
        return size_of(together)
    result: Value | None = None
    for atom in monomial:
        if isinstance(atom, str):
            factor = size_of(dims.symbol(atom))
        else:
            factor = _call(atom) if whole and len(monomial) == 1 else size_of(Size((((atom,), 1),)))
        result = factor if result is None else emit("Mul", [result, factor])[0]
    return result


def _call(atom: dims.Call) -> Value:
    if atom.function == "broadcast":
        return _with_sizes(functools.reduce(_broadcast, [size_of(a) for a in atom.arguments]), atom)
    left, right = (size_of(a) for a in atom.arguments)
    if atom.function == "floordiv" and not dims.at_least(atom.arguments[0], 0):
        # Div truncates towards zero; taking the remainder off first makes it a floor.
        left = emit("Sub", [left, emit("Mod", [left, right])[0]])[0]
    return _with_sizes(emit(_ATOMS[atom.function], [left, right])[0], atom)


def _broadcast(left: Value, right: Value) -> Value:
    return emit("Where", [emit("Equal", [left, Const(np.array([1]))])[0], right, left])[0]


def _with_sizes(value: Value, atom: dims.Call) -> Value:
    """The value, which is known to be the size of the atom."""
    if isinstance(value, Var):
        value.sizes = (Size((((atom,), 1),)),)
    return value


def close(name: str, params: Sequence[Var], recorded: Recording, results: Sequence[Value]) -> Block:
    """The block of what was recorded."""
    return Block(name, tuple(params), tuple(recorded.ops), tuple(results))


def constant(array: Any) -> Const:
    """A constant of the program."""
    return Const(np.asarray(array))


def inline(block: Block, arguments: Sequence[Value]) -> list[Value]:
    """Record the ops of a block called on these values; return its results.

    The block's symbols become the sizes of the arguments; sizes that depend on data get fresh names.
    """
    sizes: dict[str, Dim] = {name: fresh(name.rpartition("_")[0] or name) for name in ir.own_symbols(block)}
    for param, argument in zip(block.params, arguments, strict=True):
        for wanted, given in zip(param.type.shape or (), argument.type.shape or (), strict=False):
            if isinstance(wanted, Size) and wanted.symbol is not None and not dims.same(wanted, given):
                sizes.setdefault(wanted.symbol, given)
    ops: list[Op] = []
    results = ir.inline(block, arguments, ops, sizes)
    for op in ops:
        append(op)
    return results
