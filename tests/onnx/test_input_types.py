"""Types of inputs that a file leaves open: said by the caller, or those of the nodes that read them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, SpecError
from tests.onnx.unranked import Saved


def test_a_size_that_is_said_takes_the_place_of_its_name_in_every_input(saved: Saved) -> None:
    path = saved("y = Mul (x, z)", "(double[n, 3] x, double[n, 3] z) => (double[n, 3] y)")
    program = ps.load(path, specs={"x": "[5,3]"})
    assert [t.shape for t in program.types] == [(5, 3), (5, 3)]
    with pytest.raises(ShapeError):
        program(np.ones((4, 3)), np.ones((4, 3)))


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        ({"q": "[3]"}, "no value q"),
        ({"x": "f32[N,3]"}, "x is float64 in its file"),
        ({"x": "[N,4]"}, r"declares \[n,3\]"),
        ({"x": "[N]"}, "has 2 axes"),
        ({"x": 3}, "has 2 axes"),
        ({"x": None}, "says no type of x"),
    ],
)
def test_a_type_that_does_not_fit_is_refused(specs: dict[str, Any], told: str, saved: Saved) -> None:
    with pytest.raises(SpecError, match=told):
        ps.load(saved("y = Mul (x, x)", "(double[n, 3] x) => (double y)"), specs=specs)


GRU = (
    "y = GRU <hidden_size = 2> (x, w, r, b)",
    "float[T, B, I] x, float[D, G, I] w, float[D, G, H] r, float[D, Q] b",
    ((3, 2, 4), (1, 6, 4), (1, 6, 2), (1, 12)),
)

LSTM = (
    "y = LSTM <hidden_size = 2> (x, w, r, b, , h, c, p)",
    "float[T,B,I] x, float[D,G,I] w, float[D,G,H] r, float[D,Q] b, float[D,E,S] h, float[D,F,U] c, float[D,P] p",
    ((3, 2, 4), (1, 8, 4), (1, 8, 2), (1, 16), (1, 2, 2), (1, 2, 2), (1, 6)),
)


@pytest.mark.parametrize(("nodes", "inputs", "shapes"), [GRU, LSTM], ids=["GRU", "LSTM"])
def test_a_recurrent_layer_whose_weights_have_no_sizes_has_those_of_its_attributes(
    nodes: str, inputs: str, shapes: Sequence[tuple[int, ...]], tmp_path: Path
) -> None:
    path = str(tmp_path / "model.onnx")
    text = f'<ir_version: 8, opset_import: ["" : 14]> g ({inputs}) => (float[T, D, B, H] y) {{ {nodes} }}'
    onnx.save(onnx.parser.parse_model(text), path)
    program = ps.load(path)
    random = np.random.default_rng(0)
    given = [random.uniform(-0.8, 0.8, s).astype(np.float32) for s in shapes]
    directions = [random.standard_normal(a.shape) for a in given]

    def total(moved: Sequence[Any]) -> float:
        return float(np.sum(program(*(a.astype(np.float32) for a in moved)), dtype=np.float64))

    slopes = ps.split(program, seed="ones").joint()(*given)[1:]
    found = sum(np.vdot(s, d) for s, d in zip(slopes, directions, strict=True))
    wide = [a.astype(np.float64) for a in given]
    both = [total([a + s * d for a, d in zip(wide, directions, strict=True)]) for s in (0.01, -0.01)]
    np.testing.assert_allclose(found, (both[0] - both[1]) / 0.02, rtol=1e-3)
