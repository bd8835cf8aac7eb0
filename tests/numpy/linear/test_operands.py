"""Operands of matrix functions: floats with two axes, square where that is needed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]

WRONG: list[tuple[str, Callable[..., Any], list[Array]]] = [
    ("not square", np.linalg.inv, [normal(3, 4)]),
    ("no matrix", np.linalg.det, [normal(3)]),
    ("another size", np.linalg.solve, [normal(3, 3), normal(4, 2)]),
    ("float16", np.linalg.inv, [normal(3, 3).astype("float16")]),
]


@pytest.mark.parametrize(("function", "point"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_numpy_refuses_is_refused_at_the_users_line(function: Callable[..., Any], point: list[Array]) -> None:
    def user(*given: Any) -> Any:
        return function(*given)

    with pytest.raises(PrimsplitError) as refused:
        ps.trace(user, *point)
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__
