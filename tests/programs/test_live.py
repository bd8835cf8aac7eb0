"""Arrays that a function holds: what is written to them counts at the next call, whether they are compared or read."""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs import live
from primsplit.programs.live import NEVER

RNG = np.random.default_rng(0)
W = RNG.standard_normal(4)
Y = RNG.standard_normal(30)
DATA = np.zeros((30, 4))
Made = Callable[[Any], Callable[[Any], Any]]


@pytest.fixture(autouse=True)
def _any_array_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LEAST", 100)


def of_a_global(w: Any) -> Any:
    return np.sum(np.tanh(DATA @ w))


def least_squares(w: Any, x: Any) -> Any:
    return np.mean((x @ w - Y) ** 2)


def with_default(x: Any) -> Callable[[Any], Any]:
    def function(w: Any, x: Any = x) -> Any:
        return np.sum((x @ w) ** 2)

    return function


def asking(x: Any) -> Callable[[Any], Any]:
    return lambda w: np.sum(x @ w) * (2.0 if isinstance(x, np.ndarray) else 3.0)


def holding(x: Any) -> Callable[[Any], Any]:
    held = SimpleNamespace(x=x)
    return lambda w: np.sum((held.x @ w) ** 2) + np.sum(x @ w)


def keeping(x: Any) -> Callable[[Any], Any]:
    seen: list[Any] = []

    def function(w: Any) -> Any:
        seen.append(x)
        assert seen[-1] is x
        return np.sum((x @ w) ** 2)

    return function


def rebinding(x: Any) -> Callable[[Any], Any]:
    def function(w: Any) -> Any:
        nonlocal latest
        latest = x
        return np.sum((x @ w) ** 2)

    latest = x
    return function


def in_a_list(x: Any) -> Callable[[Any], Any]:
    held = [x]
    return lambda w: np.sum(held[0] @ w) + np.sum((x @ w) ** 2)


def importing(x: Any) -> Callable[[Any], Any]:
    def function(w: Any) -> Any:
        import numpy

        return numpy.sum((x @ w) ** 2)

    return function


def in_attribute(x: Any) -> Callable[[Any], Any]:
    def function(w: Any) -> Any:
        return np.sum(function.x @ w) + np.sum((x @ w) ** 2)  # type: ignore[attr-defined]

    function.x = x  # type: ignore[attr-defined]
    return function


READ_LIVE: dict[str, Made] = {
    "a product": lambda x: lambda w: np.sum((x @ w) ** 2),
    "through another function": lambda x: lambda w: least_squares(w, x),
    "rows and the transpose": lambda x: lambda w: np.sum(np.tanh(x[1:3] @ w)) + np.sum(np.sin(w @ x.T)),
    "twice": lambda x: lambda w: np.sum(np.tanh(x @ w)) + np.sum(np.sin(x * w)),
    "by shape too": lambda x: lambda w: np.sum((x @ w) ** 2) / x.shape[0],
    "inside of a gradient": lambda x: lambda w: np.sum(ps.grad(lambda v: np.sum(np.sin(x @ v)))(w) ** 2),
}
COMPARED: dict[str, Made] = {
    "a mean": lambda x: lambda w: np.sum((x - x.mean(0)) @ w),
    "a sign": lambda x: lambda w: np.sum(np.abs(-x @ w)),
    "a branch": lambda x: lambda w: np.sum(x @ w) if x.max() > 1.0 else np.sum((x @ w) ** 2),
    "a number": lambda x: lambda w: np.sum(x @ w) * float(x[0, 0]),
    "an index": lambda x: lambda w: np.sum(x @ w) * w[int(abs(x[0, 0])) % 4],
    "NumPy's own array": lambda x: lambda w: np.sum(x @ w) * np.asarray(x).reshape(-1)[1],
    "a list": in_a_list,
    "an object": holding,
    "a slope of the array alone": lambda x: lambda w: np.sum(x @ w),
    "an import": importing,
    "an outer list": keeping,
    "an outer variable": rebinding,
    "an attribute of the function": in_attribute,
    "a default": with_default,
    "a partial": lambda x: functools.partial(least_squares, x=x),
    "its class": asking,
    "its identity": lambda x: lambda w: np.sum(x @ w) if x is not None else np.sum(w),
    "a loop over elements": lambda x: lambda w: sum(np.sum(w) * float(v) for v in x[0]),
}


def follows_writes(make: Made) -> Any:
    """The gradient's function, after calls between which the array was written to: each is as of plain NumPy."""
    x = RNG.standard_normal((30, 4))
    function = make(x)
    made = ps.value_and_grad(function)
    for change in (0.0, 0.0, 1.0, -3.0, 0.5):
        x += change
        x[3, 2] *= 2.0
        for w in (W, 2.0 * W):
            value, slope = made(w)
            np.testing.assert_allclose(value, function(w), rtol=1e-10, atol=1e-12)
            step = 1e-6 * np.eye(4)
            wanted = [(function(w + d) - function(w - d)) / 2e-6 for d in step]
            np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-6)
    return made


@pytest.mark.parametrize("name", READ_LIVE)
def test_an_array_that_only_meets_arguments_is_read_at_each_call(name: str) -> None:
    made = follows_writes(READ_LIVE[name])
    assert made.live is not NEVER
    assert made.statistics.misses == 1


@pytest.mark.parametrize("name", COMPARED)
def test_an_array_whose_numbers_may_decide_otherwise_is_compared(name: str) -> None:
    assert follows_writes(COMPARED[name]).live is NEVER


def test_one_array_may_be_read_and_another_compared() -> None:
    x, y = RNG.standard_normal((30, 4)), RNG.standard_normal(30)
    made = ps.value_and_grad(lambda w: np.sum((x @ w) ** 2 * -y))
    for _ in range(3):
        x[...] += 1.0
        np.testing.assert_allclose(made(W)[1], -2 * x.T @ (y * (x @ W)))
        y[...] *= 1.5
        np.testing.assert_allclose(made(W)[1], -2 * x.T @ (y * (x @ W)))
    assert made.live is not NEVER


def test_a_name_that_means_another_array_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ps.grad(of_a_global)
    for rows in (30, 30, 20):
        data = RNG.standard_normal((rows, 4))
        monkeypatch.setitem(globals(), "DATA", data)
        for w in (W, W + 1.0):
            np.testing.assert_allclose(made(w), data.T @ (1 - np.tanh(data @ w) ** 2))


def test_a_number_beside_the_array_is_noticed() -> None:
    x, scale = RNG.standard_normal((30, 4)), 2.0
    made = ps.grad(lambda w: scale * np.sum(x @ w))
    for scale in (2.0, 3.0, 4.0):
        np.testing.assert_allclose(made(W), scale * x.sum(0))


def test_calls_of_other_shapes_read_the_array_too() -> None:
    x = RNG.standard_normal((30, 4))
    made = ps.grad(lambda w: np.sum((x @ w) ** 2))
    for _ in range(2):
        x += 1.0
        for w in (W, np.stack([W, W + 1.0], 1), W.astype(np.float32)):
            np.testing.assert_allclose(made(w), 2 * x.T @ (x @ w), rtol=1e-5)


def test_the_first_program_and_its_copy_of_the_array_are_forgotten() -> None:
    x = RNG.standard_normal((30, 4))
    made = ps.grad(lambda w: np.sum((x @ w) ** 2))
    made(W)
    assert not made.programs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_results_agree_by_their_own_size(size: float, dtype: str) -> None:
    one = np.array([1.0, -0.5], dtype) * np.dtype(dtype).type(size)
    near = np.finfo(dtype).eps
    assert live.agrees(one, one * (1 + near))
    assert not live.agrees(one, one * (1 + 1e6 * near))
    assert not live.agrees(one, one[:1])
    assert live.agrees([one, np.array([np.nan])], [one, np.array([np.nan])])
