"""Functions recorded and split: `trace` and `split`."""

from typing import Any

import numpy as np

import primsplit as ps

X, W = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])


def f(x: Any, w: Any, *, times: int = 1) -> Any:
    return np.tanh(x @ w) * times


def test_a_function_is_recorded_for_arrays_specs_and_static_arguments() -> None:
    program = ps.trace(f, ps.spec("float64", ["N", 3]), W, times=2)
    assert program.inputs == ("x", "w")
    for rows in (X, X[:0], X[:1]):
        np.testing.assert_allclose(program(rows, W, times=2), f(rows, W, times=2), rtol=1e-14)


def test_a_split_has_the_cotangents_that_are_asked_for_by_name_or_place() -> None:
    dy = np.array([1.0, -1.0])
    slope = dy * (1 - np.tanh(X @ W) ** 2)
    for wrt, wanted in (("w", [slope @ X]), ((1, 0), [slope[:, None] * W, slope @ X])):
        made = ps.split(f, X, W, wrt=wrt).joint()
        found = made(X, W, dy)
        np.testing.assert_allclose(found[0], f(X, W))
        for one, other in zip(found[1:], wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_cotangents_of_ones_are_no_input() -> None:
    made = ps.split(f, X, W, wrt="w", seed="ones").joint()
    assert made.inputs == ("x", "w")
    np.testing.assert_allclose(made(X, W)[1], (1 - np.tanh(X @ W) ** 2) @ X, rtol=1e-12)


def test_the_captures_of_a_split_are_what_its_pullback_reads_beside_the_cotangents() -> None:
    made = ps.split(f, ps.spec("float64", ["N", 3]), W, wrt="w")
    assert [(v.hint, str(v.type)) for v in made.captures] == [("", "float64[N]"), ("x", "float64[N,3]")]
    assert {*made.captures} < {*made.pullback.params}
