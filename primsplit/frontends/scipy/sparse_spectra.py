"""scipy.sparse.linalg's few eigenvalues and singular values, computed with dense matrices. Only traced."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.assembled import dense, is_sparse
from primsplit.frontends.scipy.linalg import eigh
from primsplit.frontends.scipy.operands import of_at_least
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.tracing.array import Array, unsupported

__all__ = ["eigsh", "svds"]


@as_scipys("scipy.sparse.linalg")
def eigsh(
    A: Any, k: int, M: Any, sigma: Any, which: str, v0: Any, ncv: Any, maxiter: Any, tol: Any, rng: Any,
    return_eigenvectors: bool,
) -> Any:  # fmt: skip
    """`k` eigenvalues of a symmetric matrix, ascending, and their vectors; to rounding, whatever `tol` is.

    Without vectors the outermost comes last, unless there is a `sigma`, as in SciPy. A run with no more than `k` rows
    fails. Raises UnsupportedFunction for what is no matrix, and for a `sigma` beside another `which` than "LM".
    """
    is_known = which in _PLACES and (sigma is None or which == "LM")
    if not is_known or not (is_sparse(A) or isinstance(A, np.ndarray | Array)):
        raise unsupported(f"scipy.sparse.linalg.eigsh of traced values with which={which!r} and sigma={sigma!r}")
    given = of_at_least(dense(A), k + 1, 0)
    values, vectors = eigh(given, None if M is None else dense(M))
    places = _nearest(values, sigma, k) if sigma is not None else _PLACES[which](values, k)
    found = np.take(values, places)
    if return_eigenvectors:
        return found, np.take(vectors, places, axis=1)
    return found if sigma is not None or which not in _ALONE else found[np.argsort(_ALONE[which](found))]


def _nearest(values: Any, sigma: Any, k: int) -> Any:
    return np.sort(np.argsort(np.abs(values - sigma))[:k])


def _first(values: Any, k: int) -> Any:
    return np.arange(k)


def _last(values: Any, k: int) -> Any:
    return values.shape[0] - k + np.arange(k)


_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "LM": lambda values, k: np.sort(np.argsort(-np.abs(values))[:k]),
    "SM": lambda values, k: _nearest(values, 0.0, k),
    "LA": _last,
    "SA": _first,
    "BE": lambda values, k: np.concatenate([_first(values, k // 2), _last(values, k - k // 2)]),
}
"""The places of the wanted ones among ascending eigenvalues."""
_ALONE: dict[str, Callable[[Any], Any]] = {"LM": np.abs, "SM": lambda values: -np.abs(values), "SA": np.negative}
"""By what eigenvalues without vectors are put in order, where they do not ascend."""


@as_scipys("scipy.sparse.linalg")
def svds(
    A: Any, k: int, ncv: Any, tol: Any, which: str, v0: Any, maxiter: Any, return_singular_vectors: Any, solver: str,
    rng: Any, options: Any, random_state: Any,
) -> Any:  # fmt: skip
    """`k` singular values, ascending, and their vectors; to rounding. A run with no more rows or columns fails.

    Raises UnsupportedFunction for another solver than "arpack", and for vectors of one side.
    """
    if solver != "arpack" or return_singular_vectors not in {True, False} or which not in {"LM", "SM"}:
        raise unsupported(f"scipy.sparse.linalg.svds with solver={solver!r} and {return_singular_vectors=}")
    given = of_at_least(of_at_least(dense(A), k + 1, 0), k + 1, 1)
    u, s, vh = np.linalg.svd(given, full_matrices=False)
    places = k - 1 - np.arange(k) if which == "LM" else s.shape[0] - 1 - np.arange(k)
    found = np.take(s, places)
    return (np.take(u, places, axis=1), found, np.take(vh, places, axis=0)) if return_singular_vectors else found
