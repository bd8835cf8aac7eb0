"""The sizes that a model declares: any name is one, what is no name is no two sizes' name."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import primsplit as ps
from tests.onnx.checks import runs
from tests.onnx.edits import cleared, linear, node, rank_two, with_nodes, written

NAMES = ["batch size", "N+1", "2*N", "a/b", "a,b", "N)", "(", "max(", "2N", "1e9", "é", " ", "N\n", "`", "class"]
NAMELESS = ["", "?", "*", "-1", "None", "0", "3", "N-N", "N//0", "floordiv(N, 0)"]
LONG = ["9" * 5000, "(" * 3000, "N+" * 3000 + "1", "x" * 500]


@pytest.mark.parametrize("name", NAMES + NAMELESS + LONG, ids=lambda n: repr(n[:16]))
def test_a_size_may_have_any_name(name: str, tmp_path: Path) -> None:
    model = linear()
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = name
    runs(written(tmp_path, model), tmp_path)


@pytest.mark.parametrize("name", NAMELESS)
def test_sizes_without_a_name_of_their_own_are_not_taken_for_the_same(name: str, tmp_path: Path) -> None:
    model = linear()
    model.graph.input.append(helper.make_tensor_value_info("b", 1, [name, 2]))
    with_nodes(node("MatMul", "x W", "z"), node("Add", "z b", "y"))(model)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    program = ps.load(written(tmp_path, model))
    gradient = ps.split(program, wrt="b", seed="ones").joint()(np.ones((4, 3), np.float32), np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(gradient[1], [[4, 4]])


def test_a_size_that_a_model_names_is_no_other_size_that_gets_a_name(tmp_path: Path) -> None:
    model = linear()
    model.graph.input.append(helper.make_tensor_value_info("b", 1, ["x_0_999999", 2]))
    cleared("graph.input.0.type.tensor_type.shape.dim.0.dim_param")(model)
    for number in range(3):
        model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = f"x_0_{_next_number() + 1 + number}"
        with_nodes(node("MatMul", "x W", "z"), node("Add", "z b", "y"))(model)
        program = ps.load(written(tmp_path, model))
        first, second = (t.shape for t in program.types)
        assert str(first) != str(second)
        assert first is not None
        assert second is not None
        assert str(first[0]) != str(second[0])


def _next_number() -> int:
    from primsplit.ops.inference import fresh

    return int(str(fresh("probe")).rpartition("_")[2])


def test_a_negative_size_is_one_that_the_exporter_did_not_know(tmp_path: Path) -> None:
    model = linear()
    rank_two(-1, 3)(model)
    runs(written(tmp_path, model), tmp_path)
