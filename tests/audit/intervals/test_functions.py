"""Ranges of elementwise functions and conversions, and their hazards."""

import re
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.intervals.ranges import interval
from primsplit.ops import op
from tests.audit.intervals.sound import ENDS, assert_inside, assert_program_sound, drawn, hazards_of, walk_of, walked

UNARY = re.findall(
    r"\w+",
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor Gelu HardSwish LeakyRelu Log Mish Neg "
    "Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh",
)
X = np.linspace(-1, 2, 12).reshape(3, 4)
PROGRAMS: dict[str, Any] = {
    "integers": lambda x: (x * 10).astype(np.int64) // 3 % 4,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", UNARY)
def test_a_function_of_onnxruntime_stays_in_its_range(kind: str, dtype: Any) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x), ps.spec(dtype, [400]))
    block, session, random = program.block, program.session(), np.random.default_rng(0)
    for ends in ENDS:
        x = drawn(random, ends, 400, dtype)
        low, high = float(x.min()), float(x.max())
        walk = walked(block, [interval(low, high, dtype, (400,))])
        assert_inside(session(x)[0], walk.range(block.results[0]), f"{kind} of {ends}")
        assert not walk.unknown


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


@pytest.mark.parametrize(("function", "ends", "hazard", "always"), [
    (np.log, (-2.0, -1.0), "logarithm of a negative number", True),
    (np.log, (0.0, 1.0), "logarithm of 0", False),
    (np.exp, (0.0, 1000.0), "overflow", False),
    (lambda x: np.exp(x + 1000), (0.0, 1.0), "overflow", True),
    (lambda x: (x * 1e300).astype(np.int64), (0.0, 1.0), "conversion to int64 of a number that it cannot hold", False),
    (np.arcsin, (0.0, 2.0), "Asin outside of its domain", False),
])  # fmt: skip
def test_a_hazard_is_told_and_whether_it_always_happens(
    function: Any, ends: tuple[float, float], hazard: str, always: bool
) -> None:
    _, walk = walk_of(function, ps.spec("float64", [3]), ranges=[ends])
    assert [h.always for h in hazards_of(walk, hazard)] == [always]
