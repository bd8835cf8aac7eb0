"""NumPy's ufunc protocol for traced arrays: dtypes, out=, where=, and what is refused at the user's line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError
from tests.numpy.agreement import check_grads
from tests.pointwise import between


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Return the results of the exported program for these arrays."""
    found = ps.trace(function, *args).session()(*map(np.asarray, args))
    return found if len(found) > 1 else found[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_floats_beside_others_are_numpys_to_the_last_bit(dtype: str) -> None:
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, 2 * limits.tiny, limits.smallest_subnormal, 3 * limits.smallest_subnormal]
    x = np.array([0.0, 1.0, 0.1, 2.0, 3.7, np.inf, np.nan, *ends], dtype)
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(np.spacing, x), np.spacing(x))
        np.testing.assert_array_equal(run(np.nextafter, x[:, None], x), np.nextafter(x[:, None], x))


BAD: list[tuple[str, Callable[[Any], Any], Any, str]] = [
    ("bool minus bool", lambda x: x - x, np.array([True]), "np.subtract does not take bool and bool"),
    ("no cast allowed", lambda x: np.add(x, 1.5, casting="no"), np.arange(2), "np.add does not take int64 and float64"),
    ("too large a Python integer", lambda x: x + 300, np.arange(2, dtype=np.uint8), "300 is out of bounds for uint8"),
    (
        "too large to write",
        lambda x: x.copy().__setitem__(0, 256),
        np.arange(2, dtype=np.uint8),
        "256 is out of bounds",
    ),
    (
        "too large in a list",
        lambda x: x.copy().__setitem__(..., [1, -1]),
        np.arange(2, dtype=np.uint8),
        "-1 out of boun",
    ),
    ("no integer to write", lambda x: x.copy().__setitem__(0, np.nan), np.arange(2), "nan is out of bounds for int64"),
    ("too large a number in a list", lambda x: np.array([[x[0], 300]], np.uint8), np.arange(2), "300 is out of bounds"),
    ("too large to fill with", lambda x: np.full_like(x, 300), np.arange(2, dtype=np.int8), "300 is out of bounds"),
    (
        "too large to pad with",
        lambda x: np.pad(x, 1, constant_values=300),
        np.arange(2, dtype=np.int8),
        "300 is out of",
    ),
    ("too small a bound", lambda x: np.clip(x, None, -200), np.arange(2, dtype=np.int8), "-200 is out of bounds"),
    ("negative power of integers", lambda x: x**-1, np.arange(2), "integers to negative integer powers"),
    ("texts of numbers", lambda x: x.astype(str), np.ones(2), "have no text in a program"),
    ("bytes of numbers", lambda x: x.astype("S4"), np.ones(2), "have no text in a program"),
    ("too strict a cast", lambda x: np.left_shift(x, 2, dtype="int8", casting="equiv"), np.ones(2), "does not take"),
    (
        "negative powers of integers",
        lambda x: x ** np.array([1, -1]),
        np.arange(2),
        "integers to negative integer powers",
    ),
    ("negative shift", lambda x: x << -1, np.arange(2), "negative shift count"),
    ("bits of floats", np.invert, np.ones(2), "np.invert does not take float64"),
]


@pytest.mark.parametrize(("function", "x", "told"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_wrong_use_is_one_error_at_the_users_line(function: Callable[[Any], Any], x: Any, told: str) -> None:
    def user(v: Any) -> Any:
        return function(v)

    with pytest.raises(DtypeError) as caught:
        ps.trace(user, x)
    assert told in str(caught.value)
    assert "test_ufuncs.py" in str(caught.value)


def test_a_copy_made_by_a_plus_sign_does_not_share_writes() -> None:
    def function(x: Any) -> Any:
        y = +x
        y += 1.0
        return x * y

    np.testing.assert_array_equal(run(function, np.array([2.0])), [6.0])


def test_out_and_where_work_on_ufuncs_and_clip() -> None:
    def function(x: Any) -> Any:
        y = np.zeros_like(x)
        np.exp(x, out=y, where=x > 0)
        z = np.empty_like(x)
        np.clip(x, -1, 1, out=z)
        return y + z

    x = np.array([-2.0, 0.5])
    np.testing.assert_allclose(run(function, x), [-1.0, np.exp(0.5) + 0.5])


LEFT_OUT: list[tuple[str, Callable[..., Any], float]] = [
    ("divide", lambda x, y: np.divide(y, x, out=np.zeros_like(x), where=x != 0), 0.0),
    ("divide without out", lambda x, y: np.where(x != 0, np.divide(y, x, where=x != 0), 0), 0.0),
    ("log of a mask that broadcasts", lambda x, y: np.log(x, out=y.copy(), where=np.max(x, axis=0) > 0), 0.0),
    ("sqrt", lambda x, y: np.sqrt(x, out=y * y, where=x > 0), 0.0),
    ("power", lambda x, y: np.power(x, y, out=np.ones((2, 3)), where=x > 0), -1.0),
    ("arccosh", lambda x, y: np.arccosh(x, out=y + 0.0, where=x > 1), 1.0),
    ("add", lambda x, y: np.add(x, y, out=y * x, where=x > 1), 0.0),
]


@pytest.mark.parametrize(("function", "left_out"), [row[1:] for row in LEFT_OUT], ids=[row[0] for row in LEFT_OUT])
@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
def test_what_where_leaves_out_has_no_derivative(function: Callable[..., Any], left_out: float) -> None:
    x, y = between(1.5, 2.5, (2, 3)), between(0.5, 2, (2, 3), seed=1)
    x[:, 1] = left_out

    def at_others(v: Any, y: Any) -> Any:
        """`x` with its column that is left out where it is."""
        v = v.copy()
        v[:, 1] = left_out
        return function(v, y)

    with np.errstate(all="ignore"):
        check_grads(at_others, x, y, resize=())
    assert np.isfinite(ps.grad(lambda x, y: np.sum(function(x, y)))(x, y)).all()


def test_an_integer_division_by_zero_that_where_leaves_out_is_not_run() -> None:
    def function(x: Any) -> Any:
        return np.floor_divide(7, x, out=np.zeros_like(x), where=x != 0)

    np.testing.assert_array_equal(run(function, np.array([0, 2, -3])), [0, 3, -3])
