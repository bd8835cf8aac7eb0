"""Resizing of images."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.trees import call, literal

OPTIONS = {
    "mode": ("mode", "nearest"),
    "places": ("coordinate_transformation_mode", "half_pixel"),
    "nearest": ("nearest_mode", "round_prefer_floor"),
    "cubic": ("cubic_coeff_a", -0.75),
    "exclude": ("exclude_outside", 0),
    "antialias": ("antialias", 0),
    "policy": ("keep_aspect_ratio_policy", "stretch"),
    "outside": ("extrapolation_value", 0.0),
    "axes": ("axes", None),
}
"""Arguments of the helper by the attributes that set them, with the defaults."""


def resize(node: Node) -> ast.expr:
    """Return an array with other sizes."""
    if node.opset < 11:
        scales = node.argument(1)
        return call("_resize", node.argument(0), scales, mode=_old_mode(node), places=literal("asymmetric"), **FLOOR)
    told = {name: node.attribute(attribute, default) for name, (attribute, default) in OPTIONS.items()}
    named = {name: literal(value) for name, value in told.items() if value != OPTIONS[name][1]}
    by_roi = told["places"] == "tf_crop_and_resize"
    if by_roi and node.has(1):
        named["roi"] = node.argument(1)
    by_sizes = node.has(3)
    named["sizes" if by_sizes else "scales"] = node.argument(3 if by_sizes else 2)
    return call("_resize", node.argument(0), **named)


FLOOR = {"nearest": literal("floor")}


def _old_mode(node: Node) -> ast.expr:
    mode = node.attribute("mode", "nearest")
    return literal("linear" if mode in {"linear", "bilinear"} else mode)


def upsample(node: Node) -> ast.expr:
    """Return an array repeated by scales, which are an input or an attribute."""
    told = node.attribute("scales")
    scales = node.argument(1) if told is None else literal([float(v) for v in told])
    return call("_resize", node.argument(0), scales, mode=_old_mode(node), places=literal("asymmetric"), **FLOOR)


BUILDERS: dict[str, Builder] = {"Resize": resize, "Upsample": upsample}
