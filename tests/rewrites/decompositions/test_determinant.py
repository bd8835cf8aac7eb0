"""Determinants in float64, of sizes that are known and of any."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

A = np.random.default_rng(0).standard_normal((5, 5))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_determinant_is_lapacks(n: int, is_known: bool) -> None:
    a = A[:n, :n]
    program = ps.trace(op.Det, ps.spec("float64", [n, n] if is_known else ["N", "N"]))
    np.testing.assert_allclose(program(a), np.linalg.det(a), rtol=1e-13)


@pytest.mark.parametrize("is_known", [True, False])
def test_rows_are_swapped_and_columns_of_zeros_give_zero(is_known: bool) -> None:
    cases = {
        -1.0: [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        1.0: [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        0.0: [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0], [5.0, 0.0, 6.0]],
    }
    program = ps.trace(op.Det, ps.spec("float64", [3, 3] if is_known else ["N", "N"]))
    for wanted, rows in cases.items():
        assert program(np.array(rows)) == wanted


def test_a_batch_has_a_determinant_each() -> None:
    batch = np.random.default_rng(1).standard_normal((2, 3, 4, 4))
    for shape in (batch.shape, ["A", "B", 4, 4], ["A", "B", "N", "N"]):
        np.testing.assert_allclose(ps.trace(op.Det, ps.spec("float64", shape))(batch), np.linalg.det(batch), rtol=1e-12)
