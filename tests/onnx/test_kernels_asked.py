"""What onnxruntime refuses to create a kernel for is refused with its reason."""

import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError
from primsplit.onnx.kernels_asked import check_kernels
from primsplit.ops import op

X = ps.spec("float32", [1, 4, 3, 3])


@pytest.mark.parametrize("size", [1, 3])
def test_a_kernel_that_there_is_passes(size: int) -> None:
    check_kernels(ps.trace(lambda x: op.LRN(x, size=size), X).block.ops)


def test_a_kernel_that_is_refused_is_told_with_its_operator_each_time() -> None:
    ops = ps.trace(lambda x: op.LRN(x, size=2), X).block.ops
    for _ in range(2):
        with pytest.raises(ParseError, match=r"onnxruntime does not take this LRN: .*size_") as caught:
            check_kernels(ops)
        assert "onnxruntime/core" not in str(caught.value)


def test_an_operator_without_a_kernel_of_its_dtype_is_no_refusal() -> None:
    check_kernels(ps.trace(lambda x: op.LRN(x, size=3), ps.spec("bfloat16", [1, 4, 3, 3])).block.ops)
