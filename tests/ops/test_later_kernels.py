"""Kernels that came later are taken in files for the versions that have them."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.runtimes import FAULTS, read_target
from primsplit.ops.kernels import KERNELS
from primsplit.ops.later_kernels import LATER, NEWER, later_dtypes


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64"])
def test_narrow_integers_are_multiplied_as_they_are_from_1_21_on(dtype: str) -> None:
    program = ps.trace(lambda a, b: a * b + a, np.ones(3, dtype), np.ones(3, dtype))
    kinds = {more: {n.op_type for n in program.to_onnx(target=more).graph.node} for more in (None, "onnxruntime>=1.21")}
    assert "Cast" in kinds[None]
    assert kinds["onnxruntime>=1.21"] == {"Mul", "Add"}


@pytest.mark.parametrize(
    ("kind", "version", "dtypes"),
    [
        ("DepthToSpace", "1.20", set()),
        ("DepthToSpace", "1.21", {"uint8"}),
        ("DepthToSpace", "1.28", {"uint8", "int8"}),
        ("Where", "1.30.9", set()),
        ("Where", "1.31", {"int8", "uint32"}),
        ("Sin", "1.32", set()),
    ],
)
def test_the_dtypes_of_an_operator_are_those_of_the_oldest_version(kind: str, version: str, dtypes: set[str]) -> None:
    assert later_dtypes(kind, read_target(f"onnxruntime>={version}")) == dtypes


def test_each_row_is_a_fault_and_the_table_of_kernels_does_without_those_that_have_another_form() -> None:
    for name, (before, dtypes) in {**LATER, **NEWER}.items():
        assert FAULTS[name].before == before
        for kind, held in dtypes.items():
            in_table = {dtype for row in KERNELS[kind] for dtype in row.get("T", row.get("T1", ()))}
            assert not in_table & held if name in LATER else in_table & held
