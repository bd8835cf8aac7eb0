"""Substitutes for the products of SciPy's sparse matrices with traced arrays, on either side."""

from types import ModuleType
from typing import Any

from primsplit.scipy.sparse import product
from primsplit.substitutes.table import register_method

FORMS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def _product(a: Any, x: Any) -> Any:
    """`a @ x`."""
    return product(a, x)


def _reflected(a: Any, x: Any) -> Any:
    """`x @ a`."""
    found = product(a.T, x.T)
    return found.T


def register_sparse(module: ModuleType) -> None:
    """Let traced arrays be multiplied by the matrices of `scipy.sparse`."""
    for form in FORMS:
        matrix, array = getattr(module, f"{form}_matrix"), getattr(module, f"{form}_array")
        for owner in (matrix, array):
            register_method(owner, "__matmul__", _product)
            register_method(owner, "dot", _product)
            register_method(owner, "__rmatmul__", _reflected)
        register_method(matrix, "__mul__", _product)
        register_method(matrix, "__rmul__", _reflected)
