"""Append ops to the current recording, one (`emit`) or a block's (`inline`), and close a recording as a block."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import ir
from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.ops.inference import infer, renewed
from primsplit.tracing.error_modes import refuse_error_modes
from primsplit.tracing.places import user_place
from primsplit.tracing.stack import Recording, current


def emit(
    kind: str,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    outputs: int = 1,
    types: Sequence[Type] | None = None,
) -> tuple[Value, ...]:
    """Record one op and return its outputs.

    `types` declares the output types if the caller knows more than inference; an op with a sub-block (Loop, If, Scan)
    is not inferred then. Vectors of sizes that turn out to be literal become constants. Raises ShapeError or DtypeError
    at the user's line, also if an output cannot be of the declared type.
    """
    into = current()
    attributes = attributes or {}
    place = into.place or user_place()
    if types is not None and any(isinstance(value, Block) for value in attributes.values()):
        declared = tuple(Var(t.abbreviated()) for t in types)
        into.variables.name(declared, place)
        append(Op(kind, tuple(inputs), declared, attributes, place, into.remark))
        return declared
    try:
        inferred = infer(kind, inputs, attributes, outputs)
        for (known, _), told in zip(inferred, types or (), strict=False):
            _check_declared(kind, known, told)
    except PrimsplitError as error:
        if error.place is None:
            error.place = place
        raise
    first = inferred[0][1]
    if first is not None and not any(isinstance(d, Size) for d in first):
        known = inferred[0][0]
        literal = np.array([int(d) for d in first], dtype=known.dtype)
        return (Const(literal.reshape([int(d) for d in known.shape or ()])),)
    if inferred[0][0].dtype.kind in "fc" and np.geterr() != into.error_modes:
        refuse_error_modes(kind, into.error_modes, place)
    results = tuple(
        [
            Var((known if types is None else types[i]).abbreviated(), sizes=sizes)
            for i, (known, sizes) in enumerate(inferred)
        ]
    )
    into.variables.name(results, place)
    append(Op(kind, tuple(inputs), results, attributes, place, into.remark))
    return results


def _check_declared(kind: str, known: Type, told: Type) -> None:
    """Raise ShapeError if an output cannot have its declared shape, such as a sum that is wider than an addend."""
    a, b = known.shape, told.shape
    if a is None or b is None or a is b:
        return
    if len(a) != len(b) or not all(map(dims.could_be, a, b)):
        raise ShapeError(f"{kind} gives {known}, and {told} is needed")


def emit_call(name: str, body: Block, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> tuple[Var, ...]:
    """Record a call of a closed program, one op that holds it, and return its outputs."""
    into = current()
    outputs = tuple(Var(r.type, r.hint) for r in body.results)
    held = {"body": body, **attributes}
    place = into.place or user_place()
    into.variables.name(outputs, place)
    append(Op(f"call::{name}", tuple(inputs), outputs, held, place, into.remark))
    return outputs


def append(op: Op) -> None:
    """Append a finished op to the current recording."""
    into = current()
    into.ops.append(op)
    for var in op.outputs:
        into.learn(var)


def close(name: str, params: Sequence[Var], recorded: Recording, results: Sequence[Value]) -> Block:
    """Return the block of what was recorded."""
    return Block(name, tuple(params), tuple(recorded.ops), tuple(results))


def constant(array: Any) -> Const:
    """Return a constant of the program."""
    return Const(np.asarray(array))


def inline(block: Block, arguments: Sequence[Value]) -> list[Value]:
    """Record the ops of a block called on these values; return its results.

    The block's symbols become the sizes of the arguments, also those that vectors of sizes determine; sizes that depend
    on data get fresh names.
    """
    sizes: dict[str, Dim] = renewed(ir.own_symbols(block))
    for param, argument in zip(block.params, arguments, strict=True):
        for wanted, given in zip(param.sizes or (), argument.sizes or (), strict=False):
            if isinstance(wanted, Size) and wanted.symbol in sizes:
                sizes[wanted.symbol] = given
    for param, argument in zip(block.params, arguments, strict=True):
        for wanted, given in zip(param.type.shape or (), argument.type.shape or (), strict=False):
            if isinstance(wanted, Size) and wanted.symbol is not None and not dims.same(wanted, given):
                sizes.setdefault(wanted.symbol, given)
    ops: list[Op] = []
    results = ir.inline(block, arguments, ops, sizes)
    for op in ops:
        append(op)
    return results
