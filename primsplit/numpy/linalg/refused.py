"""What ONNX has no operator for, eigenvalues of matrices that are not symmetric, and the way out."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import implements
from primsplit.errors import UnsupportedFunction


def refusal(what: str) -> UnsupportedFunction:
    """The error for what needs eigenvalues that may be complex."""
    return UnsupportedFunction(
        f"{what}: ONNX has no operator for it, and primsplit no composition",
        place=tracing.user_place(),
        cure="For symmetric matrices use eigh or eigvalsh, for singular values svd; "
        "or compute it outside and pass it as an argument.",
    )


def _refuse(function: Any) -> None:
    def refused(*args: Any, **options: Any) -> Any:
        raise refusal(f"np.linalg.{function.__name__}")

    implements(function)(refused)


for _function in (np.linalg.eig, np.linalg.eigvals):
    _refuse(_function)
