"""scipy.sparse.linalg's factorizations and functions of sparse matrices, computed with dense matrices."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primsplit.frontends.scipy import linalg
from primsplit.frontends.scipy.assembled import Assembled, dense, holds_known
from primsplit.frontends.scipy.known_systems import of_sparse, solution
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.numpy import failing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["expm", "expm_multiply", "factorized", "inv", "norm", "splu", "spsolve_triangular"]


class Factors:
    """`splu(A)`: what solves systems with a matrix. `known` are SciPy's own factors of one that is not traced."""

    def __init__(self, matrix: Any, known: Any = None) -> None:
        self.matrix = matrix
        self.known = known

    @property
    def shape(self) -> Any:
        """That of the matrix."""
        return self.matrix.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution of A x = b, or with the transpose for "T" and "H"."""
        if self.known is not None and not holds_traced(rhs):
            return self.known.solve(rhs, trans)
        if holds_known(self.matrix):
            turned = self.matrix if trans == "N" else self.matrix.T
            found = solution(partial(of_sparse, turned), rhs)
            if found is not None:
                return found
        whole = dense(self.matrix)
        return failing.nan_where_singular.solve(whole if trans == "N" else whole.T, rhs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.known is None:
            raise unsupported(f"{name} of the factors of a sparse matrix of traced elements")
        return getattr(self.known, name)


@as_scipys("scipy.sparse.linalg")
def splu(A: Any, permc_spec: Any, diag_pivot_thresh: Any, relax: Any, panel_size: Any, options: Any) -> Factors:
    """An object that solves systems with the matrix, whichever permutations are asked for."""
    return Factors(A)


def factorized(A: Any) -> Callable[[Any], Any]:
    """The function that solves systems with the matrix."""
    return Factors(A).solve


def _known_factors(found: Any, given: tuple[Any, dict[str, Any]]) -> Factors:
    args, options = given
    return Factors(args[0] if args else options["A"], found)


def _known_solution(found: Any, given: tuple[Any, dict[str, Any]]) -> Callable[[Any], Any]:
    factors = _known_factors(None, given)
    return lambda b: factors.solve(b) if holds_traced(b) else found(b)


def solve_by_factors(factors: Any, rhs: Any, trans: str = "N") -> Any:
    """`SuperLU.solve` of factors that SciPy computed outside of the function, for a traced right side.

    Rows and columns of the matrix are those of L U in the order before the permutations. An element that is rounding is
    0, so that the matrix is as sparse as it was.
    """
    product, size = factors.L @ factors.U, abs(factors.L) @ abs(factors.U)
    product = product.multiply(abs(product) > 4 * np.finfo(product.dtype).eps * size).tocsr()
    return Factors(product[factors.perm_r][:, factors.perm_c].tocsc(), factors).solve(rhs, trans)


KNOWN = {"splu": _known_factors, "factorized": _known_solution}
"""Functions that adapt SciPy's factors of known matrices so that they solve for traced right sides."""


def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The solution of a triangular system."""
    return linalg.solve_triangular(dense(A), dense(b), lower=lower, unit_diagonal=unit_diagonal)


def inv(A: Any) -> Assembled:
    """The inverse."""
    return Assembled(array_like(failing.nan_where_singular.inv(dense(A))), is_matrix=_is_matrix(A))


def expm(A: Any) -> Assembled:
    """The exponential."""
    return Assembled(linalg.expm(dense(A)), is_matrix=_is_matrix(A))


def _is_matrix(a: Any) -> bool:
    return a.is_matrix if isinstance(a, Assembled) else type(a).__name__.endswith("_matrix")


def expm_multiply(A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, **options: Any) -> Any:
    """exp(A) B; to rounding. Raises UnsupportedFunction for several times."""
    if (start, stop, num) != (None, None, None):
        raise unsupported("scipy.sparse.linalg.expm_multiply at several times")
    found: Any = linalg.expm(dense(A)) @ dense(B)
    return found


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """A norm of a sparse matrix, or of its rows or columns."""
    return np.linalg.norm(dense(x), ord=ord, axis=axis)
