"""The module of a file computes what the file computes, with NumPy alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, ModeName
from primsplit.ir.errors import MissingRule, ShapeError, SpecError
from primsplit.programs.export import save_derived
from primsplit.tracing import trees
from tests.written_modules import Arrays, assert_module_computes

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))


def inputs_of(made: Exported, path: str) -> Arrays:
    """The inputs of a model's file: its example, the states' first values, numbers for cotangents and tangents."""
    file, program, random = read_written(path), made.recorded, np.random.default_rng(0)
    given = dict(zip(program.given_names, trees.flatten(made.arguments.values)[0], strict=True))
    given.update((c.input, c.declared.now) for c in program.states)
    inputs = []
    for name, param in zip(file.inputs, file.block.params, strict=True):
        if name in given:
            inputs.append(np.asarray(given[name], param.type.dtype))
            continue
        like = given.get(name[2:])
        shape: Any = param.type.shape if like is None else np.shape(like)
        inputs.append(np.asarray(random.standard_normal(shape), param.type.dtype))
    return inputs


def assert_model_computes(path: Path, mode: ModeName | None, folder: Path) -> None:
    try:
        made = Exported(str(path), None, None, None, quiet=True, mode=mode)
    except (ShapeError, MissingRule, SpecError):
        assert mode is not None
        pytest.skip("the model has no such derivative")
    (file,) = save_derived(made.derived, str(folder / "model.onnx"), made.mode, "joint")
    assert_module_computes(file, inputs_of(made, file), folder)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_module_of_a_model_computes_its_file(path: Path, tmp_path: Path) -> None:
    assert_model_computes(path, None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_module_of_every_model_in_every_mode_computes_its_file(path: Path, mode: ModeName, tmp_path: Path) -> None:
    assert_model_computes(path, mode, tmp_path)


def test_two_passes_are_two_functions_and_name_the_users_lines(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    path = tmp_path / "loss.onnx"
    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=path, wrt="w")
    text = to_numpy([read_written(str(path))]).text
    line = loss.__code__.co_firstlineno + 1
    assert "def forward(w, x):" in text
    assert f"    # hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n    matmul = x @ w\n" in text
    assert "    hidden = np.tanh(matmul)" in text
    assert "def pullback(captures, x" in text
    assert f"    # Grad of: hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n" in text
    assert "def value_and_grad(w, x" in text
    assert "primsplit" not in text
