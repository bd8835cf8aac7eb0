"""Convert a Block to JSON values and back, with everything that a recording holds: the user's lines too.

Reading constructs Vars, Consts and Ops and nothing else: no text of a file is executed or imported. `Calls` converts
what a call holds besides its body: its rule.

```
f(x: float32[3]):              {"variables": [["float32", [3], "x", null], ["float32", [3], "y", null]],
  y: float32[3] = Exp(x)   ->   "arrays": [], "constants": [],
  return y                      "blocks": [["f", [0], [["Exp", [0], [1], {}, null, "", null]], [1]]], "kinds": {}}
```
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from primsplit.ir import (
    NOWHERE,
    AnyArray,
    Attribute,
    Block,
    BodyRole,
    Const,
    Op,
    Role,
    Type,
    Value,
    Var,
    check,
    is_call,
)
from primsplit.ir.analysis.orders import Origin
from primsplit.ir.dims import Dim, Kinded, SymbolKind, substitute, symbol, symbols
from primsplit.ir.errors import Place, PrimsplitError
from primsplit.ir.notation.literals import dim_text
from primsplit.ir.notation.tokens import read_dim

Told = dict[str, Any]
Item = TypeVar("Item")


class Unstorable(PrimsplitError):
    """The block holds an object that JSON values cannot represent."""


class Calls(Protocol):
    """The functions that write and read the rules of calls."""

    def tell(self, op: Op) -> Any:
        """Return as JSON values what a call holds besides its body. Raises Unstorable."""
        ...

    def remark(self, told: str) -> str:
        """Return the remark of an op, with the object that its text stands for."""
        ...

    def attributes(self, told: Any, body: Block) -> Mapping[str, Attribute]:
        """Return the attributes of the call. Raises ValueError or LookupError for what `tell` did not write."""
        ...


def _remark(remark: str) -> Any:
    """Return a text, or for an Origin a list of its text and its facts."""
    return [str(remark), remark.role, remark.kind, remark.order] if isinstance(remark, Origin) else remark


def encoded(block: Block, calls: Calls) -> Told:
    """Return the block as JSON values. Raises Unstorable, which says what stands in the way."""
    writer = _Writer(calls)
    writer.block(block)
    return {
        "variables": writer.variables,
        "arrays": writer.arrays,
        "constants": writer.constants,
        "blocks": writer.blocks,
        "kinds": writer.kinds(),
    }


def decoded(told: Told, calls: Calls) -> Block:
    """Return the block that `encoded` wrote.

    Raises ValueError, TypeError, LookupError or PrimsplitError for anything else.
    """
    block = _Reader(told, calls).blocks[-1]
    check(block)
    return block


class _Writer:
    """Tables of the block's parts: each part is written once in its table, and referred to by its index."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.variables: list[Any] = []
        self.arrays: list[Any] = []
        self.constants: list[Any] = []
        self.blocks: list[Any] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []

    def kinds(self) -> dict[str, str]:
        """Return the kinds of the symbols that the variables' sizes have."""
        sizes = (d for v in self._kept if isinstance(v, Var) for d in (*(v.type.shape or ()), *(v.sizes or ())))
        names = sorted({name for d in sizes for name in symbols(d) if isinstance(name, Kinded)})
        return {str(name): name.kind.value for name in names}

    def _once(self, item: Item, table: list[Any], row: Callable[[Item], Any]) -> int:
        """Return the index of an item in its table; the first time, add its row."""
        if id(item) not in self._places:
            encoded_row = row(item)
            self._places[id(item)] = len(table)
            self._kept.append(item)
            table.append(encoded_row)
        return self._places[id(item)]

    def block(self, block: Block) -> int:
        return self._once(block, self.blocks, self._block)

    def _block(self, block: Block) -> Any:
        params = [self.value(p) for p in block.params]
        ops = [self._op(op) for op in block.ops]
        name = {"role": block.name} if isinstance(block.name, BodyRole) else block.name
        return [name, params, ops, [self.value(r) for r in block.results]]

    def _op(self, op: Op) -> Any:
        held: Mapping[str, Any] = op.attributes
        told = None
        if is_call(op):
            told = self.calls.tell(op)
            held = {"body": op.attributes["body"]}
        inputs = [None if v is None else self.value(v) for v in op.inputs]
        attributes = {name: self.attribute(value) for name, value in held.items()}
        outputs = [self.value(v) for v in op.outputs]
        return [op.kind, inputs, outputs, attributes, _told(op.place), _remark(op.remark), told]

    def value(self, value: Value) -> Any:
        """Return the index of a variable, or that of a constant in a list."""
        if isinstance(value, Var):
            return self._once(value, self.variables, _variable)
        return [self._once(value, self.constants, self._constant)]

    def _constant(self, const: Const) -> Any:
        return [self._once(const.numpy(), self.arrays, _array), const.hint, const.role, _told(const.place)]

    def attribute(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.attribute(v) for v in value]
        if isinstance(value, tuple):
            return {"tuple": [self.attribute(v) for v in value]}
        if isinstance(value, Block):
            return {"block": self.block(value)}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray):
            return {"array": self._once(value, self.arrays, _array)}
        if isinstance(value, np.generic):
            return {"number": _array(np.asarray(value))}
        raise Unstorable(f"an attribute is a {type(value).__name__}")


def _variable(var: Var) -> Any:
    sizes = None if var.sizes is None else [_dim(d) for d in var.sizes]
    shape = var.type.shape
    return [_dtype(var.type.dtype), None if shape is None else [_dim(d) for d in shape], var.hint, sizes]


def _dim(dim: Dim) -> Any:
    return dim if isinstance(dim, int) else dim_text(dim)


def _dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype of numbers."""
    if dtype.hasobject or dtype.kind not in "biufV" or np.dtype(dtype.name) != dtype:
        raise Unstorable(f"an array has the dtype {dtype}")
    return dtype.name


def _array(array: AnyArray) -> Any:
    return [_dtype(array.dtype), list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


class _Reader:
    """Reads the tables back, in the order that lets each refer to earlier ones."""

    def __init__(self, told: Told, calls: Calls) -> None:
        self.calls = calls
        self.types: dict[Any, Type] = {}
        self.symbols = {name: symbol(Kinded(name, SymbolKind(kind))) for name, kind in told["kinds"].items()}
        self.arrays = [_read_array(row) for row in told["arrays"]]
        self.variables = [self._variable(*row) for row in told["variables"]]
        self.constants = [self._constant(*row) for row in told["constants"]]
        self.blocks: list[Block] = []
        for row in told["blocks"]:
            self.blocks.append(self._block(*row))

    def _variable(self, dtype: str, shape: Any, hint: str, sizes: Any) -> Var:
        key = (dtype, None if shape is None else tuple(shape))
        if key not in self.types:
            self.types[key] = Type(dtype, None if shape is None else self._dims(shape))
        return Var(self.types[key], hint, None if sizes is None else self._dims(sizes))

    def _dims(self, told: Sequence[Any]) -> tuple[Dim, ...]:
        return tuple(d if isinstance(d, int) else substitute(read_dim(d), self.symbols) for d in told)

    def _constant(self, array: int, hint: str, role: Role, place: Any) -> Const:
        return Const(self.arrays[array], hint, _place(place), role=role)

    def _block(self, told: Any, params: Any, ops: Any, results: Any) -> Block:
        name = BodyRole(told["role"]) if isinstance(told, dict) else told
        variables = tuple(self.variables[p] for p in params)
        return Block(name, variables, tuple(self._op(*o) for o in ops), tuple(self.value(r) for r in results))

    def _op(self, kind: str, inputs: Any, outputs: Any, attributes: Any, place: Any, remark: Any, told: Any) -> Op:
        decoded: Mapping[str, Any] = {name: self.attribute(value) for name, value in attributes.items()}
        if kind.startswith("call::"):
            decoded = self.calls.attributes(told, decoded["body"])
        operands = tuple(None if v is None else self.value(v) for v in inputs)
        return Op(
            kind, operands, tuple(self.variables[v] for v in outputs), decoded, _place(place), self._remark(remark)
        )

    def _remark(self, told: Any) -> str:
        return self.calls.remark(told) if isinstance(told, str) else Origin(*told)

    def value(self, told: Any) -> Value:
        return self.constants[told[0]] if isinstance(told, list) else self.variables[told]

    def attribute(self, told: Any) -> Attribute:
        if isinstance(told, list):
            return [self.attribute(v) for v in told]
        if not isinstance(told, dict):
            return told
        ((form, value),) = told.items()
        if form == "tuple":
            return tuple(self.attribute(v) for v in value)
        if form == "bytes":
            return base64.b64decode(value)
        if form == "number":
            return _read_array(value)[()]
        return self.blocks[value] if form == "block" else self.arrays[value]


def _read_array(told: Any) -> AnyArray:
    dtype, shape, data = told
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.frombuffer(base64.b64decode(data), np.dtype(dtype)).reshape(shape)


def _told(place: Place | None) -> list[Any] | None:
    """Return a place as JSON, without its variables: the names of values are with the values."""
    return None if place is None else list(place[:4])


def _place(told: Any) -> Place | None:
    place = None if told is None else Place(*told)
    return NOWHERE if place == NOWHERE else place
