"""A Dropout that trains drops in every file, though onnxruntime takes one whose mask is not read for the identity."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.targets.finish import finish

MODEL = """<ir_version: 10, opset_import: ["": 21]>
    dropped (float[N, M] x, float[N, M] y, float ratio) => (%s) {
        trains = Constant<value = bool {1}>()
        negated = Neg(x)
        %s = Dropout<seed = 7>(negated, ratio, trains)
        bent = Sin(kept)
        product = Mul(bent, y)
        z = ReduceSum<keepdims = 0>(product)
    }"""
ONES = np.ones((30, 40), np.float32)


@pytest.mark.parametrize(("ends", "made"), [("float z", "kept"), ("float z, bool[N, M] mask", "kept, mask")])
def test_what_is_dropped_is_dropped_in_value_and_gradient(ends: str, made: str, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL % (ends, made)), tmp_path / "dropped.onnx")
    model, ratio = ps.load(tmp_path / "dropped.onnx"), np.float32(0.5)
    slope = -2 * np.cos(-2.0)
    for wrt, wanted in (("y", np.sin(-2.0)), ("x", slope)):
        found = ps.split(model, wrt=wrt, of="z", seed="ones").joint()(ONES, ONES, ratio)[-1]
        kept = np.isclose(found, wanted)
        assert np.all(kept | (found == 0))
        assert 0.4 < np.mean(kept) < 0.6
    value = ps.trace(lambda *given: np.sum(model(*given)[0]) if "mask" in ends else model(*given), ONES, ONES, ratio)
    assert 0.4 < value(ONES, ONES, ratio) / (np.sin(-2.0) * ONES.size) < 0.6


def test_a_mask_that_is_read_and_dropout_that_does_not_train_stay_as_they_are(tmp_path: Path) -> None:
    text = MODEL % ("float z", "kept, mask")
    read = text.replace("product = Mul(bent, y)", "as_number = Cast<to = 1>(mask) product = Mul(bent, as_number)")
    for name, given in (("read", read), ("idle", (MODEL % ("float z", "kept")).replace("bool {1}", "bool {0}"))):
        onnx.save(onnx.parser.parse_model(given), tmp_path / f"{name}.onnx")
        block = ps.load(tmp_path / f"{name}.onnx").block
        assert not any(op.kind == "Where" for op in walk(finish(block)))
