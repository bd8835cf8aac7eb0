"""The module of a file computes what the file computes, with NumPy alone."""

import ast
import itertools
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.written import read_written
from primsplit.programs.export import save_derived
from tests.written_modules import run_module, write_module


def test_two_passes_are_two_functions_and_name_the_users_lines(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    path = tmp_path / "loss.onnx"
    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=path, wrt="w")
    text = to_numpy([read_written(str(path))]).text
    line = loss.__code__.co_firstlineno + 1
    assert "def forward(w, x):" in text
    assert f"    # hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n    hidden = np.tanh(x @ w)\n" in text
    assert "def pullback(captures, x" in text
    assert f"    # Grad of: hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n" in text
    assert "def value_and_grad(w, x" in text
    assert "primsplit" not in text


def loss(w: Any, b: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w + b)
    return hidden * np.float32(2)


@pytest.fixture
def split() -> Any:
    types = (ps.spec("float32", [3, 4]), ps.spec("float32", [4]), ps.spec("float32", ["N", 3]))
    return ps.split(loss, *types, wrt=(0, 1))


def values() -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    shapes = {"w": (3, 4), "b": (4,), "x": (5, 3), "d_y": (5, 4)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def expected() -> tuple[np.ndarray[Any, Any], ...]:
    """The value and both gradients, written out."""
    w, b, x, d_y = values().values()
    hidden = np.tanh(x @ w + b)
    inner = 2 * d_y * (1 - hidden**2)
    return 2 * hidden, x.T @ inner, np.sum(inner, axis=0)


def functions_of(files: list[Any], folder: Path) -> dict[str, Any]:
    write_module(files, folder / "module.py")
    return runpy.run_path(str(folder / "module.py"))


def test_two_files_are_a_forward_and_a_pullback(split: Any, tmp_path: Path) -> None:
    paths = save_derived(split, str(tmp_path / "f.onnx"), "gradient", "split")
    given, functions = values(), functions_of([*map(read_written, paths)], tmp_path)
    y, hidden = functions["forward"](given["w"], given["b"], given["x"])
    for a, b in zip((y, *functions["pullback"](hidden, given["x"], given["d_y"])), expected(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert a.dtype == np.float32


def test_functions_of_a_file_are_functions(split: Any, tmp_path: Path) -> None:
    (path,) = save_derived(split, str(tmp_path / "f.onnx"), "gradient", "functions")
    given, functions = values(), functions_of([read_written(path)], tmp_path)
    for a, b in zip(functions["value_and_grad"](*given.values()), expected(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert "loss__pullback" in functions


def test_passes_that_alternate_are_one_function(tmp_path: Path) -> None:
    def curved(x: Any) -> Any:
        return np.sum(ps.grad(lambda v: np.sum(v**3))(x) ** 2)

    ps.split(curved, ps.spec("float64", [3]), wrt=0).save(tmp_path / "f.onnx")
    file = read_written(str(tmp_path / "f.onnx"))
    functions = functions_of([file], tmp_path)
    run = functions["run" if len(file.sections) != 2 else "value_and_grad"]
    x = np.array([1.0, -2.0, 0.5])
    y, d_x = run(x)
    np.testing.assert_allclose(y, np.sum((3 * x**2) ** 2))
    np.testing.assert_allclose(d_x, 36 * x**3)


def test_constants_of_nodes_are_written_where_they_are_read(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        helper.make_node("Constant", [], ["axes"], value_ints=[1]),
        helper.make_node("Mul", ["x", "half"], ["scaled"]),
        helper.make_node("Unsqueeze", ["scaled", "axes"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info("x", 1, [3]), helper.make_tensor_value_info("y", 1, [3, 1])]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "m.onnx")
    file = read_written(str(tmp_path / "m.onnx"))
    text = to_numpy([file]).text
    assert "    y = np.expand_dims(x * 0.5, axis=1)\n" in text
    ops = [op.kind for op in statements_of(file).main.every_op()]
    assert sorted(ops) == ["Constant", "Constant", "Mul", "Unsqueeze"]


def test_texts_of_a_file_become_no_code(tmp_path: Path) -> None:
    """Names of values, nodes, functions and files are identifiers or comments, on one line."""
    names = ["x", 'a"""\nraise SystemExit\n', "np", "lambda", "é́\u202e", "_divide", "captures", "print", "file"]
    nodes = [helper.make_node("Neg", [a], [b], name=f"{b}\nimport os") for a, b in itertools.pairwise(names)]
    ends = [helper.make_tensor_value_info(name, 7, [2]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, 'g"""\nraise SystemExit', ends[:1], ends[1:])
    path = tmp_path / 'm"""\nx = 1 #.onnx'
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), str(path))
    text = write_module([read_written(str(path))], tmp_path / "module.py")
    (found,) = run_module(tmp_path / "module.py", [np.array([1, -2])], tmp_path)
    np.testing.assert_array_equal(found, [1, -2] if len(nodes) % 2 == 0 else [-1, 2])
    assert [type(node) for node in ast.parse(text).body] == [ast.Expr, ast.Import, ast.FunctionDef]


def test_a_name_that_is_longer_than_a_line_stays_whole(tmp_path: Path) -> None:
    names = ["x" * 300, "9" * 300, "z" * 300]
    nodes = [
        helper.make_node("Neg", names[:1], ["a"]),
        *(
            helper.make_node("Add", ["a", name], [out])
            for name, out in zip(names[1:], ("u" * 300, "v" * 300), strict=True)
        ),
    ]
    ends = [helper.make_tensor_value_info(name, 7, [2]) for name in (*names, "u" * 300, "v" * 300)]
    graph = helper.make_graph(nodes, "g", ends[:3], ends[3:])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), str(path))
    write_module([read_written(str(path))], tmp_path / "module.py")
    given = [np.array([1, -2]), np.array([5, 5]), np.array([0, 1])]
    found = run_module(tmp_path / "module.py", given, tmp_path)
    np.testing.assert_array_equal(found, [[4, 7], [-1, 3]])
