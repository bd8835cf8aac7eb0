"""Objects that no state can be, and places where none can be written to are refused at the user's line, with a cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, SpecError, TraceError
from tests.journeys.states.averaging import Array, Averaging, X


@pytest.fixture
def function() -> Averaging:
    return Averaging()


def larger(function: Averaging, x: Array) -> Any:
    function.mean[...] = np.concatenate([function.mean, x[:1]])


def by_out(function: Averaging, x: Array) -> Any:
    np.add(function.mean, np.ones((2, 3)) * x, out=function.mean)


@pytest.mark.parametrize(
    ("write", "error", "told"),
    [
        (
            larger,
            ShapeError,
            r"the state mean is float64\[3\]: could not broadcast .* \(4\) into shape \(3\)\n.*\n.*keeps",
        ),
        (by_out, ShapeError, r"could not broadcast input array from shape \(2,3\) into shape \(3\)"),
        (
            lambda f, x: f.mean.assign(np.ones(3)),
            TraceError,
            r"is assigned while a function is traced.*\n.*\n.*mean\[...\] =",
        ),
    ],
    ids=["larger", "by out=", "assign"],
)
def test_a_value_that_no_run_can_keep_is_refused_at_its_line(
    function: Averaging, write: Callable[[Averaging, Array], Any], error: type[Exception], told: str
) -> None:
    def call(x: Array) -> Any:
        write(function, x)
        return x

    with pytest.raises(error, match=told) as caught:
        ps.trace(call, X)
    assert "test_refused.py" in str(caught.value)
    assert function.values() == (0, [0.0, 0.0, 0.0])


REFUSED: dict[str, Callable[[Averaging, Array], Any]] = {
    "cond": lambda f, x: ps.cond(x[0] > 0, lambda: f(x), lambda: 0.0),
    "vmap": lambda f, x: ps.vmap(f)(np.stack([x, x])),
    "primitive": lambda f, x: ps.primitive(lambda x: f(x))(x),
    "cached": lambda f, x: ps.cached(lambda x: f(x))(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_would_have_several_values_or_none_is_refused_at_its_line(name: str, function: Averaging) -> None:
    with pytest.raises(TraceError, match="the state calls is written to in a branch") as caught:
        ps.trace(lambda x: REFUSED[name](function, x), X)
    assert "calls[...] =" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


def test_a_rule_reads_no_state_that_it_is_not_given(function: Averaging) -> None:
    @ps.primitive
    def scaled(x: Array) -> Array:
        return x * 2.0

    @ps.rrule(scaled)
    def scaled_rule(x: Array) -> Any:
        mean = function.mean + 0.0
        return scaled(x), lambda dy: (dy * mean,)

    with pytest.raises(TraceError, match="the state mean is used where only the arguments are known"):
        ps.grad(lambda x: np.sum(scaled(x)))(X)


def test_a_state_cannot_be_reset_by_what_is_being_traced(function: Averaging) -> None:
    with pytest.raises(TraceError, match="is reset while a function is traced"):
        ps.trace(lambda x: function.calls.reset() or x, X)


def test_a_file_for_guarded_recordings_is_refused_where_they_keep_states(function: Averaging) -> None:
    guarded = ps.grad(ps.guarded(function, lambda x: x[0] > 0))
    np.testing.assert_allclose(guarded(X), X / 2)
    with pytest.raises(SpecError, match="keeps states"):
        ps.export_guarded(guarded, "never.onnx")
