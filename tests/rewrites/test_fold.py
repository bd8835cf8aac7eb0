"""Constant folding: the values are onnxruntime's, and the program never grows by it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.onnx.save import serialize, to_model
from primsplit.ops import op
from primsplit.programs.runtime import Session
from primsplit.rewrites import fold_constants
from primsplit.rewrites.evaluation import EVALUATORS, evaluate
from tests.random_programs import run
from tests.recording import kinds, record
from tests.versions import is_since

F32, F64, I64 = np.float32, np.float64, np.int64
FLOATS = np.array([0.0, -0.0, 1.5, -2.5, 0.5, 3.0, -7.25, 1e-3], F32)
UNIT = np.array([-0.9, -0.3, 0.0, 0.4, 1.0], F32)
POSITIVE = np.array([0.25, 1.0, 2.0, 1e10, 1e-10, 7.7], F32)
INTEGERS = np.array([7, -7, 8, -8, 1, 0], I64)
DIVISORS = np.array([2, 2, -3, -3, 5, 4], I64)
BOOLS = np.array([True, False, True, False]), np.array([True, True, False, False])

EXACT: dict[str, tuple[str, list[np.ndarray], dict[str, Any]]] = {
    "add": ("Add", [FLOATS, FLOATS[::-1]], {}),
    "add float64": ("Add", [FLOATS.astype(F64) / 3, FLOATS[::-1].astype(F64) / 7], {}),
    "add int64 around": ("Add", [INTEGERS + 2**62, INTEGERS + 2**62], {}),
    "sub": ("Sub", [FLOATS / 3, FLOATS[::-1] / 7], {}),
    "mul": ("Mul", [FLOATS / 3, FLOATS[::-1] / 7], {}),
    "mul int32 around": ("Mul", [np.array([2**30, -5], np.int32), np.array([7, 9], np.int32)], {}),
    "div": ("Div", [FLOATS, FLOATS[::-1]], {}),
    "div of integers": ("Div", [INTEGERS, DIVISORS], {}),
    "mod": ("Mod", [INTEGERS, DIVISORS], {}),
    "fmod": ("Mod", [INTEGERS, DIVISORS], {"fmod": 1}),
    "neg": ("Neg", [FLOATS], {}),
    "abs of integers": ("Abs", [INTEGERS], {}),
    "sqrt": ("Sqrt", [POSITIVE], {}),
    "reciprocal": ("Reciprocal", [POSITIVE.astype(F64)], {}),
    "floor": ("Floor", [FLOATS], {}),
    "ceil": ("Ceil", [FLOATS], {}),
    "round half to even": ("Round", [FLOATS], {}),
    "max of integers": ("Max", [INTEGERS, DIVISORS], {}),
    "min of integers": ("Min", [INTEGERS, DIVISORS], {}),
    "equal": ("Equal", [FLOATS, FLOATS[::-1]], {}),
    "less": ("Less", [FLOATS, FLOATS[::-1]], {}),
    "less or equal": ("LessOrEqual", [FLOATS, FLOATS[::-1]], {}),
    "greater": ("Greater", [INTEGERS, DIVISORS], {}),
    "greater or equal": ("GreaterOrEqual", [INTEGERS, DIVISORS], {}),
    "and": ("And", list(BOOLS), {}),
    "or": ("Or", list(BOOLS), {}),
    "xor": ("Xor", list(BOOLS), {}),
    "not": ("Not", [BOOLS[0]], {}),
    "is nan": ("IsNaN", [np.array([0, np.nan, np.inf], F32)], {}),
    "where": ("Where", [INTEGERS > 0, INTEGERS, DIVISORS], {}),
    "cast to int": ("Cast", [FLOATS], {"to": 6}),
    "cast to bool": ("Cast", [FLOATS], {"to": 9}),
    "cast to float16": ("Cast", [FLOATS / 3], {"to": 10}),
    "cast to float": ("Cast", [np.array([2**60 + 1, -3], I64)], {"to": 1}),
    "cast like": ("CastLike", [INTEGERS, FLOATS], {}),
    "reshape": ("Reshape", [FLOATS, np.array([2, -1])], {}),
    "reshape that copies a size": ("Reshape", [FLOATS.reshape(2, 4), np.array([0, 2, 2])], {}),
    "transpose": ("Transpose", [FLOATS.reshape(2, 2, 2)], {}),
    "transpose with order": ("Transpose", [FLOATS.reshape(2, 2, 2)], {"perm": [1, 2, 0]}),
    "squeeze": ("Squeeze", [FLOATS.reshape(8, 1), np.array([-1])], {}),
    "unsqueeze": ("Unsqueeze", [FLOATS, np.array([0, -1])], {}),
    "concat": ("Concat", [INTEGERS, DIVISORS], {"axis": 0}),
    "slice": ("Slice", [FLOATS.reshape(2, 4), np.array([0, 1]), np.array([1, 2**62]), np.array([0, 1])], {}),
    "slice backwards": ("Slice", [FLOATS, np.array([-1]), np.array([-(2**62)]), np.array([0]), np.array([-2])], {}),
    "gather": ("Gather", [FLOATS.reshape(2, 4), np.array([[1, -1], [0, 3]])], {"axis": 1}),
    "expand": ("Expand", [FLOATS.reshape(8, 1), np.array([2, 1, 3])], {}),
    "tile": ("Tile", [FLOATS, np.array([2])], {}),
    "fill": ("ConstantOfShape", [np.array([2, 3])], {"value": np.array([-0.0], F32)}),
    "fill by default": ("ConstantOfShape", [np.array([2, 3])], {}),
    "range": ("Range", [np.array(2), np.array(11), np.array(3)], {}),
    "range down": ("Range", [np.array(9), np.array(2), np.array(-3)], {}),
    "sum": ("ReduceSum", [INTEGERS.reshape(2, 3), np.array([1])], {"keepdims": 0}),
    "sum of all": ("ReduceSum", [INTEGERS.reshape(2, 3)], {}),
    "sum of flags": ("ReduceSum", [(INTEGERS > 0).astype(np.float32), np.array([0])], {"keepdims": 0}),
    "first largest": ("ArgMax", [INTEGERS.reshape(2, 3)], {"axis": 1, "keepdims": 0}),
    "product": ("ReduceProd", [INTEGERS.reshape(2, 3), np.array([0])], {}),
    "identity": ("Identity", [FLOATS], {}),
}
NEAR: dict[str, tuple[str, list[np.ndarray], dict[str, Any]]] = {
    **{kind.lower(): (kind, [FLOATS], {}) for kind in ("Exp", "Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh", "Atan")},
    "asin": ("Asin", [UNIT], {}),
    "acos": ("Acos", [UNIT], {}),
    "log": ("Log", [POSITIVE], {}),
    "pow": ("Pow", [POSITIVE[:3], np.array([2.5, -1.0, 0.3], F32)], {}),
}


def _block(kind: str, inputs: list[np.ndarray], attributes: dict[str, Any]) -> Block:
    return record(lambda: getattr(op, kind)(*inputs, **attributes))


def _by_onnxruntime(block: Block) -> np.ndarray:
    (found,) = Session(serialize(to_model(block)), optimize=False)()
    return found


def _folded(block: Block) -> np.ndarray:
    """Return the folded value of an op, or the evaluators' value of one that reads data, which stays an op."""
    (result,) = fold_constants(block).results
    if isinstance(result, Const):
        return result.numpy()
    (made,) = block.ops
    value = evaluate(made.kind, [v.numpy() for v in made.inputs if isinstance(v, Const)], made.attributes)
    assert value is not None
    return value


@pytest.mark.parametrize("name", EXACT)
def test_a_folded_value_is_bit_by_bit_what_onnxruntime_computes(name: str) -> None:
    block = _block(*EXACT[name])
    expected, found = _by_onnxruntime(block), _folded(block)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if name in {"floor", "ceil"} and not is_since("onnxruntime", "1.21"):
        found, expected = found + 0.0, expected + 0.0  # of -0.0 those made 0.0
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NEAR)
def test_a_folded_function_is_within_four_units_of_the_last_place_of_onnxruntimes(name: str) -> None:
    block = _block(*NEAR[name])
    expected, found = _by_onnxruntime(block), _folded(block)
    assert found.dtype == expected.dtype
    np.testing.assert_array_max_ulp(found, expected, 4)


def test_every_evaluator_has_a_row() -> None:
    assert {row[0] for row in (*EXACT.values(), *NEAR.values())} == set(EVALUATORS)


STAYS: dict[str, Callable[..., Any]] = {
    "a random op": lambda: op.RandomUniformLike(np.zeros(3, F32)),
    "a division by zero": lambda: op.Div(np.array([1]), np.array([0])),
    "a cast that does not fit": lambda: op.Cast(np.array([1e20], F32), to=np.int32),
    "a NaN cast to an integer": lambda: op.Cast(np.array([np.nan], F32), to=np.int32),
    "an index out of range": lambda: op.Gather(np.zeros(3, F32), np.array([5])),
    "a number that would fill a megabyte": lambda: op.Expand(F32(1), [512, 512]),
    "a range of a megabyte": lambda: op.Range(np.int64(0), np.int64(100_000), np.int64(1)),
    "a large array": lambda: op.Neg(np.zeros((300, 300), F32)),
    "a sum of floats, which has no order": lambda: op.ReduceSum(FLOATS),
    "an array of floats turned": lambda: op.Transpose(FLOATS.reshape(2, 4)),
    "an array of floats in another dtype": lambda: op.Cast(FLOATS, to=np.float64),
    "the parts of an array of floats": lambda: op.Split(FLOATS, np.array([3, 5]), axis=0),
    "what is compared of floats": lambda: op.Less(FLOATS, FLOATS[::-1]),
    "many bytes turned": lambda: op.Transpose(np.arange(100, dtype=np.uint8).reshape(10, 10)),
    "a weight of one number": lambda: op.Mul(ps.param(np.ones(1, F32), "w"), F32(2.0)),
    "a weight of zeros": lambda: op.Transpose(ps.param(np.zeros((2, 3), F32), "w")),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_is_large_or_left_open_is_not_folded(name: str) -> None:
    block = record(STAYS[name])
    assert fold_constants(block) is block


def test_the_shape_of_a_value_of_known_type_is_a_constant() -> None:
    x = Var(Type("float32", [2, 3]), "x")
    shape, size = Var(Type("int64", [1])), Var(Type("int64", []))
    ops = (Op("Shape", (x,), (shape,), {"start": 1}), Op("Size", (x,), (size,)))
    results = fold_constants(Block("f", (x,), ops, (shape, size))).results
    assert [r.numpy().tolist() for r in results if isinstance(r, Const)] == [[3], 6]


def test_what_has_no_elements_is_what_it_is_made_of() -> None:
    """onnxruntime before 1.27 takes such a constant for neutral in sums and products."""
    block = record(lambda x: op.Add(op.Mul(x, np.zeros((3, 0), F32)), np.float32(1.0)), "float32[3,0]")
    assert fold_constants(block).results == block.params
    for function, kind in (
        (lambda x: op.Tanh(x), "float32[N,0]"),
        (lambda x: op.Slice(x, [0], [0], [0]), "float32[3]"),
    ):
        stays = record(function, kind)
        assert fold_constants(stays) is stays


def test_an_error_is_raised_where_only_nothing_is_read_of_what_raises_it() -> None:
    def rooted(x: Any) -> Any:
        while x > 1:
            x = 0.5 * x
        return x

    slope = ps.hessian(rooted, branches="guard")
    assert [slope(x) for x in (0.5, 3.0, 0.5)] == [0.0, 0.0, 0.0]
    assert slope.statistics.misses == 2


def test_constants_fold_through_several_ops_and_into_branches() -> None:
    block = record(lambda x: op.Mul(x, op.Sqrt(op.Add(F32(1.0), op.Mul(F32(4.0), F32(2.0))))), "float32[N]")
    after = fold_constants(block)
    assert kinds(after) == ["Mul"]
    factor = after.ops[0].inputs[1]
    assert isinstance(factor, Const)
    assert factor.numpy() == 3.0


def test_the_parts_of_a_constant_are_constants() -> None:
    def parts(x: Any) -> Any:
        first, second = op.Split(np.full((3, 2), 1.5, np.float32), np.array([1, 2]), axis=0)
        return op.Add(x, first), op.Mul(x, second)

    block = record(parts, "float32[1,2]")
    after = fold_constants(block)
    assert kinds(after) == ["Add", "Mul"]
    x = np.ones((1, 2), np.float32)
    for one, other in zip(run(after, [x]), run(block, [x]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_sum_of_minus_zeros_alone_keeps_its_sign() -> None:
    """NumPy's is 0.0."""

    def total(x: Any) -> Any:
        return op.ReduceSum(op.Mul(op.Expand(np.float32(-1.0), np.array([3])), np.float32(0.0)), np.array([0])) + x

    block = record(total, "float32[1]")
    found = run(fold_constants(block), [np.full(1, -0.0, np.float32)])
    assert np.signbit(found[0]).all()
