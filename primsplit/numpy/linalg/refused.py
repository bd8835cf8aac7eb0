"""What ONNX has no operator for, singular values and eigenvalues, and the way out."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import implements
from primsplit.errors import UnsupportedFunction


class Refused:
    """A part of a result that primsplit does not compute: any use of it is an error at the user's line."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        raise refusal(self._what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise refusal(self._what)


def refusal(what: str) -> UnsupportedFunction:
    """The error for what needs singular values or eigenvalues."""
    return UnsupportedFunction(
        f"{what}: ONNX has no operator for it, and primsplit no composition",
        place=tracing.user_place(),
        cure="For positive definite matrices use cholesky, for full rank qr, solve, slogdet or lstsq; "
        "or compute it outside and pass it as an argument.",
    )


def _refuse(function: Any) -> None:
    def refused(*args: Any, **options: Any) -> Any:
        raise refusal(f"np.linalg.{function.__name__}")

    implements(function)(refused)


for _function in (
    np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.svd, np.linalg.svdvals,
    np.linalg.matrix_rank, np.linalg.cond,
):  # fmt: skip
    _refuse(_function)
