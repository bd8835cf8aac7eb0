"""Whole programs as NumPy users write them: values, gradients, float32, and every form of file."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.testing import check_grads
from primsplit.tracing import trees
from primsplit.tracing.specs import leaf_type
from tests.programs import learning, science, shapes, structures, writing
from tests.programs.table import Row

ROWS = [row for theme in (science, learning, writing, shapes, structures) for row in theme.PROGRAMS]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
each = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def _arrays(arguments: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in trees.flatten(tuple(arguments))[0] if leaf_type(x) is not None]


def _in_single(arguments: Any) -> Any:
    leaves, structure = trees.flatten(arguments)
    return trees.unflatten(structure, [_narrowed(x) for x in leaves])


def _narrowed(leaf: Any) -> Any:
    return leaf.astype(np.float32) if isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 else leaf


def _expected(row: Row, arguments: Any) -> list[np.ndarray]:
    leaves, structure = trees.flatten(arguments)
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]
    return [np.asarray(x) for x in trees.flatten(row.function(*trees.unflatten(structure, copies)))[0]]


def _close(found: np.ndarray, wanted: np.ndarray, tolerance: float, name: str) -> None:
    assert found.dtype == wanted.dtype, name
    assert found.shape == wanted.shape, name
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=name)


@pytest.mark.sweep(4)
@each
def test_values_and_gradients_are_numpys_and_those_of_central_differences(row: Row) -> None:
    check_grads(row.function, *row.arguments, **row.options)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", [r for r in ROWS if r.single], ids=lambda row: row.name)
def test_in_float32_dtypes_are_numpys_and_values_and_gradients_those_of_float64(row: Row) -> None:
    narrow = _in_single(row.arguments)
    made = ps.split(row.function, *narrow, seed="ones")
    found = made.joint().session()(*_arrays(narrow))
    expected = _expected(row, narrow)
    for name, value, wanted in zip(made.program.outputs, found, expected, strict=False):
        _close(value, wanted, 2e-4, name)
    wide = ps.split(row.function, *row.arguments, seed="ones").joint().session()(*_arrays(row.arguments))
    count = len(expected)
    for name, narrow_one, wide_one in zip(made.gradient_names, found[count:], wide[count:], strict=True):
        _close(narrow_one, wide_one.astype(narrow_one.dtype), 2e-3, name)


@pytest.mark.sweep(3)
@each
def test_the_forms_of_a_file_are_valid_and_agree(row: Row, tmp_path: Path) -> None:
    made = ps.split(row.function, *row.arguments)
    feeds = dict(zip(made.program.inputs, _arrays(row.arguments), strict=True))
    if not made.seeded:
        expected = _expected(row, row.arguments)
        for name, position in zip(made.cotangent_names, made.split.of, strict=True):
            size = expected[position].size
            feeds[name] = np.cos(np.arange(size) + 1.0).reshape(expected[position].shape)
    (joint,) = made.save(str(tmp_path / "joint.onnx"))
    (functions,) = made.save(str(tmp_path / "functions.onnx"), form="functions")
    forward, backward = made.save(str(tmp_path / "split.onnx"), form="split")
    found = _run(joint, feeds)
    apart = _run(forward, feeds)
    apart |= _run(backward, feeds | apart)
    for other in (_run(functions, feeds), apart):
        for name, value in found.items():
            _close(other[name], value, 1e-11, name)


def _run(path: str, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a file in stock onnxruntime, with its optimizations."""
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    wanted = {i.name: feeds[i.name] for i in session.get_inputs()}
    return dict(zip(names, session.run(None, wanted), strict=True))


def test_a_straight_through_estimator_has_the_rounded_value_and_the_gradient_of_the_identity() -> None:
    def loss(x: Any) -> Any:
        rounded = x + ps.stop_gradient(np.round(x) - x)
        return np.sum(rounded**2)

    x = np.array([0.2, 1.7, -2.4])
    value, gradient = ps.value_and_grad(loss)(x)
    assert value == np.sum(np.round(x) ** 2)
    np.testing.assert_allclose(gradient, 2 * np.round(x))
