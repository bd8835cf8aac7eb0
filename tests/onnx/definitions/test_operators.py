"""An operator of any domain is a function of arrays."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.onnx.definitions.operators import operator

X = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])


def kinds(function: Any, *arrays: np.ndarray) -> list[str]:
    return [op.kind for op in ps.trace(function, *arrays).block.ops]


def test_one_of_the_standard_is_itself() -> None:
    assert kinds(lambda x: operator("Softmax")(x, axis=0), X) == ["Softmax"]


def test_one_of_another_domain_is_a_call_of_its_definition() -> None:
    bias = np.array([0.5, 1.0, -1.0])
    found = ps.trace(lambda x, b: operator("com.microsoft", "BiasGelu")(x, b), X, bias)
    assert [op.kind for op in found.block.ops] == ["call::com.microsoft::BiasGelu"]
    from math import erf, sqrt

    wanted = [[v / 2 * (1 + erf(v / sqrt(2))) for v in row] for row in X + bias]
    np.testing.assert_allclose(found(X, bias), wanted, rtol=1e-12)


def test_one_with_several_outputs_gives_a_tuple() -> None:
    def layer(x: Any) -> Any:
        ones = np.ones(3)
        made = operator("com.microsoft::SkipLayerNormalization")(x[None], x[None], ones, outputs=4)
        return made[3]

    np.testing.assert_array_equal(ps.trace(layer, X)(X), 2 * X[None])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (("Softmx",), "Did you mean .*Softmax"),
        (("com.microsoft", "BiasGelo"), "com.microsoft::BiasGelu"),
        (("nobody", "Heard"), r"Define it: extend\.defines"),
    ],
)
def test_an_unknown_name_is_refused_at_the_users_line(name: tuple[str, ...], told: str) -> None:
    with pytest.raises(RuleError, match=told) as caught:
        operator(*name)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
