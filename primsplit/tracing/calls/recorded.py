"""Record a call of a function as a block: stand-ins for its array arguments become the block's parameters."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var
from primsplit.ir.errors import PrimsplitError, TraceError
from primsplit.ir.notation.listing import Tape
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.exploring import explored


class StandIn(NamedTuple):
    """The handle that a function gets for an array argument: its type, and whether it is a number.

    `value` is the argument itself, if the parameter stands for it alone.
    """

    type: Type
    weak: bool = False
    scalar: bool = False
    value: Value | None = None

    @classmethod
    def of(cls, array: Array) -> "StandIn":
        """Return the stand-in for one array."""
        return cls(array.type, array.weak, array.scalar, array.value)

    @classmethod
    def for_leaf(cls, leaf: Any, type: Type) -> "StandIn":
        """Return the stand-in for an argument: a number if the argument is one, or a type without axes.

        A spec `f64[]` stands for a call with a number: `total = s; total += x` then leaves `s` as it was.
        """
        is_python = isinstance(leaf, float) and not isinstance(leaf, np.generic)
        is_number = isinstance(leaf, float | np.generic) or (type.shape == () and not isinstance(leaf, np.ndarray))
        return cls(type, weak=is_python, scalar=is_number)

    @property
    def kind(self) -> int:
        """The kind of value that a function can observe: 2 a number of Python's, 1 one of NumPy's, 0 an array."""
        if self.weak:
            return 2
        return int(self.scalar and not self.type.shape)  # of an array with axes the mark says nothing


def merged(leaves: Sequence[Any], chosen: Sequence[Any], handles: Sequence[Array]) -> list[Any]:
    """Return the leaves of the arguments, with the next handle in place of each one that `chosen` marks (not None)."""
    given = iter(handles)
    return [leaf if mark is None else next(given) for leaf, mark in zip(leaves, chosen, strict=True)]


def record_call(
    name: str, arguments: Sequence[StandIn], call: Callable[[list[Array]], Any]
) -> tuple[Block, trees.TreeSpec]:
    """Return the block of what `call` does with a handle for each argument, and the structure of what it returns.

    Complex arrays that it returns are two results each. It is called once for each way through its branches, with
    handles of its own. Raises what the function raises, and TraceError if it does what a recording cannot hold.
    """
    with tracing.recording() as inner:
        params = [inner.param(a.type) for a in arguments]
        inner.bindings = {p: a.value for p, a in zip(params, arguments, strict=True) if a.value is not None}
        results, spec = explored_call(name, list(zip(params, arguments, strict=True)), call)
        values = [r.value for r in results]
    return tracing.close(name, params, inner, values), spec


def explored_call(
    name: str,
    given: Sequence[tuple[Var, StandIn]],
    call: Callable[[list[Array]], Any],
    *,
    is_transform: bool = False,
) -> tuple[list[Array], trees.TreeSpec]:
    """Return the leaves of what `call` returns, recorded in the current recording on these parameters.

    And their structure.

    Complex leaves are two each. An error carries what was recorded until then.
    """
    into = tracing.current()

    def run() -> tuple[list[Array], trees.TreeSpec]:
        found, spec = trees.in_parts(call([Array(p, weak=a.weak, scalar=a.scalar) for p, a in given]))
        return [_result(r) for r in found], spec

    try:
        return explored(run, is_transform=is_transform)
    except PrimsplitError as error:
        error.tape = error.tape or Tape(tracing.close(name, [p for p, _ in given], into, ()))
        raise


def _result(leaf: Any) -> Array:
    """Return a leaf of a function's result as an Array. Raises TraceError for one that is no array."""
    try:
        return as_array(leaf)
    except TraceError as error:
        if (error.again and not isinstance(leaf, str)) or isinstance(leaf, np.ndarray | np.generic):
            raise
        if inspect.iscoroutine(leaf):
            leaf.close()
        raise TraceError(
            f"the function returns a {type(leaf).__name__}, which is no array",
            place=error.place,
            cure="Return arrays or numbers, alone or in lists, tuples, dicts or dataclasses.",
        ) from None


def open_inputs(
    inputs: Sequence[Value | None], into: tracing.Recording, is_parameter: Callable[[Value], bool]
) -> tuple[list[Var], list[Array | None]]:
    """Return fresh parameters for the inputs of an op, and a handle for each: of its parameter, or of its constant.

    The handles of absent inputs are None.
    """
    params: list[Var] = []
    handles: list[Array | None] = []
    for value in inputs:
        if value is None or not is_parameter(value):
            handles.append(None if value is None else Array(value))
            continue
        param = into.param(value.type)
        param.sizes = value.sizes
        params.append(param)
        handles.append(Array(param))
    return params, handles
