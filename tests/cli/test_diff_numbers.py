"""Numbers of two files at samples: inputs of other names and sizes, and files from elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from primsplit.programs.opened import OpenedFile

Run = Callable[..., Any]
WEIGHT = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.25]], np.float32)


def network(path: Path, *, given: str = "input.1", made: str = "output", batch: int | str = "batch", op: str) -> Path:
    """A file as torch writes it: a product and a function of it."""
    nodes = [
        helper.make_node("MatMul", [given, "fc.weight"], ["/fc/MatMul_output_0"], name="/fc/MatMul"),
        helper.make_node(op, ["/fc/MatMul_output_0"], [made], name=f"/act/{op}"),
    ]
    ends = [[helper.make_tensor_value_info(n, 1, [batch, size])] for n, size in ((given, 3), (made, 2))]
    graph = helper.make_graph(nodes, "main_graph", *ends, [numpy_helper.from_array(WEIGHT, "fc.weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="pytorch")
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("batch", ["batch", 4])
def test_inputs_and_outputs_of_other_names_get_the_same_numbers(
    primsplit: Run, tmp_path: Path, batch: int | str
) -> None:
    old = network(tmp_path / "old.onnx", op="Relu")
    new = network(tmp_path / "new.onnx", op="Abs", given="x", made="y", batch=batch)
    np.savez(tmp_path / "in.npz", **{"input.1": np.ones((4, 3), np.float32)})
    done = primsplit("diff", old, new, "--samples", tmp_path / "in.npz", "--json")
    (found,) = done.json["comparisons"]
    assert done.status == 1
    assert (found["numbers"]["samples"], found["numbers"]["notes"]) == (["in.npz"], [])
    (row,) = found["numbers"]["outputs"]
    product = np.ones(3) @ WEIGHT
    assert row["name"] == "output, now y"
    assert row["absolute"] == pytest.approx(np.max(np.abs(np.abs(product) - np.maximum(product, 0.0))))
    assert [(s["status"], s["after"]["statement"]) for s in found["statements"]] == [
        ("changed", "y = abs(x @ fc_weight)")
    ]


@pytest.mark.parametrize("is_turned", [False, True])
def test_draws_have_the_sizes_of_the_file_that_fixes_them(primsplit: Run, tmp_path: Path, is_turned: bool) -> None:
    files = [network(tmp_path / "a.onnx", op="Tanh"), network(tmp_path / "b.onnx", op="Tanh", batch=4)]
    done = primsplit("diff", *(reversed(files) if is_turned else files), "--json")
    (found,) = done.json["comparisons"]
    assert (done.status, found["statements"], len(found["numbers"]["samples"])) == (1, [], 3)
    assert [(r["absolute"], r["why"]) for r in found["numbers"]["outputs"]] == [(0.0, "")]


def test_files_of_other_shapes_say_why_numbers_are_not_compared(primsplit: Run, tmp_path: Path) -> None:
    files = [network(tmp_path / f"{n}.onnx", op="Tanh", batch=n) for n in (3, 4)]
    done = primsplit("diff", *files, "--json")
    (found,) = done.json["comparisons"]
    assert done.status == 1
    assert found["numbers"]["samples"] == []
    assert "input.1" in found["numbers"]["notes"][0]


def test_each_file_is_opened_once(primsplit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.py").write_text(
        "import numpy as np\n\ndef main(x):\n    return np.sin(x)\n\ndef example_inputs():\n    return (np.ones(3),)\n"
    )
    opened: list[str] = []
    monkeypatch.setattr(
        "primsplit.cli.diff_numbers.open_file", lambda path: opened.append(str(path)) or OpenedFile(str(path))
    )
    done = primsplit("diff", tmp_path / "m.py", tmp_path / "m.py", "--form", "split")
    assert (done.status, len(opened), len({*opened})) == (0, 4, 4)
