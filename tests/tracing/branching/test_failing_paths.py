"""Paths that end in an error of Python's, and factorizations that NumPy raises for: followed both ways."""

import contextlib
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from tests.numpy.agreement import check_grads

X = np.array([0.3, 1.2, 2.0])


class OutOfRangeError(Exception):
    """An error of the user's own."""


class Holder:
    """An object on which attributes are set."""


def no_name(x: Any) -> Any:
    if x[0] > 0:
        y = x.sum()
    return y


def no_key(x: Any) -> Any:
    found = {}
    if x[0] > 0:
        found["a"] = x.sum()
    return found["a"]


def no_place(x: Any) -> Any:
    found = []
    if x[0] > 0:
        found.append(x.sum())
    return found[0]


def no_element(x: Any) -> Any:
    k = 0
    while k < 1 or x[k] < 0:
        k += 1
    return x[k] ** 2


def no_operand(x: Any) -> Any:
    found = x.sum() if x[0] > 0 else None
    return x[1] * found


def no_number(x: Any) -> Any:
    found = None
    if x[0] > 0:
        found = x.sum()
    return found * 2  # type: ignore[operator]  # what is tested


def no_attribute(x: Any) -> Any:
    holder: Any = Holder()
    if x[0] > 0:
        holder.value = x.sum()
    return holder.value


def none_left(x: Any) -> Any:
    return next(v for v in x if v > 0)


def none_to_compare(x: Any) -> Any:
    kept = [v for v in x if v > 0]
    return np.mean(kept) if len(kept) > 1 else max(kept)


def own_error(x: Any) -> Any:
    if x[0] < 0:
        raise OutOfRangeError("negative")
    return x.sum()


def exits(x: Any) -> Any:
    if x[0] < 0:
        raise SystemExit("negative")
    return x.sum()


def warns(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if x[0] < 0:
            warnings.warn("negative", stacklevel=1)
    return x.sum()


FAILING: dict[Callable[[Any], Any], str] = {
    no_name: "UnboundLocalError", no_key: "KeyError", no_place: "IndexError", no_number: "TypeError",
    no_element: "IndexError: index 3 is out of bounds", no_operand: "TypeError: None cannot be an operand",
    no_attribute: "AttributeError", none_left: "StopIteration", none_to_compare: "ValueError",
    own_error: "OutOfRangeError: negative", exits: "SystemExit: negative", warns: "UserWarning: negative",
}  # fmt: skip


@pytest.mark.parametrize("function", FAILING, ids=lambda f: f.__name__)
def test_a_path_that_raises_fails_where_a_run_takes_it(function: Callable[[Any], Any]) -> None:
    file = ps.split(function, X).joint()
    value, gradient = file(X)
    np.testing.assert_allclose(value, function(X), rtol=1e-12)
    step = 1e-6 * np.eye(3)
    np.testing.assert_allclose(gradient, [(function(X + e) - function(X - e)) / 2e-6 for e in step], atol=1e-8)
    with pytest.raises(ps.PrimsplitError, match=FAILING[function]) as caught:
        file(-X)
    assert "test_failing_paths.py" in str(caught.value)


def test_an_error_on_every_path_is_raised_as_it_is() -> None:
    def always(x: Any) -> Any:
        if x[0] > 0:
            raise OutOfRangeError("positive")
        raise KeyError("negative")

    with pytest.raises(OutOfRangeError, match="positive"):
        ps.trace(always, X)


def test_what_a_library_refuses_of_traced_values_is_no_path_of_its_own() -> None:
    def refused(x: Any) -> Any:
        return x * bytes(x[0]) if x[0] > 0 else x

    with pytest.raises((TypeError, ps.PrimsplitError)):
        ps.trace(refused, X)


def matrix(x: Any) -> Any:
    return np.array([[x[0], 0.1], [0.1, x[2]]])


def factor_or_sum(x: Any) -> Any:
    try:
        factor = np.linalg.cholesky(matrix(x))
    except np.linalg.LinAlgError:
        return np.sum(x**3)
    return np.log(np.diag(factor)).sum()


def jittered(x: Any) -> Any:
    for jitter in (0.0, 1.0, 2.0, 4.0):
        try:
            factor = np.linalg.cholesky(matrix(x) + jitter * np.eye(2))
            break
        except np.linalg.LinAlgError:
            continue
    else:
        raise ValueError("no factor")
    return np.log(np.diag(factor)).sum() + jitter


def caught_outside(x: Any) -> Any:
    try:
        return -factor_of(x).sum()
    except (ValueError, KeyError):
        return x[0] * 10


def factor_of(x: Any) -> Any:
    return np.linalg.cholesky(matrix(x))


def of_scipy(x: Any) -> Any:
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix(x)), x[:2]).sum()
    except (ValueError, TypeError):
        return -x.sum()


def of_complex(x: Any) -> Any:
    try:
        return np.abs(np.linalg.cholesky(matrix(x) + np.array([[0, 0.2j], [-0.2j, 0]]))).sum()
    except np.linalg.LinAlgError:
        return x[2] ** 2


def of_inverse(x: Any) -> Any:
    scaled = x * np.array([1.0, 1.0, 1.0])
    try:
        return np.linalg.inv(np.diag(np.maximum(scaled, 0.0))).sum()
    except np.linalg.LinAlgError:
        return scaled[2] ** 2


CAUGHT = [factor_or_sum, jittered, caught_outside, of_scipy, of_complex, of_inverse]


@pytest.mark.parametrize("function", CAUGHT, ids=lambda f: f.__name__)
def test_a_caught_linalgerror_is_a_branch(function: Callable[[Any], Any]) -> None:
    right, wrong = (np.array([first, 0.1, 2.0]) for first in (1.5, -1.5))
    check_grads(function, right, also_at=[(wrong,)], symbolic=False)


def test_a_linalgerror_that_is_raised_anew_ends_the_path() -> None:
    def checked(x: Any) -> Any:
        try:
            return np.linalg.cholesky(matrix(x)).sum()
        except np.linalg.LinAlgError as error:
            raise ValueError("no factor") from error

    program = ps.trace(checked, X)
    np.testing.assert_allclose(program(X), checked(X), rtol=1e-12)
    with pytest.raises(ps.PrimsplitError, match="no factor"):
        program(-X)


def test_a_factor_that_nobody_asks_about_is_nan() -> None:
    assert "If" not in [op.kind for op in ps.trace(lambda x: np.linalg.cholesky(matrix(x)), X).block.ops]


def sized(x: Any) -> Any:
    try:
        count = len(x)
    except TypeError:
        count = 1
    return x * count


def suppressed(x: Any) -> Any:
    with contextlib.suppress(Exception):
        x = np.array([x[0], x[1]]) * 3
    return x


def remembered(x: Any) -> Any:
    known: dict[Any, Any] = {}
    try:
        return known[x]
    except TypeError:
        return x * 2
    except KeyError:
        return x * 3


def beyond_the_end(x: Any) -> Any:
    try:
        return x[7]
    except IndexError:
        return x[1] * 2


def of_other_shapes(x: Any) -> Any:
    try:
        return x + np.ones(4)
    except ValueError:
        return x * 2


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (sized, ps.spec("float64", ["N"])), (suppressed, X), (remembered, X), (beyond_the_end, X), (of_other_shapes, X),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_an_except_of_the_users_catches_what_numpy_raises_and_nothing_else(function: Any, spec: Any) -> None:
    np.testing.assert_array_equal(ps.trace(function, spec)(X), function(X))


def number_or_none(x: Any) -> Any:
    try:
        factor = statistics.fmean([x[0]])
    except (TypeError, ValueError):
        factor = 0.0
    return x * factor


def text_or_none(x: Any) -> Any:
    try:
        return x * len(np.array2string(x))
    except Exception as error:
        raise ValueError("no text") from error


@pytest.mark.parametrize(
    ("function", "line"), [(number_or_none, "factor = statistics.fmean([x[0]])"), (text_or_none, "np.array2str")]
)
def test_what_only_a_recording_raises_is_raised_though_the_function_catches_it(function: Any, line: str) -> None:
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(function, X)
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


def test_a_handler_around_the_trace_is_none_of_the_function() -> None:
    try:
        program = ps.trace(lambda x: np.linalg.cholesky(matrix(x)), X)
        library = ps.trace(np.linalg.inv, np.eye(2))
    except (ValueError, np.linalg.LinAlgError):
        pytest.fail("nothing is raised")
    assert "If" not in [op.kind for op in (*program.block.ops, *library.block.ops)]
    with pytest.raises(np.linalg.LinAlgError):
        program(-X)


def test_an_index_that_is_out_of_bounds_on_every_path_is_told_at_its_line() -> None:
    with pytest.raises(ps.PrimsplitError, match=r"(?s)index 3 is out of bounds.*test_failing_paths.py"):
        ps.trace(lambda x: x[3] if x[0] > 0 else x[-4], X)
