"""Select the operators of a loaded model that onnxruntime is asked about: inference does not check their attributes."""

from primsplit.ir import Block, Op, walk
from primsplit.ir.carriers import LATER
from primsplit.ops.inference.reduction import REDUCTIONS

CHECKED = frozenset(REDUCTIONS) | {
    *("ArgMax", "ArgMin", "BatchNormalization", "Cast", "CastLike", "Clip", "Concat", "Constant", "ConstantOfShape"),
    *("Conv", "ConvTranspose", "CumSum", "DequantizeLinear", "Dropout", "Einsum", "Elu", "Flatten", "Gather"),
    *("GatherElements", "GatherND", "Gelu", "Gemm", "HardSigmoid", "InstanceNormalization", "IsInf"),
    *("LayerNormalization", "LeakyRelu", "LogSoftmax", "Mod", "Pad", "QuantizeLinear", "Reshape", "Resize"),
    *("ScatterElements", "ScatterND", "Selu", "Shape", "Slice", "Softmax", "Split", "Squeeze", "Transpose"),
    *("AveragePool", "MaxPool", "Trilu", "Unsqueeze"),
}
"""Operators whose attributes inference checks. Most nodes are of these: their files need no onnxruntime.

No trait: a fact about our inference.
"""
LOCAL = frozenset({"StringNormalizer"})
"""Operators whose kernels depend on the machine, which may lack a locale: a file of them runs elsewhere."""


def rare_ops(block: Block) -> list[Op]:
    """Return the operators of a block, and of the blocks in it, whose kernels may refuse what inference accepts."""
    return [step for step in walk(block) if step.kind not in CHECKED | LOCAL and _may_be_refused(step)]


def _may_be_refused(step: Op) -> bool:
    ends = (*step.inputs, *step.outputs)
    is_standard = "::" not in step.kind and not any(v is not None and v.type.key[0] in LATER for v in ends)
    return is_standard and bool(step.attributes) and not any(isinstance(a, Block) for a in step.attributes.values())
