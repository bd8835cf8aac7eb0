"""Sessions: when a run plans its memory, and results of dtypes that NumPy does not know written into arrays."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir import Const
from primsplit.ir.errors import DtypeError, RunError
from primsplit.targets import packing


@pytest.mark.parametrize(
    ("shape", "is_planned"), [([], True), ([1000], True), ([1000, 1000], True), ([2000, 2000], False), (["N"], False)]
)
def test_memory_is_planned_where_it_is_surely_little(shape: Any, is_planned: bool) -> None:
    program = ps.trace(lambda x: np.exp(x) * 2.0, ps.spec("float64" if len(shape) < 2 else "float32", shape))
    assert program.session().session.get_session_options().enable_mem_pattern == is_planned


def cast_to(folder: Path, name: str) -> tuple[ps.Program, np.ndarray]:
    """A loaded model that casts three float32 numbers, and an array for its result."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    number = helper.np_dtype_to_tensor_dtype(dtype)
    ends = [helper.make_tensor_value_info(n, t, [3]) for n, t in (("x", 1), ("y", number))]
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=number)], "g", ends[:1], ends[1:])
    imports = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), folder / "cast.onnx")
    return ps.load(str(folder / "cast.onnx")), np.zeros(3, dtype)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_a_result_of_a_dtype_that_numpy_does_not_know_is_written_into_an_array(name: str, tmp_path: Path) -> None:
    program, result = cast_to(tmp_path, name)
    program.run_into(result, np.array([1, -2, 3], np.float32))
    np.testing.assert_array_equal(result.astype(np.float32), [1, -2, 3])


def test_a_result_of_four_bits_is_not_written_into_an_array(tmp_path: Path) -> None:
    program, result = cast_to(tmp_path, "int4")
    with pytest.raises(DtypeError, match="two elements a byte"):
        program.run_into(result, np.array([1, -2, 3], np.float32))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Non-zero status code returned while running ReduceMax node. Name:'' Status Message: ", "running ReduceMax"),
        ("[FAIL] while running Add node. Status Message: sizes differ\n more", "failed: sizes differ"),
        ("", "OSError"),
    ],
)
def test_an_error_of_the_run_is_told_also_where_it_has_no_message(
    said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ps.trace(lambda x: x + 1.0, np.zeros(2))

    class Failing:
        def run(self, *_: Any) -> Any:
            raise OSError(said)

    monkeypatch.setattr(program.session(), "session", Failing())
    with pytest.raises(RunError) as caught:
        program(np.zeros(2))
    assert told in str(caught.value)


def test_a_large_constant_is_read_where_it_lies() -> None:
    held = np.random.default_rng(0).standard_normal((300, 200))
    program = ps.trace(lambda x: x @ held, np.ones(300))
    np.testing.assert_allclose(program(np.ones(300)), held.sum(0))
    (value,) = program.session().data.values()
    (const,) = (v for op in program.block.ops for v in op.inputs if isinstance(v, Const))
    assert value.data_ptr() == const.numpy().ctypes.data


def test_what_is_written_later_to_a_constant_that_was_read_only_changes_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of one that is not packed."""
    monkeypatch.setattr(packing, "LARGE", 1)
    held = np.random.default_rng(1).standard_normal((310, 200))
    wanted = held.sum(0)
    held.flags.writeable = False
    program = ps.trace(lambda x: x @ held, np.ones(310))
    program(np.ones(310))
    held.flags.writeable = True
    held[:] = 0.0
    np.testing.assert_allclose(program(np.ones(310)), wanted)
