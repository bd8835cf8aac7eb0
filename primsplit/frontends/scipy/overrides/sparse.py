"""Substitutes for SciPy's sparse matrices: products with traced arrays, and matrices of traced elements."""

import functools
from types import ModuleType
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.table import register, register_method, when_traced, when_unknown
from primsplit.frontends.scipy import joined_matrices
from primsplit.frontends.scipy.assembled import Assembled, assembled, dense, is_sparse, of_diagonals
from primsplit.frontends.scipy.sparse import product

CLASSES = tuple(
    f"{form}_{kind}" for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil") for kind in ("array", "matrix")
)


def _product(a: Any, x: Any) -> Any:
    """`a @ x`."""
    return x.__rmatmul__(a) if isinstance(x, Assembled) else product(a, x)


def _reflected(a: Any, x: Any) -> Any:
    """`x @ a`."""
    return x.dot(a) if isinstance(x, Assembled) else product(a.T, x.T).T


def _is_matrix(a: Any) -> bool:
    """Whether a value is of a class whose `*` is the matrix product."""
    return type(a).__name__.endswith("_matrix")


def _multiplied(a: Any, x: Any) -> Assembled:
    """The elements of a matrix times a traced number or array."""
    return Assembled(a.toarray() * dense(x), is_matrix=_is_matrix(a))


def _divided(a: Any, x: Any) -> Assembled:
    return Assembled(a.toarray() / dense(x), is_matrix=_is_matrix(a))


def _times(a: Any, x: Any) -> Any:
    """`a * x`."""
    return _product(a, x) if _is_matrix(a) and np.ndim(dense(x)) else _multiplied(a, x)


def _reflected_times(a: Any, x: Any) -> Any:
    """`x * a`."""
    return _reflected(a, x) if _is_matrix(a) and np.ndim(dense(x)) else _multiplied(a, x)


METHODS = {
    "__matmul__": _product,
    "dot": _product,
    "__rmatmul__": _reflected,
    "__mul__": _times,
    "__rmul__": _reflected_times,
    "multiply": _multiplied,
    "__truediv__": _divided,
}
FUNCTIONS: dict[str, Any] = {
    "diags": of_diagonals(is_matrix=True), "diags_array": of_diagonals(is_matrix=False), "issparse": is_sparse
}  # fmt: skip
JOINED: dict[str, Any] = joined_matrices.FUNCTIONS


def register_sparse(module: ModuleType) -> None:
    """Let traced arrays meet the matrices of `scipy.sparse`, and be their elements."""
    for form in CLASSES:
        owner = getattr(module, form)
        for name, traced in METHODS.items():
            register_method(owner, name, traced)
        register(owner, when_unknown(owner, functools.partial(assembled, form)))
    for name, traced in FUNCTIONS.items():
        original: Any = getattr(module, name)
        register(original, when_unknown(original, traced))
    for name, joined in JOINED.items():
        given: Any = getattr(module, name)
        register(given, when_traced(given, joined))
