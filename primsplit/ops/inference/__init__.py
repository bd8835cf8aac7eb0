"""Infer result types: rules of our own for the families that compute shapes, onnx's C++ inference for the rest.

`infer` never guesses: a size that it cannot determine gets a fresh symbol.

```
MatMul(float32[N,3], float32[3,5])   ->   float32[N,5]
NonZero(bool[N])                     ->   int64[1,nonzero_1]
```
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from primsplit.ir import Block, Op, Type, Value, Var, check, is_call, walk
from primsplit.ir.carriers import CARRIERS, FLOAT8, TYPE_STRINGS
from primsplit.ir.dims import Dim, broadcast_shapes
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError
from primsplit.ops.inference import (
    contraction,
    elementwise,
    indexing,
    layout,
    normalization,
    reduction,
    spatial,
    windows,
)
from primsplit.ops.inference.layout import slice_size
from primsplit.ops.inference.sizes import known_sizes
from primsplit.ops.inference.standard import infer_by_standard
from primsplit.ops.inference.table import RULES, Site, UnknownRank, fresh, renewed, reserve
from primsplit.ops.schema import Schema, schema

__all__ = ["broadcast_shapes", "check_types", "families", "fresh", "infer", "renewed", "reserve", "slice_size"]

families = (contraction, elementwise, indexing, layout, normalization, reduction, spatial, windows)

Inferred = list[tuple[Type, tuple[Dim, ...] | None]]


def infer(kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int = 1) -> Inferred:
    """Return the type of each output, and its elements where they are sizes and known.

    Raises DtypeError for dtypes that the operator does not take, ShapeError for shapes that do not fit.
    """
    types: Sequence[Type] = ()
    if kind in elementwise.BY_TYPES and not attributes and outputs == 1:
        types = _types_of_arithmetic(kind, tuple([None if v is None else v.type for v in inputs]))
        if types[0].is_float:
            return [(types[0], None)]
    site = Site(kind, inputs, attributes, outputs)
    types = types or _types(site)
    first = known_sizes(site, types[0])
    return [(result_type, first if i == 0 else None) for i, result_type in enumerate(types)]


@functools.lru_cache(4096)
def _types_of_arithmetic(kind: str, inputs: tuple[Type | None, ...]) -> Sequence[Type]:
    """Infer arithmetic on arrays once for each combination of types: most ops of a program are of a few."""
    return _types(Site(kind, [None if t is None else Var(t) for t in inputs], {}, 1))


def _types(site: Site) -> Sequence[Type]:
    found = schema(site.kind)
    _check_arity(found, site.inputs, site.attributes)
    _check_dtypes(found, site.inputs)
    _check_vectors(found, site.inputs)
    rule = RULES.get(site.kind)
    try:
        types = infer_by_standard(site) if rule is None else rule(site)
    except UnknownRank:
        types = infer_by_standard(site)
    for result in types:
        if any(isinstance(d, int) and not 0 <= d <= LARGEST for d in result.shape or ()):
            raise ShapeError(f"the result of {site.kind} would be {result}: a size is from 0 to 2**63 - 1")
        if math.prod(d for d in result.shape or () if isinstance(d, int)) > LARGEST:
            raise ShapeError(f"the result of {site.kind} would be {result}: that is more than 2**63 - 1 elements")
    return types


LARGEST = 2**63 - 1
"""The largest size, and number of elements: they are signed integers of 64 bits."""


def _check_arity(found: Schema, inputs: Sequence[Value | None], attributes: Mapping[str, Any]) -> None:
    most = None if found.variadic else len(found.inputs)
    if len(inputs) < found.least_inputs or (most is not None and len(inputs) > most):
        raise PrimsplitError(f"{found.kind} takes {found.least_inputs} to {most} inputs, not {len(inputs)}")
    for position in found.needed:
        if position < len(inputs) and inputs[position] is None:
            raise ShapeError(f"{found.kind} needs its input {found.name(position)}")
    if unknown := set(attributes) - found.attributes:
        raise PrimsplitError(f"{found.kind} has no attribute {', '.join(sorted(unknown))}")
    if missing := found.required - set(attributes):
        raise PrimsplitError(f"{found.kind} needs its attribute {', '.join(sorted(missing))}")


VECTORS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys((*reduction.REDUCTIONS, "Expand", "Reshape", "Squeeze", "Tile"), (1,)),
    "ConstantOfShape": (0,), "Pad": (1, 3), "Slice": (1, 2, 3, 4),
}  # fmt: skip
"""The positions of inputs that hold one number for each axis. A lone axis of an Unsqueeze may be a scalar."""


def _check_vectors(found: Schema, inputs: Sequence[Value | None]) -> None:
    for position in VECTORS.get(found.kind, ()):
        value = inputs[position] if position < len(inputs) else None
        if value is not None and value.type.rank not in {None, 1}:
            raise ShapeError(f"{found.name(position)} of {found.kind} must be a vector, not {value.type}")


def _check_dtypes(found: Schema, inputs: Sequence[Value | None]) -> None:
    seen: dict[str, Type] = {}
    for position, value in enumerate(inputs):
        if value is None:
            continue
        variable = found.variable(position)
        other = seen.setdefault(variable, value.type)
        if other is not value.type and other.dtype != value.type.dtype and variable in found.types:
            raise DtypeError(f"{found.kind} takes inputs of one dtype, not {other.dtype} and {value.type.dtype}")
        allowed = found.types.get(variable, frozenset((variable,)))
        if type_string(value.type) not in allowed:
            told = f"{found.kind} does not take {value.type.dtype} for {found.name(position)}"
            few = value.type.key[0] in CARRIERS or value.type.key[0] in FLOAT8
            raise DtypeError(told, cure="Convert it first: x.astype(np.float32)." if few else "")


_STRINGS = {
    "float32": "float",
    "float64": "double",
    "object": "string",
    "str": "string",
    **TYPE_STRINGS,
}


def type_string(type: Type) -> str:
    """Return the standard's name of tensors of this dtype, `tensor(float)`."""
    name = type.key[0]
    return f"tensor({_STRINGS.get(name, name)})"


def check_types(block: Block, *, closed: bool = True) -> None:
    """Check the block like `ir.check`, and that every op's output types agree with those inferred from its inputs."""
    check(block, closed=closed)
    for op in walk(block):
        if not (is_call(op) or any(op.blocks())):
            _check_op(op)


@functools.lru_cache(16384)
def _check_op(op: Op) -> None:
    """Check an op once: it is immutable, and the result of each transform is checked."""
    inferred = infer(op.kind, op.inputs, op.attributes, len(op.outputs))
    for declared, (known, _) in zip(op.outputs, inferred, strict=True):
        if declared.type is not known:
            _check_output(op.kind, declared.type, known)


def _check_output(kind: str, declared: Type, type: Type) -> None:
    if declared.dtype != type.dtype or (type.rank is not None and declared.rank not in {None, type.rank}):
        raise PrimsplitError(f"{kind} gives {type}, but its output is declared {declared}")
    for size, known in zip(declared.shape or (), type.shape or (), strict=False):
        if isinstance(size, int) and isinstance(known, int) and size != known:
            raise PrimsplitError(f"{kind} gives {type}, but its output is declared {declared}")
