"""Gradients of large arrays are the same with several threads, run after run: threads that meet lose updates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.programs.runtime import Session

random = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return random.standard_normal(shape, np.float32)


def whole(high: int, *shape: int) -> Any:
    return random.integers(0, high, shape)


def added_at(x: Any, places: Any) -> Any:
    total = np.zeros(40, np.float32)
    np.add.at(total, places, x)
    return total


TABLE, ROWS, PLACES = normal(600, 700), whole(600, 3000), whole(40, 600, 700)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "take": lambda x: np.take(x, ROWS, 0),
    "take of columns": lambda x: np.take(x, ROWS, 1),
    "take_along_axis": lambda x: np.take_along_axis(x, PLACES, 1),
    "places of two arrays": lambda x: x[ROWS, ROWS],
    "a mask": lambda x: x[PLACES > 20],
    "add.at": lambda x: added_at(x, PLACES),
    "bincount": lambda x: np.bincount(PLACES.ravel(), weights=x.ravel(), minlength=40),
    "interp": lambda x: np.interp(x, np.linspace(-3, 3, 50), np.linspace(0, 1, 50) ** 2),
    "cumsum": lambda x: np.cumsum(x, 0),
    "sort": lambda x: np.sort(x, 1),
    "max": lambda x: np.max(x, 0),
    "pad": lambda x: np.pad(x, 50, mode="reflect"),
    "repeat": lambda x: np.repeat(x, 3, 0),
    "median": lambda x: np.median(x, 0),
}
IMAGES, FILTERS = normal(8, 16, 64, 64), normal(32, 16, 3, 3)
CORNERS = np.sort(random.uniform(0, 60, (60, 2, 2)).astype(np.float32), 1).reshape(60, 4)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "Gather": ("y = Gather (x, i)", {"x": TABLE, "i": whole(5, 9000)}),
    "GatherND": ("y = GatherND (x, i)", {"x": TABLE, "i": whole(7, 50_000, 2)}),
    "ScatterElements": (
        'y = ScatterElements <axis = 1, reduction = "add"> (x, i, u)', {"x": TABLE, "i": PLACES, "u": TABLE}
    ),
    "ScatterND that multiplies": (
        'y = ScatterND <reduction = "mul"> (x, i, u)',
        {"x": normal(60, 700), "i": whole(60, 900, 1), "u": 1 + 0.01 * normal(900, 700)},
    ),
    "ScatterND that compares": (
        'y = ScatterND <reduction = "max"> (x, i, u)',
        {"x": normal(60, 700), "i": whole(60, 900, 1), "u": normal(900, 700)},
    ),
    "Conv": ("y = Conv <strides = [2, 2], dilations = [2, 1]> (x, w)", {"x": IMAGES, "w": FILTERS}),
    "Conv of each channel": ("y = Conv <group = 16> (x, w)", {"x": IMAGES, "w": normal(16, 1, 3, 3)}),
    "ConvTranspose": ("y = ConvTranspose <strides = [2, 2]> (x, w)", {"x": IMAGES, "w": normal(16, 8, 3, 3)}),
    "DeformConv": (
        "y = DeformConv (x, w, o)",
        {"x": normal(2, 8, 40, 40), "w": normal(8, 8, 3, 3), "o": 0.5 * normal(2, 18, 38, 38)},
    ),
    "MaxPool": ("y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)", {"x": IMAGES}),
    "MaxPool of overlapping windows": ("y = MaxPool <kernel_shape = [3, 3]> (x)", {"x": IMAGES}),
    "AveragePool": ("y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (x)", {"x": IMAGES}),
    "RoiAlign": (
        "y = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 2> (x, c, i)",
        {"x": IMAGES, "c": CORNERS, "i": whole(8, 60)},
    ),
    "GridSample": ("y = GridSample (x, g)", {"x": IMAGES, "g": np.clip(0.5 * normal(8, 70, 80, 2), -1.2, 1.2)}),
    "Col2Im": (
        "s = Constant <value_ints = [34, 34]> () b = Constant <value_ints = [3, 3]> () y = Col2Im (x, s, b)",
        {"x": normal(4, 72, 1024)},
    ),
    "TopK": ("k = Constant <value_ints = [50]> () y, i = TopK (x, k)", {"x": TABLE}),
    "LayerNormalization": ("y = LayerNormalization (x, s)", {"x": TABLE, "s": normal(700)}),
    "SoftmaxCrossEntropyLoss": (
        "y = SoftmaxCrossEntropyLoss (x, i)", {"x": normal(5000, 100), "i": whole(100, 5000)}
    ),
}  # fmt: skip


def has_the_same_results(gradient: ps.Program, given: list[Any]) -> None:
    file = gradient.to_onnx()
    feeds = dict(zip(gradient.inputs, given, strict=True))
    wanted = Session(file, threads=1).run(feeds)
    for threads in (2, 4):
        session = Session(file, threads=threads)
        for _ in range(5):
            for a, b in zip(session.run(feeds), wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.max(np.abs(b), initial=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_is_the_same_with_several_threads(name: str) -> None:
    made = ps.split(lambda x: np.sum(FUNCTIONS[name](x) ** 2), TABLE)
    has_the_same_results(made.joint(), [TABLE])


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_models_gradient_is_the_same_with_several_threads(name: str, tmp_path: Any) -> None:
    nodes, given = MODELS[name]
    kinds = {k: f"{'int64' if v.dtype.kind == 'i' else 'float'}{[*v.shape]}" for k, v in given.items()}
    head = ", ".join(f"{kind} {k}" for k, kind in kinds.items())
    text = f'<ir_version: 10, opset_import: ["": 21]> g ({head}) => (float y) {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, tmp_path / "model.onnx")
    wrt = [k for k, v in given.items() if v.dtype.kind == "f" and k != "c"]
    made = ps.split(ps.load(tmp_path / "model.onnx"), wrt=wrt, seed="ones")
    has_the_same_results(made.joint(), [*given.values()])
