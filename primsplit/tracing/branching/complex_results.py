"""Make a result complex on every path of a function if it is complex on one, as eigenvalues are."""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Value
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import Path

Given = tuple[Array, Value]


def meet(paths: Sequence[Path]) -> None:
    """Let the paths return both parts of each result that is complex on one of them, if they are alike otherwise.

    The imaginary parts of real results are zeros, so that the numbers are those of NumPy, and the dtype is one.
    """
    specs = [path.spec for path in paths if path.spec is not None]
    if len({*specs}) <= 1:
        return
    own = [trees.wholes(spec, range(spec.num_leaves)) for spec in specs]
    if len({outer for _, outer in own}) > 1:
        return
    is_complex = [any(isinstance(x, trees.Parts) for x in column) for column in zip(*(w for w, _ in own), strict=True)]
    tree = trees.unflatten(own[0][1], [trees.Parts(0, 0) if c else 0 for c in is_complex])
    for path, (places, _) in zip(paths, own, strict=True):
        pairs = [*zip(path.results, path.values, strict=True)]
        complete: list[Given] = []
        for place, both in zip(places, is_complex, strict=True):
            if isinstance(place, trees.Parts):
                complete += pairs[place.real], pairs[place.imag]
            else:
                complete += [pairs[place], _zeros(pairs[place], path)] if both else [pairs[place]]
        path.results, path.values = [array for array, _ in complete], [value for _, value in complete]
        path.spec = trees.flatten(tree)[1]


def _zeros(like: Given, path: Path) -> Given:
    """Return zeros like a result, recorded at the end of the path."""
    array, value = like
    with tracing.recording() as beside:
        zeros = op.ConstantOfShape(op.Shape(value), value=np.zeros(1, array.dtype), types=[array.type]).value
    path.ops = [*path.ops, *beside.ops]
    return Array(zeros, weak=array.weak, scalar=array.scalar), zeros
