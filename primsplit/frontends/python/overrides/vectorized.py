"""Records the function of np.vectorize or np.frompyfunc once, for one element, and maps it over all elements.

```
np.vectorize(f)(x)      ->      Scan over the elements of x, with f's record as its body
```
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.frontends.python.overrides.table import register_method
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape, broadcast_shapes
from primsplit.ir.errors import ShapeError
from primsplit.tracing import trees
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to, reshape_to
from primsplit.tracing.control.scanning import mapped
from primsplit.tracing.hooks import HOOKS

_CORES = re.compile(r"\(([^)]*)\)")
"""The axes of each argument that a signature names."""


def call(vectorize: "np.vectorize", *args: Any, **options: Any) -> Any:
    """Return the result of a vectorized function for traced arrays: a map over their elements."""
    arguments: dict[Any, Any] = {**dict(enumerate(args)), **options}
    result = (
        _over_elements(vectorize, arguments, len(args))
        if vectorize.signature is None
        else _over_cores(vectorize, arguments, len(args))
    )
    return _cast(result, vectorize.otypes)


def _over_elements(made: "np.vectorize", given: dict[Any, Any], positions: int) -> Any:
    walked = [k for k in given if k not in made.excluded]
    arrays = FUNCTIONS[np.broadcast_arrays](*(array_like(given[k]) for k in walked))
    return _mapped(_one(made, given, walked, positions), arrays, arrays[0].shape)


def call_ufunc_of_objects(ufunc: np.ufunc, *given: Any) -> Any:
    """Return the result of a ufunc of `np.frompyfunc`. Its numbers keep a dtype; NumPy returns an array of objects."""
    arrays = FUNCTIONS[np.broadcast_arrays](*(array_like(x) for x in given))
    return _mapped(lambda elements: ufunc(*map(_boxed, elements)), arrays, arrays[0].shape)


HOOKS.apply_ufunc_of_objects = call_ufunc_of_objects


def _boxed(element: Array) -> npt.NDArray[Any]:
    """Return the element in an array of objects, which NumPy passes to the function unchanged."""
    box = np.empty((), object)
    box[()] = Array(element.value, scalar=True)
    return box


def _over_cores(made: "np.vectorize", given: dict[Any, Any], positions: int) -> Any:
    """Return the function of the last axes, which the signature names, mapped over the axes before them."""
    walked = [k for k in given if k not in made.excluded]
    arrays = [array_like(given[k]) for k in walked]
    cores = [
        [n.strip() for n in core.split(",") if n.strip()]
        for core in _CORES.findall((made.signature or "").partition("->")[0])
    ]
    sizes: dict[str, Dim] = {}
    for array, core in zip(arrays, cores, strict=True):
        for name, size in zip(core, array.shape[array.ndim - len(core) :], strict=True):
            if not dims.could_be(sizes.setdefault(name, size), size):
                raise ShapeError(
                    f"np.vectorize: {name} of {made.signature} is {sizes[name]} and {size}", place=tracing.user_place()
                )
    counts = [array.ndim - len(core) for array, core in zip(arrays, cores, strict=True)]
    shape = broadcast_shapes(*(array.shape[:n] for array, n in zip(arrays, counts, strict=True)))
    wide = [expand_to(array, (*shape, *array.shape[n:])) for array, n in zip(arrays, counts, strict=True)]
    return _mapped(_one(made, given, walked, positions), wide, shape)


def _one(made: "np.vectorize", given: dict[Any, Any], mapped_names: list[Any], positions: int) -> Callable[..., Any]:
    """Return the function of the mapped arguments alone."""

    def one(elements: tuple[Array, ...]) -> Any:
        all_arguments = given | {
            k: Array(e.value, scalar=not e.shape) for k, e in zip(mapped_names, elements, strict=True)
        }
        named = {k: v for k, v in all_arguments.items() if isinstance(k, str)}
        return made.pyfunc(*(all_arguments[i] for i in range(positions)), **named)

    return one


def _mapped(one: Callable[..., Any], arrays: Sequence[Array], shape: Shape) -> Any:
    """Return the function mapped over the first axes, which have this shape in all arrays."""
    if not shape:
        return one(tuple(arrays))
    rows = tuple(reshape_to(a, (dims.product(shape), *a.shape[len(shape) :])) for a in arrays)
    leaves, structure = trees.flatten(mapped(one, rows))
    return trees.unflatten(structure, [reshape_to(a, (*shape, *a.shape[1:])) for a in leaves])


def _cast(result: Any, otypes: str | None) -> Any:
    if otypes is None:
        return result
    if isinstance(result, tuple):
        return tuple(array_like(a).astype(code) for a, code in zip(result, otypes, strict=True))
    return array_like(result).astype(otypes[0])


register_method(np.vectorize, "__call__", call)
