"""scipy.sparse.linalg's solutions of linear systems with a traced matrix or traced right-hand sides."""

from functools import partial
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.assembled import Assembled, dense, holds_known, is_sparse
from primsplit.frontends.scipy.known_systems import of_sparse, solution
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy import failing
from primsplit.tracing.array import Array

__all__ = ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr", "spsolve"]


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """The solution of A x = b: for a known A of few diagonals by sweeps, else by the factors of all of it."""
    known = None if is_sparse(b) or not holds_known(A) else solution(partial(of_sparse, A), b)
    found: Any = failing.nan_where_singular.solve(dense(A), dense(b)) if known is None else known
    if is_sparse(b):
        return Assembled(found, is_matrix=True)
    return found.reshape(-1) if found.ndim == 2 and found.shape[1] == 1 else found


def _iterative(name: str) -> Any:
    def solver(A: Any, b: Any, x0: Any = None, *, callback: Any = None, **options: Any) -> tuple[Any, int]:
        if callback is not None or not (is_sparse(A) or isinstance(A, np.ndarray | Array)):
            raise UnsupportedFunction(
                f"scipy.sparse.linalg.{name} of traced values takes a matrix, and no callback",
                place=tracing.user_place(),
                cure="Pass the matrix itself.",
            )
        return spsolve(A, b), 0

    solver.__name__ = name
    solver.__doc__ = "The solution itself, which the iteration comes near, and 0 for a success."
    return solver


bicg, bicgstab, cg, cgs, gmres, lgmres, minres, qmr = map(
    _iterative, ("bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr")
)
