"""ONNX's normalizations in NumPy: onnxruntime's results."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.normalizations import NORMALIZATIONS

random = np.random.default_rng(0)

X, SCALE, BIAS = random.standard_normal((2, 4, 3, 3)), random.standard_normal(4), random.standard_normal(4)

CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "instances": ("InstanceNormalization", [X, SCALE, BIAS], {"epsilon": 1e-3}),
    "instances of one axis": ("InstanceNormalization", [X[..., 0], SCALE, BIAS], {}),
    "groups": ("GroupNormalization", [X, SCALE, BIAS], {"num_groups": 2, "epsilon": 1e-3}),
    "one group": ("GroupNormalization", [X, SCALE, BIAS], {"num_groups": 1}),
    "responses": ("LRN", [X], {"size": 3, "alpha": 0.3, "beta": 0.5, "bias": 1.5}),
    "lengths": ("LpNormalization", [X], {"axis": 1, "p": 2}),
    "sums of magnitudes": ("LpNormalization", [X], {"axis": -1, "p": 1}),
    "means and variances": ("MeanVarianceNormalization", [X], {"axes": [0, 2, 3]}),
    "means and variances of a row": ("MeanVarianceNormalization", [X], {"axes": [-1]}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_normalization_is_onnxruntimes(name: str) -> None:
    kind, inputs, attributes = CASES[name]
    given = [x.astype(np.float32) for x in inputs]
    wanted = ps.trace(lambda *xs: getattr(op, kind)(*xs, **attributes), *given)(*given)
    found = NORMALIZATIONS[kind](*given, **attributes)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)


def test_a_row_of_zeros_has_no_length_and_stays() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(NORMALIZATIONS["LpNormalization"](x), [[0, 0], [0.6, 0.8]])


def test_an_even_window_of_channels_reaches_one_further_on() -> None:
    """Of size 2 it is the channel and the next one."""
    squares = X**2 + np.concatenate([X[:, 1:] ** 2, np.zeros((2, 1, 3, 3))], axis=1)
    found = NORMALIZATIONS["LRN"](X, size=2, alpha=0.3)
    np.testing.assert_allclose(found, X / (1 + 0.15 * squares) ** 0.75, rtol=1e-12)
