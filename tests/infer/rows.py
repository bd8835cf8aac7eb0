"""One row and more for each inference rule: the operator, its inputs, its attributes, how many outputs.

An input is a type with the symbols N and M, or a constant array. `sizes` are the values that N and M take in runs.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

I64 = np.int64
EVERY = ((0, 3), (1, 1), (2, 3), (5, 1), (4, 0))
POSITIVE = ((1, 1), (2, 3), (5, 2), (4, 7))
BROADCAST = ((1, 1), (1, 4), (4, 1), (3, 3), (0, 1), (1, 0), (0, 0))


@dataclass(frozen=True)
class Row:
    """A use of an operator."""

    kind: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    sizes: tuple[tuple[int, int], ...] = EVERY

    def __str__(self) -> str:
        told = ",".join(i if isinstance(i, str) else str(getattr(i, "tolist", lambda: None)()) for i in self.inputs)
        return f"{self.kind}({told}){self.attributes or ''}"


def row(kind: str, *inputs: Any, outputs: int = 1, sizes: Any = EVERY, **attributes: Any) -> Row:
    """A row; lists are int64 vectors."""
    given = tuple(np.array(i, dtype=I64) if isinstance(i, list | int) else i for i in inputs)
    return Row(kind, given, attributes, outputs, sizes)


UNARY = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
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
    "Identity",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Clip",
    "Shrink",
]
BINARY = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Max",
    "Min",
    "Sum",
    "Mean",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
]
REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceSumSquare",
]  # fmt: skip
X, XM, C4 = "float32[N,3]", "float32[N,M]", "float32[N,4,M,6]"
NO_AXES = np.zeros(0, I64)

ROWS = [
    *(row(kind, X) for kind in UNARY),
    *(row(kind, X, "float32[3]") for kind in BINARY),
    *(row(kind, "float32[N,1]", "float32[1,M]") for kind in BINARY),
    *(row(kind, "float32[N]", "float32[M]", sizes=BROADCAST) for kind in ("Add", "Equal")),
    row("Add", "float32[N]", "float32[4]", sizes=((1, 1), (4, 1))),
    row("PRelu", X, "float32[3]"),
    row("PRelu", X, "float32[1]"),
    *(row(kind, "bool[N,1]", "bool[M]") for kind in ("And", "Or", "Xor")),
    *(row(kind, "int32[N,1]", "int32[M]") for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod", "Div")),
    row("BitShift", "uint32[N,1]", "uint32[M]", direction="LEFT"),
    row("BitwiseNot", "int32[N]"),
    row("Not", "bool[N]"),
    row("IsNaN", X),
    row("IsInf", X),
    row("Cast", X, to=11),
    row("Cast", X, to=7),
    row("CastLike", X, "float64[M]"),
    row("Where", "bool[N,1]", "float32[M]", "float32[N,M]"),
    row("Where", "bool[N]", "float32[]", "float32[1]"),
    row("Softmax", XM, sizes=POSITIVE),
    row("LogSoftmax", XM, axis=0, sizes=POSITIVE),
    row("Hardmax", XM, sizes=POSITIVE),
    row("CumSum", X, 1),
    row("Trilu", XM, upper=0),
    row("LRN", C4, size=3, sizes=POSITIVE),
    row("LpNormalization", XM, sizes=POSITIVE),
    row("MeanVarianceNormalization", C4, sizes=POSITIVE),
    row("Dropout", X, outputs=2),
    row("RandomNormalLike", X),
    row("RandomUniformLike", X, dtype=11),
    row("Bernoulli", X, dtype=7),
    row("RandomNormal", shape=[2, 3]),
    row("RandomUniform", shape=[2], dtype=11),
    row("EyeLike", XM, dtype=11),
    *(row(kind, C4, [0], sizes=POSITIVE) for kind in REDUCTIONS),
    *(row(kind, C4, [-1, 1], keepdims=0, sizes=POSITIVE) for kind in REDUCTIONS),
    *(row(kind, XM, sizes=POSITIVE) for kind in REDUCTIONS),
    row("ReduceSum", XM, [0]),
    row("ReduceSum", XM, NO_AXES, keepdims=0),
    row("ReduceSum", XM, NO_AXES, noop_with_empty_axes=1),
    row("ArgMax", XM, axis=1, sizes=POSITIVE),
    row("ArgMin", XM, axis=-2, keepdims=0, sizes=POSITIVE),
    row("TopK", "float32[N,5]", [2], outputs=2),
    row("TopK", "float32[N,5]", [2], outputs=2, axis=0, sizes=((2, 1), (5, 1))),
    row("MatMul", XM, "float32[M,4]"),
    row("MatMul", "float32[N]", "float32[N,M]", sizes=POSITIVE),
    row("MatMul", "float32[M,N]", "float32[N]", sizes=POSITIVE),
    row("MatMul", "float32[N]", "float32[N]", sizes=POSITIVE),
    row("MatMul", "float32[N,1,2,3]", "float32[M,3,4]", sizes=POSITIVE),  # onnxruntime broadcasts no empty batch
    row("MatMul", "float32[4,2,3]", "float32[N,3,M]", sizes=((1, 2), (4, 3))),
    row("Gemm", "float32[M,N]", "float32[5,M]", transA=1, transB=1, sizes=POSITIVE),
    row("Gemm", "float32[N,M]", "float32[M,5]", "float32[5]", sizes=POSITIVE),
    row("Einsum", "float32[N,3]", "float32[3,M]", equation="ij,jk->ik", sizes=POSITIVE),
    row("Einsum", "float32[N,3]", equation="ij->j", sizes=POSITIVE),
    row("Einsum", "float32[1,N,3]", "float32[M,3,4]", equation="...ij,...jk->...ik", sizes=POSITIVE),
    row("Einsum", "float32[N,M]", "float32[M,N]", equation="ij,jk", sizes=POSITIVE),
    row("Transpose", C4),
    row("Transpose", C4, perm=[2, 0, 3, 1]),
    row("Reshape", X, [-1]),
    row("Reshape", X, [0, 1, 3]),
    row("Reshape", X, [3, -1], sizes=POSITIVE),
    row("Reshape", "float32[N,4]", [-1, 2]),
    row("Reshape", "float32[N,6]", [0, 2, -1], sizes=POSITIVE),
    row("Reshape", "float32[N,0]", [0, 5], allowzero=1),
    row("Reshape", "float32[1]", NO_AXES),
    row("Flatten", C4),
    row("Flatten", C4, axis=-1),
    row("Flatten", C4, axis=0),
    row("Squeeze", "float32[1,N,1]", [0, -1]),
    row("Squeeze", "float32[1,4,1]"),
    row("Unsqueeze", X, [0, -1]),
    row("Unsqueeze", "float32[]", [0]),
    row("Expand", "float32[N,1]", [2, 1, 5]),
    row("Expand", "float32[3]", [1, 1]),
    row("Expand", "float32[N]", [3], sizes=((1, 1), (3, 1))),
    row("Concat", XM, "float32[2,M]", axis=0),
    row("Concat", X, X, "float32[N,3]", axis=-1),
    row("Split", "float32[N,6]", [1, 5], outputs=2, axis=1),
    row("Split", "float32[7,N]", outputs=3, num_outputs=3),
    row("Slice", X, [1], [2**62]),
    row("Slice", XM, [0, -2], [-1, 2**31], [0, 1], [1, 1]),
    row("Slice", XM, [-1], [-(2**62)], [0], [-1]),
    row("Slice", XM, [5, 0], [1, 3], [-1, 0], [-2, 2]),
    row("Slice", "float32[7]", [1], [6], [0], [2]),
    row("Pad", X, [1, 0, 2, 3]),
    row("Pad", X, [1, 2], None, [0]),
    row("Pad", "float32[N,5]", [0, -1, 0, -2]),
    row("Tile", XM, [2, 0]),
    row("Tile", XM, [1, 3]),
    row("Shape", C4),
    row("Shape", C4, start=1, end=-1),
    row("Size", C4),
    row("ConstantOfShape", [2, 3]),
    row("ConstantOfShape", NO_AXES, value=np.array([1.5])),
    row("Range", 2, 11, 3),
    row("Range", 7, 1, -2),
    row("Range", np.float32(0), np.float32(1), np.float32(0.3)),
    row("DepthToSpace", "float32[N,8,M,3]", blocksize=2, sizes=POSITIVE),
    row("SpaceToDepth", "float32[N,3,4,6]", blocksize=2, sizes=POSITIVE),
    row("Gather", "float32[4,N]", "int64[M,2]"),
    row("Gather", "float32[4,N]", 1, axis=-2),
    row("Gather", "float32[N,3]", "int32[M]", axis=1),
    row("GatherElements", "float32[4,3]", "int64[N,2]"),
    row("GatherND", "float32[4,3,N]", "int64[M,2]"),
    row("GatherND", "float32[N,3,2]", "int64[N,5,1]", batch_dims=1, sizes=POSITIVE),
    row("Compress", X, "bool[2]", axis=1),
    row("Compress", X, "bool[3]", sizes=POSITIVE),
    row("NonZero", XM),
    row("Unique", "float32[N]", outputs=4),
    row("Unique", XM, outputs=2, axis=1, sizes=POSITIVE),
    row("OneHot", "int64[N]", [5], "float32[2]"),
    row("OneHot", "int64[N,M]", [5], "float32[2]", axis=1),
    row("ScatterElements", "float32[4,N]", "int64[2,N]", "float32[2,N]", sizes=POSITIVE),
    row("ScatterND", "float32[4,N]", "int64[M,1]", "float32[M,N]"),
    row("Resize", "float32[N,3,M,4]", None, np.array([1, 1, 1.5, 2], np.float32), sizes=POSITIVE),
    row("Resize", "float32[N,M]", None, None, [5, 7], mode="linear", sizes=POSITIVE),
    row("GridSample", "float32[N,3,4,5]", "float32[N,M,2,2]", sizes=POSITIVE),
    row("AffineGrid", "float32[N,2,3]", [2, 3, 4, 5], sizes=((2, 1),)),
    row("DFT", "float32[N,M,1]", sizes=POSITIVE),
    row("DFT", "float32[N,M,1]", None, -2, onesided=1, sizes=POSITIVE),
    row("DFT", "float32[N,M,2]", 7, 0, sizes=POSITIVE),
    row("STFT", "float32[N,M,1]", 2, None, 4, onesided=1, sizes=[(2, 7), (1, 4), (3, 10)]),
    row("STFT", "float32[N,M,1]", 3, "float32[5]", onesided=0, sizes=[(2, 7), (1, 5), (3, 10)]),
    row("BatchNormalization", "float32[N,3,M]", *["float32[3]"] * 4, sizes=POSITIVE),
    row("BatchNormalization", "float32[N,3,M]", *["float32[3]"] * 4, outputs=3, training_mode=1, sizes=POSITIVE),
    row("InstanceNormalization", "float32[N,3,M]", "float32[3]", "float32[3]", sizes=POSITIVE),
    row("GroupNormalization", "float32[N,4,M]", "float32[4]", "float32[4]", num_groups=2, sizes=POSITIVE),
    row("LayerNormalization", "float32[N,M,4]", "float32[4]", outputs=3, sizes=POSITIVE),
    row("LayerNormalization", "float64[N,M,4]", "float64[M,4]", axis=1, outputs=3, sizes=POSITIVE),
    row("NegativeLogLikelihoodLoss", "float32[N,3,M]", "int64[N,M]", reduction="none", sizes=POSITIVE),
    row("SoftmaxCrossEntropyLoss", "float32[N,3,M]", "int64[N,M]", outputs=2, sizes=POSITIVE),
    row("CenterCropPad", XM, [5, 2], sizes=POSITIVE),
    row("CenterCropPad", "float32[N,M,3]", [4], axes=[-1], sizes=POSITIVE),
    row("CenterCropPad", "float32[N,M]", [3, 2], sizes=POSITIVE),
    row("CenterCropPad", "float32[N,M,4]", [5], axes=[1], sizes=POSITIVE),
    row("Conv", "float32[N,3,M]", "float32[4,3,2]", strides=[2], pads=[1, 1], sizes=POSITIVE),
    row("Conv", "float32[N,4,M,6]", "float32[6,2,3,2]", group=2, auto_pad="SAME_LOWER", strides=[2, 1], sizes=POSITIVE),
    row("ConvTranspose", "float32[N,3,M]", "float32[3,4,3]", strides=[2], output_padding=[1], sizes=POSITIVE),
    row("ConvTranspose", "float32[N,3,M]", "float32[3,4,3]", strides=[2], auto_pad="SAME_UPPER", sizes=POSITIVE),
    row("MaxPool", "float32[N,3,M]", outputs=2, kernel_shape=[2], strides=[2], pads=[1, 1], sizes=POSITIVE),
    row("MaxPool", "float32[N,3,M]", kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER", sizes=POSITIVE),
    row("AveragePool", "float32[N,3,M,5]", kernel_shape=[1, 3], strides=[1, 2], ceil_mode=1, sizes=POSITIVE),
    row("LpPool", "float32[N,3,M]", kernel_shape=[2], pads=[0, 1], sizes=POSITIVE),
    *(row(k, "float32[N,3,M]", sizes=POSITIVE) for k in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")),
    row("MaxUnpool", "float32[N,1,M]", "int64[N,1,M]", kernel_shape=[2], strides=[2], sizes=POSITIVE),
    row("Col2Im", "float32[N,8,6]", [4, 3], [2, 2], sizes=POSITIVE),
]  # fmt: skip
