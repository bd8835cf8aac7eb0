"""np.vectorize and np.frompyfunc: records the function once, for one element, and maps it over all elements."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.frontends.python.overrides.table import register_method
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference import broadcast_shapes
from primsplit.tracing import trees
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to, reshape_to
from primsplit.tracing.control.scanning import mapped
from primsplit.tracing.hooks import HOOKS

_CORES = re.compile(r"\(([^)]*)\)")
"""The axes that a signature names, of each argument."""


def call(made: "np.vectorize", *args: Any, **options: Any) -> Any:
    """What calls a vectorized function of traced arrays: a map over their elements."""
    given: dict[Any, Any] = {**dict(enumerate(args)), **options}
    found = _over_elements(made, given, len(args)) if made.signature is None else _over_cores(made, given, len(args))
    return _cast(found, made.otypes)


def _over_elements(made: "np.vectorize", given: dict[Any, Any], positions: int) -> Any:
    walked = [k for k in given if k not in made.excluded]
    arrays = FUNCTIONS[np.broadcast_arrays](*(array_like(given[k]) for k in walked))
    return _mapped(_one(made, given, walked, positions), arrays, arrays[0].shape)


def call_ufunc_of_objects(ufunc: np.ufunc, *given: Any) -> Any:
    """What calls a ufunc of `np.frompyfunc`. The numbers keep a dtype, where NumPy gives an array of objects."""
    arrays = FUNCTIONS[np.broadcast_arrays](*(array_like(x) for x in given))
    return _mapped(lambda elements: ufunc(*map(_boxed, elements)), arrays, arrays[0].shape)


HOOKS.apply_ufunc_of_objects = call_ufunc_of_objects


def _boxed(element: Array) -> npt.NDArray[Any]:
    """The element as an object, which NumPy hands to the function as it is."""
    box = np.empty((), object)
    box[()] = Array(element.value, scalar=True)
    return box


def _over_cores(made: "np.vectorize", given: dict[Any, Any], positions: int) -> Any:
    """The function of the last axes that the signature names, for each place along the axes before them."""
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


def _one(made: "np.vectorize", given: dict[Any, Any], walked: list[Any], positions: int) -> Callable[..., Any]:
    """The function of what is walked alone."""

    def one(elements: tuple[Array, ...]) -> Any:
        told = given | {k: Array(e.value, scalar=not e.shape) for k, e in zip(walked, elements, strict=True)}
        named = {k: v for k, v in told.items() if isinstance(k, str)}
        return made.pyfunc(*(told[i] for i in range(positions)), **named)

    return one


def _mapped(one: Callable[..., Any], arrays: Sequence[Array], shape: Shape) -> Any:
    """The function for each place along the first axes, which have this shape in all arrays."""
    if not shape:
        return one(tuple(arrays))
    rows = tuple(reshape_to(a, (dims.product(shape), *a.shape[len(shape) :])) for a in arrays)
    found, structure = trees.flatten(mapped(one, rows))
    return trees.unflatten(structure, [reshape_to(a, (*shape, *a.shape[1:])) for a in found])


def _cast(found: Any, otypes: str | None) -> Any:
    if otypes is None:
        return found
    if isinstance(found, tuple):
        return tuple(array_like(a).astype(code) for a, code in zip(found, otypes, strict=True))
    return array_like(found).astype(otypes[0])


register_method(np.vectorize, "__call__", call)
