"""Which op defines a value, and how many read it."""

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Const
from primsplit.ops import op
from primsplit.rewrites.uses import Ops, is_number
from tests.recording import record


def test_an_op_is_found_by_its_kind_and_the_number_of_its_readers() -> None:
    block = record(lambda x: (op.Mul(op.Exp(x), op.Sin(x)), op.Neg(op.Sin(x))), "float32[3]")
    ops = Ops(block)
    exp, sine = (o for o in block.ops if o.kind in {"Exp", "Sin"} and o is not block.ops[-2])
    assert ops.op(exp.outputs[0], "Exp") is exp
    assert ops.op(exp.outputs[0], "Sin") is None
    assert ops.op(exp.outputs[0], "Exp", reads=2) is None
    assert ops.maker(sine.outputs[0], "Sin") is sine
    assert ops.maker(block.params[0], "Exp") is None
    assert ops.maker(None, "Exp") is None
    # A result is read once by the caller.
    assert ops.op(block.results[0], "Mul") is block.ops[[o.kind for o in block.ops].index("Mul")]


@pytest.mark.parametrize(
    ("value", "number", "is_it"),
    [
        (np.float64(0.5), 0.5, True),
        (np.float64(0.0), 0.0, True),
        (np.float32(0.1), 0.1, True),
        (np.float64(0.5 + 1e-6), 0.5, False),
        (np.float64(np.nan), np.nan, True),
        (np.float64(1.0), np.nan, False),
        (np.asarray(1.0, ml_dtypes.bfloat16), 1.0, True),
        (np.int64(1), 1.0, False),
        (np.ones(1), 1.0, False),
    ],
)
def test_a_number_is_a_scalar_float_up_to_its_digits(value: np.ndarray, number: float, is_it: bool) -> None:
    assert is_number(Const(value), number) == is_it


def test_a_weight_is_no_number() -> None:
    assert not is_number(Const(np.float64(1.0), "w", role="weight"), 1.0)
    assert not is_number(None, 1.0)
