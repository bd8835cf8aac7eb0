"""A call of a function, recorded as a block: stand-ins for its array arguments become the block's parameters."""

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
    """What the function gets for an array argument: a handle of this type, which knows whether it is a number.

    `value` is the argument itself, where the parameter stands for it alone.
    """

    type: Type
    weak: bool = False
    scalar: bool = False
    value: Value | None = None

    @classmethod
    def of(cls, array: Array) -> "StandIn":
        """The stand-in for one array."""
        return cls(array.type, array.weak, array.scalar, array.value)

    @classmethod
    def for_leaf(cls, leaf: Any, type: Type) -> "StandIn":
        """What a function gets for an argument: a number where the argument is one, or a type without axes.

        Whoever writes `f64[]` calls the function with a number: in `total = s; total += x` that stays what it was.
        """
        is_python = isinstance(leaf, float) and not isinstance(leaf, np.generic)
        is_number = isinstance(leaf, float | np.generic) or (type.shape == () and not isinstance(leaf, np.ndarray))
        return cls(type, weak=is_python, scalar=is_number)

    @property
    def kind(self) -> int:
        """What a function can tell of it beside its type: 2 a number of Python's, 1 one of NumPy's, 0 an array."""
        if self.weak:
            return 2
        return int(self.scalar and not self.type.shape)  # of an array with axes the mark says nothing


def merged(leaves: Sequence[Any], chosen: Sequence[Any], handles: Sequence[Array]) -> list[Any]:
    """The leaves of the arguments, the next handle in place of each that is chosen: where `chosen` is not None."""
    given = iter(handles)
    return [leaf if mark is None else next(given) for leaf, mark in zip(leaves, chosen, strict=True)]


def record_call(
    name: str, arguments: Sequence[StandIn], call: Callable[[list[Array]], Any]
) -> tuple[Block, trees.TreeSpec]:
    """The block of what `call` does with a handle for each argument, and the structure of what it returns.

    Complex arrays that it returns are two results each. The call is made once for each way through its branches, with
    handles of its own. Raises what the function raises, TraceError where it does what a recording
    cannot hold.
    """
    with tracing.recording() as inner:
        params = [inner.param(a.type) for a in arguments]
        inner.bindings = {p: a.value for p, a in zip(params, arguments, strict=True) if a.value is not None}
        results, spec = explored_call(name, list(zip(params, arguments, strict=True)), call)
        values = [r.value for r in results]
    return tracing.close(name, params, inner, values), spec


def explored_call(
    name: str, given: Sequence[tuple[Var, StandIn]], call: Callable[[list[Array]], Any]
) -> tuple[list[Array], trees.TreeSpec]:
    """The leaves of what `call` returns, recorded in the current recording on these parameters, and their structure.

    Complex leaves are two each. An error carries what was recorded until then.
    """
    into = tracing.current()

    def run() -> tuple[list[Array], trees.TreeSpec]:
        found, spec = trees.in_parts(call([Array(p, weak=a.weak, scalar=a.scalar) for p, a in given]))
        return [_result(r) for r in found], spec

    try:
        return explored(run)
    except PrimsplitError as error:
        error.tape = error.tape or Tape(tracing.close(name, [p for p, _ in given], into, ()))
        raise


def _result(leaf: Any) -> Array:
    """A leaf of what a function returns. Raises TraceError for one that is no array."""
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
    """Fresh parameters for the inputs of an op, and a handle for each: of its parameter, or of the constant that it is.

    The handles of inputs that are absent are None.
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
