"""Check nodes of a file for attributes and shapes that onnx's checker accepts and onnxruntime refuses to load.

`Resize(mode="cube")` is such a node: the text is none of `nearest`, `linear` and `cubic`.
"""

from collections.abc import Mapping
from typing import Any

from primsplit.ir import Block, Const, Op, is_call, walk
from primsplit.ir.carriers import LATER
from primsplit.ir.errors import ParseError, ShapeError
from primsplit.ops.inference.standard import check_by_standard
from primsplit.ops.inference.table import RULES, Site
from primsplit.ops.schema import text
from primsplit.ops.traits import traits

FLAGS = frozenset(
    {
        "allowzero",
        "align_corners",
        "antialias",
        "ceil_mode",
        "center_point_box",
        "count_include_pad",
        "detect_negative",
        "detect_positive",
        "exclude_outside",
        "exclusive",
        "fmod",
        "input_forget",
        "interleaved",
        "inverse",
        "is_causal",
        "largest",
        "layout",
        "linear_before_reset",
        "new_axis",
        "noop_with_empty_axes",
        "onesided",
        "periodic",
        "reverse",
        "saturate",
        "select_last_index",
        "sorted",
        "storage_order",
        "training_mode",
        "transA",
        "transB",
        "upper",
    }
)
"""Attributes that are 0 or 1 in every operator.

Another number means different things to onnxruntime's kernels: 0, 1, an error, or a Cast that writes nothing.
`keepdims` is not among them: all kernels read it alike.
"""
_AUTO_PAD = {"auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")}
_DIRECTION = {"direction": ("forward", "reverse", "bidirectional")}
_REDUCTION = {"reduction": ("none", "add", "mul", "min", "max")}
_STASH = {"stash_type": (1, 10, 11, 16)}
_LOSS = {"reduction": ("none", "mean", "sum")}
CHOICES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"), _AUTO_PAD),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _DIRECTION),
    **dict.fromkeys(("ScatterElements", "ScatterND"), _REDUCTION),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _LOSS),
    **dict.fromkeys(("GroupNormalization", "RMSNormalization"), _STASH),
    "Attention": {"qk_matmul_output_mode": (0, 1, 2, 3)},
    "BitShift": {"direction": ("LEFT", "RIGHT")},
    "Cast": {"round_mode": ("up", "down", "nearest")},
    "DepthToSpace": {"mode": ("DCR", "CRD")},
    "Gelu": {"approximate": ("none", "tanh")},
    "GridSample": {
        "mode": ("linear", "nearest", "cubic", "bilinear", "bicubic"),
        "padding_mode": ("zeros", "border", "reflection"),
    },
    "LpNormalization": {"p": (1, 2)},
    "Pad": {"mode": ("constant", "reflect", "edge", "wrap")},
    "Resize": {
        "mode": ("nearest", "linear", "cubic"),
        "coordinate_transformation_mode": (
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
            "tf_half_pixel_for_nn",
        ),
        "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"),
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    },
    "Upsample": {"mode": ("nearest", "linear", "bilinear", "cubic")},
    "RoiAlign": {
        "mode": ("avg", "max"),
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
    },
}

DRAWS = frozenset({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})
LENIENT = frozenset({"Range"})
"""Operators that onnxruntime runs although onnx's inference refuses them: vectors of one number in place of scalars."""


def check_node(site: Site) -> None:
    """Raise ShapeError for a node of a file that onnxruntime would refuse to load."""
    if site.kind in RULES and site.kind not in LENIENT:
        check_by_standard(site)
    if site.kind == "SoftmaxCrossEntropyLoss":
        # onnxruntime reads it as the function that it is: a loss of the logarithms.
        check_by_standard(Site("NegativeLogLikelihoodLoss", site.inputs, site.attributes, 1))
    if traits(site.kind).windows == "pool":
        _check_pads(site)
    if site.kind in DRAWS:
        _check_draw(site)
    if site.kind in {"ConstantOfShape", "Div", "Mod"}:
        _check_numbers(site)
    if traits(site.kind).gates and not 0 <= (site.attribute("hidden_size") or 0) < 2**31:
        raise ShapeError(f"{site.kind} cannot have a hidden size of {site.attribute('hidden_size')}")


def _check_numbers(site: Site) -> None:
    """Raise ShapeError for a fill that is not one number, and for integers divided by a constant 0."""
    fill = site.attribute("value") if site.kind == "ConstantOfShape" else None
    if fill is not None and fill.size != 1:
        raise ShapeError(f"{site.kind} fills with one number, and is given {fill.size}")
    divisor = site.inputs[1] if site.kind != "ConstantOfShape" else None
    if isinstance(divisor, Const) and divisor.type.dtype.kind in "iu" and not divisor.numpy().all():
        raise ShapeError(f"{site.kind} divides whole numbers by a constant 0")


def _check_draw(site: Site) -> None:
    """Raise ShapeError for bounds or a scale that end the process of onnxruntime, whose library asserts them."""
    low, high, scale = (site.attribute(name) for name in ("low", "high", "scale"))
    if site.kind.startswith("RandomUniform") and not low <= high:
        raise ShapeError(f"{site.kind} cannot draw from {low} to {high}")
    if site.kind.startswith("RandomNormal") and not scale > 0:
        raise ShapeError(f"{site.kind} cannot draw with the scale {scale}")


def check_definition(step: Op) -> None:
    """Raise ShapeError if onnxruntime would refuse an operator that a definition recorded, or one in its body."""
    body = step.attributes.get("body")
    for each in walk(body) if isinstance(body, Block) else [step]:
        is_later = any(v is not None and v.type.key[0] in LATER for v in (*each.inputs, *each.outputs))
        if not is_call(each) and not is_later and not any(isinstance(a, Block) for a in each.attributes.values()):
            check_node(Site(each.kind, each.inputs, each.attributes, len(each.outputs)))


def _check_pads(site: Site) -> None:
    """Raise ShapeError if a window of a pool may lie in the padding alone."""
    pads, kernel = site.attribute("pads"), site.attribute("kernel_shape")
    if pads is not None and kernel is not None and any(p >= k for p, k in zip(pads, [*kernel, *kernel], strict=False)):
        raise ShapeError(f"{site.kind}: the pads {pads} are not less than the kernel {kernel}")


def check_choices(kind: str, attributes: Mapping[str, Any]) -> None:
    """Raise ParseError if the value of an attribute is none of those that its operator knows."""
    known = CHOICES.get(kind, {})
    for name, value in attributes.items():
        choices = (0, 1) if name in FLAGS else known.get(name)
        if choices is None:
            continue
        chosen = text(value) if isinstance(value, bytes) else value
        if chosen not in choices:
            raise ParseError(f"{kind} has no {name} {chosen!r}", because=(f"there are {', '.join(map(str, choices))}",))
