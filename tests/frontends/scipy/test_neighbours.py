"""scipy.spatial's neighbour search: SciPy's distances and places of traced points, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.spatial as scipys

from primsplit.testing import check_grads

random = np.random.default_rng(4)
A, B = random.standard_normal((4, 3)), random.standard_normal((5, 3))
TREE = scipys.KDTree(B)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "KDTree": lambda a, b: scipys.KDTree(a).query(b, 2, p=1)[0] * (1 + scipys.cKDTree(a).query(b, 2)[1]),
    "KDTree of known points": lambda a, b: b[TREE.query(a)[1]] * TREE.query(a)[0][:, None],
    "periodic KDTree": lambda a, b: scipys.KDTree(a % 2.0, boxsize=[2.0, 2.0, 0.0]).query(b % 2.0, 3)[0],
    "query_pairs": lambda a, b: np.linalg.norm(
        np.diff(b[scipys.KDTree(b).query_pairs(2.0, output_type="ndarray")], axis=1), axis=-1
    ).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:

    def f(a: Any, b: Any) -> Any:
        return FUNCTIONS[name](a, b)

    check_grads(f, A, B, symbolic=False, value_tolerance=1e-10)
