"""Types: equality that is proven, bytes, ranks, and the dtypes that a program can hold."""

from primsplit.ir import (
    Type,
    same_types,
)
from primsplit.ir.dims import symbol

N = symbol("N")


F32 = Type("float32", [N, 3])


def test_types_are_the_same_only_where_that_is_proven() -> None:
    assert same_types(Type("float32", [N, 3]), Type("float32", [N, 3]))
    assert not same_types(Type("float32", [N, 3]), Type("float32", [symbol("M"), 3]))
    assert not same_types(Type("float32", [N]), Type("float64", [N]))
    assert not same_types(Type("float32", None), Type("float32", None))


def test_bytes_and_ranks_of_types() -> None:
    assert str(F32.nbytes()) == "12*N"
    assert Type("bfloat16", [2, 3]).nbytes() == 12
    assert Type("float32", None).nbytes() is None
    assert Type("float32", None).rank is None
    assert Type("float32", [2, 3]).takes_at_most(24)
    assert not Type("float32", [2, 3]).takes_at_most(23)
    assert not F32.takes_at_most(1000)
    assert not Type("float32", None).takes_at_most(1000)
    assert str(Type("float32", [])) == "float32"
