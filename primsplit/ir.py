"""The program: typed Vars, Consts, Ops, and Blocks of them.

Everything here is immutable once it is in a Block. A Var is known by identity, never by name: names are given when
a block is printed or saved. Blocks may share Vars; a block reads a Var that it does not define as a capture (`free`).
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import ml_dtypes
import numpy as np
import numpy.typing as npt

from primsplit.dims import Dim, Shape, Size, abbreviated, product, same_shape, substitute, symbols
from primsplit.errors import Place, PrimsplitError

AnyArray = npt.NDArray[Any]

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


@functools.cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """`dtype.name`, which NumPy composes anew each time."""
    return dtype.name


def is_held(dtype: np.dtype[Any]) -> bool:
    """Whether a program can hold arrays of this dtype: numbers of at most 64 bits, in native byte order, texts."""
    return dtype == BFLOAT16 or (
        dtype.kind in "biufUST" and dtype.isnative and (dtype.kind != "f" or dtype.itemsize <= 8)
    )


class Type:
    """The dtype and shape of a tensor. `shape` is None where even the rank is unknown."""

    __slots__ = ("dtype", "key", "shape")
    dtype: np.dtype[Any]
    shape: Shape | None
    key: tuple[str, tuple[int | str, ...] | None]

    def __init__(self, dtype: npt.DTypeLike, shape: Iterable[Dim] | None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = None if shape is None else tuple(shape)
        dims = None if self.shape is None else tuple(d.text if isinstance(d, Size) else d for d in self.shape)
        self.key = (dtype_name(self.dtype), dims)

    @property
    def rank(self) -> int | None:
        """The number of axes, or None where it is unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_float(self) -> bool:
        """True for the dtypes that carry gradients."""
        return self.key[0] in FLOATS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        if self.shape is None:
            return f"{self.dtype.name}[...]"
        return f"{self.dtype.name}[{','.join(str(d) for d in self.shape)}]" if self.shape else self.dtype.name

    def substitute(self, sizes: Mapping[str, Dim]) -> "Type":
        """The type with symbols replaced."""
        if not sizes or self.shape is None or all(isinstance(d, int) for d in self.shape):
            return self
        return Type(self.dtype, [abbreviated(substitute(d, sizes)) for d in self.shape])

    def abbreviated(self) -> "Type":
        """The type with a symbol for every long size."""
        if self.shape is None or all(abbreviated(d) is d for d in self.shape):
            return self
        return Type(self.dtype, map(abbreviated, self.shape))

    def nbytes(self) -> Dim | None:
        """The bytes that one value takes; None for an unknown rank."""
        return None if self.shape is None else product(self.shape) * self.dtype.itemsize


class Data(Protocol):
    """What a Const holds: an array, or something that reads one when asked."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def numpy(self) -> AnyArray: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """Data that is already in memory."""

    array: AnyArray

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def numpy(self) -> AnyArray:
        return self.array


class Var:
    """A value of a program, known by identity.

    `sizes` holds what is known of an integer vector or scalar that speaks of sizes (the output of Shape, say): one
    Dim an element.
    """

    __slots__ = ("hint", "sizes", "type")

    def __init__(self, type: Type, hint: str = "", sizes: tuple[Dim, ...] | None = None) -> None:
        self.type = type
        self.hint = hint
        self.sizes = sizes

    def __repr__(self) -> str:
        return f"Var({self.hint or '_'}: {self.type})"


class Const:
    """A value that is part of the program. `is_param` marks one that may become an input under its name, the hint."""

    __slots__ = ("data", "hint", "is_param", "place", "type")

    def __init__(self, data: AnyArray | Data, hint: str = "", place: Place | None = None) -> None:
        self.data: Data = Loaded(_frozen(data)) if isinstance(data, np.ndarray | np.generic) else data
        self.type = Type(self.data.dtype, self.data.shape)
        self.hint = hint
        self.place = place
        self.is_param = False

    @property
    def sizes(self) -> tuple[Dim, ...] | None:
        """The elements of a short integer vector or scalar."""
        shape = self.data.shape
        if len(shape) > 1 or self.type.dtype.kind not in "iu" or (shape and shape[0] > SMALL):
            return None
        return tuple(int(v) for v in self.numpy().reshape(-1))

    @property
    def is_small(self) -> bool:
        """True where a rule may look at the value."""
        return math.prod(self.data.shape) <= SMALL

    def numpy(self) -> AnyArray:
        return self.data.numpy()

    def __repr__(self) -> str:
        return f"Const({self.type})"


SMALL = 64


def _frozen(array: AnyArray | np.generic) -> AnyArray:
    """The array, or a copy of it if anybody could still write to it."""
    result = np.asarray(array)
    if result.flags.writeable:
        result = result.copy()
        result.flags.writeable = False
    return result


Value = Var | Const
Attribute = Any  # int, float, str, bytes, a list of those, an array, or a Block


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation. `kind` is the operator's name, `domain::name` outside the standard.

    `attributes` are the ones given, without the schema's defaults. `remark` tells, in a pullback, what the op is for.
    """

    kind: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Var, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    place: Place | None = None
    remark: str = ""

    def blocks(self) -> Sequence["Block"]:
        """The sub-blocks, such as the branches of an If."""
        return [value for value in self.attributes.values() if isinstance(value, Block)] if self.attributes else ()


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Parameters, a list of ops in an order that can be run, and results."""

    name: str
    params: tuple[Var, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        """True for the same program up to the names of its Vars, the places and the remarks."""
        return isinstance(other, Block) and _Comparison().blocks(self, other)

    __hash__ = None  # type: ignore[assignment]  # equality walks the program; use id() for a table of blocks


def is_call(op: Op) -> bool:
    """True for an op that stands for a traced function: attribute `body` is its program."""
    return op.kind.startswith("call::")


def has_blocks(op: Op) -> bool:
    """True for an op with sub-blocks that may capture, such as If; a call's body captures nothing."""
    return bool(op.attributes) and not is_call(op) and any(op.blocks())


def operands(op: Op) -> tuple[Value | None, ...]:
    """The op's inputs, and after them what its sub-blocks capture: all that its outputs depend on."""
    if not has_blocks(op):
        return op.inputs
    return (*op.inputs, *dict.fromkeys(v for inner in op.blocks() for v in free(inner)))


def walk(block: Block) -> Iterator[Op]:
    """Every op of a block and of its sub-blocks, each op before those inside it."""
    for op in block.ops:
        yield op
        for inner in op.blocks():
            yield from walk(inner)


def reads(op: Op) -> Sequence[Var]:
    """The Vars that an op depends on: its inputs, and what its sub-blocks capture."""
    found = [value for value in op.inputs if isinstance(value, Var)]
    for inner in op.blocks():
        found += free(inner)
    return found


def free(block: Block) -> list[Var]:
    """The Vars that a block reads and does not define (its captures), in order of first use."""
    defined = set(block.params)
    found: dict[Var, None] = {}
    for op in block.ops:
        for var in reads(op):
            if var not in defined:
                found[var] = None
        defined.update(op.outputs)
    for result in block.results:
        if isinstance(result, Var) and result not in defined:
            found[result] = None
    return list(found)


Renaming = dict[Var, Value]


NOWHERE = Place("", 0, "")
"""The place of an op that a rule records: it takes the place of the op that the rule is run for."""


def rename(
    op: Op,
    renaming: Renaming,
    *,
    remark: str = "",
    place: Place | None = None,
    sizes: Mapping[str, Dim] = MappingProxyType({}),
) -> Op:
    """A copy of the op that reads through the renaming and defines fresh Vars, which it adds to the renaming.

    `sizes` replaces symbols in the types of the fresh Vars.
    """
    inputs = tuple(renaming.get(v, v) if isinstance(v, Var) else v for v in op.inputs)
    outputs = []
    for var in op.outputs:
        chosen = renaming.get(var)
        if not isinstance(chosen, Var):
            chosen = renaming[var] = _copy(var, sizes)
        outputs.append(chosen)
    attributes = op.attributes
    if any(isinstance(value, Block) for value in attributes.values()):
        attributes = {
            name: rename_block(value, renaming, sizes) if isinstance(value, Block) else value
            for name, value in attributes.items()
        }
    known = op.place is not None and op.place is not NOWHERE
    return Op(op.kind, inputs, tuple(outputs), attributes, op.place if known else place, op.remark or remark)


def _copy(var: Var, sizes: Mapping[str, Dim]) -> Var:
    known = var.sizes if not sizes or var.sizes is None else tuple(substitute(d, sizes) for d in var.sizes)
    return Var(var.type.substitute(sizes), var.hint, known)


def rename_block(block: Block, renaming: Renaming, sizes: Mapping[str, Dim] = MappingProxyType({})) -> Block:
    """A copy of the block with fresh Vars, its captures read through the renaming."""
    inner = dict(renaming)
    params = tuple(_copy(p, sizes) for p in block.params)
    inner.update(zip(block.params, params, strict=True))
    ops = tuple(rename(op, inner, sizes=sizes) for op in block.ops)
    return Block(block.name, params, ops, tuple(inner.get(r, r) if isinstance(r, Var) else r for r in block.results))


def inline(
    block: Block, arguments: Sequence[Value], into: list[Op], sizes: Mapping[str, Dim] = MappingProxyType({})
) -> list[Value]:
    """Append the block's ops, called on `arguments`, to `into`; return its results there."""
    renaming: Renaming = dict(zip(block.params, arguments, strict=True))
    into.extend(rename(op, renaming, sizes=sizes) for op in block.ops)
    return [renaming.get(r, r) if isinstance(r, Var) else r for r in block.results]


def own_symbols(block: Block) -> set[str]:
    """The symbols that the block's ops introduce: sizes that depend on data."""
    given = {s for v in (*block.params, *free(block)) for d in v.type.shape or () for s in symbols(d)}
    made = {s for op in block.ops for v in op.outputs for d in v.type.shape or () for s in symbols(d)}
    return made - given


def check(block: Block, *, closed: bool = True) -> None:
    """Raise where the block is no program: a Var defined twice, or read before it is defined."""
    _check(block, set() if closed else set(free(block)))


def _check(block: Block, visible: set[Var]) -> None:
    defined = set(visible)
    for var in block.params:
        _define(var, defined, block)
    for op in block.ops:
        for value in op.inputs:
            if isinstance(value, Var) and value not in defined:
                raise PrimsplitError(f"{block.name}: {op.kind} reads {value} before it is defined", place=op.place)
        for inner in op.blocks():
            _check(inner, set() if is_call(op) else defined)
        for var in op.outputs:
            _define(var, defined, block)
    for result in block.results:
        if isinstance(result, Var) and result not in defined:
            raise PrimsplitError(f"{block.name}: the result {result} is not defined")


def _define(var: Var, defined: set[Var], block: Block) -> None:
    if var in defined:
        raise PrimsplitError(f"{block.name}: {var} is defined twice")
    defined.add(var)


class _Comparison:
    """Walks two programs side by side; `pairs` says which Var of the one stands for which of the other."""

    def __init__(self) -> None:
        self.pairs: dict[Var, Var] = {}

    def blocks(self, a: Block, b: Block) -> bool:
        if (len(a.params), len(a.ops), len(a.results)) != (len(b.params), len(b.ops), len(b.results)):
            return False
        return (
            self.define(a.params, b.params)
            and all(self.ops(p, q) for p, q in zip(a.ops, b.ops, strict=True))
            and all(self.values(p, q) for p, q in zip(a.results, b.results, strict=True))
        )

    def define(self, a: tuple[Var, ...], b: tuple[Var, ...]) -> bool:
        if len(a) != len(b) or any(p.type != q.type for p, q in zip(a, b, strict=True)):
            return False
        self.pairs.update(zip(a, b, strict=True))
        return True

    def ops(self, a: Op, b: Op) -> bool:
        return (
            a.kind == b.kind
            and len(a.inputs) == len(b.inputs)
            and all(self.values(p, q) for p, q in zip(a.inputs, b.inputs, strict=True))
            and a.attributes.keys() == b.attributes.keys()
            and all(self.attributes(value, b.attributes[name]) for name, value in a.attributes.items())
            and self.define(a.outputs, b.outputs)
        )

    def values(self, a: Value | None, b: Value | None) -> bool:
        if isinstance(a, Var):
            return isinstance(b, Var) and self.pairs.get(a, a) is b
        if isinstance(a, Const):
            return isinstance(b, Const) and same_data(a, b)
        return b is None

    def attributes(self, a: Attribute, b: Attribute) -> bool:
        if isinstance(a, Block):
            return isinstance(b, Block) and self.blocks(a, b)
        if isinstance(a, np.ndarray):
            return isinstance(b, np.ndarray) and same_array(a, b)
        return bool(a == b)


def same_array(a: AnyArray, b: AnyArray) -> bool:
    """True for arrays equal bit by bit: -0.0 is not 0.0, and a NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


def same_data(a: Const, b: Const) -> bool:
    """True for constants equal bit by bit."""
    return a.type == b.type and (a.data is b.data or same_array(a.numpy(), b.numpy()))


def same_types(a: Type, b: Type) -> bool:
    """True only where the two types are equal whatever the symbols are."""
    return a.dtype == b.dtype and a.shape is not None and b.shape is not None and same_shape(a.shape, b.shape)
