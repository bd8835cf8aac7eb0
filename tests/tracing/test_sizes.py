"""Sizes as values: read from the shape that has them, or computed from sizes that can be read."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block, Const, Type, dims
from primsplit.ir.errors import ShapeError, TraceError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.sizes import is_readable, size_of, size_of_number, size_vector
from tests.random_programs import run
from tests.recording import kinds, record


def sized(sizes: list[Any], *types: str) -> Block:
    """A block that returns a vector of sizes, those in text parsed, of arrays of these types."""

    def program(x: Any, y: Any) -> Any:
        return Array(size_vector([dims.parse(s) if isinstance(s, str) else s for s in sizes]))

    return record(program, *types)


CASES: list[tuple[list[Any], list[str], list[str]]] = [
    (["N"], ["float32[N,3]", "float32[2]"], ["Shape"]),
    (["N", "M"], ["float32[N,M]", "float32[2]"], ["Shape"]),
    (["M", "N"], ["float32[N,M]", "float32[2]"], ["Shape", "Shape", "Concat"]),
    (["N", 3, 4], ["float32[N,5]", "float32[2]"], ["Shape", "Concat"]),
    (["2*N + 1"], ["float32[N]", "float32[2]"], ["Shape", "Mul", "Add"]),
    (["N"], ["float32[2*N + 1]", "float32[2]"], ["Shape", "Sub", "Div"]),
    (["N*M"], ["float32[N]", "float32[M]"], ["Shape", "Shape", "Mul"]),
    (["floordiv(N, 2)"], ["float32[N]", "float32[2]"], ["Shape", "Div"]),
    (["floordiv(N - 5, 2)"], ["float32[N]", "float32[2]"], ["Shape", "Add", "Div", "Add"]),
    (["max(N, M)", "min(N, 3)"], ["float32[N]", "float32[M]"], ["Shape", "Shape", "Max", "Min", "Concat"]),
    (["mod(N, 3)"], ["float32[N]", "float32[2]"], ["Shape", "Mod"]),
    (["N + M"], ["float32[N + M,N]", "float32[M]"], ["Shape"]),
]


@pytest.mark.parametrize(("sizes", "types", "wanted"), CASES, ids=lambda v: str(v)[:40])
def test_a_size_is_read_or_computed_as_its_expression_says(
    sizes: list[Any], types: list[str], wanted: list[str]
) -> None:
    block = sized(sizes, *types)
    assert kinds(block) == wanted
    for n, m in ((7, 2), (1, 4), (0, 0)):
        known = {"N": n, "M": m}
        shapes = [[int(dims.evaluate(d, known)) for d in p.type.shape or ()] for p in block.params]
        found = run(block, [np.zeros(s, np.float32) for s in shapes])[0]
        expected = [dims.evaluate(dims.parse(s), known) if isinstance(s, str) else s for s in sizes]
        assert found.tolist() == expected


def test_literal_sizes_are_a_constant() -> None:
    block = sized([2, 0, -1], "float32[N]", "float32[2]")
    assert isinstance(block.results[0], Const)
    assert block.results[0].numpy().tolist() == [2, 0, -1]
    assert isinstance(sized([], "float32[N]", "float32[2]").results[0], Const)


def test_a_number_that_int64_does_not_hold_is_no_size() -> None:
    with pytest.raises(ShapeError, match="a size of 9223372036854775808 is none"):
        sized([2**63], "float32[N]", "float32[2]")


def test_a_size_is_read_once() -> None:
    def program(x: Any) -> Any:
        first, second = size_of(dims.parse("2*N")), size_of(dims.parse("2*N"))
        assert first is second
        return Array(first)

    assert kinds(record(program, "float32[N]")) == ["Shape", "Mul"]


def test_a_size_that_no_value_has_is_not_read() -> None:
    def program(x: Any) -> Any:
        assert is_readable(dims.parse("2*N + 3"))
        assert is_readable(4)
        assert not is_readable(dims.parse("N + M"))
        return Array(size_of(dims.symbol("M")))

    with pytest.raises(TraceError, match="the size M cannot be read") as caught:
        record(program, "float32[N]")
    assert caught.value.place is not None


def test_a_number_is_one_size_at_each_use_and_is_checked_once() -> None:
    checked = []

    def check(number: Any) -> Any:
        checked.append(number)
        return op.Abs(Array(number)).value

    def program(n: Any) -> Any:
        size, again = size_of_number(n.value, check), size_of_number(n.value, check)
        assert dims.same(size, again)
        return op.Expand(np.float32(2.0), Array(size_vector([size, 2])))

    block = record(program, "int32")
    assert run(block, [np.array(3, np.int32)])[0].shape == (3, 2)
    assert run(block, [np.array(0, np.int32)])[0].shape == (0, 2)
    assert run(block, [np.array(-4, np.int32)])[0].shape == (4, 2)
    assert [v.type for v in checked] == [Type(np.int64, ())]
