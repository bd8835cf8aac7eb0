"""One row, at least, for every operator that has a derivative rule: inputs, attributes, and what is special about it.

A row is what `primsplit.testing.check_rrule` takes. See row.py for how they are written.
"""

from typing import Any

import numpy as np

from primsplit.rules.table import RULES
from tests.rules import rows_normalization, rows_windows
from tests.rules.row import F32, F, N, Row, away, between, integers, row, sampled, spaced
from tests.rules.rows_recurrent import RECURRENT
from tests.rules.rows_spatial import SPATIAL

POSITIVE = (0.3, 2.5)
INSIDE = (-0.8, 0.8)

BINARY = [((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 4)), ((3, 1), (3, 4)), ((), (3,)), ((3, 4), (1, 1))]

ELEMENTWISE = [
    *(row(k, F(3, 4), domain=INSIDE) for k in ("Acos", "Asin", "Atanh")),
    *(
        row(k, F(3, 4))
        for k in ("Asinh", "Atan", "Cos", "Cosh", "Erf", "Exp", "Identity", "Neg", "Sigmoid", "Sin", "Sinh", "Softplus",
                  "Tanh", "Mish")
    ),
    row("Abs", F(3, 4), domain=away, kinks=[([np.zeros(2)], [[0, 0]])]),
    row("Acosh", F(5), domain=(1.3, 3.0)),
    row("Log", F(3, 4), domain=POSITIVE),
    row("Reciprocal", F(3, 4), domain=away),
    row("Sqrt", F(3, 4), domain=POSITIVE),
    row("Tan", F(3, 4), domain=(-1.2, 1.2)),
    row("Softsign", F(3, 4), domain=away),
    row("Sin", F()),
    row("Sin", F(2, 0, 3)),
    *(row(k, F(*a), F(*b), separate=True) for k in ("Add", "Sub", "Mul") for a, b in BINARY),
    *(row("Div", F(*a), F(*b), domain=away, separate=True) for a, b in BINARY),
    *(row("Pow", F(*a), F(*b), domain=POSITIVE, separate=True) for a, b in BINARY[:3]),
    row("Pow", F(3, 4), 2.0),
    row("Pow", F(3, 4), 3.0),
    row("Pow", F(3, 4), 0.5, domain=POSITIVE),
    row("Pow", F(3), N(0.0), no_tangent=[0], kinks=[([np.array([0.0, 2.0]), N(0.0)], [[0, 0]])]),
    row("Pow", F(3), N(1.0), kinks=[([np.array([0.0, 2.0]), N(1.0)], [[1, 1]])]),
    row("Cast", F(3), attributes={"to": np.float32}, note="to float32", rtol={"float64": 2e-2}, max_step=0.5,
        value_tolerance=1e-6, first_order_only=True),
    row("Cast", F(3), attributes={"to": np.float64}),
    row("CastLike", F(3), N(1.0)),
    row("Where", np.array([True, False, True]), F(3), F(2, 3), separate=True),
    row("Where", np.array([[True], [False]]), F(), F(2, 3)),
    row("Where", np.array([True, False, True]), F(3), N(-np.inf), note="infinite constant", is_symbolic=False,
        value_tolerance=np.inf, wrt=[1], only=["form", "closed", "linear"]),
    row("Sum", F(3, 4), F(4), F(3, 1), separate=True),
    row("Mean", F(3, 4), F(4), F(3, 1)),
    row("Max", F(3, 4), F(3, 4), domain=[spaced, between], max_step=1e-4,
        kinks=[([np.ones(2), np.ones(2)], [[0.5, 0.5]] * 2)]),
    row("Min", F(3, 4), F(4), domain=[spaced, between], max_step=1e-4,
        kinks=[([np.ones(2), np.ones(2)], [[0.5, 0.5]] * 2)]),
    row("Max", F(5), N(0.1), F(5), domain=[spaced, spaced, between], max_step=1e-4),
    row("Mod", F(3, 4), F(4), attributes={"fmod": 1}, domain=[(2.1, 2.9), (0.9, 1.0)]),
    row("Clip", F(3, 4), N(-1.0), N(1.0), domain=spaced,
        kinks=[([np.array([-1.0, 0.0, 1.0, 3.0]), N(-1.0), N(1.0)], [[1, 1, 1, 0]])]),
    row("Clip", F(6), None, N(0.5), domain=spaced),
    row("Range", F(), N(5.0), N(1.0), domain=[(0.1, 0.3), (0, 1), (0, 1)], is_symbolic=False, first_order_only=True,
        only=["form", "closed", "differences", "linear"]),
]  # fmt: skip

ACTIVATIONS = [
    row("Relu", F(3, 4), domain=away, kinks=[([np.array([-1.0, 0.0, 1.0])], [[0, 0, 1]])]),
    row("LeakyRelu", F(3, 4), domain=away, attributes={"alpha": 0.25}),
    row("Elu", F(3, 4), domain=away, attributes={"alpha": 1.5}),
    row("Celu", F32(3, 4), domain=away, attributes={"alpha": 0.75}, dtypes=["float16"]),
    row("Selu", F(3, 4), domain=away),
    row("ThresholdedRelu", F(3, 4), domain=away, attributes={"alpha": 0.2}),
    row("HardSigmoid", F(3, 4), domain=INSIDE),
    row("HardSwish", F(3, 4), domain=INSIDE),
    row("Shrink", F(3, 4), domain=away, attributes={"lambd": 0.25, "bias": 0.125}),
    row("PRelu", F(3, 4), F(4), domain=away),
    row("PRelu", F(3, 4), F(1), domain=away),
    row("Gelu", F(3, 4)),
    row("Gelu", F(3, 4), attributes={"approximate": "tanh"}),
    row("Softmax", F(3, 4)),
    row("Softmax", F(3, 4, 2), attributes={"axis": 1}),
    row("LogSoftmax", F(3, 4)),
    row("LogSoftmax", F(3, 4), attributes={"axis": 0}),
]

REDUCTIONS = [
    *(
        row(kind, F(3, 4, 2), axes, attributes={"keepdims": keep}, domain=spaced if "L" not in kind else POSITIVE,
            max_step=1e-4)
        for kind in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
                     "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd")
        for axes, keep in ((None, 0), ([1], 1), ([0, -1], 0))
    ),
    row("ReduceSum", F(3, 4), integers(1), note="axes at run time", is_symbolic=False),
    *(
        row(kind, F(3, 4, 2), integers(1, -1), attributes={"keepdims": 0}, note="axes at run time, gone",
            is_symbolic=False, domain=spaced if kind == "ReduceMax" else POSITIVE, max_step=1e-4)
        for kind in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd")
    ),
    row("ReduceSum", F(3, 4), [], attributes={"noop_with_empty_axes": 1}),
    row("ReduceMean", F(), None),
    row("ReduceMax", F(4), [0], domain=spaced, kinks=[([np.array([1.0, 2.0, 2.0]), [0]], [[0, 0.5, 0.5]])]),
    row("ReduceMin", F(4), [0], domain=spaced, kinks=[([np.array([1.0, 1.0, 2.0]), [0]], [[0.5, 0.5, 0]])]),
    row("ReduceProd", np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0]]), [1], note="with zeros"),
    row("ReduceL1", F(4), [0], domain=away, kinks=[([np.array([0.0, 2.0]), [0]], [[0, 1]])]),
    row("ReduceL2", F(4), [0], domain=away, kinks=[([np.zeros(2), [0]], [[0, 0]])]),
    row("CumSum", F(3, 4), N(1, np.int64)),
    row("CumSum", F(3, 4), N(0, np.int64), attributes={"exclusive": 1, "reverse": 1}),
]  # fmt: skip

PRODUCTS = [
    row("MatMul", F(3, 4), F(4, 2), expected_nodes=["Transpose", "MatMul", "Transpose", "MatMul"],
        expected_captures={"A": "input", "B": "input"}),
    *(
        row("MatMul", F(*a), F(*b))
        for a, b in [
            ((4,), (4,)), ((4,), (4, 2)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)),
            ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((4,), (2, 4, 3)),
        ]
    ),
    row("Gemm", F(3, 4), F(4, 2)),
    row("Gemm", F(3, 4), F(4, 2), F(2)),
    row("Gemm", F(4, 3), F(2, 4), F(3, 1), attributes={"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    row("Einsum", F(3, 4), F(4, 5), attributes={"equation": "ij,jk->ik"}),
    row("Einsum", F(2, 3, 4), F(2, 4, 5), attributes={"equation": "bij,bjk->bik"}),
    row("Einsum", F(3, 4), F(3, 4), attributes={"equation": "ij,ij->"}),
    row("Einsum", F(3, 3), attributes={"equation": "ii->i"}),
    row("Einsum", F(3, 4), attributes={"equation": "ij->ji"}),
    row("Einsum", F(3), F(4), attributes={"equation": "i,j->ij"}),
    row("Einsum", F(2, 3, 4), F(4), attributes={"equation": "...i,i->..."}),
    row("Det", F(3, 3), is_symbolic=False),
    row("Det", F(2, 3, 3), is_symbolic=False),
]  # fmt: skip

LAYOUT = [
    row("Transpose", F(3, 4), attributes={"perm": [1, 0]}),
    row("Transpose", F(2, 3, 4), attributes={"perm": [1, 2, 0]}),
    row("Transpose", F(2, 3, 4)),
    row("Reshape", F(3, 4), [4, 3], is_symbolic=False),
    row("Reshape", F(3, 4), [-1]),
    row("Reshape", F(3, 4), [0, -1, 1], sizes=(1,)),
    row("Squeeze", F(3, 1, 4, 1), [1]),
    row("Squeeze", F(1, 3, 1), is_symbolic=False),
    row("Unsqueeze", F(3, 4), [0, -1]),
    row("Unsqueeze", F(3, 4), integers(2, 1), note="axes at run time", is_symbolic=False),
    row("Squeeze", F(3, 1, 4, 1), integers(1, -1), note="axes at run time", is_symbolic=False),
    row("Flatten", F(2, 3, 4), attributes={"axis": 2}),
    row("Flatten", F(2, 3), attributes={"axis": 0}),
    row("Expand", F(3, 1), [3, 4], is_symbolic=False),
    row("Expand", F(1, 4), [2, 3, 1]),
    row("Expand", F(3, 1), integers(2, 1, 4), note="sizes at run time", is_symbolic=False),
    row("Concat", F(3, 4), F(3, 2), attributes={"axis": 1}, separate=False),
    row("Concat", F(3, 4), F(2, 4), F(1, 4), attributes={"axis": -2}),
    row("Concat", F(3, 4), attributes={"axis": 0}),
    row("Split", F(6, 2), [2, 3, 1], attributes={"axis": 0}, is_symbolic=False),
    row("Split", F(3, 5), None, attributes={"axis": 1, "num_outputs": 2}, is_symbolic=False),
    row("Slice", F(5, 4), [1], [4], [0]),
    row("Slice", F(7, 4), [-1, 3], [-9, 0], [0, 1], [-2, -1]),
    row("Slice", F(7), [0], [7], [0], [3]),
    row("Slice", F(7), [0], [7], None, [3], note="steps without axes"),
    row("Slice", F(5, 4), integers(1), integers(4), integers(0), note="bounds at run time", is_symbolic=False),
    row("Pad", F(3, 4), [1, 0, 2, 3]),
    row("Pad", F(3, 4), [1, 2], N(1.5), [1]),
    row("Pad", F(3, 4), [1, 2], F(), [0]),
    row("Pad", F(3, 4), [-1, 0, 1, -2], is_symbolic=False),
    row("Pad", F(4, 3), [2, 1, 1, 2], attributes={"mode": "reflect"}, sizes=()),
    row("Pad", F(4, 3), [2, 1, 1, 2], attributes={"mode": "edge"}),
    row("Pad", F(4, 3), [2, 1, 1, 2], attributes={"mode": "wrap"}),
    row("Tile", F(3, 4), [2, 3]),
    row("Tile", F(3), integers(2), note="repeats at run time"),
    row("Trilu", F(4, 4)),
    row("Trilu", F(2, 3, 4), N(1, np.int64), attributes={"upper": 0}),
    row("DepthToSpace", F(1, 8, 2, 3), attributes={"blocksize": 2}, is_symbolic=False),
    row("DepthToSpace", F(1, 8, 2, 3), attributes={"blocksize": 2, "mode": "CRD"}, is_symbolic=False),
    row("SpaceToDepth", F(1, 2, 4, 6), attributes={"blocksize": 2}, is_symbolic=False),
    row("ReverseSequence", F(4, 3), integers(1, 2, 4), sizes=()),
    row("ReverseSequence", F(3, 4), integers(1, 2, 4), attributes={"batch_axis": 0, "time_axis": 1}, sizes=()),
    row("OneHot", integers(0, 2, 1), N(3, np.int64), F(2), is_symbolic=False),
    row("OneHot", integers(0, 2, 7), N(3, np.int64), F(2), attributes={"axis": 0}, is_symbolic=False),
]

INDEXING = [
    row("Gather", F(5, 4), integers(0, 3, 0, -1), sizes=()),
    row("Gather", F(5, 4), integers([0, 3], [2, 2]), attributes={"axis": 1}, sizes=()),
    row("Gather", F(5, 4), N(2, np.int64)),
    row("GatherElements", F(3, 4), integers([0, 1, 2, 0], [2, 2, 0, -1]), sizes=()),
    row("GatherElements", F(3, 4), integers([0], [3], [3]), attributes={"axis": 1}, sizes=()),
    row("GatherND", F(3, 4), integers([0, 1], [2, 3], [0, 1]), sizes=()),
    row("GatherND", F(3, 4, 2), integers([0], [2]), sizes=()),
    row("GatherND", F(2, 3, 4), integers([1], [2]), attributes={"batch_dims": 1}, is_symbolic=False),
    row("ScatterND", F(5, 3), integers([1], [4]), F(2, 3), sizes=()),
    row("ScatterND", F(5, 3), integers([1], [4], [1]), F(3, 3), attributes={"reduction": "add"}, sizes=()),
    row("ScatterND", F(4, 3), integers([1, 2], [3, 0]), F(2), attributes={"reduction": "mul"}, domain=away,
        is_symbolic=False),
    row("ScatterND", F(4), integers([1], [3]), F(2), attributes={"reduction": "max"},
        domain=[spaced, spaced, between], sizes=()),
    row("ScatterND", F(4), integers([1], [3]), F(2), attributes={"reduction": "min"},
        domain=[spaced, spaced, between], sizes=()),
    row("ScatterElements", F(3, 4), integers([0, 1, 2, 0]), F(1, 4), sizes=()),
    row("ScatterElements", F(3, 4), integers([0, 1, 2, 0], [0, 2, 2, 0]), F(2, 4), attributes={"reduction": "add"},
        sizes=()),
    row("ScatterElements", F(3, 4), integers([3], [0], [1]), F(3, 1), attributes={"axis": 1}, sizes=()),
    row("Compress", F(3, 4), np.array([True, False, True]), attributes={"axis": 0}, sizes=()),
    row("Compress", F(3, 4), np.array([True, False, True, True]), sizes=()),
    row("TopK", F(3, 5), [2], domain=spaced, sizes=()),
    row("TopK", F(5, 3), [3], attributes={"axis": 0, "largest": 0}, domain=spaced, sizes=()),
    row("Unique", F(5), attributes={"sorted": 1}, outputs=4, domain=spaced, is_symbolic=False),
]  # fmt: skip

ROWS = [
    *ELEMENTWISE,
    *ACTIVATIONS,
    *REDUCTIONS,
    *PRODUCTS,
    *LAYOUT,
    *INDEXING,
    *SPATIAL,
    *RECURRENT,
    *rows_normalization.ROWS,
    *rows_windows.ROWS,
]

__all__ = ["INTEGER", "NO_GRADIENT", "RANDOM", "ROWS", "Row"]

NO_GRADIENT = [
    *(row(k, F(3, 4)) for k in ("Ceil", "Floor", "Round", "Sign", "IsNaN", "IsInf", "Shape", "Size", "NonZero")),
    *(row(k, F(3, 4)) for k in ("ArgMax", "ArgMin", "Hardmax")),
    *(row(k, F(3), F(3)) for k in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")),
    row("EyeLike", F(3, 4)),
    *rows_normalization.NO_GRADIENT,
]
"""Operators of floats that no gradient flows through."""

INTEGER = frozenset({
    "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "ConstantOfShape", "MatMulInteger", "Not",
    "Or", "QLinearMatMul", "Xor", *rows_normalization.INTEGER,
    *rows_normalization.ALONE,
})  # fmt: skip
"""Operators without a floating-point input: nothing to differentiate in."""

RANDOM = frozenset({
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
})  # fmt: skip
"""Operators that give other numbers each time; tests/rules/test_discrete.py has them."""


def rows_of(module: str) -> list[Any]:
    """Return the rows of the operators whose rule is in a module of `primsplit.rules`, as parameters of a test."""
    return [each for each in sampled(ROWS) if _module_of(each.values[0].kind) == module]


def _module_of(kind: str) -> str:
    """The module of an operator's rule. One written as a table of partial derivatives names none: it is elementwise."""
    return RULES[kind].owner.rpartition(".")[2] or "elementwise"
