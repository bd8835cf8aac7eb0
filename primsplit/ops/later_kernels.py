"""Kernels that onnxruntime has only since some version after 1.20: the table `KERNELS` does without those in LATER.

    LATER["no_choice_of_int8"] == ("1.31", {"Where": {"int8", "uint32"}})    # before 1.31 there is no such Where

A file for every version from 1.20 on has another form in their place; one for `target="onnxruntime>=1.31"` has the
operator. Those in NEWER have no other form: a file that has one of them does not load in an older version.
"""

from collections.abc import Mapping
from functools import cache

from primsplit.ir.runtimes import Runtime, fault

Dtypes = Mapping[str, frozenset[str]]
"""By operator, dtypes of its type variable T, or of its first one."""
BYTES = frozenset({"int8", "uint8"})
NARROW = frozenset({"int8", "int16", "uint8", "uint16", "uint32", "uint64"})
BFLOAT16 = frozenset({"bfloat16"})
FLOATS = frozenset({"float16", "float32", "float64"})
PACKED = frozenset({"int4", "uint4"})
ARITHMETIC = ("Add", "Sub", "Mul", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")

LATER: dict[str, tuple[str, Dtypes]] = {
    "no_arithmetic_of_narrow_integers": ("1.21", dict.fromkeys(ARITHMETIC, NARROW)),
    "no_division_of_narrow_integers": ("1.21", {"Div": NARROW}),
    "no_negation_of_int16": ("1.21", {"Neg": frozenset({"int16"})}),
    "no_depth_to_space_of_uint8": ("1.21", {"DepthToSpace": frozenset({"uint8"})}),
    "no_maximum_of_bytes": ("1.24", {"Max": BYTES, "Min": BYTES}),
    "no_top_k_of_narrow_integers": ("1.26", {"TopK": frozenset({"int8", "int16", "uint8"})}),
    "no_depth_to_space_of_int8": ("1.28", {"DepthToSpace": frozenset({"int8"}), "SpaceToDepth": BYTES}),
    "no_triangle_of_int32": ("1.29", {"Trilu": frozenset({"int32"})}),
    "no_layer_normalization_of_bfloat16": ("1.30", {"LayerNormalization": BFLOAT16}),
    "no_choice_of_int8": ("1.31", {"Where": frozenset({"int8", "uint32"})}),
    "no_shift_of_uint16": ("1.32", {"BitShift": frozenset({"uint16"})}),
    "no_pad_of_bfloat16": ("1.32", {"Pad": BFLOAT16, "CenterCropPad": BFLOAT16}),
}
"""By the name of the fault that there is no such kernel: the version that brought it, and the dtypes."""
NEWER: dict[str, tuple[str, Dtypes]] = {
    "no_cast_of_int4": ("1.23", {"Cast": PACKED, "CastLike": PACKED}),
    "no_sequence_of_bools": ("1.23", {"SplitToSequence": frozenset({"bool"})}),
    "no_convolution_of_int8": ("1.24", {"ConvInteger": BYTES}),
    "no_product_of_int8_and_uint8": ("1.24", {"MatMulInteger": BYTES}),
    "no_deformed_convolution": ("1.25", {"DeformConv": FLOATS}),
}
"""The same for kernels that are in KERNELS all the same."""


@cache
def later_dtypes(kind: str, runtime: Runtime) -> frozenset[str]:
    """The dtypes of T that only LATER has, and that every version of the runtime has a kernel of the operator for."""
    found = (dtypes.get(kind, frozenset()) for name, (_, dtypes) in LATER.items() if not runtime.has(name))
    return frozenset().union(*found)


def _record(name: str, before: str, dtypes: Dtypes) -> None:
    several = [f"{', '.join(kinds)} of {', '.join(sorted(held))}" for held, kinds in _by_dtypes(dtypes).items()]
    says = f"There is no kernel for {'; nor for '.join(several)}."
    fault(name, kind="refuses", operators=tuple(dtypes), says=says, before=before)(later_dtypes)


def _by_dtypes(dtypes: Dtypes) -> dict[frozenset[str], list[str]]:
    found: dict[frozenset[str], list[str]] = {}
    for kind, held in dtypes.items():
        found.setdefault(held, []).append(kind)
    return found


for _name, (_before, _dtypes) in {**LATER, **NEWER}.items():
    _record(_name, _before, _dtypes)
