"""Check and fill `out`: the caller's arrays for the results of a run.

A method `run_into` takes them, instead of a keyword `out`, where the arguments of the user's function may be given by
name: one of them may be called `out`. `jvp`, `hvp`, pullbacks and linear functions take no such names, and have `out=`.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Shape, evaluate, symbols
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.tracing import trees


def arrays_of(out: Any, result: trees.TreeSpec, name: str) -> list[Any]:
    """Return the leaves of `out`, views of both parts of a complex one.

    Raises SpecError if it is nested otherwise than the result of the program `name`.
    """
    leaves, spec = trees.in_parts(out)
    if spec != result:
        raise SpecError(
            f"out is nested otherwise than the result of {name}",
            place=tracing.user_place(),
            because=(f"result: {trees.brief(result)}", f"out:    {trees.brief(spec)}"),
        )
    return leaves


def check_out(name: str, array: Any, wanted: Type, sizes: Mapping[str, int]) -> None:
    """Raise SpecError, DtypeError or ShapeError if an array of `out` does not fit the result of this name.

    `sizes` are those of symbols; a size that they do not determine is not checked.
    """
    if not isinstance(array, np.ndarray):
        raise SpecError(f"out takes an array for {name}, not a {type(array).__name__}", place=tracing.user_place())
    if not array.flags.writeable:
        raise SpecError(f"the array of out for {name} cannot be written to", place=tracing.user_place())
    known = _sized(wanted, sizes)
    if array.dtype == known.dtype and _may_be(array.shape, known.shape):
        return
    shape = ",".join(map(str, array.shape))
    raise (DtypeError if array.dtype != known.dtype else ShapeError)(
        f"the result {name} is {known}, and the array of out for it {array.dtype}[{shape}]",
        place=tracing.user_place(),
    )


def _sized(type: Type, sizes: Mapping[str, int]) -> Type:
    """Return the type with the known sizes of its symbols."""
    if type.shape is None or all(isinstance(d, int) for d in type.shape):
        return type
    return Type(type.dtype, [evaluate(d, sizes) if symbols(d) <= sizes.keys() else d for d in type.shape])


def _may_be(given: tuple[int, ...], wanted: Shape | None) -> bool:
    if wanted is None:
        return True
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and all(g == w for g, w in pairs if isinstance(w, int))


def filled(out: Any, found: Any, name: str) -> Any:
    """Copy results into `out` and return it. Nothing is written if some array does not fit."""
    results, spec = trees.in_parts(found)
    arrays = arrays_of(out, spec, name)
    for number, (array, result) in enumerate(zip(arrays, results, strict=True)):
        check_out(f"{name}[{number}]" if len(results) > 1 else name, array, Type(result.dtype, result.shape), {})
    for array, result in zip(arrays, results, strict=True):
        np.copyto(array, result)
    return out


def refuse_traced() -> NoReturn:
    """Raise SpecError: a value that only the run knows cannot be written into an array."""
    raise SpecError(
        "results are written into arrays by calls on arrays, and this one is traced",
        place=tracing.user_place(),
        cure="Take what the call returns.",
    )
