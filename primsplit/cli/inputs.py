"""Gives a file arrays to run on: those of an .npz, a Python file's examples, states at their first values, or draws."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from primsplit.cli.arrays import Arrays, as_declared, read_arrays
from primsplit.cli.domains import integer_bounds
from primsplit.ir import Block
from primsplit.programs.api import SplitProgram
from primsplit.programs.arguments import draw_arrays
from primsplit.programs.export import Derived
from primsplit.programs.plain import Call, arrays_of
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram
from primsplit.tracing.specs import check_array, check_expressions, check_names

Bounds = Mapping[str, tuple[float, float]]


def examples(derived: Derived, call: Call) -> Arrays:
    """The arrays of a call by name; ones for cotangents, whose sizes are those of the results, and for tangents."""
    program = derived if isinstance(derived, Program) else derived.program
    point = arrays_of(program, call)
    arrays = dict(zip(program.inputs, point, strict=True))
    if isinstance(derived, PushedProgram):
        moved = (arrays[program.inputs[i]] for i in derived.pushed.wrt)
        arrays.update(zip(derived.tangent_names, map(np.ones_like, moved), strict=True))
    if isinstance(derived, SplitProgram) and derived.seed_names:
        values = program.session()(*point)
        seeds = (np.ones_like(values[i]) for i in derived.split.of)
        arrays.update(zip(derived.seed_names, seeds, strict=True))
    return arrays


def arrays_for(
    file: Any, block: Block, known: Arrays, path: str | None = None, ranges: Bounds | None = None, **drawing: Any
) -> Arrays:
    """Arrays for the inputs of an opened file, whose nodes are in `block`.

    Those in the .npz at `path` come first, then `known` ones, then states at their first values. The others are drawn,
    integers from what the operators accept; `drawing` is the seed and the size of `draw_arrays`. Raises SpecError,
    ShapeError, DtypeError.
    """
    types, told = file.inputs, ranges or {}
    given = {} if path is None else read_arrays(path, list(types))
    arrays = {n: a for n, a in known.items() if n in types}
    arrays.update((pair.input, pair.initial) for pair in file.states)
    arrays.update((n, as_declared(a, types[n].dtype) if n in types else a) for n, a in given.items())
    rest = {n: t for n, t in types.items() if n not in arrays}
    bounds = dict(zip(types, integer_bounds(block), strict=False))
    limits = {n: told.get(n, bounds.get(n)) for n in rest}
    sizes: dict[str, int] = {}
    for name in (n for n in types if n in arrays):
        check_array(arrays[name], name, types[name], sizes)
    settled = {n: (types[n], a) for n, a in arrays.items() if n in types}
    drawn = draw_arrays(rest, {}, ranges={n: b for n, b in limits.items() if b is not None}, known=settled, **drawing)
    arrays.update(drawn)
    check_names(list(types), arrays)
    sizes = {}
    for name, wanted in types.items():
        check_array(arrays[name], name, wanted, sizes)
    check_expressions(((n, arrays[n].shape, t) for n, t in types.items()), sizes)
    return {n: arrays[n] for n in types}
