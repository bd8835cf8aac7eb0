"""Handle nested values that pass through branches and loops: their leaves, their dtypes, and errors if two differ."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.common_dtype import common_dtype
from primsplit.tracing.operators import cast_to

Function = Callable[..., Any]


def arrays_of(tree: Any) -> tuple[list[Array], trees.TreeSpec]:
    """Return the leaves as Arrays of the current recording, two for each complex one, and their structure.

    Each is a handle of its own, so that a body may write to it.
    """
    leaves, spec = trees.in_parts(tree)
    return [as_array(x).own() for x in leaves], spec


def traced_integer(given: Any, what: str) -> Array:
    """Return a number as an int64 without axes. Raises DtypeError for what is no integer."""
    array = as_array(given)
    require_integer(array.type, what)
    return cast_to(array, np.int64)


def plain_integer(given: Any, what: str) -> int:
    """Return a known number as Python's. Raises DtypeError for what is no integer."""
    array = np.asarray(given)
    require_integer(Type(array.dtype, array.shape), what)
    return int(array)


def require_integer(type: Type, what: str) -> None:
    """Raise DtypeError for a type that is not that of one integer."""
    if type.dtype.kind not in "iu" or type.shape != ():
        raise DtypeError(f"{what} must be an integer, not {type}", place=tracing.user_place())


def require_same_structure(what: str, specs: dict[str, trees.TreeSpec], cure: str) -> None:
    """Raise TraceError if results, by their names, are nested differently."""
    if len(set(specs.values())) > 1:
        raise TraceError(
            f"{what} are nested differently",
            place=tracing.user_place(),
            because=tuple(f"{name}: {trees.brief(spec)}" for name, spec in specs.items()),
            cure=cure,
        )


def met_dtype(name: str, given: Mapping[str, Array]) -> np.dtype[Any]:
    """Return the dtype of a leaf on several paths, by the paths' names, as `common_dtype` does.

    Raises DtypeError if two differ.
    """
    found = common_dtype([*given.values()])
    if found is None:
        told = " and ".join(sorted({str(a.dtype) for a in given.values()}))
        raise DtypeError(
            f"{name} is {told}, depending on the path",
            place=tracing.user_place(),
            because=tuple(f"{path}: {a.type}" for path, a in given.items()),
            cure="Convert one of them with .astype, so that every path gives the same dtype.",
        )
    return found


def converted(array: Array, dtype: np.dtype[Any]) -> Value:
    """Return the value in this dtype."""
    return cast_to(array, dtype).value


def check_carry(name: str, before: Type, after: Type) -> None:
    """Raise ShapeError if a step changes the number of axes of a carry."""
    if before.shape is None or after.shape is None or len(before.shape) == len(after.shape):
        return
    raise ShapeError(
        f"a step of the loop changes the number of axes of {name} of its carry",
        place=tracing.user_place(),
        because=(f"before: {before}", f"after:  {after}"),
        cure="Start with a carry of as many axes as the body returns, or stack what grows as an output of the loop.",
    )
