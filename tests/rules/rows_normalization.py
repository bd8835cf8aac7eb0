"""Rows of the normalizations, the losses, dropout, dequantization, and of operators without a gradient."""

import numpy as np

from tests.rules.row import F32, C, F, N, integers, row

POSITIVE = (0.3, 2.5)
UNIT = (-2.0, 2.0)
BATCH = [UNIT, UNIT, UNIT, UNIT, POSITIVE]

NORMALIZATION = [
    row("BatchNormalization", F(3, 2, 4), *[F(2)] * 4, domain=BATCH, attributes={"epsilon": 1e-3}),
    row("BatchNormalization", F(4, 3), *[F(3)] * 4, domain=BATCH),
    row("BatchNormalization", F(2, 3, 4), C(1.5, -0.5, 0.2), C(1.0, 2.0, 0.0), C(0.1, 0.2, 0.3), C(1.0, 0.5, 2.0),
        is_symbolic=False),
    row("BatchNormalization", F(3, 2, 4), *[F(2)] * 4, domain=BATCH, outputs=3, is_symbolic=False,
        attributes={"training_mode": 1, "momentum": 0.75}),
    row("InstanceNormalization", F(2, 3, 5), F(3), F(3), attributes={"epsilon": 1e-2}, sizes=()),
    row("InstanceNormalization", F(2, 3, 2, 2), F(3), F(3), sizes=()),
    row("LayerNormalization", F32(3, 4), F32(4), F32(4), sizes=(1,), dtypes=[]),
    row("LayerNormalization", F32(2, 3, 4), F32(3, 4), attributes={"axis": 1, "epsilon": 1e-2}, sizes=(1,),
        dtypes=[]),
    row("LayerNormalization", F32(3, 4), F32(4), F32(4), outputs=3, sizes=(1,), dtypes=[]),
    row("LayerNormalization", F32(3, 16), F32(16), F32(16), is_symbolic=False, dtypes=[]),
    row("LayerNormalization", F32(2, 3, 4, 5), F32(4, 5), attributes={"axis": -2}, is_symbolic=False, dtypes=[]),
    row("LayerNormalization", F(3, 4), F(4), F(4), sizes=(1,)),
    row("GroupNormalization", F(2, 4, 3), F(4), F(4), attributes={"num_groups": 2}, sizes=(), value_tolerance=1e-6),
    row("GroupNormalization", F(2, 4, 2, 2), F(4), F(4), attributes={"num_groups": 4, "epsilon": 1e-2}, sizes=(),
        value_tolerance=1e-6),
    row("LpNormalization", F(3, 4), kinks=[([np.zeros((1, 2))], [[[0, 0]]])]),
    row("LpNormalization", F(3, 4), attributes={"axis": 0, "p": 1}, domain=POSITIVE),
    row("LRN", F(2, 5, 3), attributes={"size": 3, "alpha": 0.3, "beta": 0.75, "bias": 1.5}, sizes=(), dtypes=[]),
    row("LRN", F(1, 4, 2, 2), attributes={"size": 4, "alpha": 0.5}, sizes=(), dtypes=[]),
    row("LRN", F(1, 4, 2, 2), attributes={"size": 3, "alpha": 0.5}, sizes=()),
    row("MeanVarianceNormalization", F(2, 3, 2, 2), sizes=()),
    row("MeanVarianceNormalization", F(3, 4), attributes={"axes": [-1]}, sizes=()),
]  # fmt: skip

LABELS = integers(0, 2, 1, 2)
DEEP = integers([0, 2], [1, 1])

LOSSES = [
    *(
        row(kind, F(4, 3), LABELS, *weight, attributes={"reduction": reduction}, is_symbolic=False)
        for kind in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
        for reduction in ("none", "sum", "mean")
        for weight in ((), (F(3),))
    ),
    *(
        row(kind, F(2, 3, 2), DEEP, *weight, attributes={"reduction": reduction, "ignore_index": 1},
            is_symbolic=False)
        for kind in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
        for reduction in ("none", "sum", "mean")
        for weight in ((), (F(3),))
    ),
    row("SoftmaxCrossEntropyLoss", F(4, 3), LABELS, F(3), outputs=2, is_symbolic=False),
    row("SoftmaxCrossEntropyLoss", F(4, 3), LABELS.astype(np.int32), attributes={"ignore_index": -1},
        is_symbolic=False),
]  # fmt: skip

DROPOUT = [
    row("Dropout", F(3, 4)),
    row("Dropout", F(3, 4), N(0.25), N(False, np.bool_)),
    row("Dropout", F(3, 4), N(0.0), N(True, np.bool_), only=["form", "closed", "differences", "linear", "sizes"]),
]

QUANTIZED = [
    row("DequantizeLinear", integers([1, 5], [7, 200]).astype(np.uint8), F32(), attributes={}, is_symbolic=False,
        dtypes=[]),
    row("DequantizeLinear", integers([1, -5, 3], [7, 100, 0]).astype(np.int8), F32(3), C(1, 2, -3, dtype=np.int8),
        is_symbolic=False, dtypes=[]),
    row("DequantizeLinear", integers([1, -5, 3, 2, 2], [7, 100, 0, 1, 1]).astype(np.int8), F32(2, 3),
        attributes={"axis": 1, "block_size": 2}, is_symbolic=False, dtypes=[]),
]  # fmt: skip

CROPPED = [
    row("CenterCropPad", F(3, 4), [5, 2]),
    row("CenterCropPad", F(3, 4, 5), [6], attributes={"axes": [1]}),
    row("CenterCropPad", F(6, 5), [3, 8], attributes={"axes": [-2, -1]}),
    row("CenterCropPad", F(3, 4), integers(2, 7), note="sizes at run time", is_symbolic=False),
]

ROWS = [*NORMALIZATION, *LOSSES, *DROPOUT, *QUANTIZED, *CROPPED]

NO_GRADIENT = [
    row("QuantizeLinear", F32(3, 4), F32(), domain=POSITIVE),
]

INTEGER = frozenset({
    "BlackmanWindow", "Constant", "ConvInteger", "HammingWindow", "HannWindow", "ImageDecoder",
    "QLinearConv", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit",
    "TfIdfVectorizer",
})  # fmt: skip
"""Operators of integers, strings, sequences and quantized numbers."""

ALONE = frozenset({"DynamicQuantizeLinear", "MelWeightMatrix", "NonMaxSuppression"})
"""Operators that test_table.py tests without a row."""
