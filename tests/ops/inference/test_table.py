"""The use of an operator as an inference rule sees it, fresh symbols, and axes that count from either end."""

import numpy as np
import pytest

from primsplit.ir import Const, Type, Var
from primsplit.ir.dims import Kinded, SymbolKind, kinds_of, symbol
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import Site, UnknownRank, axis_of, fresh, renewed, reserve, typed

X = Var(Type("float32", [symbol("N"), 3]))


def site(*inputs: Var | Const | None, **attributes: object) -> Site:
    return Site("ReduceSum", inputs, attributes, 1)


def test_an_input_is_there_or_absent() -> None:
    assert site(X).has(0)
    assert not site(X).has(1)
    assert not site(X, None).has(1)
    assert site(X).shape(0) == (symbol("N"), 3)
    assert site(X).sizes(1) is None
    assert site(X).constant(1) is None


def test_an_input_that_is_needed_and_absent_is_named() -> None:
    with pytest.raises(ShapeError, match="ReduceSum needs its input data"):
        site(None, X).type(0)


def test_an_unknown_rank_is_told_apart_from_no_axes() -> None:
    with pytest.raises(UnknownRank):
        site(Var(Type("float32", None))).shape(0)
    assert site(Var(Type("float32", []))).shape(0) == ()


def test_integers_are_literals_alone() -> None:
    assert site(X, Const(np.array([1, -2]))).integers(1) == (1, -2)
    assert site(X, Var(Type("int64", [2]), "", (symbol("N"), 4))).sizes(1) == (symbol("N"), 4)
    assert site(X, Var(Type("int64", [2]), "", (symbol("N"), 4))).integers(1) is None
    assert site(X, Var(Type("int64", [1]))).integers(1) is None


def test_an_attribute_has_the_default_of_the_standard() -> None:
    assert site(X).attribute("keepdims") == 1
    assert site(X, keepdims=0).attribute("keepdims") == 0
    assert Site("Gemm", [X], {}, 1).attribute("alpha") == 1.0
    assert Site("Transpose", [X], {}, 1).attribute("perm") is None


def test_a_fresh_size_has_a_name_that_is_not_taken() -> None:
    first, second = fresh("count"), fresh("count")
    assert first.text != second.text
    taken = f"count_{int(second.text.rpartition('_')[2]) + 5}"
    reserve(taken)
    assert int(fresh("rows").text.rpartition("_")[2]) > int(taken.rpartition("_")[2])
    before = int(fresh("rows").text.rpartition("_")[2])
    reserve("N")
    reserve("count_x")
    assert int(fresh("rows").text.rpartition("_")[2]) == before + 1


def test_axes_count_from_either_end() -> None:
    assert [axis_of(a, 3, "Concat") for a in (0, 2, -1, -3)] == [0, 2, 2, 0]
    for axis in (3, -4):
        with pytest.raises(ShapeError, match=f"Concat: axis {axis} of a tensor with 3 axes"):
            axis_of(axis, 3, "Concat")


def test_the_only_output_has_its_type() -> None:
    assert typed(np.float16, (2, symbol("N"))) == (Type("float16", [2, symbol("N")]),)


def test_a_fresh_size_has_the_kind_of_its_stem_and_passes_it_on() -> None:
    first, plain = fresh(Kinded("kept", SymbolKind.KEPT)), fresh("kept")
    assert kinds_of(first) == {SymbolKind.KEPT}
    assert not kinds_of(plain)
    assert first.symbol is not None
    assert plain.symbol is not None
    again = renewed([first.symbol, plain.symbol, "N"])
    assert [kinds_of(size) for size in again.values()] == [{SymbolKind.KEPT}, set(), set()]
    assert [str(size).rpartition("_")[0] for size in again.values()] == ["kept", "kept", "N"]
    assert len({str(first), str(plain), *map(str, again.values())}) == 5
