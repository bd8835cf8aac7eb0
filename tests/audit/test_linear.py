"""A proof that the derivatives of a file are linear, and the numbers that confirm it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.linear import confirm, disprove, dot_product, linear_rows, seeds_of
from primsplit.audit.written import read_written
from primsplit.programs.opened import OpenedFile

X, W = np.linspace(0.1, 1, 6).reshape(2, 3), np.linspace(-1, 1, 3)


def bent(w: Any, x: Any) -> Any:
    return np.tanh(x @ w) * np.sqrt(x[:, 0])


def loss(w: Any, x: Any) -> Any:
    return np.sum(bent(w, x) ** 2)


def rows_of(*paths: Any) -> list[dict[str, Any]]:
    return linear_rows([read_written(str(p)) for p in paths])


@pytest.mark.parametrize("form", ["joint", "functions"])
def test_each_gradient_is_proven_linear_in_the_cotangent(tmp_path: Path, form: Any) -> None:
    rows = rows_of(*ps.export(bent, W, X, path=tmp_path / "f.onnx", form=form))
    assert [(r["output"], r["verdict"], r["in"]) for r in rows] == [
        ("d_w", "linear", ["d_y"]),
        ("d_x", "linear", ["d_y"]),
    ]
    assert all(r["checked"] > 0 and r["node"] == "" for r in rows)


def test_the_gradients_of_a_backward_file_are_proven_too(tmp_path: Path) -> None:
    rows = rows_of(*ps.export(bent, W, X, path=tmp_path / "f.onnx", form="split"))
    assert [(r["output"], r["verdict"]) for r in rows] == [("d_w", "linear"), ("d_x", "linear")]
    forward, backward = (read_written(str(tmp_path / f"f.{part}.onnx")) for part in ("forward", "backward"))
    assert seeds_of(backward, [forward, backward]) == (["d_y"], [])


def test_a_tangent_is_linear_in_the_tangents(tmp_path: Path) -> None:
    (row,) = rows_of(*ps.export(bent, W, X, path=tmp_path / "f.onnx", mode="jvp"))
    assert (row["output"], row["verdict"], row["in"]) == ("t_y", "linear", ["t_w", "t_x"])


def test_what_a_pair_of_files_keeps_is_no_tangent_by_its_name(tmp_path: Path) -> None:
    """A gradient inside of the function has values named d_hidden, and the linear file takes hidden and d_hidden."""

    def slope(w: Any, x: Any) -> Any:
        def value(at: Any) -> Any:
            hidden = np.tanh(at @ w)
            return np.sum(np.tanh(hidden) ** 2)

        return np.sum(ps.grad(value)(x) ** 2)

    rows = rows_of(*ps.export(slope, W, X, path=tmp_path / "f.onnx", mode="linearize"))
    assert [(r["output"], r["verdict"], r["in"]) for r in rows] == [("t_y", "linear", ["t_w", "t_x"])]


def test_of_a_seeded_file_the_row_says_so_and_names_a_value(tmp_path: Path) -> None:
    rows = rows_of(*ps.export(loss, W, X, path=tmp_path / "f.onnx", wrt="w"))
    assert [r["verdict"] for r in rows] == ["seeded"]
    assert rows[0]["in"]
    assert rows[0]["checked"] > 0


def edited(path: Path, change: Callable[[onnx.NodeProto], None]) -> Path:
    """The file with a change of the first node that reads d_y."""
    model = onnx.load(path)
    change(next(node for node in model.graph.node if "d_y" in node.input))
    onnx.save(model, path)
    return path


def squared(node: onnx.NodeProto) -> None:
    node.op_type = "Mul"
    del node.input[:], node.attribute[:]
    node.input.extend(["d_y", "d_y"])


def test_a_product_of_cotangents_is_named_with_its_line(tmp_path: Path) -> None:
    (path,) = ps.export(bent, W, X, path=tmp_path / "f.onnx", wrt="w")
    rows = rows_of(edited(Path(path), squared))
    (row,) = rows
    assert (row["verdict"], row["operator"]) == ("not linear", "Mul")
    assert row["place"].startswith("test_linear.py:")
    assert row["source"].startswith("return np.tanh")


def test_a_shifted_cotangent_and_an_ignored_one_are_found(tmp_path: Path) -> None:
    def shifted(node: onnx.NodeProto) -> None:
        node.op_type = "Add"

    (path,) = ps.export(lambda w, x: x * w, W, X, path=tmp_path / "f.onnx", wrt="x")
    assert [r["verdict"] for r in rows_of(path)] == ["linear"]
    assert [r["verdict"] for r in rows_of(edited(Path(path), shifted))] == ["not linear"]

    def ignored(node: onnx.NodeProto) -> None:
        node.input[:] = ["w", "x"]

    (path,) = ps.export(lambda w, x: x * w, W, X, path=tmp_path / "f.onnx", wrt="x")
    assert [r["verdict"] for r in rows_of(edited(Path(path), ignored))] == ["independent"]


def at(path: Any) -> tuple[OpenedFile, Mapping[str, Any]]:
    return OpenedFile(str(path)), {"w": W, "x": X, "d_y": np.ones(2)}


def test_numbers_confirm_what_is_linear_and_disprove_what_is_not(tmp_path: Path) -> None:
    (path,) = ps.export(bent, W, X, path=tmp_path / "f.onnx", wrt="w")
    assert confirm(*at(path), ["d_y"])["d_w"] < 1e-14
    assert confirm(*at(edited(Path(path), squared)), ["d_y"])["d_w"] > 0.01


def test_an_unproven_row_is_not_linear_if_numbers_show_it() -> None:
    rows = [{"output": "d_w", "verdict": "not proven"}, {"output": "d_x", "verdict": "not proven"}]
    disprove(rows, {"d_w": 0.5, "d_x": 1e-15}, 2e-16)
    assert [r["verdict"] for r in rows] == ["not linear", "not proven"]
    rows[0]["verdict"] = "not proven"
    disprove(rows, {"d_w": float("nan")}, 2e-16)
    assert rows[0]["verdict"] == "not proven"


def test_the_dot_product_is_the_same_by_differences_and_by_gradients(tmp_path: Path) -> None:
    (path,) = ps.export(bent, W, X, path=tmp_path / "f.onnx")
    found = dot_product(*at(path), ["d_y"])
    assert found is not None
    assert found["agree"]
    np.testing.assert_allclose(found["differences"], found["gradients"], rtol=1e-8)


def test_a_dropped_path_makes_the_dot_products_differ(tmp_path: Path) -> None:
    def dropping(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w)) + ps.stop_gradient(np.sum(w))

    (path,) = ps.export(dropping, W, X, path=tmp_path / "f.onnx")
    found = dot_product(OpenedFile(str(path)), {"w": W, "x": X}, [])
    assert found is not None
    assert not found["agree"]
    assert {r["name"]: r["agree"] for r in found["inputs"]} == {"w": False, "x": True}


def test_a_kink_at_the_inputs_is_no_wrong_gradient(tmp_path: Path) -> None:
    def kinked(x: Any) -> Any:
        return np.sum(np.abs(x - 1e-9)) + np.sum(np.floor(x + 1.0) * x)

    (path,) = ps.export(kinked, np.zeros(1), path=tmp_path / "f.onnx")
    found = dot_product(OpenedFile(str(path)), {"x": np.zeros(1)}, [])
    assert found is not None
    assert (found["agree"], found["kinked"]) == (True, True)


def test_outputs_that_are_not_finite_prove_nothing(tmp_path: Path) -> None:
    (path,) = ps.export(lambda x: np.sum(np.log(x)), np.ones(2), path=tmp_path / "f.onnx")
    assert dot_product(OpenedFile(str(path)), {"x": -np.ones(2)}, []) == {"why": "y is not finite"}


def test_of_a_seeded_file_a_loop_that_starts_with_the_seed_is_read(tmp_path: Path) -> None:
    """The steps of a loop make something else of a carry than its first value: the result itself stays unnamed."""

    def loss(w: Any, xs: Any) -> Any:
        last, energies = ps.scan(lambda h, x: (np.tanh(w * h + x), np.sum(h**2)), w, xs)
        return np.sum(energies) + np.sum(last)

    rows = rows_of(*ps.export(loss, W, np.ones((4, 3)), path=tmp_path / "f.onnx"))
    assert [r["verdict"] for r in rows] == ["seeded", "seeded"]
    assert [r["in"] for r in rows] == [[], []]
