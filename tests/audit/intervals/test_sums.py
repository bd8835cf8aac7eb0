"""Ranges of sums, products of matrices and reductions."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.intervals.ranges import interval
from primsplit.ops import op
from tests.audit.intervals.sound import assert_program_sound, walk_of, walked

X = np.linspace(-1, 2, 12).reshape(3, 4)
W = np.cos(np.arange(20.0)).reshape(4, 5)
PROGRAMS: dict[str, Any] = {
    "a softmax": lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1)[:, None]).sum(1)[:, None],
    "products of matrices": lambda x: np.tanh(x @ W) @ W.T,
    "means and variances": lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5),
    "running sums": lambda x: np.cumsum(x, axis=0) * np.cumprod(1 + 0.1 * x, axis=1),
    "a determinant": lambda x: np.linalg.det(x @ x.T + np.eye(3)),
    "an inverse": lambda x: np.linalg.inv(x @ x.T + np.eye(3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


def test_a_sum_has_as_many_terms_as_its_axis() -> None:
    block, walk = walk_of(lambda x: x.sum(axis=1), ps.spec("float64", ["N", 4]), ranges=[(-1, 2)])
    assert walk.range(block.results[0]).ends == pytest.approx((-4.0, 8.0))
    block, walk = walk_of(lambda x: x.sum(axis=0), ps.spec("float64", ["N", 4]), ranges=[(1, 2)])
    assert walk.range(block.results[0]).ends == (1.0, np.inf)


def test_a_softmax_divides_by_one_at_least() -> None:
    def shares(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    block, walk = walk_of(shares, ps.spec("float64", ["N", 4]), ranges=[(-1000, 1000)])
    total = next(
        made for made in block.ops if made.kind == "ReduceSum" and made.inputs[0] is not block.ops[1].outputs[0]
    )
    assert walk.found[total.outputs[0]].ends == (1.0, pytest.approx(4.0))
    assert not walk.hazards


MASK = np.array([[0.0, -np.inf, -np.inf], [0.0, 0.0, -np.inf], [0.0, 0.0, 0.0]])
EMPTY = np.array([[0.0, -np.inf, -np.inf], [-np.inf, -np.inf, -np.inf], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize(("masked", "always"), [
    (lambda x: np.where(x > 0.5, x, -np.inf), [False]),
    (lambda x: np.where(MASK == 0, x, -np.inf), []),
    (lambda x: np.where(EMPTY == 0, x, -np.inf), [False]),
    (lambda x: x + MASK, []),
    (lambda x: x * 0 + EMPTY, [False]),
    (lambda x: np.where(x > 2.0, x, -np.inf), [True]),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_a_softmax_of_a_row_that_is_masked_out_is_0_by_0(kind: str, masked: Any, always: list[bool]) -> None:
    _, walk = walk_of(lambda x: getattr(op, kind)(masked(x), axis=1), ps.spec("float64", [3, 3]), ranges=[(-1, 1)])
    assert [h.always for each in walk.hazards.values() for h in each.values() if h.kind == "0 / 0"] == always


def test_a_product_of_known_matrices_is_close_to_its_elements() -> None:
    block, walk = walk_of(lambda x: W.T @ (W + 0 * x), ps.spec("float64", []), ranges=[(0, 0)])
    found = walk.range(block.results[0])
    np.testing.assert_allclose(found.low, W.T @ W, rtol=1e-13)
    np.testing.assert_allclose(found.high, W.T @ W, rtol=1e-13)


@pytest.mark.parametrize("attributes", [{}, {"alpha": -2.5}, {"beta": 3.0}, {"alpha": 0.5, "beta": -4.0, "transB": 1}])
def test_a_gemm_stays_in_its_range(attributes: dict[str, Any]) -> None:
    right = W.T if "transB" in attributes else W
    program = ps.trace(lambda x, c: op.Gemm(x, right, c, **attributes), X, np.ones(5))
    walk = walked(program.block, [interval(-1.0, 2.0, np.float64, X.shape), interval(-3.0, 1.0, np.float64, (5,))])
    low, high = walk.range(program.block.results[0]).ends
    corners = [program(x, np.full(5, c)) for x in (X, np.where(W.T[:3] > 0, 2.0, -1.0)) for c in (-3.0, 1.0)]
    assert low <= np.min(corners)
    assert np.max(corners) <= high
    assert high - low < 1000.0
