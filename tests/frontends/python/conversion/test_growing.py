"""`scan`, `while_loop` and `fori_loop` whose steps change a size of the carry: as the Python loop they stand for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.testing import check_grads

X = np.array([0.3, -0.8, 1.1, 0.4])


def appended(x: Any) -> Any:
    """Append to a carry; return the carry, and the sum of the sines of all of it after each step."""

    def step(seen: Any, e: Any) -> Any:
        after = np.concatenate([seen, np.reshape(e * seen[0], (1,))])
        return after, np.sum(np.sin(after))

    return ps.scan(step, 1.5 * x[:1], x)


def from_the_end(x: Any) -> Any:
    """A carry that grows in front, over sequences of two kinds walked from the end."""

    def step(c: Any, e: Any) -> Any:
        return (np.concatenate([(e[0] * e[1])[:1], c]), np.cos(e[0][0] + c[-1]))

    return ps.scan(step, x[:2], (np.outer(x, x), np.stack([x, x], 1)[:, ::-1] @ np.ones((2, 4))), reverse=True)


def expanded(x: Any) -> Any:
    """The coefficients of the polynomial that has the zeros `x`."""
    zero, one = np.zeros(1), np.ones(1)

    def step(i: Any, c: Any) -> Any:
        return np.concatenate([c, zero]) - np.take(x, i) * np.concatenate([zero, c])

    return ps.fori_loop(0, x.shape[0], step, one)


def doubled(x: Any) -> Any:
    """Twice as long in each step, until the sum of squares is large; a carry beside it keeps its shape."""

    def grown(c: Any) -> Any:
        return (c[0] + np.mean(c[1]), np.concatenate([c[1], 1.2 * c[1]]))

    return ps.while_loop(lambda c: np.sum(c[1] ** 2) < 30, grown, (x[0], x))


def halved(x: Any) -> Any:
    """A carry that shrinks."""
    return ps.fori_loop(0, 2, lambda i, c: c[::2] * c[:1], x)


def counted(x: Any) -> Any:
    """No sequences, a length alone."""
    return ps.scan(lambda c, _: (np.concatenate([c, c[-1:] * 2]), c[-1]), x[:1], length=3)


def within(x: Any) -> Any:
    """A loop that grows what the loop around it grows."""

    def longer(i: Any, c: Any) -> Any:
        return np.concatenate([c, c[-1:] * x[i]])

    return ps.fori_loop(0, 2, lambda i, c: np.sin(ps.fori_loop(0, 2, longer, c)), x[:1])


def with_checkpoints(x: Any) -> Any:
    """A carry that grows in the parts of a scan."""
    return ps.scan(lambda c, e: (np.concatenate([c, e[None]]), np.sum(c) * e), x[:1], x, checkpoint="sqrt")


LOOPS: list[Callable[[Any], Any]] = [
    appended, from_the_end, expanded, doubled, halved, counted, within, with_checkpoints
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_carry_that_changes_its_size_is_that_of_the_python_loop(loop: Callable[[Any], Any]) -> None:
    for found, wanted in zip(_leaves(ps.trace(loop, X)(X)), _leaves(loop(X)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_it_has_derivatives_of_second_order(loop: Callable[[Any], Any]) -> None:
    check_grads(lambda x: sum(np.sum(np.sin(y)) for y in _leaves(loop(x))), X, order=2, symbolic=False)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_one_file_serves_every_length(size: int) -> None:
    def f(xs: Any) -> Any:
        seen, sums = ps.scan(lambda c, e: (np.concatenate([c, e[None]]), np.sum(c * e)), np.ones(1), xs)
        return np.sum(seen**2) + np.sum(np.cos(sums))

    file = ps.split(f, ps.spec("float64", ["N"])).joint()
    value, slope = file(X[:size])
    np.testing.assert_allclose(value, f(X[:size]), rtol=1e-12)
    step = 1e-6 * np.eye(size)
    wanted = [(f(X[:size] + d) - f(X[:size] - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(slope, np.reshape(wanted, size), rtol=1e-7, atol=1e-8)


def test_a_size_that_broadcasting_makes_in_the_first_step_stays() -> None:

    def f(x: Any) -> Any:
        return ps.fori_loop(0, 3, lambda i, c: np.sin(c) * x, np.ones(1))

    np.testing.assert_allclose(ps.trace(f, X)(X), f(X), rtol=1e-12)


def test_a_batch_of_growing_loops_is_each_examples_own() -> None:
    one = ps.grad(lambda x: np.sum(np.sin(expanded(x))))
    batch = np.stack([X, X * 0.5, X - 1])
    np.testing.assert_allclose(ps.vmap(one)(batch), [one(x) for x in batch], rtol=1e-12)


def test_another_number_of_axes_is_refused_at_its_line() -> None:
    with pytest.raises(ShapeError, match="number of axes") as caught:
        ps.trace(lambda x: ps.while_loop(lambda c: True, lambda c: c[None], x), X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    assert len(str(caught.value).splitlines()) < 10


def _leaves(result: Any) -> list[Any]:
    return [y for part in result for y in _leaves(part)] if isinstance(result, tuple) else [result]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("size", [1, 3, 40])
def test_a_loaded_loop_over_blocks_of_columns_has_its_gradient(tmp_path: Path, size: int) -> None:
    """An inverse in a file takes 32 columns at a time: a carry grows, and one loses as many as the step computes."""
    path = str(tmp_path / "inverse.onnx")
    ps.trace(lambda a: np.sum(np.linalg.inv(a) ** 2), ps.spec("float64", ["N", "N"])).save(path)
    a = np.eye(size) + np.random.default_rng(size).normal(size=(size, size)) / (2 * np.sqrt(size))
    inverse = np.linalg.inv(a)
    value, gradient = ps.value_and_grad(ps.load(path))(a)
    np.testing.assert_allclose(value, np.sum(inverse**2), rtol=1e-10)
    np.testing.assert_allclose(gradient, -2.0 * inverse.T @ inverse @ inverse.T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [3, 4, 40])
def test_a_loaded_loop_is_differentiated_for_arrays_of_any_length(tmp_path: Path, size: int) -> None:
    """The gradient is traced for the sizes of the arrays, which are numbers: that 4 rows may be kept was not seen."""
    path = str(tmp_path / "triangle.onnx")
    ps.trace(lambda a, b: np.linalg.solve(np.tril(a), b), *[ps.spec("float64", ["N", "N"])] * 2).save(path)
    model, random = ps.load(path), np.random.default_rng(size)
    a, b = np.eye(size) + random.normal(size=(size, size)) / (2 * size), random.normal(size=(size, size))
    x = np.linalg.solve(np.tril(a), b)
    gradient = ps.grad(lambda a: np.sum(model(a, b) ** 2))(a)
    np.testing.assert_allclose(gradient, -np.tril(np.linalg.solve(np.tril(a).T, 2 * x) @ x.T), rtol=1e-8, atol=1e-10)


CUTS = {
    "split": "size = Shape (h) rest = Sub (size, n) parts = Concat <axis=0> (n, rest) a, y = Split <axis=0> (h, parts)",
    "sliced": "size = Shape (h) y = Slice (h, n, size)",
    "sliced and moved": "size = Shape (h) a = Slice (h, n, size) y = Sqrt (a)",
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=list(CUTS))
def test_a_loaded_loop_that_cuts_its_carry_at_a_place_that_only_the_run_knows_has_its_gradient(
    tmp_path: Path, cut: str
) -> None:
    summed = "t = Sin (h) u = Mul (t, h) r = ReduceSum <keepdims=0> (u)"
    body = f"on = Identity (go) {summed} v = Mul (r, s) w = Add (v, r) {cut}"
    step = f"b (int64 i, bool go, double s, double[L] h) => (bool on, double w, double[M] y) {{ {body} }}"
    nodes = "c = Constant <value = bool {1}> () z = Constant <value = double {0.5}> ()"
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 22]> g (double[K] x, int64[1] n, int64 trips) => (double e) '
        f"{{ {nodes} e, f = Loop <body = {step}> (trips, c, z, x) }}"
    )
    path = str(tmp_path / "cut.onnx")
    onnx.save(model, path)
    loaded = ps.load(path)
    x, n, trips = np.linspace(0.2, 0.9, 7), np.array([2]), np.array(3)
    units = np.eye(7) * 1e-6
    wanted = [(loaded(x + u, n, trips) - loaded(x - u, n, trips)) / 2e-6 for u in units]
    np.testing.assert_allclose(ps.grad(loaded)(x, n, trips), wanted, rtol=1e-6, atol=1e-8)
