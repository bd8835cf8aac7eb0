"""`ps.forward`: the derivative is computed on the way forward, and is all that is kept."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError, TraceError
from primsplit.testing import check_grads


@ps.forward
def wave(x, s):
    return 1 / (1 + np.exp(-s * np.sin(x) ** 2))


def loss(x, s):
    return wave(x, s).sum()


def test_a_chain_keeps_one_array_an_argument() -> None:
    split = ps.split(loss, ps.spec("float64", ["N"]), 0.4)
    kept = [c for c in split.capture_table() if c["kind"] == "intermediate"]
    assert [c["type"] for c in kept] == ["float64[N]", "float64[N]"]
    lines = [o.kind for o in split.pullback.ops]
    assert lines.count("Mul") == 2


def test_numbers_broadcast_and_the_second_derivative_stays_right() -> None:
    check_grads(loss, np.array([0.3, 0.7, 1.2]), 0.4, order=2)
    check_grads(lambda x, s: (wave(x, s) * x[:, :1]).sum(), np.ones((2, 3)) * 0.3, np.array([0.4, 0.5, 0.6]), order=2)


def test_a_function_that_mixes_elements_is_refused() -> None:
    mixing = ps.forward(lambda x: x / x.sum())
    with pytest.raises(RuleError, match="ReduceSum is not elementwise"):
        ps.grad(lambda x: mixing(x)[0])(np.ones(3))


def test_complex_arrays_are_refused_since_the_rule_would_lack_their_conjugates() -> None:
    square = ps.forward(lambda z: z * z)
    with pytest.raises(TraceError, match="a complex array"):
        ps.grad(lambda z: np.sum(np.abs(square(z)) ** 2))(np.array([1 + 2j]))
