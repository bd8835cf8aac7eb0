"""Rotations of all pairs of rows at once, for Jacobi's methods."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.rotations import both_rounds, loud, rotation, sign_of_largest, swept, to_unit
from primsplit.ops import op
from tests.numpy.matrices import normal


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_pairs_are_neighbours_and_a_row_left_over_is_alone(n: int) -> None:
    def f(x: Any) -> Any:
        return tuple((pairs.partner, op.Squeeze(pairs.side, [1])) for pairs in both_rounds(x))

    for offset, (partner, side) in enumerate(ps.trace(f, np.zeros((n, 2)))(np.zeros((n, 2)))):
        wanted = np.arange(n)
        for i in range(offset, n - 1, 2):
            wanted[[i, i + 1]] = i + 1, i
        np.testing.assert_array_equal(partner, wanted)
        np.testing.assert_array_equal(side, wanted - np.arange(n))


@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_in_a_sweep_every_row_meets_every_other(n: int) -> None:
    """Rows change places in each round, and note whom they met."""

    def turn(pairs: Any, rows: Any, met: Any) -> Any:
        other = op.Gather(rows, pairs.partner, axis=0)
        met = op.Add(met, op.MatMul(op.Transpose(rows, perm=[1, 0]), other))
        return [other, met]

    def f(x: Any) -> Any:
        return swept(turn, both_rounds(x), [x, x * 0.0])[1]

    met = ps.trace(f, np.eye(n))(np.eye(n))
    assert np.all(met + np.eye(n) > 0)


def test_a_rotation_diagonalizes_its_two_by_two_matrix() -> None:
    p, q = np.array([1.0, 2.0, -3.0, 0.0, 1.0]), np.array([4.0, 2.0, 5.0, 0.0, 1.0])
    c = np.array([0.5, -1.0, 2.0, 0.0, 0.0])
    column = [v[:, None] for v in (q - p, c)]
    for side in (1.0, -1.0):
        cosine, sine = ps.trace(lambda d, c, s=side: rotation(d * 0.0 + s, d, c), *column)(*column)
        np.testing.assert_allclose(cosine**2 + sine**2, 1.0, rtol=1e-15)
        assert np.all(cosine >= np.sqrt(0.5) - 1e-15)
        for k in range(5):
            a, b = cosine[k, 0], side * sine[k, 0]
            turn = np.array([[a, b], [-b, a]])
            matrix = np.array([[p[k], c[k]], [c[k], q[k]]])
            off = min(abs((t @ matrix @ t.T)[0, 1]) for t in (turn, turn.T))
            assert off < 1e-14


def test_matrices_are_scaled_by_powers_of_two_and_what_is_not_finite_is_nan() -> None:
    x = np.stack([1e200 * normal(2, 2), 1e-200 * normal(2, 2), np.array([[1.0, np.inf], [0.0, 1.0]])])
    scaled, power = ps.trace(lambda x: to_unit(x), x)(x)
    np.testing.assert_array_equal(scaled[:2] * power[:2], x[:2])
    assert np.all((np.abs(scaled[:2]).max((1, 2)) > 0.4) & (np.abs(scaled[:2]).max((1, 2)) < 4.0))
    assert np.all(np.frexp(power[:2])[0] == 0.5)
    assert np.isnan(scaled[2]).all()


def test_a_sign_is_that_of_the_largest_element_and_the_first_of_equals() -> None:
    x = np.array([[1.0, -3.0], [3.0, -3.0], [-2.0, 0.5], [0.0, 0.0]])
    np.testing.assert_array_equal(ps.trace(sign_of_largest, x)(x), [[-1.0], [1.0], [-1.0], [1.0]])


def test_what_is_not_zero_becomes_infinite() -> None:
    x = np.array([0.0, 1e-300, -2.0])
    np.testing.assert_array_equal(ps.trace(loud, x)(x), [0.0, np.inf, -np.inf])
