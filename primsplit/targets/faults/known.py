"""Faults of onnxruntime that files are not written around: a reader of docs/runtime_faults.md should know them."""

from primsplit.ir.runtimes import known_fault

known_fault(
    "extremum_of_nothing",
    kind="refuses",
    operators=("ReduceMax", "ReduceMin"),
    says="ReduceMax and ReduceMin of no floats are refused, so that a norm, a logsumexp or a maximum of nothing fails.",
    before="1.21",
)
known_fault(
    "float64_log_of_subnormals",
    kind="wrong",
    operators=("Log",),
    says="Log of float64 takes every number below 2.2e-308 for 2.2e-308.",
    before="1.21",
)
known_fault(
    "floor_of_minus_zero",
    kind="wrong",
    operators=("Floor", "Ceil"),
    says="Floor and Ceil of -0.0 are 0.0.",
    before="1.21",
)
known_fault(
    "float32_erf_of_nan",
    kind="wrong",
    operators=("Erf",),
    says="Erf of a float32 NaN is 1 or -1.",
    before="1.27",
)
known_fault(
    "int8_weight_fused_into_product",
    kind="wrong",
    operators=("DequantizeLinear", "MatMul"),
    says="An int8 DequantizeLinear of a constant that one MatMul alone reads is fused with it, which rounds the other "
    "factor to 8 bits. A gradient reads the weight twice, so that its file is right.",
)
known_fault(
    "products_of_bytes_saturate",
    kind="wrong",
    operators=("DynamicQuantizeLSTM", "MatMulInteger"),
    says="On processors without VNNI, sums of products of uint8 and int8 saturate in 16 bits.",
)
known_fault(
    "int8_pair_before_slice",
    kind="refuses",
    operators=("QuantizeLinear", "DequantizeLinear", "Slice"),
    says="An int8 pair of QuantizeLinear and DequantizeLinear before a Slice does not load at opset 21. Write it as "
    "uint8.",
    since="1.27",
)
known_fault(
    "memory_pattern_doubles_memory",
    kind="slow",
    operators=(),
    says="With the session option enable_mem_pattern, which is on by default, a session takes twice the memory from "
    "its second run on. Programs that are called here turn it off where values are large or of unknown size.",
)
known_fault(
    "memory_kept_for_the_same_shape",
    kind="slow",
    operators=(),
    says="The memory of a value that is no longer needed is kept for the next value of the same shape, however late it "
    "comes. `tools/bench/lifetimes.py` counts it.",
)
known_fault(
    "transpose_of_an_axis_of_size_1",
    kind="slow",
    operators=("Transpose",),
    says="A Transpose that moves an axis of size 1 takes ten times as long as a Reshape.",
)
known_fault(
    "scalar_split_of_1_drops_the_axis",
    kind="wrong",
    operators=("SplitToSequence",),
    says="SplitToSequence with a scalar split of 1 and keepdims=0 drops the axis, where the standard ignores keepdims. "
    "A loaded model does as onnxruntime does.",
)
known_fault(
    "gather_elements_along_a_negative_axis",
    runtime="onnx.reference",
    kind="wrong",
    operators=("GatherElements",),
    says="GatherElements along a negative axis is wrong. Checks of rules go around it (`testing/operators.py`).",
)
