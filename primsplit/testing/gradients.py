"""Checks a function's exported value and gradients against plain NumPy and central differences: check_grads."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir.errors import PrimsplitError
from primsplit.programs.api import SplitProgram, split
from primsplit.programs.plain import as_given, plain_results, with_states
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram, push_program
from primsplit.testing.differences import directional_derivative, directions, pairing
from primsplit.testing.failures import GradientMismatch
from primsplit.tracing import trees
from primsplit.tracing.specs import leaf_type, spec

Function = Callable[..., Any]
AnyArray = npt.NDArray[Any]

SHORTER = (1.0, 0.1, 0.01)
"""The steps that are tried, relative to the longest: a function with a parameter of 0.01 may need one of 0.001."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The errors allowed, relative to the size of the compared values, and the step of the differences.

    With more than `most` coordinates, the differences are taken along random directions.
    """

    gradient: float
    value: float
    step: float
    is_forward: bool = False
    most: int = 24


def check_grads(
    function: Function,
    *args: Any,
    also_at: Sequence[Sequence[Any]] = (),
    order: int = 2,
    modes: Sequence[str] = ("reverse",),
    wrt: Any = None,
    tolerance: float = 1e-6,
    value_tolerance: float = 1e-12,
    symbolic: bool = True,
    resize: Sequence[int] = (1,),
    step: float = 1e-2,
    seed: int = 0,
) -> None:
    """Check a function of float64 or complex128 arrays as a user would run it: exported, and run by onnxruntime.

    The value must be plain NumPy's, in dtype and shape exactly. Gradients up to `order` (1 or 2) must agree with
    five-point central differences to `tolerance`, relative to the gradient's size. With `symbolic`, the function is
    traced again with each distinct size above 1 as a symbol, and also run at the sizes in `resize` where plain NumPy
    accepts them; its gradients are compared along a few directions. With "forward" in `modes`, the tangents along a
    random direction must fit the gradients, everywhere. The same programs are checked at the arguments in `also_at`,
    which have the same sizes. `wrt` is as in `ps.split`, for both orders. `step` scales the differences; where they do
    not agree, shorter ones are tried. Raises GradientMismatch.
    """
    random = np.random.default_rng(seed)
    allowed = Allowed(tolerance, value_tolerance, step, is_forward="forward" in modes)
    exported = _Exported(split(function, *args, wrt=wrt))
    points = (args, *also_at)
    values = [_check_file(exported, function, point, allowed, random) for point in points]
    if order > 1:
        _check_second_order(exported, list(zip(points, values, strict=True)), allowed, random)
    specs, sizes = symbolic_specs(args)
    if not symbolic or not sizes:
        return
    exported = _Exported(_split_of_any_size(function, specs, wrt))
    few = replace(allowed, most=4)
    for point in points:
        _check_file(exported, function, point, few, random)
    for size in resize:
        smaller = _resized(args, size)
        if _works(exported.made, function, smaller):
            _check_file(exported, function, smaller, few, random)


def _split_of_any_size(function: Function, specs: Sequence[Any], wrt: Any) -> SplitProgram:
    """The split for sizes that only the run knows. An error in it says how to switch this check off."""
    try:
        return split(function, *specs, wrt=wrt)
    except PrimsplitError as error:
        error.cures += ("To check it at the sizes of its arguments alone, pass symbolic=False.",)
        raise


class _Exported:
    """A split with the programs made from it, each made once."""

    def __init__(self, made: SplitProgram) -> None:
        self.made = made
        self.joint = made.joint()

    @cached_property
    def pushed(self) -> tuple[PushedProgram, Program]:
        """The forward mode, and its joint program."""
        pushed = push_program(self.made.program, self.made.split.wrt, self.made.split.of)
        return pushed, pushed.joint()


def _check_second_order(
    exported: _Exported,
    points: Sequence[tuple[Sequence[Any], Sequence[AnyArray]]],
    allowed: Allowed,
    random: np.random.Generator,
) -> None:
    """Check the gradients of the gradients, in the same inputs and the cotangents; the first ones were checked before.

    `points` are arguments with the function's results there.
    """
    made, joint = exported.made, exported.joint
    wrt = [*(made.program.inputs[i] for i in made.split.wrt), *made.seed_names]
    again = _Exported(split(joint, wrt=wrt, of=made.gradient_names))
    for args, values in points:
        leaves = trees.in_parts(tuple(args))[0]
        given = [np.asarray(x) for x in leaves if leaf_type(x) is not None]
        of = [] if made.seeded else [values[i] for i in made.split.of]
        seeds = [random.standard_normal(v.shape).astype(v.dtype) for v in of]
        _check_file(again, joint, [*given, *seeds], replace(allowed, most=12), random)


def _check_file(
    exported: _Exported,
    function: Function,
    args: Sequence[Any],
    allowed: Allowed,
    random: np.random.Generator,
) -> list[AnyArray]:
    """Check the values and gradients of the joint program, and return the values in plain NumPy."""
    made = exported.made
    leaves, structure = trees.in_parts(tuple(args))
    positions = [i for i, x in enumerate(leaves) if leaf_type(x) is not None]
    point = with_states(made.program, [np.asarray(leaves[i]) for i in positions])

    def plain(arrays: Sequence[Any]) -> list[AnyArray]:
        moved = list(leaves)
        given = [arrays[i] for i in made.program.given]
        for position, array in zip(positions, given, strict=True):
            moved[position] = as_given(array, leaves[position])
        return plain_results(made.program, function, (trees.unflatten(structure, moved), {}), arrays)

    expected = plain(point)
    for name, result, wanted in zip(made.program.outputs, made.program.block.results, expected, strict=True):
        if result.type.dtype != wanted.dtype:
            raise GradientMismatch(f"{name} is {result.type}, and {wanted.dtype}{wanted.shape} in NumPy")
    of = made.split.of
    seeds = [np.asarray(random.standard_normal(expected[i].shape), expected[i].dtype) for i in of]
    if made.seeded:
        seeds = [np.ones_like(seed) for seed in seeds]
    found = exported.joint.session()(*point, *([] if made.seeded else seeds))
    names = [*made.program.outputs, *made.gradient_names]
    for name, value, wanted in zip(names, found, expected, strict=False):
        _check_value(name, value, wanted, allowed.value)
    wrt = made.split.wrt
    gradients = dict(zip(made.gradient_names, found[len(expected) :], strict=True))

    def scalar(arrays: Sequence[AnyArray]) -> float:
        moved = list(point)
        for position, array in zip(wrt, arrays, strict=True):
            moved[position] = array.astype(point[position].dtype)
        results = plain(moved)
        return pairing([results[i] for i in of], seeds)

    _check_gradient(scalar, [point[i] for i in wrt], gradients, allowed, random)
    if allowed.is_forward:
        _check_tangents(exported, point, seeds, list(gradients.values()))
    return expected


def _check_tangents(
    exported: _Exported,
    point: Sequence[AnyArray],
    seeds: Sequence[AnyArray],
    gradients: Sequence[AnyArray],
) -> None:
    """Check <seeds, J v> = <gradients, v> along a random direction v."""
    random = np.random.default_rng(1)
    pushed, program = exported.pushed
    tangents = [np.asarray(random.standard_normal(point[i].shape), point[i].dtype) for i in pushed.pushed.wrt]
    found = program.session()(*point, *tangents)[len(exported.made.program.outputs) :]
    left, right = pairing(seeds, found), pairing(gradients, tangents)
    size = sum(float(np.sum(np.abs(s * f))) for s, f in zip(seeds, found, strict=True))
    size += sum(float(np.sum(np.abs(g * t))) for g, t in zip(gradients, tangents, strict=True))
    if not abs(left - right) <= 1e-9 * max(size, 1e-3):
        raise GradientMismatch(
            f"forward mode gives {left:.12g} along a direction where the gradients give {right:.12g}"
        )


def _check_value(name: str, value: AnyArray, wanted: AnyArray, tolerance: float) -> None:
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
    point: Sequence[AnyArray],
    gradient: Mapping[str, AnyArray],
    allowed: Allowed,
    random: np.random.Generator,
) -> None:
    for name, primal, array in zip(gradient, point, gradient.values(), strict=True):
        if array.shape != primal.shape or array.dtype != primal.dtype:
            raise GradientMismatch(f"{name} is {array.dtype}{array.shape} for an input {primal.dtype}{primal.shape}")
    size = max((float(np.max(np.abs(g), initial=0)) for g in gradient.values()), default=0.0)
    for direction in directions(point, random, allowed.most):
        length = max((float(np.max(np.abs(d), initial=0)) for d in direction), default=0.0)
        found = pairing(list(gradient.values()), direction)
        for shorter in SHORTER:
            wanted = directional_derivative(scalar, point, direction, allowed.step * shorter)
            error = abs(found - wanted)
            if error <= allowed.gradient * max(abs(wanted), size * length, 1e-3):
                break
        else:
            rounded = sorted({p.dtype.name for p in point} - {"float64"})
            raise GradientMismatch(
                f"a directional derivative is {found:.12g}, and {wanted:.12g} by central differences "
                f"(error {error:.2g}) along {[d.round(3).tolist() for d in direction]}"
                + (f"; differences of {rounded[0]} have few digits: pass float64 arrays" if rounded else "")
            )


def symbolic_specs(args: Sequence[Any]) -> tuple[list[Any], dict[int, str]]:
    """The arguments as types, with every size above 1 replaced by a symbol, one symbol per size."""
    leaves, structure = trees.flatten(tuple(args))
    sizes: dict[int, str] = {}
    specs = [_symbolic(x, sizes) for x in leaves]
    return list(trees.unflatten(structure, specs)), sizes


def _symbolic(leaf: Any, sizes: dict[int, str]) -> Any:
    if not isinstance(leaf, np.ndarray):
        return leaf
    return spec(leaf.dtype, [sizes.setdefault(n, f"N{n}") if n > 1 else n for n in leaf.shape])


def cut(array: AnyArray, size: int) -> AnyArray:
    """The array with every axis longer than 1 cut to this size."""
    return array[tuple(slice(0, size) if n > 1 else slice(None) for n in array.shape)]


def _resized(args: Sequence[Any], size: int) -> list[Any]:
    leaves, structure = trees.flatten(tuple(args))
    smaller = [cut(x, size) if isinstance(x, np.ndarray) else x for x in leaves]
    return list(trees.unflatten(structure, smaller))


def _works(made: SplitProgram, function: Function, args: Sequence[Any]) -> bool:
    """Return whether plain NumPy accepts these arguments and returns finite numbers."""
    given = [np.asarray(x) for x in trees.in_parts(tuple(args))[0] if leaf_type(x) is not None]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # NumPy before 2.3 raises no IndexError where nothing is read.
            warnings.filterwarnings("error", "Out of bound index", DeprecationWarning)
            found = plain_results(made.program, function, (tuple(args), {}), with_states(made.program, given))
    except (ValueError, IndexError, DeprecationWarning, ZeroDivisionError, np.linalg.LinAlgError):
        return False
    return all(np.all(np.isfinite(np.asarray(x, np.float64))) for x in found)
