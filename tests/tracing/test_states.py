"""A state is read and written like an array, in plain NumPy and in a program alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError, TraceError
from tests.journeys.states.averaging import Array, Averaging, X

READING: dict[str, Callable[[Any, Any], Any]] = {
    "operators": lambda x, s: (x * s, s * x, 2.0 - s, -s, s @ x, s > 0.5),
    "ufuncs": lambda x, s: (np.add(x, s), np.maximum(s, x), np.exp(s)),
    "functions": lambda x, s: (np.concatenate([s, x]), np.dot(s, x), np.where(x > 1, s, x), np.sum(s)),
    "methods": lambda x, s: (s.sum() + s.T.mean(), s.reshape(3, 1), s.copy(), s[1:], s[0]),
    "lists": lambda x, s: np.array([s[0], x[1], 3.0]),
    "itself": lambda x, s: s,
    "sizes": lambda x, s: np.ones(len(s)) * s.shape[0] * s.ndim + x,
    "walked along": lambda x, s: [element * x for element in s],
}


@pytest.mark.parametrize("name", READING)
def test_a_state_is_read_like_an_array(name: str) -> None:
    slot = ps.state("slot", np.array([0.25, 0.5, 0.75]))
    program = ps.trace(lambda x: READING[name](x, slot), X)
    found, wanted = program(X), READING[name](X, np.array([0.25, 0.5, 0.75]))
    for a, b in zip(found, wanted, strict=True) if isinstance(wanted, tuple | list) else [(found, wanted)]:
        np.testing.assert_allclose(a, b)
    assert program.outputs[-1] != "state.slot.out"
    assert program.inputs == ("x", "state.slot.in")


def written_by_copyto(x: Array, s: Any) -> None:
    np.copyto(s, 2 * x)


def written_by_out(x: Array, s: Any) -> None:
    np.multiply(x, 2, out=s)


def written_by_dot(x: Array, s: Any) -> None:
    np.dot(2 * np.eye(3), x, out=s)


def written_by_elements(x: Array, s: Any) -> None:
    for i in range(3):
        s[i] = 2 * x[i]


def written_by_view(x: Array, s: Any) -> None:
    view = s[:]
    view += 2 * x


def written_in_place(x: Array, s: Any) -> None:
    s += x
    s *= 2


def written_from_itself(x: Array, s: Any) -> None:
    s.fill(1.0)
    s[...] = s * 2 * x


WRITING = [written_by_copyto, written_by_out, written_by_dot, written_by_elements, written_by_view, written_in_place,
           written_from_itself]  # fmt: skip


@pytest.mark.parametrize("write", WRITING, ids=lambda f: f.__name__)
def test_a_state_is_written_to_like_an_array(write: Callable[[Array, Any], None]) -> None:
    def call(x: Array) -> Any:
        write(x, slot)
        return np.sum(slot)

    slot = ps.state("slot", np.zeros(3))
    program = ps.trace(call, X)
    assert program(X) == call(X) == 12.0
    np.testing.assert_array_equal(program.state["slot"], 2 * X)
    np.testing.assert_array_equal(slot, 2 * X)


def test_a_cache_is_written_to_at_a_place_that_is_a_state() -> None:
    """A key/value cache: rows are appended, and attended to as far as they are there."""
    rows, length = ps.state("rows", np.zeros((4, 2))), ps.state("length", 0)

    def attend(row: Array) -> Any:
        rows[length] = row
        length[...] = length + 1
        scores = np.where(np.arange(4) < length, rows @ row, -np.inf)
        weights = np.exp(scores - np.max(scores))
        return (weights / np.sum(weights)) @ rows, rows[length - 1], np.sum(rows[:length], axis=0)

    program = ps.trace(attend, np.zeros(2))
    for row in np.random.default_rng(3).standard_normal((4, 2)):
        for found, wanted in zip(program(row), attend(row), strict=True):
            np.testing.assert_allclose(found, wanted)
    np.testing.assert_array_equal(program.state["rows"], rows)
    assert int(program.state["length"]) == 4


@pytest.fixture
def function() -> Averaging:
    return Averaging()


@pytest.mark.parametrize(
    ("name", "value", "error", "told"),
    [
        ("mean", np.zeros(5), ShapeError, r"the state mean is float64\[3\], and cannot be float64\[5\]"),
        ("mean", np.zeros(3, np.float32), DtypeError, r"the state mean is float64\[3\], and cannot be float32\[3\]"),
        ("other", 0.0, SpecError, "there is no state other"),
    ],
)
def test_a_value_that_a_state_cannot_have_is_refused_by_name(
    function: Averaging, name: str, value: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        ps.trace(function, X).state[name] = value


@pytest.mark.parametrize(
    ("name", "initial", "told"),
    [("a b", 0.0, "cannot be called 'a b'"), ("a", "text", "cannot start as"), ("", 0.0, "cannot be called ''")],
)
def test_what_is_no_slot_is_refused(name: str, initial: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        ps.state(name, initial)


def test_a_slot_is_made_outside_of_the_function_that_keeps_it() -> None:
    def forgetful(x: Any) -> Any:
        total = ps.state("total", 0.0)
        total[...] = total + x
        return total[...]

    with pytest.raises(TraceError, match="the state total is made inside of the function that is traced"):
        ps.trace(forgetful, 1.0)


def test_a_state_holds_another_value_for_a_while() -> None:
    slot = ps.state("slot", np.array([1.0, 2.0]))
    with slot.holding(np.array([3.0, 4.0, 5.0])):
        np.testing.assert_array_equal(slot, [3.0, 4.0, 5.0])
        slot[...] = 0.0
    np.testing.assert_array_equal(slot, [1.0, 2.0])
