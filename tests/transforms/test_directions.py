"""Jacobians and Hessians, direction by direction: widths of chunks, blocks, arrays to write into, prepared calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.targets.finish import finish

W = np.random.default_rng(0).standard_normal((9, 8))


def layer(x: Any) -> Any:
    return np.sin(W @ x) * x[0]


def layer_slope(x: Any) -> Any:
    slope = np.cos(W @ x)[:, None] * W * x[0]
    slope[:, 0] += np.sin(W @ x)
    return slope


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("width", [*range(1, 10), np.int64(3), None])
def test_chunks_of_any_width_make_the_same_jacobian(mode: Any, width: int | None) -> None:
    x = np.linspace(-1.0, 1.0, 8)
    np.testing.assert_allclose(ps.jacobian(layer, mode=mode, chunk=width)(x), layer_slope(x), rtol=1e-12, atol=1e-14)


def largest(program: Any) -> int:
    """The elements of the largest value that a file of the program makes."""
    values = [v for op in walk(finish(program.block)) for v in op.outputs]
    return max(int(np.prod([d for d in v.type.shape or () if isinstance(d, int)])) for v in values)


@pytest.mark.parametrize("transform", [ps.hessian, ps.laplacian])
def test_a_file_holds_no_more_directions_at_a_time_than_it_is_told(transform: Any) -> None:
    """The results of a direction for the 20 x 20 products are not computed for all 20 at once."""
    x = np.linspace(-1.0, 1.0, 20)
    function = transform(lambda x: np.sum(np.tanh(np.outer(x, x))))
    chunked = transform(lambda x: np.sum(np.tanh(np.outer(x, x))), chunk=2)
    assert largest(function.program(x)) == 20**3
    assert largest(chunked.program(x)) == 2 * 20**2
    np.testing.assert_allclose(chunked(x), function(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("mode", "dtypes"), [("forward", "ddff"), ("reverse", "fdfd")])
def test_columns_have_the_results_dtype_and_rows_the_arguments(mode: Any, dtypes: str) -> None:
    """Also where a result does not depend on an argument."""
    both = ps.jacobian(lambda x, y: (x * y, x), (0, 1), mode=mode)(np.ones(3, np.float32), np.ones(3))
    assert "".join(block.dtype.char for row in both for block in row) == dtypes


def test_value_and_jacobian_come_together() -> None:
    value, jacobian = ps.value_and_jacobian(lambda x: np.stack([x[0] ** 2 + x[1], x[0] * x[1]]))(np.array([2.0, 3.0]))
    assert value.tolist() == [7.0, 6.0]
    assert jacobian.tolist() == [[4.0, 1.0], [3.0, 2.0]]


def test_value_and_derivatives_of_a_number_come_together() -> None:
    def f(x: Any) -> Any:
        return x**4

    assert [float(a) for a in ps.value_and_derivative(f)(2.0)] == [16.0, 32.0]
    first, second = ps.value_and_derivative(ps.derivative(f))(2.0)
    assert (first, second) == (32.0, 48.0)
    value, velocity = ps.value_and_derivative(lambda t: {"x": t * t, "y": np.stack([t, 3.0 * t])})(0.5)
    assert (value["x"], velocity["x"], velocity["y"].tolist()) == (0.25, 1.0, [1.0, 3.0])


def two(a: Any, b: Any) -> Any:
    return np.sum(a * a) * np.sum(b) + np.sum(b * b * b)


@pytest.mark.parametrize("sizes", [(2, 3), (0, 2), (2, 0), (0, 0)])
def test_the_blocks_of_two_vectors(sizes: tuple[int, int]) -> None:
    a, b = (np.arange(1.0, n + 1) for n in sizes)
    value, gradient, blocks = ps.value_grad_and_hessian(two, wrt=(0, 1))(a, b)
    assert value == np.sum(a * a) * np.sum(b) + np.sum(b**3)
    np.testing.assert_allclose(gradient[0], 2.0 * a * np.sum(b))
    np.testing.assert_allclose(gradient[1], np.sum(a * a) + 3.0 * b * b)
    wanted = (
        (2.0 * np.sum(b) * np.eye(len(a)), np.outer(2.0 * a, np.ones(len(b)))),
        (np.outer(np.ones(len(b)), 2.0 * a), np.diag(6.0 * b)),
    )
    for row, wanted_row in zip(blocks, wanted, strict=True):
        for found, right in zip(row, wanted_row, strict=True):
            assert found.shape == right.shape
            np.testing.assert_allclose(found, right)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_hessian_is_written_into_arrays_at_hand(n: int) -> None:
    x = np.arange(1.0, n + 1)
    found = np.empty(()), np.empty(n), np.empty((n, n))
    call = ps.value_grad_and_hessian(lambda x: np.sum(x * x))
    for scale in (1.0, 2.0):
        assert call.run_into(found, scale * x) is found
        assert float(found[0]) == np.sum((scale * x) ** 2)
        np.testing.assert_array_equal(found[1], 2.0 * scale * x)
        np.testing.assert_array_equal(found[2], 2.0 * np.eye(n))


def test_a_hessian_is_symmetric() -> None:
    x = np.array([0.3, -0.7, 1.1, 0.2])
    hessian = ps.hessian(lambda x: np.exp(np.sum(np.sin(x))))(x)
    wanted = np.exp(np.sum(np.sin(x))) * (np.outer(np.cos(x), np.cos(x)) - np.diag(np.sin(x)))
    np.testing.assert_allclose(hessian, wanted, rtol=1e-14)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-15)


PREPARED = ps.value_grad_and_hvp(lambda x: np.sum(x * x)).program(np.ones(2), np.ones(2))

WRONG: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("no vector", lambda: PREPARED(np.ones(2)), SpecError, "another structure"),
    ("two vectors", lambda: PREPARED(np.ones(2), np.ones(2), np.ones(2)), SpecError, "another structure"),
    ("a longer vector", lambda: PREPARED(np.ones(2), np.ones(3)), ShapeError, "size 3 at axis 0, not 2"),
    ("a point of another size", lambda: PREPARED(np.ones(3), np.ones(3)), ShapeError, "size 3 at axis 0, not 2"),
    ("a matrix", lambda: PREPARED(np.ones(2), np.ones((2, 1))), ShapeError, "must have 1 axes"),
    ("another dtype", lambda: PREPARED(np.ones(2), np.ones(2, np.float32)), DtypeError, "must be float64, not float32"),
]


@pytest.mark.parametrize(("call", "error", "told"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_prepared_product_refuses_what_it_was_not_prepared_for(call: Any, error: Any, told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)
    assert "test_directions.py" in str(caught.value)


def test_a_prepared_product_is_traced_and_loaded_once() -> None:
    product = ps.value_grad_and_hvp(lambda x: x[0] ** 4 + x[1] ** 6)
    before = ps.counts()
    prepared = product.program(np.ones(2), np.ones(2))
    value, gradient, found = prepared(np.array([2.0, 2.0]), np.array([1.0, 1.0]))
    assert (float(value), gradient.tolist(), found.tolist()) == (80.0, [32.0, 192.0], [48.0, 480.0])
    made = ps.counts().since(before)
    assert (made.traces, made.sessions) == (1, 1)
    kept = ps.counts()
    for _ in range(1000):
        prepared(np.ones(2), np.ones(2))
    assert ps.counts() == kept


DRAWN = {
    "jacobian": lambda f: ps.value_and_jacobian(f),
    "jacobian by columns": lambda f: ps.value_and_jacobian(f, mode="forward"),
    "jacobian by rows": lambda f: ps.value_and_jacobian(f, mode="reverse", chunk=2),
}


@pytest.mark.parametrize("name", DRAWN)
def test_value_and_jacobian_see_one_draw(name: str) -> None:
    def scaled(x: Any, y: Any) -> Any:
        first, second = ps.random.normal(size=3), ps.scan(lambda c, e: (c, e * ps.random.normal()), 0.0, x)[1]
        return first * x * y, second

    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 0.5])
    (product, stepped), (by_product, by_stepped) = ps.value_and_jacobian(scaled, wrt=(0, 1))(x, y)
    np.testing.assert_allclose(np.diag(by_product[0]) * x, product)
    np.testing.assert_allclose(np.diag(by_product[1]) * y, product)
    np.testing.assert_allclose(np.diag(by_stepped[0]) * x, stepped)
    assert not np.any(by_stepped[1])
    value, jacobian = DRAWN[name](lambda x: ps.random.normal(size=3) * x)(x)
    np.testing.assert_allclose(np.diag(jacobian) * x, value)


def test_value_gradient_hessian_and_laplacian_see_one_draw(tmp_path: Any) -> None:
    def noisy(x: Any) -> Any:
        return np.sum(ps.random.normal(size=3) * x * x)

    x = np.array([1.0, 2.0, 3.0])
    path = str(tmp_path / "hessian.onnx")
    ps.export(noisy, ps.spec("float64", [3]), mode="hessian", path=path)
    for made in (ps.value_grad_and_hessian(noisy), ps.load(path)):
        value, gradient, hessian = made(x)
        np.testing.assert_allclose(gradient, np.diag(hessian) * x)
        np.testing.assert_allclose(value, np.sum(gradient * x) / 2)

    def of_two(x: Any, y: Any) -> Any:
        return ps.random.normal(size=()) * np.sum(x * x - y * y)

    assert ps.laplacian(of_two, wrt=(0, 1))(x, x) == 0.0


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_results_whose_size_the_data_tell_have_jacobians(mode: Any) -> None:
    def picked(x: Any) -> Any:
        return x[x > 0] ** 2, np.sum(x)

    x = np.array([2.0, -1.0, 3.0])
    for point in (x, x[:2], -x[:1], x[:0]):
        rows = np.diag(2.0 * point)[point > 0]
        (value, _), (jacobian, of_sum) = ps.value_and_jacobian(picked, mode=mode)(point)
        np.testing.assert_array_equal(value, point[point > 0] ** 2)
        np.testing.assert_array_equal(jacobian, rows)
        np.testing.assert_array_equal(of_sum, np.ones(len(point)))

    def paired(x: Any) -> Any:
        value, rows = ps.value_and_jacobian(lambda x: picked(x)[0], mode=mode)(x)
        return value @ rows

    np.testing.assert_array_equal(ps.trace(paired, x)(x), [16.0, 0.0, 54.0])


def test_an_infinite_slope_of_one_result_is_none_of_another() -> None:
    """Also where both come from one list, since there are draws."""

    def f(x: Any) -> Any:
        return np.log(x), 2.0 * x + 0.0 * ps.random.normal(size=2)

    for mode in ("forward", "reverse"):
        logarithm, double = ps.jacobian(f, mode=mode)(np.array([0.0, 1.0]))
        assert np.isinf(logarithm[0, 0])
        np.testing.assert_array_equal(double, [[2.0, 0.0], [0.0, 2.0]])


def test_a_linear_function_gives_the_sizes_that_its_captures_tell() -> None:
    """Its list reads a vector of sizes, and no array that has them."""

    def f(s, x):
        y, linear = ps.linearize(lambda t: np.tanh(x) + 0.3 * np.sin(t), s)
        moved = linear(2.0)
        return np.sum(y * moved), moved

    program = ps.trace(ps.grad(f, has_aux=True), 0.5, ps.spec("float64", ["N"]))
    for size in (0, 1, 3):
        x = np.linspace(0.1, 0.9, size)
        slope, moved = program(0.5, x)
        np.testing.assert_allclose(moved, np.full(size, 0.6 * np.cos(0.5)))
        wanted = np.sum(0.18 * np.cos(0.5) ** 2 - (np.tanh(x) + 0.3 * np.sin(0.5)) * 0.6 * np.sin(0.5))
        np.testing.assert_allclose(slope, wanted, atol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, u: np.sum(np.where(a > 0.8, a, u)),
        lambda a, u: np.sum(np.where(a > 0.8, u, a)),
        lambda a, u: np.sum(np.where(a > 0.8, a, u) * u),
        lambda a, u: np.sum(np.where(u > 0.8, np.sin(a), 1.0)),
    ],
)
def test_a_number_chosen_against_an_array_has_a_tangent_as_large_as_the_array(function: Callable[..., Any]) -> None:
    program = ps.trace(
        lambda a, u: ps.jvp(lambda q: function(q, u), (a,), (np.float64(1),))[1], 0.5, ps.spec("float64", ["N"])
    )
    for size in (0, 1, 3):
        u = np.linspace(0.7, 1.4, size)
        for a in (0.5, 0.9):
            slope = (function(a + 1e-6, u) - function(a - 1e-6, u)) / 2e-6
            np.testing.assert_allclose(program(a, u), slope, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("chunk", [1, 3])
def test_chunks_of_a_loaded_sort_have_a_gradient(tmp_path: Any, chunk: int) -> None:
    """Its If without elements has a size of its own in the file, which no value around the chunks' loop tells alone."""
    path = str(tmp_path / "sorted.onnx")
    ps.trace(lambda x: np.sort(x * x, axis=-1), ps.spec("float64", ["N", 3])).save(path)
    model = ps.load(path)

    def curvature(x: Any) -> Any:
        return np.sum(ps.hessian(lambda x: np.sum(np.sin(model(x))), chunk=chunk)(x) ** 2)

    program = ps.trace(ps.grad(curvature), ps.spec("float64", ["N", 3]))
    for rows in (0, 1, 2):
        x = np.linspace(0.2, 0.9, 3 * rows).reshape(rows, 3)
        second, third = (
            2 * np.cos(x * x) - 4 * x * x * np.sin(x * x),
            -12 * x * np.sin(x * x) - 8 * x**3 * np.cos(x * x),
        )
        np.testing.assert_allclose(program(x), 2 * second * third, rtol=1e-10)
