"""Values without axes: NumPy's numbers, which are never written to, apart from 0-d arrays; Python's numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

X, Z = np.array([1.5, -0.5, 2.5]), np.array(2.0)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, z: x.sum(), "np.mean": lambda x, z: np.mean(x), "index": lambda x, z: x[0],
    "index and ellipsis": lambda x, z: x[0, ...], "empty index": lambda x, z: z[()], "ellipsis": lambda x, z: z[...],
    "index by argmax": lambda x, z: x[np.argmax(x)], "iteration": lambda x, z: next(iter(x)),
    "where": lambda x, z: np.where(x[0] > 0, x[1], 0.0), "squeeze": lambda x, z: x[:1].squeeze(),
    "reshape": lambda x, z: x[:1].reshape(()), "dot": lambda x, z: np.dot(x, x), "matmul": lambda x, z: x @ x,
    "tensordot": lambda x, z: np.tensordot(x, x, 1), "einsum": lambda x, z: np.einsum("i,i->", x, x),
    "norm": lambda x, z: np.linalg.norm(x), "median": lambda x, z: np.median(x), "cov": lambda x, z: np.cov(x),
    "ufunc": lambda x, z: np.exp(z), "operator": lambda x, z: z + 1, "copy": lambda x, z: z.copy(),
    "copy of a number": lambda x, z: x[0].copy(), "np.copy of a number": lambda x, z: np.copy(x[0]),
    "astype": lambda x, z: z.astype(np.float32), "astype of a number": lambda x, z: x[0].astype(np.float32),
    "transpose": lambda x, z: z.T, "take": lambda x, z: np.take(x, 1), "zeros_like": lambda x, z: np.zeros_like(z),
    "clip": lambda x, z: np.clip(z, 0, 1), "reduce": lambda x, z: np.add.reduce(x), "roll": lambda x, z: np.roll(z, 1),
    "select": lambda x, z: np.select([z > 0], [z], 0.0), "real": lambda x, z: np.real(z), "conj": lambda x, z: z.conj(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_without_axes_is_a_number_where_it_is_one_in_numpy(name: str) -> None:
    found: list[bool] = []

    def traced(x: Any, z: Any) -> Any:
        result = FUNCTIONS[name](x, z)
        found.append(result.is_number())
        return result

    ps.trace(traced, X, Z)
    assert found == [isinstance(FUNCTIONS[name](X, Z), np.generic)]


def total_of_numbers(x: Any) -> Any:
    before = total = x.sum()
    total += 1.0
    total *= x[0]
    return before * total


def swaps_elements(x: Any) -> Any:
    y = x * 1.0
    y[0], y[-1] = y[-1], y[0]
    return y * np.array([1.0, 2.0, 3.0])


def element_outlives_a_write(x: Any) -> Any:
    y = x * 1.0
    first = y[0]
    y[0] = 5.0 * x[1]
    first += 1.0
    return first * y


def array_without_axes_is_shared(x: Any) -> Any:
    cell = np.zeros_like(x[0])
    alias = cell
    alias += x.sum()
    return cell * x


@pytest.mark.parametrize(
    "function", [total_of_numbers, swaps_elements, element_outlives_a_write, array_without_axes_is_shared]
)
def test_augmented_assignment_to_a_number_makes_a_new_one(function: Callable[[Any], Any]) -> None:
    check_grads(function, X)


@pytest.mark.parametrize(
    "rate",
    [0.5, np.float64(0.5), np.array(0.5), ps.spec("float64", [])],
    ids=["Python's number", "NumPy's number", "array", "spec"],
)
def test_an_argument_is_written_to_where_it_is_an_array(rate: Any) -> None:
    def f(x: Any, rate: Any) -> Any:
        half = rate
        half /= 2
        return x * rate + half

    plain = rate.copy() if isinstance(rate, np.ndarray) else 0.5
    np.testing.assert_allclose(ps.trace(f, X, rate)(X, 0.5), f(X, plain))


@pytest.mark.parametrize(
    "view", [lambda a: a[None], np.atleast_1d, lambda a: np.expand_dims(a, 0), lambda a: a[None, None][0]]
)
def test_what_is_made_of_a_number_is_no_view_of_it(view: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        made = view(a)
        made += 1.0
        return a * made[0]

    assert ps.trace(f, np.float64(2.0))(2.0) == f(np.float64(2.0)) == 6.0
    assert ps.trace(f, np.array(2.0))(2.0) == f(np.array(2.0)) == 9.0


MADE: dict[str, Callable[[Any], Any]] = {
    "T": lambda a: a.T,
    "transpose": lambda a: a.transpose(),
    "np.transpose": np.transpose,
    "reshape": lambda a: a.reshape(()),
    "np.reshape": lambda a: np.reshape(a, ()),
    "squeeze": lambda a: a.squeeze(),
    "np.squeeze": np.squeeze,
    "view": lambda a: a.view(),
    "asarray": np.asarray,
    "asarray of a dtype": lambda a: np.asarray(a, dtype=a.dtype),
    "asanyarray": np.asanyarray,
    "require": np.require,
    "array": np.array,
    "array without a copy": lambda a: np.array(a, copy=None),
    "piecewise": lambda a: np.piecewise(a, [a > 0], [lambda t: t, lambda t: -t]),
}


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("get", [lambda x: x[0], lambda x: x[0, ...].copy()], ids=["number", "array"])
@pytest.mark.parametrize("name", MADE)
def test_what_adds_to_what_was_made_of_a_number_changes_it_where_it_is_an_array(
    name: str, get: Callable[[Any], Any], kind: type
) -> None:
    if name == "piecewise" and kind is np.complex128:
        pytest.skip("complex numbers have no order")

    def f(x: Any) -> Any:
        number = get(x)
        made = MADE[name](number)
        alias = made
        alias += 1.0
        return made, number

    x = np.array([2.0, 3.0], kind)
    np.testing.assert_array_equal(ps.trace(f, x)(x), f(x))


@pytest.mark.parametrize("function", [np.transpose, np.squeeze, lambda a: np.reshape(a, ()), np.asarray, np.array])
def test_what_is_made_of_pythons_number_is_an_array(function: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        made = function(a)
        alias = made
        alias += 1.0
        return made * a

    assert ps.trace(f, 2.0)(2.0) == f(2.0) == 6.0


def test_a_call_on_an_array_takes_no_recording_of_a_number() -> None:
    def f(a: Any) -> Any:
        alias = a
        alias += 1.0
        return 2.0 * a

    for transform in (ps.value_and_grad(f), ps.cached(f)):
        for number in (np.float64(2.0), 2.0, np.array(2.0), np.float64(2.0)):
            found = transform(number.copy() if isinstance(number, np.ndarray) else number)
            value = found[0] if isinstance(found, tuple) else found
            assert value == (6.0 if isinstance(number, np.ndarray) else 4.0)


@pytest.mark.parametrize(
    "expression",
    [
        lambda x, a: x * a,
        lambda x, a: x * (2 * a + 1),
        lambda x, a: x * np.sqrt(a),
        lambda x, a: x * np.sum(a),
        lambda x, a: x * -(abs(a) ** 2),
        lambda x, a: x * (a > 0),
        lambda x, a: x * ((a > 0) * 1.0),
        lambda x, a: x.astype(np.int32) * (a > 0),
        lambda x, a: np.where(x > 0, a, 0.0) * x,
        lambda x, a: np.linspace(0, x, 3) * a,
    ],
)
def test_a_python_number_gives_way_in_operators_and_not_in_ufuncs(expression: Callable[[Any, Any], Any]) -> None:
    x = X.astype(np.float32)
    found = ps.trace(expression, x, 0.5)(x, 0.5)
    assert found.dtype == expression(x, 0.5).dtype
    np.testing.assert_allclose(found, expression(x, 0.5))


OF_TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda t, u: t + u, "difference": lambda t, u: t - u, "product": lambda t, u: t * u + t * True,
    "negative": lambda t, u: -t + (+u), "complement": lambda t, u: ~t + abs(u), "quotient": lambda t, u: t / True,
    "conjunction": lambda t, u: (t & u) + (t | u), "shift": lambda t, u: t << u, "in place": lambda t, u: u.__add__(t),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize("expression", OF_TRUTHS.values(), ids=list(OF_TRUTHS))
def test_pythons_truth_values_are_whole_numbers(expression: Callable[[Any, Any], Any]) -> None:
    def function(x: Any) -> Any:
        return expression(x[0].item() > 0, x[1].item() > 0) * 1.5

    program = ps.trace(function, ps.spec("float64", [2]))
    for x in (np.array([1.0, 2.0]), np.array([1.0, -2.0]), np.array([-1.0, 2.0])):
        np.testing.assert_array_equal(program(x), function(x))


@pytest.mark.parametrize("other", [None, "auto"])
def test_no_number_equals_none_or_a_text(other: Any) -> None:
    def f(x: Any) -> Any:
        assert x[0].item() != other
        assert (x[0],) != (other,)
        assert x[1] not in [other, other]
        return np.where(x == other, 2.0 * x, x) * (x != other)

    check_grads(f, X)


def test_a_power_of_pythons_integers_has_a_known_exponent() -> None:
    assert ps.trace(lambda x: round(x[0].item()) ** 3 * 1.0, np.array([2.2]))(np.array([2.2])) == 8.0
    with pytest.raises(ps.PrimsplitError, match="whose exponent only the run knows"):
        ps.trace(lambda x: 10 ** -round(x[0].item()), np.array([2.2]))


class Scaled:
    """A factor that answers from the right, as a kernel of a Gaussian process or a polynomial class does."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __rmul__(self, left: Any) -> "Scaled":
        return Scaled(left * self.factor)

    def __rsub__(self, left: Any) -> Any:
        return left - self.factor

    def __rpow__(self, left: Any) -> Any:
        return left**self.factor


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[0] * Scaled(x[1])).factor,
        lambda x: (np.exp(x[0]) * Scaled(3.0)).factor,
        lambda x: x.sum() - Scaled(x[2] ** 2),
        lambda x: x[2] ** Scaled(2.0),
        lambda x: (np.array(2.0) * x[0] * Scaled(x[1])).factor,
    ],
    ids=["times", "times a function's", "minus", "power", "without axes"],
)
def test_an_object_on_the_right_of_a_number_answers_the_operator(function: Callable[[Any], Any]) -> None:
    check_grads(function, X)


def test_an_object_beside_an_array_of_axes_is_refused() -> None:
    with pytest.raises(ps.PrimsplitError, match="Scaled cannot stand for an array"):
        ps.grad(lambda x: x * Scaled(2.0))(X)
