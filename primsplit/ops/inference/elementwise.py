"""Infer the result types of operators that work element by element: the operands' shapes broadcast."""

from collections.abc import Sequence

import numpy as np
import onnx
import onnx.helper

from primsplit.ir import Type
from primsplit.ir.dims import broadcast_shapes
from primsplit.ops.inference.table import Site, rule
from primsplit.ops.traits import kinds_where

UNARY = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Clip",
    "CumSum",
    "Trilu",
    "Shrink",
    "LRN",
    "LpNormalization",
    "MeanVarianceNormalization",
]

BINARY = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "Pow",
    "PRelu",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "And",
    "Or",
    "Xor",
]
COMPARISONS = sorted(kinds_where(lambda t: t.compares))
BY_TYPES = frozenset({*UNARY, *BINARY, *COMPARISONS, "IsNaN", "IsInf", "Sum", "Max", "Min", "Mean", "Where"})
"""Operators whose result types follow from the types of their inputs alone, if they have no attributes."""


@rule(*UNARY)
def like_first(site: Site) -> Sequence[Type]:
    """The type of the first input."""
    return (site.type(0),)


@rule(*BINARY)
def binary(site: Site) -> Sequence[Type]:
    """The first input's dtype, both shapes broadcast."""
    return (Type(site.type(0).dtype, broadcast_shapes(site.shape(0), site.shape(1))),)


@rule(*COMPARISONS)
def comparison(site: Site) -> Sequence[Type]:
    """bool, both shapes broadcast."""
    return (Type(bool, broadcast_shapes(site.shape(0), site.shape(1))),)


@rule("IsNaN", "IsInf")
def predicate(site: Site) -> Sequence[Type]:
    """bool, in the input's shape."""
    return (Type(bool, site.type(0).shape),)


@rule("Sum", "Max", "Min", "Mean")
def variadic(site: Site) -> Sequence[Type]:
    """All shapes broadcast."""
    return (Type(site.type(0).dtype, broadcast_shapes(*map(site.shape, range(len(site.inputs))))),)


@rule("Where")
def where(site: Site) -> Sequence[Type]:
    """The dtype of the two values, all three shapes broadcast."""
    return (Type(site.type(1).dtype, broadcast_shapes(site.shape(0), site.shape(1), site.shape(2))),)


@rule("Cast")
def cast(site: Site) -> Sequence[Type]:
    """The dtype that attribute `to` names."""
    return (Type(onnx.helper.tensor_dtype_to_np_dtype(site.attribute("to")), site.type(0).shape),)


@rule("CastLike")
def cast_like(site: Site) -> Sequence[Type]:
    """The dtype of the second input."""
    return (Type(site.type(1).dtype, site.type(0).shape),)


@rule("QuantizeLinear")
def quantize_linear(site: Site) -> Sequence[Type]:
    """The dtype of the zero point, or that which attribute `output_dtype` names, by default uint8."""
    code = site.attribute("output_dtype") or onnx.TensorProto.UINT8
    dtype = site.type(2).dtype if site.has(2) else onnx.helper.tensor_dtype_to_np_dtype(code)
    return (Type(dtype, site.type(0).shape),)


@rule("DequantizeLinear")
def dequantize_linear(site: Site) -> Sequence[Type]:
    """The dtype of the scale."""
    return (Type(site.type(1).dtype, site.type(0).shape),)


@rule("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(site: Site) -> Sequence[Type]:
    """The input's shape; its dtype unless attribute `dtype` names another."""
    code = site.attribute("dtype")
    dtype = site.type(0).dtype if code is None else onnx.helper.tensor_dtype_to_np_dtype(code)
    return (Type(dtype, site.type(0).shape),)


@rule("RandomNormal", "RandomUniform")
def random(site: Site) -> Sequence[Type]:
    """The shape and dtype that the attributes say."""
    return (Type(onnx.helper.tensor_dtype_to_np_dtype(site.attribute("dtype")), site.attribute("shape")),)


@rule("Dropout")
def dropout(site: Site) -> Sequence[Type]:
    """The input's type, and its mask."""
    return (site.type(0), Type(np.bool_, site.type(0).shape))[: site.outputs]
