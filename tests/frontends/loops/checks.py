"""Nests on onnxruntime beside the interpreter, and their gradients beside differences."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.nest import Nest
from tests.frontends.loops.corpus import Row
from tests.frontends.loops.running import differences, pulled_back


def _as(row: Row, dtype: Any) -> dict[str, Any]:
    """The arrays of a row, floats in this dtype."""
    return {n: a.astype(dtype) if getattr(a, "dtype", np.dtype(int)).kind == "f" else a for n, a in row.arrays.items()}


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple | list) else (result,)  # type: ignore[return-value]


def _floats(nest: Nest, arrays: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(i for i, name in enumerate(nest.names) if np.asarray(arrays[name]).dtype.kind == "f")


def _loss(nest: Nest, weights: Mapping[str, Any]) -> Any:
    """A scalar of the nest's results."""

    def loss(*values: Any) -> Any:
        results = _tuple(nest(*values))
        return sum(np.sum(r * w.astype(r.dtype)) for r, w in zip(results, weights.values(), strict=True))

    return loss


def check_value(row: Row) -> None:
    """onnxruntime gives the values, dtypes and shapes of the interpreter."""
    nest = ps.loops(row.text)
    arrays = _as(row, np.float32)
    expected = interpret(nest.loopset, arrays)
    for array, right in zip(_tuple(nest(**arrays)), expected.values(), strict=True):
        assert (array.dtype, array.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(array, right, rtol=2e-5, atol=2e-5)


def check_gradients(row: Row) -> None:
    """The gradients of a weighted sum are those of differences of the interpreter."""
    nest = ps.loops(row.text)
    random = np.random.default_rng(5)
    weights = {name: random.normal(size=array.shape) for name, array in interpret(nest.loopset, row.arrays).items()}
    wrt = _floats(nest, row.arrays)
    expected = [differences(nest.loopset, row.arrays, weights, nest.names[i]) for i in wrt]
    gradients = ps.grad(_loss(nest, weights), wrt)(*(row.arrays[name] for name in nest.names))
    for gradient, right in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, right, rtol=1e-6, atol=1e-6)


def check_float32(row: Row) -> None:
    """Gradients of float32 stay there and are those of float64."""
    nest = ps.loops(row.text)
    results = interpret(nest.loopset, row.arrays)
    weights = {name: np.linspace(-1, 1, array.size).reshape(array.shape) for name, array in results.items()}
    wrt = _floats(nest, row.arrays)
    pulled = pulled_back(nest.loopset, row.arrays, weights, [nest.names[i] for i in wrt])
    arrays = _as(row, np.float32)
    gradients = ps.grad(_loss(nest, weights), wrt)(*(arrays[name] for name in nest.names))
    for gradient, right in zip(gradients, pulled.values(), strict=True):
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, right, rtol=1e-4, atol=1e-5)


def _axes(row: Row) -> dict[str, list[int | str]]:
    """The sizes of the axes of each array: numbers and names."""
    parts = zip(row.arrays, row.axes.split(";"), strict=True)
    return {name: [int(size) if size.isdigit() else size for size in part.split()] for name, part in parts}


def _of_size(row: Row, size: int) -> dict[str, Any]:
    """Arrays whose symbolic sizes are this; indices are 0."""
    random = np.random.default_rng(size)
    found = {}
    for name, axes in _axes(row).items():
        shape = [axis if isinstance(axis, int) else size for axis in axes]
        is_float = row.arrays[name].dtype.kind == "f"
        found[name] = 1 + random.random(shape) if is_float else np.zeros(shape, np.int64)
    return found


def check_sizes(row: Row) -> None:
    """One program of symbolic sizes has values and gradients at every size, 0 and 1 among them."""
    nest = ps.loops(row.text)
    axes = _axes(row)
    specs = [ps.spec(row.arrays[name].dtype, axes[name]) for name in nest.names]
    wrt = _floats(nest, row.arrays)

    def sums(*values: Any) -> Any:
        results = _tuple(nest(*values))
        return sum(np.sum(r * 2.0) for r in results), results

    program = ps.trace(ps.value_and_grad(sums, wrt, has_aux=True), *specs)
    for arrays in (row.arrays, *(_of_size(row, size) for size in (2, 1, 0))):
        (_, found), gradients = program(*(arrays[name] for name in nest.names))
        expected = interpret(nest.loopset, arrays)
        for array, right in zip(found, expected.values(), strict=True):
            assert array.shape == right.shape
            np.testing.assert_allclose(array, right, rtol=1e-10, atol=1e-12)
        twos = {name: np.full(right.shape, 2.0) for name, right in expected.items()}
        pulled = pulled_back(nest.loopset, arrays, twos, [nest.names[i] for i in wrt])
        for gradient, right in zip(gradients, pulled.values(), strict=True):
            assert gradient.shape == right.shape
            np.testing.assert_allclose(gradient, right, rtol=1e-10, atol=1e-11)
