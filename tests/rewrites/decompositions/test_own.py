"""A user writes an operator in others, for a dtype or where there is no kernel."""

from collections.abc import Iterator
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.decompositions.own import decompose
from tests.registered import only_here

X = np.array([-4.0, -1.5, 0.25, 2.0])


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Undo registrations after each test."""
    with only_here():
        yield


def kinds(function: Any, dtype: str) -> list[str]:
    return [node.op_type for node in ps.trace(function, ps.spec(dtype, [4])).to_onnx().graph.node]


def hard_swish(x: Any) -> Any:
    return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)


def test_an_operator_is_written_in_others_for_its_dtypes_alone() -> None:
    assert kinds(op.HardSwish, "float32") == ["HardSwish"]
    decompose("HardSwish", "float32")(hard_swish)
    assert "HardSwish" not in kinds(op.HardSwish, "float32")
    found = ps.trace(op.HardSwish, X.astype("float32"))(X.astype("float32"))
    np.testing.assert_allclose(found, X * np.clip(X / 6 + 0.5, 0, 1), rtol=1e-6)


def test_the_derivative_is_that_of_the_operators_own_rule() -> None:
    decompose("HardSwish", "float64")(lambda x: x * 0.0)
    gradient = ps.split(lambda x: np.sum(op.HardSwish(x)), X).joint()(X)[1]
    np.testing.assert_allclose(gradient, [0.0, 0.0, (2 * 0.25 + 3) / 6, (2 * 2.0 + 3) / 6])


def test_without_dtypes_it_is_for_what_has_no_kernel() -> None:
    seen = []

    @decompose("Gelu")
    def gelu(x: Any, *, approximate: str) -> Any:
        seen.append((str(x.dtype), approximate))
        return x * 0.5 * (1.0 + op.Erf(x * sqrt(0.5)))

    assert kinds(lambda x: op.Gelu(x), "float32") == ["Gelu"]
    found = ps.trace(lambda x: op.Gelu(x), X)(X)
    np.testing.assert_allclose(found, [v / 2 * (1 + erf(v / sqrt(2))) for v in X], rtol=1e-9)
    assert seen == [("float64", "none")]


def test_it_is_for_integers_too() -> None:
    def wide(x: Any, y: Any) -> Any:
        return op.Cast(op.BitwiseAnd(op.Cast(x, to=np.int64), op.Cast(y, to=np.int64)), to=x.dtype)

    decompose("BitwiseAnd", "uint16")(wide)
    numbers = np.array([6, 3], np.uint16), np.array([3, 5], np.uint16)
    np.testing.assert_array_equal(ps.trace(op.BitwiseAnd, *numbers)(*numbers), [2, 1])


def test_one_for_a_fault_is_for_runtimes_that_have_it() -> None:
    says = "It is nothing that anybody saw."
    register = fault("of_this_test", kind="wrong", operators=("HardSwish",), says=says, before="1.30")
    register(decompose("HardSwish", "float32")(lambda x: hard_swish(x)))
    program = ps.trace(op.HardSwish, ps.spec("float32", [4]))
    for target, is_there in ((None, False), ("onnxruntime>=1.29", False), ("onnxruntime>=1.30", True)):
        found = [node.op_type for node in program.to_onnx(target=target).graph.node]
        assert (found == ["HardSwish"]) == is_there


REFUSED = [
    ("an unknown name", lambda: decompose("HardSwash"), "Did you mean .*HardSwish"),
    ("other arguments", lambda: decompose("LeakyRelu")(lambda x: x), "unexpected keyword argument 'alpha'"),
    ("another's", lambda: decompose("HardSwish", "float32")(theirs), "HardSwish has a decomposition already"),
]


def theirs(x: Any) -> Any:
    return x


theirs.__module__ = "theirs"


@pytest.mark.parametrize(("register", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_would_be_wrong_is_refused_at_the_users_line(register: Any, told: str) -> None:
    decompose("HardSwish", "float32")(hard_swish)
    with pytest.raises(RuleError, match=told) as caught:
        register()
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_one_that_holds_its_own_operator_is_told() -> None:
    decompose("HardSwish", "float32")(lambda x: op.HardSwish(x) * 1.0)
    with pytest.raises(RuleError, match="the decomposition of HardSwish holds HardSwish itself"):
        kinds(op.HardSwish, "float32")
