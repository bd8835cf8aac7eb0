"""A node with a definition becomes one op with the definition's program inside, traced once for each signature."""

from typing import Any

import numpy as np
import pytest

from primsplit import spec, split, trace
from primsplit.ir.errors import PrimsplitError, RuleError, UnsupportedFunction
from primsplit.onnx.definitions import calling, table
from primsplit.onnx.definitions.families import defines, definition_of, record_call
from primsplit.ops import op
from primsplit.tracing.array import Array
from tests.onnx.definitions.standard import operator

X = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])


@pytest.fixture(autouse=True)
def _only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions and bodies that a test makes are gone after it."""
    monkeypatch.setattr(table, "DEFINITIONS", dict(table.DEFINITIONS))
    monkeypatch.setattr(table, "_VERSIONS", {k: list(v) for k, v in table._VERSIONS.items()})
    monkeypatch.setattr(calling, "_bodies", {})


def traced_ops(function: Any, *inputs: Any) -> list[Any]:
    return list(trace(function, *inputs).block.ops)


def test_a_definition_is_traced_once_for_each_signature() -> None:
    count = []

    @defines("own::Twice")
    def twice(x: Array, *, outputs: int = 1, by: float = 2.0) -> Array:
        count.append(1)
        return op.Mul(op.Add(x, 0), by)

    function = operator("own::Twice")
    one, other = traced_ops(lambda x: function(function(x)), X)
    assert one.kind == "call::own::Twice"
    assert one.attributes["body"] is other.attributes["body"]
    traced_ops(function, X.astype(np.float32))
    traced_ops(operator("own::Twice", by=3.0), X)
    assert len(count) == 3


def test_attributes_of_equal_bytes_and_other_dtypes_are_other_signatures() -> None:
    @defines("own::Fixed")
    def fixed(x: Array, *, value: np.ndarray, outputs: int = 1) -> Array:
        return op.Mul(op.Add(x, value.astype(np.float64)), 2.0)

    bits = np.ones(3, np.float32)
    for value in (bits, bits.view(np.int32)):
        function = operator("own::Fixed", value=value)
        np.testing.assert_array_equal(trace(function, X)(X), 2 * (X + value))


def test_a_definition_of_one_op_is_that_op() -> None:
    @defines("own::Flip")
    def flip(x: Array, *, outputs: int = 1) -> Array:
        return op.Neg(x)

    (made,) = traced_ops(operator("own::Flip"), X)
    assert made.kind == "Neg"
    assert made.place is not None
    assert made.place.filename.endswith("standard.py")


def test_a_small_constant_of_integers_is_part_of_the_body_and_one_of_floats_is_not() -> None:
    seen = []

    @defines("own::Shifted")
    def shifted(x: Array, by: Array, *, outputs: int = 1) -> Array:
        seen.append(by.known())
        return op.Mul(op.Add(x, op.Cast(by, to=np.float64)), 2.0)

    function = operator("own::Shifted")
    (with_integers,) = traced_ops(lambda x: function(x, np.array([3])), X)
    (with_floats,) = traced_ops(lambda x: function(x, np.array([3.0])), X)
    np.testing.assert_array_equal(seen[0], [3])
    assert seen[1] is None
    assert (len(with_integers.inputs), len(with_floats.inputs)) == (1, 2)


def test_a_size_that_a_definition_computes_is_known_outside() -> None:
    @defines("own::Rows")
    def rows(x: Array, *, outputs: int = 1) -> tuple[Array, Array]:
        doubled = op.Mul(op.Shape(x, start=0, end=1), 2)
        return doubled, op.Add(x, 1.0)

    function = operator("own::Rows", outputs=2)

    def program(x: Array) -> Array:
        return op.ConstantOfShape(op.Concat(function(x)[0], np.array([3]), axis=0), value=np.ones(1))

    block = trace(program, spec("float64", ["N", 3])).block
    assert [str(d) for d in block.results[0].type.shape or ()] == ["2*N", "3"]


def test_sizes_that_depend_on_data_are_new_at_each_call() -> None:
    @defines("own::Positive")
    def positive(x: Array, *, outputs: int = 1) -> Array:
        return op.Neg(op.Compress(x, op.Greater(x, 0)))

    function = operator("own::Positive")
    one, other = trace(lambda x, y: (function(x), function(y)), X[0], X[1]).block.results
    assert str(one.type) != str(other.type)


def test_a_rule_is_used_instead_of_the_body() -> None:
    def rule(x: Array, scale: Array | None, y: Array, *, outputs: int, by: float) -> Any:
        return op.Mul(x, y), lambda dz: (op.Mul(dz, by), None, None)

    @defines("own::Ruled", rule=rule)
    def ruled(x: Array, scale: Array | None, y: Array, *, outputs: int = 1, by: float = 7.0) -> Array:
        return op.Mul(x, y)

    function = operator("own::Ruled", absent=(1,))
    made = split(function, X, X, wrt=[0])
    np.testing.assert_array_equal(made.joint()(X, X, np.ones_like(X))[1], 7 * np.ones_like(X))


def test_a_rule_with_another_number_of_cotangents_is_named() -> None:
    def rule(x: Array, *, outputs: int) -> Any:
        return op.Neg(x), lambda dz: (dz, dz)

    @defines("own::Wrong", rule=rule)
    def wrong(x: Array, *, outputs: int = 1) -> Array:
        return op.Neg(x)

    with pytest.raises(RuleError, match="rule of own::Wrong returned 2 cotangents for 1 inputs"):
        split(operator("own::Wrong"), X)


def test_the_newest_definition_that_a_version_admits_is_taken() -> None:
    defines("own::Aged", since=3)(lambda x, *, outputs=1: op.Neg(x))
    defines("own::Aged", since=5)(lambda x, *, outputs=1: op.Abs(x))
    found = [definition_of("own::Aged", version) for version in (2, 3, 4, 5, None)]
    assert [None if d is None else d.since for d in found] == [None, 3, 3, 5, 5]
    assert definition_of("own::Unheard") is None


def test_a_form_that_the_definition_does_not_take_is_refused_at_the_callers_line() -> None:
    with pytest.raises(UnsupportedFunction, match="too many positional arguments") as caught:
        trace(operator("Swish"), X, X)
    assert caught.value.place is not None
    assert caught.value.place.filename.endswith("standard.py")
    with pytest.raises(UnsupportedFunction, match="has 1 outputs, and 2 are asked for"):
        trace(operator("Swish", outputs=2), X)
    with pytest.raises(PrimsplitError, match="own::Unheard has no definition"):
        trace(lambda x: Array(record_call("own::Unheard", [x.value], {})[0]), X)
