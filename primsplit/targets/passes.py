"""Name onnxruntime's passes over a graph that find nothing in it, so that a large program is loaded without them.

Each pass walks the whole graph: loading 6,000 operators takes 1.3 seconds, and 0.5 without any pass. A pass finds
nothing if the graph has none of the operators that its patterns contain. Names that a version does not know are ignored
there.
"""

from collections.abc import Collection

from primsplit.ops.traits import kinds_where

MERGING = "CommonSubexpressionElimination"
"""The pass whose time is quadratic: half of all time for 10,000 operators. `rewrites.cse` does what it does."""
PASSES: tuple[tuple[Collection[str], tuple[str, ...]], ...] = (
    (
        {
            "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger",
            "QLinearMatMul", "QLinearConv",
        },
        (
            "DoubleQDQPairsRemover", "EnsureUniqueDQForNodeUnit", "WeightBiasQuantization", "QDQS8ToU8Transformer",
            "QDQPropagationTransformer", "QDQSelectorActionTransformer", "QDQFinalCleanupTransformer",
            "Avx2WeightS8ToU8Transformer", "DynamicQuantizeMatMulFusion", "MatMulIntegerToFloatFusion",
        ),
    ),
    (
        kinds_where(lambda t: t.contracts),
        (
            "MatMulAddFusion", "GemmActivationFusion", "MatmulTransposeFusion", "MatMulScaleFusion",
            "MatMulActivationFusion", "AttentionFusion",
        ),
    ),
    (
        {*kinds_where(lambda t: t.windows), "GlobalAveragePool", "GlobalMaxPool"},
        ("ConvActivationFusion", "ConvAddActivationFusion", "NchwcTransformer", "NhwcTransformer"),
    ),
    (
        {"ReduceMean", "LayerNormalization", "RMSNormalization", "GroupNormalization", "InstanceNormalization"},
        (
            "LayerNormFusionL1", "LayerNormFusionL2", "SimplifiedLayerNormFusion", "SkipLayerNormFusion",
            "BiasSkipLayerNormFusion", "EmbedLayerNormFusion",
        ),
    ),
    ({"Erf", "Tanh", "Gelu"}, ("GeluFusionL1", "GeluFusionL2", "BiasGeluFusion", "FastGeluFusion")),
    ({"Sigmoid", "Swish"}, ("QuickGeluFusion",)),
    ({"Softmax"}, ("BiasSoftmaxFusion",)),
    ({"Dropout"}, ("BiasDropoutFusion",)),
    ({"Gather", "Slice", "Split"}, ("GatherSliceToSplitFusion", "GatherToSliceFusion")),
    ({"Reshape"}, ("ReshapeFusion",)),
    ({"Transpose", "Reshape"}, ("TransposeOptimizer",)),
)  # fmt: skip
"""The operators of which a graph must have one, and the passes that find nothing without it.

No trait: it tells what the patterns in onnxruntime's passes contain.
"""


def idle_passes(operators: Collection[str]) -> list[str]:
    """Return the names of passes that find nothing in a graph of these operators."""
    return [name for needed, names in PASSES if not any(op in operators for op in needed) for name in names]
