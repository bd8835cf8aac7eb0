"""Crops of images are what onnxruntime's kernel computes."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.definitions.kernels import Node, check_node, microsoft

rng = np.random.default_rng(4)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32) * np.float32(0.7)


BOXES = np.array(
    [[0.06, 0.03, 0.88, 0.96], [0.21, 0.13, 0.68, 0.92], [-0.2, 0.31, 1.3, 0.47], [0.83, 0.88, 0.12, 0.23]]
)


def crops(mode: str, *size: int) -> Node:
    return microsoft(
        "CropAndResize",
        draw(2, 3, 5, 6),
        BOXES.astype(np.float32),
        np.array([0, 1, 1, 0], np.int32),
        np.array(size, np.int32),
        constant=[3],
        mode=mode,
        extrapolation_value=0.5,
    )


CROPS = {
    **{f"{mode} crops of {size}": crops(mode, *size) for mode in ("bilinear", "nearest") for size in ((3, 4), (1, 2))},
    "pads that are an input": microsoft(
        "ConvTransposeWithDynamicPads",
        draw(2, 3, 4, 4),
        draw(3, 2, 3, 3),
        np.array([1, 0, 1, 2]),
        draw(2),
        constant=[2],
        strides=[2, 2],
    ),
}

REFUSED = {
    "a crop of a size that only the run knows": (
        Node("com.microsoft::CropAndResize", CROPS["bilinear crops of (3, 4)"].inputs, ranks=[4]),
        "only the run knows",
    ),
    "pads that only the run knows": (
        Node("com.microsoft::ConvTransposeWithDynamicPads", CROPS["pads that are an input"].inputs, ranks=[4]),
        "only the run knows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_definition_is_refused_at_its_node(name: str, tmp_path: Path) -> None:
    made, words = REFUSED[name]
    with pytest.raises(UnsupportedFunction, match=words):
        ps.load(made.save(tmp_path / "m.onnx"))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", CROPS)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    check_node(CROPS[name], tmp_path, order=1, step=1e-3)
