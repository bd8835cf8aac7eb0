"""check_grads: a function's exported value and gradients against plain NumPy and central differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import trees
from primsplit.array import as_array
from primsplit.compiled import Compiled, vjp
from primsplit.export import SplitProgram, split, trace
from primsplit.ir import Type
from primsplit.specs import leaf_type, spec
from primsplit.testing.differences import directional_derivative, directions

Function = Callable[..., Any]


class GradientMismatch(AssertionError):
    """A gradient, or an exported value, is not what plain NumPy says."""


def check_grads(
    function: Function,
    *args: Any,
    order: int = 2,
    wrt: Any = None,
    tolerance: float = 1e-6,
    value_tolerance: float = 1e-12,
    symbolic: bool = True,
    resize: Sequence[int] = (1,),
    step: float = 1e-2,
    seed: int = 0,
) -> None:
    """Check a function of float64 arrays as a user would meet it: exported, and run by onnxruntime.

    The value must be plain NumPy's, in dtype and shape exactly; gradients up to `order` (1 or 2) must agree with
    five-point central differences to `tolerance`, relative to the gradient's size. With `symbolic`, the function is
    traced again with each distinct size above 1 as a symbol, and run at the sizes in `resize` too, where plain NumPy
    accepts that. `wrt` as in `ps.split`. `step` scales the differences. Raises GradientMismatch.
    """
    random = np.random.default_rng(seed)
    _check_once(function, args, args, order, wrt, tolerance, value_tolerance, step, random)
    if not symbolic:
        return
    specs, sizes = _symbolic_specs(args)
    if not sizes:
        return
    made = split(function, *specs, wrt=wrt)
    _check_file(made, function, args, tolerance, value_tolerance, step, random)
    for size in resize:
        smaller = _resized(args, sizes, size)
        if _works(function, smaller):
            _check_file(made, function, smaller, tolerance, value_tolerance, step, random)


def _check_once(
    function: Function,
    specs: Sequence[Any],
    args: Sequence[Any],
    order: int,
    wrt: Any,
    tolerance: float,
    value_tolerance: float,
    step: float,
    random: np.random.Generator,
) -> None:
    made = split(function, *specs, wrt=wrt)
    _check_file(made, function, args, tolerance, value_tolerance, step, random)
    if order > 1:
        gradient = _gradient_function(made, random)
        again = trace(Compiled(gradient, function), *_arrays(args))
        _check_file(split(again, wrt=None), gradient, _arrays(args), tolerance, None, step, random)


def _arrays(args: Sequence[Any]) -> list[npt.NDArray[Any]]:
    return [np.asarray(x) for x in trees.flatten(tuple(args))[0] if leaf_type(x) is not None]


def _gradient_function(made: SplitProgram, random: np.random.Generator) -> Function:
    """The sum of the gradients' elements, weighted at random, as a function of the flat inputs."""
    joint = made.joint()
    count = len(made.program.inputs)
    results = [random.standard_normal() for _ in made.seed_names]
    first = len(made.program.outputs)
    weights = [random.standard_normal() for _ in made.gradient_names]

    def weighted(*inputs: Any) -> Any:
        program = made.program
        values = program.block.results
        outputs = joint(*inputs, *_seeds(made, inputs, values, results)) if made.seed_names else joint(*inputs)
        total: Any = 0.0
        for weight, gradient in zip(weights, outputs[first:], strict=True):
            total = total + (gradient * np.sin(weight + gradient * 0.1)).sum()
        return total

    del count
    return weighted


def _seeds(made: SplitProgram, inputs: Sequence[Any], values: Any, weights: Sequence[float]) -> list[Any]:
    """Constant cotangents of the results."""
    from primsplit.trace import is_recording

    outputs = _flat_call(made, inputs)
    chosen = [outputs[i] for i in made.split.of]
    if is_recording():
        from primsplit.primitive import stop_gradient

        return [stop_gradient(as_array(o)) * 0.0 + w for o, w in zip(chosen, weights, strict=True)]
    return [np.full(np.shape(o), w, np.asarray(o).dtype) for o, w in zip(chosen, weights, strict=True)]


def _flat_call(made: SplitProgram, inputs: Sequence[Any]) -> list[Any]:
    from primsplit.program import ARRAY

    program = made.program
    arrays = iter(inputs)
    leaves = [next(arrays) if s is ARRAY else s for s in program.static]
    args, named = trees.unflatten(program.arguments, leaves)
    return trees.flatten(program(*args, **named))[0]


def _check_file(
    made: SplitProgram,
    function: Function,
    args: Sequence[Any],
    tolerance: float,
    value_tolerance: float | None,
    step: float,
    random: np.random.Generator,
) -> None:
    leaves, structure = trees.flatten(tuple(args))
    positions = [i for i, x in enumerate(leaves) if leaf_type(x) is not None]
    point = [np.asarray(leaves[i]) for i in positions]

    def plain(arrays: Sequence[Any]) -> list[npt.NDArray[Any]]:
        moved = list(leaves)
        for position, array in zip(positions, arrays, strict=True):
            moved[position] = array.copy() if isinstance(array, np.ndarray) else array
        return [np.asarray(x) for x in trees.flatten(function(*trees.unflatten(structure, moved)))[0]]

    expected = plain(point)
    cotangents = [random.standard_normal(e.shape).astype(e.dtype) for e in expected]
    seeds = [] if made.seeded else [cotangents[i] for i in made.split.of]
    if made.seeded:
        cotangents[made.split.of[0]] = np.ones((), expected[made.split.of[0]].dtype)
    found = made.joint().session()(*point, *seeds)
    names = [*made.program.outputs, *made.gradient_names]
    if value_tolerance is not None:
        for name, value, wanted in zip(names, found, expected, strict=False):
            _check_value(name, value, wanted, value_tolerance)
    gradients = dict(zip(made.split.wrt, found[len(expected) :], strict=True))

    def scalar(arrays: Sequence[Any]) -> float:
        moved = list(point)
        for position, array in zip(gradients, arrays, strict=True):
            moved[position] = array.astype(point[position].dtype)
        results = plain(moved)
        return float(sum(np.sum(results[i] * cotangents[i]) for i in made.split.of))

    _check_gradient(scalar, [point[i] for i in gradients], list(gradients.values()), names, tolerance, step, random)


def _check_value(name: str, value: Any, wanted: npt.NDArray[Any], tolerance: float) -> None:
    value = np.asarray(value)
    if value.dtype != wanted.dtype or value.shape != wanted.shape:
        raise GradientMismatch(f"{name} is {value.dtype}{value.shape}, and {wanted.dtype}{wanted.shape} in NumPy")
    if wanted.dtype.kind not in "fV":
        if not np.array_equal(value, wanted):
            raise GradientMismatch(f"{name} is {value}, and {wanted} in NumPy")
        return
    scale = max(1.0, float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0)))
    if not np.allclose(value, wanted, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        error = np.nanmax(np.abs(value - wanted))
        raise GradientMismatch(f"{name} differs from NumPy by {error:.3g}: {value} and {wanted}")


def _check_gradient(
    scalar: Callable[[Any], float],
    point: list[npt.NDArray[Any]],
    gradient: list[npt.NDArray[Any]],
    names: Sequence[str],
    tolerance: float,
    step: float,
    random: np.random.Generator,
) -> None:
    for name, primal, found in zip(names[-len(gradient) :], point, gradient, strict=True):
        if found.shape != primal.shape or found.dtype != primal.dtype:
            raise GradientMismatch(f"{name} is {found.dtype}{found.shape} for an input {primal.dtype}{primal.shape}")
    size = max((float(np.max(np.abs(g), initial=0)) for g in gradient), default=0.0)
    for direction in directions(point, random):
        length = max((float(np.max(np.abs(d), initial=0)) for d in direction), default=0.0)
        found = float(sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True)))
        wanted = directional_derivative(scalar, point, direction, step)
        error = abs(found - wanted)
        if not error <= tolerance * max(abs(wanted), size * length, 1e-3):
            raise GradientMismatch(
                f"a directional derivative is {found:.12g}, and {wanted:.12g} by central differences "
                f"(error {error:.2g}) along {[d.round(3).tolist() for d in direction]}"
            )


def _symbolic_specs(args: Sequence[Any]) -> tuple[list[Any], dict[int, str]]:
    """The arguments with every size above 1 replaced by a symbol, one symbol a size."""
    leaves, structure = trees.flatten(tuple(args))
    sizes: dict[int, str] = {}
    specs = [_symbolic(x, sizes) for x in leaves]
    return list(trees.unflatten(structure, specs)), sizes


def _symbolic(leaf: Any, sizes: dict[int, str]) -> Any:
    type = leaf_type(leaf)
    if not isinstance(leaf, np.ndarray) or type is None:
        return leaf
    shape = [sizes.setdefault(n, f"N{n}") if n > 1 else n for n in leaf.shape]
    made: Type = spec(leaf.dtype, shape)
    return made


def _resized(args: Sequence[Any], sizes: dict[int, str], size: int) -> list[Any]:
    leaves, structure = trees.flatten(tuple(args))
    cut = [
        x[tuple(slice(0, size) if n > 1 else slice(None) for n in x.shape)] if isinstance(x, np.ndarray) else x
        for x in leaves
    ]
    return list(trees.unflatten(structure, cut))


def _works(function: Function, args: Sequence[Any]) -> bool:
    """True where plain NumPy takes these arguments and gives finite numbers."""
    try:
        with np.errstate(all="ignore"):
            leaves = trees.flatten(function(*args))[0]
    except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        return False
    return all(np.all(np.isfinite(np.asarray(x, np.float64))) for x in leaves)


__all__ = ["GradientMismatch", "check_grads", "vjp"]
