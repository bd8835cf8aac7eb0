"""Applies scalar functions of a nest to whole arrays, with the dtypes that NumPy gives numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.loops.functions import TRUTHS
from primsplit.frontends.loops.lowering.space import over
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.contraction import Term
from primsplit.numpy.quotients import root_quotient
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.numpy.units import smallest
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array


def _relu(x: Array) -> Array:
    return op.Relu(x) if x.dtype.kind == "f" else op.Max(x, 0)


OWN: Mapping[str, Callable[..., Any]] = {
    "relu": _relu,
    "off_zero": lambda x: op.Max(floating(x), smallest(floating(x))),
    "root_quotient": lambda n, y: root_quotient(floating(n), floating(y)),
    "cot": lambda x: op.Reciprocal(ELEMENTWISE["tan"](floating(x))),
    "exp10": lambda x: op.Pow(np.asarray(10, floating(x).dtype), floating(x)),
    "expit": lambda x: op.Sigmoid(floating(x)),
    "erf": lambda x: op.Erf(floating(x)),
}
"""Functions that NumPy does not have."""


def floating(x: Array) -> Array:
    """The array, where it is of integers as float64, as NumPy's functions of real numbers take it."""
    return x if x.dtype.kind == "f" else cast_to(x, np.dtype(np.float64))


def computed(
    function: str, operands: Sequence[Term], loops: tuple[str, ...], functions: Mapping[str, Callable[..., Any]]
) -> Term:
    """The function of these values over the loops that any of them has, in the order that one with all of them has.

    A weak operand takes the dtype that NumPy gives a Python number beside the others. Raises UnsupportedFunction.
    """
    kept = next((tuple(map(str, term.labels)) for term in operands if set(loops) == set(term.labels)), None)
    kept = kept or tuple(loop for loop in loops if any(loop in term.labels for term in operands))
    given = met(operands[1:]) if function == "where" else met(operands)
    arrays = [over(term, kept) for term in ([operands[0], *given] if function == "where" else given)]
    strong = [Array(a.value) for a in arrays]
    found = as_array(_function(function, functions)(*strong))
    weak = all(term.array.weak for term in operands) or function in TRUTHS
    return Term(Array(found.value, weak=weak), kept)


def _function(name: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function of arrays with this name: the user's own, one of the table here, or NumPy's."""
    found = functions.get(name) or OWN.get(name) or getattr(np, name, None)
    if found is None:
        raise UnsupportedFunction(
            f"no function of arrays is called {name}", cure="Give it: functions={name: function}."
        )
    return found


def met(terms: Sequence[Term]) -> list[Term]:
    """The terms, weak ones in the dtype that NumPy gives a Python number beside the others."""
    strong = [term.array.dtype for term in terms if not term.array.weak]
    if not strong:
        return list(terms)
    return [_met(term, strong) if term.array.weak else term for term in terms]


def _met(term: Term, strong: Sequence[np.dtype[Any]]) -> Term:
    dtype = np.result_type(*strong, term.array.dtype.type(0).item())
    return Term(cast_to(Array(term.array.value), dtype), term.labels)
