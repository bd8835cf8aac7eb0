"""Slopes of kernels by distances whose terms cancel only in their sum: right second derivatives where points meet."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

import primsplit as ps
from primsplit.ir import Op, Value
from primsplit.transforms.cancelling_sums import Samples, cancelled

ROOT3, ROOT5 = math.sqrt(3), math.sqrt(5)
KERNELS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "matern 3/2": (lambda d: (1 + ROOT3 * d) * np.exp(-ROOT3 * d), -3.0),
    "matern 5/2": (lambda d: (1 + ROOT5 * d + 5 / 3 * d**2) * np.exp(-ROOT5 * d), -5 / 3),
    "matern 5/2, other order": (lambda d: np.exp(-(d * ROOT5)) * (5 * d * d / 3 + d * ROOT5 + 1), -5 / 3),
    "matern 7/2": (
        lambda d: (1 + d + 2 / 5 * d**2 + d**3 / 15) * np.exp(-d),
        -1 / 5,
    ),
    "a sum of kernels": (lambda d: 2 * (1 + d) * np.exp(-d) + np.exp(-(d**2)), -4.0),
    "less than a linear term": (lambda d: (1 + d) ** 2 - 2 * d, 2.0),
}
"""Kernels, and their second derivatives at the distance 0."""
DISTANCES: dict[str, Callable[[Any], Any]] = {
    "a norm": np.linalg.norm,
    "a hypotenuse": lambda x: np.hypot(x[0], x[1]),
    "cdist": lambda x: cdist(x[None], np.zeros((1, 2)))[0, 0],
    "pdist": lambda x: pdist(np.stack([x, np.zeros(2)]))[0],
    "squareform": lambda x: squareform(pdist(np.stack([x, np.zeros(2)])))[0, 1],
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_has_its_second_derivatives_where_points_meet(kernel: str, distance: str) -> None:
    function, second = KERNELS[kernel]
    made = ps.hessian(lambda x: function(DISTANCES[distance](x)))(np.zeros(2))
    np.testing.assert_allclose(made, second * np.eye(2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_has_those_of_elsewhere_too(kernel: str) -> None:
    """Against central differences of the gradient."""
    function, _ = KERNELS[kernel]
    gradient = ps.grad(lambda x: function(np.linalg.norm(x)))
    x, h = np.array([0.3, 0.4]), 1e-5
    wanted = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(ps.hessian(lambda x: function(np.linalg.norm(x)))(x), wanted, rtol=1e-6, atol=1e-8)
    slope = (function(0.5 + h) - function(0.5 - h)) / (2 * h)
    np.testing.assert_allclose(gradient(x), slope * x / 0.5, rtol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda d: (1 + 1.7 * d) * np.exp(-ROOT3 * d),
        lambda d: np.exp(-d),
        lambda d: (1 + d) * np.exp(-d) + 1e-3 * d,
        lambda d: (1 + d + d**2) ** 2 - 2.5 * d,
    ],
)
def test_a_kernel_with_a_kink_has_none(kernel: Callable[[Any], Any]) -> None:
    assert not np.isfinite(ps.hessian(lambda x: kernel(np.linalg.norm(x)))(np.zeros(2))).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_a_written_root_the_second_derivatives_are_right_or_nan(kernel: str) -> None:
    function, second = KERNELS[kernel]
    v = np.array([1.0, 2.0])
    slope = ps.grad(lambda x: function(np.sqrt(np.sum(x**2))))
    for made in (ps.grad(lambda x: np.sum(slope(x) * v))(np.zeros(2)), ps.jvp(slope, (np.zeros(2),), (v,))[1]):
        assert np.all(np.isnan(made) | np.isclose(made, second * v))


def _turned(e: Any, times: int) -> Any:
    """`e` with its sign changed an even number of times."""
    for _ in range(times):
        e = -e
    return e


@pytest.mark.parametrize(
    ("function", "vanishes"),
    [
        (lambda y, e: 1.7 * e - 1.7 * (1 + y) * e, True),
        (lambda y, e: (e + y) ** 3 - e * e * e, True),
        (lambda y, e: (1 + e) - 1 - e + y, True),
        (lambda y, e: e / 3 - (e + y) * (1 / 3), True),
        (lambda y, e: _turned(e, 20) - e + y, True),
        (lambda y, e: _turned(e, 26) - e + y, False),  # further than sums are followed
        (lambda y, e: 1.7 * e - 1.6 * (1 + y) * e, False),
        (lambda y, e: (e + y) ** 3 - e * e, False),
        (lambda y, e: np.exp(e) - np.exp(2 * e) * (1 - y), False),
    ],
)
def test_a_sample_shows_that_most_sums_lack_a_factor(function: Callable[[Any, Any], Any], vanishes: bool) -> None:
    program = ps.trace(function, np.float64(1.0), np.float64(1.0))
    samples = Samples(_Counted(program), program.block.params[0])
    assert samples.may_vanish(program.block.results) == vanishes


class _Counted:
    """The ops of a program, and how often one was asked for."""

    def __init__(self, program: ps.Program) -> None:
        self.ops = {output: op for op in program.block.ops for output in op.outputs}
        self.asked = 0

    def maker(self, value: Value | None) -> Op | None:
        self.asked += 1
        return self.ops.get(value) if value is not None else None


def test_a_value_that_many_ops_share_is_read_once() -> None:
    """Each of 20 sums reads the sum before it twice: there are 2**20 ways to the first."""

    def doubled(x: Any) -> Any:
        for _ in range(20):
            x = x * 0.5 + x * 0.25
        return x

    program = ps.trace(doubled, np.float64(1.0))
    counted = _Counted(program)
    (y,), (last,) = program.block.params, program.block.results

    def looked_at(z: Any) -> Any:
        assert cancelled(counted, [last], y) is None
        return z

    ps.trace(looked_at, np.float64(1.0))
    assert len(program.block.ops) / 2 < counted.asked <= 2 * len(program.block.ops)
