"""Check a loaded case for `node_sweep.py --mode vmap`: a batch of points, with the gradients at each.

Each point of the batch is given to the file that the sweep compares with the standard's numbers and with central
differences; `ps.vmap` of the same program is to give the stack of what it gives. The points differ in what has a
gradient. The rest is told once an example too, or, where it decides a result's size, once for all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.tracing import trees
from tools.node_cases import Loaded, run, split_of
from tools.node_differences import TOLERANCES, Verdict, drawn, moved, refused

POINTS = 3


def batch_verdict(loaded: Loaded) -> Verdict:
    """Compare a batch of points with the points one by one: values and, where there are any, gradients."""
    program, inputs = loaded.program, loaded.inputs
    made = split_of(program)
    targets = () if isinstance(made, tuple) else made.split.targets
    points = [inputs, *(moved(inputs, targets, seed) for seed in range(1, POINTS))]
    values = [run(program, point) for point in points]
    if len({tuple(value.shape for value in results) for results in values}) > 1:
        return "no batch", "results of different shapes"
    if isinstance(made, tuple):
        return _compared(program, points, range(len(inputs)))
    random = np.random.default_rng(0)
    of = () if made.seeded else made.split.of
    points = [[*point, *(drawn(random, values[0][i]) for i in of)] for point in points]
    joint = made.joint()
    return _compared(joint, points, [*targets, *range(len(inputs), len(joint.inputs))])


def _compared(program: Any, points: list[list[Any]], differing: Sequence[int]) -> Verdict:
    """The verdict where every input is told once an example; if that is refused, where only some are."""
    wanted = [np.stack(values) for values in zip(*(run(program, point) for point in points), strict=True)]
    try:
        return _agrees(program, points, range(len(points[0])), wanted)
    except PrimsplitError as error:
        refusal = refused(error, "refused in a batch")
    if len(differing) == len(points[0]):
        return refusal
    try:
        word, reason = _agrees(program, points, differing, wanted)
    except PrimsplitError as error:
        return refused(error, "refused in a batch")
    return ("right, some shared", refusal[1]) if word == "right" else (word, reason)


def _agrees(program: Any, points: list[list[Any]], differing: Sequence[int], wanted: list[Any]) -> Verdict:
    def function(*arrays: Any) -> Any:
        nested, _ = trees.unflatten(program.arguments, list(arrays))
        return program(*nested)

    axes = tuple(0 if i in differing else None for i in range(len(points[0])))
    given = [
        np.stack(arrays) if axis == 0 else arrays[0]
        for axis, arrays in zip(axes, zip(*points, strict=True), strict=True)
    ]
    found = run(ps.trace(ps.vmap(function, in_axes=axes), *given), given)
    for name, value, expected in zip(program.outputs, found, wanted, strict=True):
        far = _distance(value, expected)
        if far:
            return "wrong batch", f"{name}: {far}"
    return "right", ""


def _distance(value: Any, wanted: Any) -> str:
    """Return the difference of a batch's result from its examples' results, stacked; an empty text if there is none."""
    if (value.shape, value.dtype) != (wanted.shape, wanted.dtype):
        return f"{value.dtype}{value.shape} for {wanted.dtype}{wanted.shape}"
    tolerance = TOLERANCES.get(wanted.dtype.name)
    if tolerance is None:
        return "" if np.array_equal(value, wanted) else "other numbers"
    value, wanted = value.astype(float), wanted.astype(float)
    finite = np.abs(wanted[np.isfinite(wanted)])
    if np.allclose(value, wanted, tolerance, tolerance * max(float(finite.max(initial=0)), 1e-3), equal_nan=True):
        return ""
    return f"off by {np.max(np.abs(value - wanted), initial=0):.3g}"
