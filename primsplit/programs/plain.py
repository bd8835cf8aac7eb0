"""Compare a program with its function: the arrays of a call, and the same call in plain NumPy."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.programs.binding import ARRAY
from primsplit.programs.program import Program
from primsplit.tracing import trees

AnyArray = npt.NDArray[Any]
Call = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Positional and keyword arguments."""


def arrays_of(program: Program, call: Call) -> list[AnyArray]:
    """Return the arrays of a call, one for each input of the program; those of its states are the present ones."""
    leaves, _ = trees.in_parts((call[0], dict(call[1])))
    given = [np.asarray(x) for x, s in zip(leaves, program.static, strict=True) if s is ARRAY]
    return with_states(program, given)


def with_states(program: Program, given: Sequence[AnyArray]) -> list[AnyArray]:
    """Return the arrays of a call and those of the states, in the order of the inputs."""
    arrays = {c.input: program.state[c.name] for c in program.states}
    arrays.update(zip(program.given_names, given, strict=True))
    return [arrays[name] for name in program.inputs]


def as_given(array: AnyArray, leaf: Any) -> Any:
    """Return a copy of an array in the form of its argument: a number of the same class if that is one.

    NumPy takes a float for a weak number, and a np.float64 not.
    """
    if isinstance(leaf, np.generic):
        return array[()].copy()
    return float(array) if isinstance(leaf, float) else array.copy()


def plain_results(
    program: Program, function: Callable[..., Any], call: Call, arrays: Sequence[AnyArray]
) -> list[AnyArray]:
    """Return the function's own results for a call, one array for each output of its program.

    `arrays`, one per input, set the states before it; afterwards these are restored. The other inputs are those of the
    call.
    """
    held = dict(zip(program.inputs, arrays, strict=True))
    states = [(c, c.state if function is program else c.declared) for c in program.states]
    with ExitStack() as stack:
        for carried, state in states:
            stack.enter_context(state.holding(held[carried.input]))
        leaves = list(map(np.asarray, _leaves(program, function(*call[0], **call[1]))))
        found = {c.output: state.now.copy() for c, state in states}
    found.update(zip((program.outputs[i] for i in program.returned), leaves, strict=True))
    return [found[name] for name in program.outputs]


def _leaves(program: Program, returned: Any) -> list[Any]:
    """Return the leaves of a result; those of the program's complex ones in parts, also if NumPy's is real."""
    return trees.leaves_beside(program.result, returned) if program.complex_outputs else trees.flatten(returned)[0]
