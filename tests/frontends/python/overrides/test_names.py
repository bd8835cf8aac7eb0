"""Names mean substitutes only while a function is run again and in its thread; errors are those of the user's line."""

import builtins
import functools
import importlib
import math
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.frontends.scipy.overrides import science
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0])
REPLACED = np.array([5.0, 5.0])
ORIGINAL_TABLE, ORIGINAL_IMPORT = TABLE, builtins.__import__


def _is_as_before() -> bool:
    here = sys.modules.get(__name__)
    return (
        type(np).__name__ == "module"
        and type(math).__name__ == "module"
        and TABLE is ORIGINAL_TABLE
        and builtins.__import__ is ORIGINAL_IMPORT
        and "len" not in globals()
        and (here is None or vars(here) is globals())
    )


def test_names_mean_what_they_meant_after_success_and_after_an_error() -> None:
    local_table = np.array([1.0, 2.0])
    kept = local_table

    def fails(x: Any) -> Any:
        raise KeyError(np.sum([x[0], local_table[0]]))

    def works(x: Any) -> Any:
        assert _is_as_before()
        return np.sum([x[0], local_table[0]]) * len(x)

    ps.trace(works, X)
    assert _is_as_before()
    with pytest.raises(KeyError):
        ps.trace(fails, X)
    assert _is_as_before()
    assert local_table is kept


@pytest.mark.parametrize("held", [np.tanh, abs, np.ndarray.sum, str.upper], ids=repr)
def test_what_is_written_in_c_may_be_held_by_a_function(held: Any) -> None:

    def f(x: Any) -> Any:
        return np.array([x[0], x[1]]) * (held is not None)

    np.testing.assert_array_equal(ps.trace(f, X)(X), X[:2])


def test_a_name_that_the_function_gives_another_meaning_keeps_it() -> None:
    new = np.array([1.0, 2.0])

    def assigns(x: Any) -> Any:
        globals()["REPLACED"] = new
        return np.sum([x[0], REPLACED[1]])

    assert ps.trace(assigns, X)(X) == X[0] + 2.0
    assert REPLACED.view(np.ndarray).tolist() == [1.0, 2.0]
    assert np.shares_memory(REPLACED, new)


def test_other_threads_do_not_notice() -> None:
    inside, done = threading.Event(), threading.Event()
    found: list[Any] = []

    def slow(x: Any) -> Any:
        total = np.sum([x[0], x[1]])
        inside.set()
        assert done.wait(timeout=20)
        return total

    def plain(x: Any) -> Any:
        return np.sum(np.sin(x))

    def beside() -> None:
        assert inside.wait(timeout=20)
        found.extend((type(np.zeros(3)), type(TABLE[0]), math.sin(1.0), len([1, 2]), np.sum([1.0, 2.0])))
        found.append(ps.grad(plain)(X))
        found.append(ps.grad(lambda x: np.prod([x[0], x[1]]))(X))
        done.set()

    thread = threading.Thread(target=beside)
    thread.start()
    gradient = ps.grad(slow)(X)
    thread.join()
    np.testing.assert_array_equal(gradient, [1.0, 1.0, 0.0])
    assert found[:5] == [np.ndarray, np.float64, math.sin(1.0), 2, 3.0]
    np.testing.assert_allclose(found[5], np.cos(X))
    np.testing.assert_allclose(found[6], [X[1], X[0], 0.0])
    assert _is_as_before()


def asks_float(x: Any) -> Any:
    return x[0].__float__() * 2


def asks_list(x: Any) -> Any:
    return x.tolist()


def asks_key(x: Any) -> Any:
    return {0.7: x}[x[0]]


def asks_text(x: Any) -> Any:
    return f"{x[0]:.3f}"


def asks_range(x: Any) -> Any:
    return sum(x[i] for i in range(x.shape[0]))


def asks_random(x: Any) -> Any:
    return np.random.default_rng(0).normal(x)


def writes_to_a_table(x: Any) -> Any:
    TABLE[0] = x[0]
    return x


@pytest.mark.parametrize(
    ("function", "says", "line"),
    [
        (asks_float, "x.astype(float)", "return x[0].__float__() * 2"),
        (asks_list, "on the whole axis", "return x.tolist()"),
        (asks_key, "known key", "return {0.7: x}[x[0]]"),
        (asks_text, "Compare the value", 'return f"{x[0]:.3f}"'),
        (asks_range, "ps.fori_loop", "return sum(x[i] for i in range(x.shape[0]))"),
        (asks_random, "run time", "return np.random.default_rng(0).normal(x)"),
        (writes_to_a_table, "copy", "TABLE[0] = x[0]"),
    ],
)
def test_what_cannot_be_served_is_refused_at_its_line(function: Callable[[Any], Any], says: str, line: str) -> None:
    with pytest.raises(PrimsplitError) as caught:
        ps.trace(function, ps.spec("float64", ["N"]))
    told = str(caught.value)
    assert says in told
    assert line in told
    assert len(told.splitlines()) < 10
    assert TABLE.tolist() == [0.5, -1.0, 2.0]
    assert _is_as_before()


def test_the_error_is_that_of_the_first_line_that_cannot_be_recorded() -> None:
    def f(x: Any) -> Any:
        y = np.array([x[0], 1.0])
        return y + np.ones(3)

    with pytest.raises(ShapeError) as caught:
        ps.trace(f, X)
    assert "return y + np.ones(3)" in str(caught.value)


def with_default(x: Any, function: Any = scipy.special.softmax, *, power: Any = math.pow) -> Any:
    return function(x)[0] * power(x[1], 2.0)


def with_a_function_of_defaults(x: Any) -> Any:
    def scaled(x: Any, function: Any = scipy.special.softmax) -> Any:
        return function(x)[0]

    def called(x: Any, function: Any = scaled) -> Any:
        return function(x)

    return called(x)


@pytest.mark.parametrize(
    "function",
    [
        scipy.special.softmax,
        scipy.special.logsumexp,
        functools.partial(scipy.special.logsumexp, axis=0),
        with_default,
        functools.partial(lambda x, f: f(x), f=with_a_function_of_defaults),
        lambda x, f=lambda x, g=scipy.special.softmax: g(x)[0]: f(x),
        lambda x: ps.grad(scipy.special.logsumexp)(x),
    ],
    ids=["itself", "a number of it", "partial", "default", "made inside", "default of a default", "inside"],
)
def test_a_function_of_a_library_may_be_given_itself_or_as_a_default(function: Any) -> None:
    x = np.array([0.3, 0.4])
    check_grads(function, x, order=2)
    assert with_default.__defaults__ == (scipy.special.softmax,)
    assert with_default.__kwdefaults__ == {"power": math.pow}


@pytest.mark.parametrize("module", sorted(science.MODULES))
def test_what_stands_in_for_a_function_has_its_name(module: str) -> None:
    """A name that SciPy lacks is passed over, as that of a later SciPy is: a slip of the pen would be as quiet."""
    theirs = importlib.import_module(module)
    assert [name for name in science.functions_of(module) if not hasattr(theirs, name)] == []
