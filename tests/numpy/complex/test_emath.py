"""np.emath: NumPy's real and complex values, each with its gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_agrees, check_grads

INSIDE, OUTSIDE = np.array([0.3, 0.8, 0.5]), np.array([0.3, -1.7, 2.5])


def parts(z: Any) -> Any:
    return np.stack([z.real, z.imag if z.dtype.kind == "c" else 0 * z])


def in_parts(name: str) -> Callable[[Any], Any]:
    return lambda x: parts(getattr(np.emath, name)(x))


NAMES = ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: in_parts(name) for name in NAMES},
    "logn": lambda x: parts(np.emath.logn(x + 2, x)),
    "power": lambda x: parts(np.emath.power(x, 1.5)),
    "power, of whole exponents": lambda x: parts(np.emath.power(x, np.array([-2, 3, -1]))),
}


@pytest.mark.sweep(24)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [INSIDE, OUTSIDE], ids=["inside", "outside"])
def test_a_function_is_numpys_on_both_sides_with_gradients(name: str, x: Any) -> None:
    check_grads(FUNCTIONS[name], x, symbolic="whole" not in name)


def test_which_side_it_is_on_is_a_branch_of_one_file() -> None:
    run = ps.trace(FUNCTIONS["sqrt"], ps.spec("float64", ["N"]))
    for x in (INSIDE, OUTSIDE, np.zeros(0)):
        np.testing.assert_allclose(run(x), FUNCTIONS["sqrt"](x), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "int16", "int64"])
def test_dtypes_are_numpys(dtype: str) -> None:
    check_agrees(lambda x: parts(np.emath.sqrt(x)), np.array([4, 9, -1]).astype(dtype))
    check_agrees(lambda x: np.emath.power(x, 2).real * np.float64(1), np.array([2, 3]).astype(dtype))
