"""Writes at places that differ between examples: one operator for the whole batch, whatever is named twice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

random = np.random.default_rng(7)
X = random.standard_normal((3, 5, 3))
PLACES = np.array([[4, 0, 4, 4], [2, 2, -3, 1], [0, 1, 2, 3]])
VALUES = random.standard_normal((3, 4, 3))
Write = Callable[[Any, Any, Any], None]


def setting(key: Callable[[Any], Any], value: Callable[[Any], Any]) -> Write:
    def write(y: Any, i: Any, v: Any) -> None:
        y[key(i)] = value(v)

    return write


def increased(y: Any, i: Any, v: Any) -> None:
    y[i] += v


WRITES: dict[str, Write] = {
    "one place": setting(lambda i: i[0], lambda v: v[0]),
    "rows": setting(lambda i: i, lambda v: v),
    "rows by one value": setting(lambda i: i, lambda v: v[0, 0]),
    "elements": setting(lambda i: (i, i % 3), lambda v: v[:, 0]),
    "a column of rows": setting(lambda i: (i, 1), lambda v: v[:, 0]),
    "columns": setting(lambda i: (slice(None), i % 3), lambda v: v[:, 0]),
    "rows of a slice": setting(lambda i: (i % 3, slice(0, 2)), lambda v: v[:, :2]),
    "rows and what was there": increased,
    "elements in a row": lambda y, i, v: y.flat.__setitem__(i, v[:, 0]),
    "put": lambda y, i, v: np.put(y, i, v[:, 0]),
    "put_along_axis": lambda y, i, v: np.put_along_axis(y, i[:, None] % 5, v, axis=0),
    "add.at": lambda y, i, v: np.add.at(y, i, v),
    "multiply.at": lambda y, i, v: np.multiply.at(y, (i, i % 3), v[:, 1]),
    "maximum.at": lambda y, i, v: np.maximum.at(y, i, v),
    "minimum.at": lambda y, i, v: np.minimum.at(y, (slice(None), i % 3), v[:, 0]),
}


def written(write: Write) -> Callable[[Any, Any, Any], Any]:
    def function(x: Any, i: Any, v: Any) -> Any:
        y = np.copy(x)
        write(y, i, v)
        return y

    return function


def curved(write: Write) -> Callable[[Any, Any, Any], Any]:
    """A number whose derivatives of all orders read what was written."""
    return lambda x, i, v: np.sum(np.sin(written(write)(np.cos(x), i, v * x[0])))


def stacked(function: Callable[..., Any]) -> np.ndarray:
    """The examples one after the other."""
    one = ps.trace(function, X[0], PLACES[0], VALUES[0])
    return np.stack([one(*example) for example in zip(X, PLACES, VALUES, strict=True)])


def specs() -> list[Any]:
    return [ps.spec(a.dtype, ["B", *a.shape[1:]]) for a in (X, PLACES, VALUES)]


@pytest.mark.parametrize("name", WRITES)
def test_a_batch_of_writes_is_numpys_without_a_loop(name: str) -> None:
    function = written(WRITES[name])
    program = ps.trace(ps.vmap(function), *specs())
    kinds = {node.op_type for node in program.to_onnx().graph.node}
    wanted = np.stack([function(*example) for example in zip(X, PLACES, VALUES, strict=True)])
    assert not kinds & {"Loop", "Scan"}
    for size in (3, 1, 0):
        np.testing.assert_array_equal(program(X[:size], PLACES[:size], VALUES[:size]), wanted[:size])


DERIVATIVES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "gradient in the array": lambda f: ps.grad(f, 0),
    "gradient in the values": lambda f: ps.grad(f, 2),
    "tangent": lambda f: lambda x, i, v: ps.jvp(lambda x, v: f(x, i, v), (x, v), (np.cos(x), np.sin(v)))[1],
    "second order": lambda f: lambda x, i, v: ps.hvp(lambda v: f(x, i, v))(v, np.sin(v)),
}


@pytest.mark.sweep(15)
@pytest.mark.parametrize("name", WRITES)
def test_derivatives_of_a_batch_of_writes_are_those_of_each_example(name: str) -> None:
    made = [d(curved(WRITES[name])) for d in DERIVATIVES.values()]
    found = ps.trace(lambda *args: [ps.vmap(f)(*args) for f in made], *specs())
    for label, f, values in zip(DERIVATIVES, made, found(X, PLACES, VALUES), strict=True):
        np.testing.assert_allclose(values, stacked(f), rtol=1e-12, atol=1e-12, err_msg=label)
