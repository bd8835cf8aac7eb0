"""A model is written as one protobuf, a piece at a time, with the bytes that protobuf writes."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

import primsplit as ps

rng = np.random.default_rng(5)


def test_a_model_that_is_written_a_piece_at_a_time_is_the_one_that_protobuf_writes(tmp_path: Path) -> None:
    weights = [rng.standard_normal(200).astype(dtype) for dtype in ("float32", "float64", ml_dtypes.bfloat16, "int8")]
    packed = np.arange(201).astype(ml_dtypes.int4)

    def held(x: Any) -> Any:
        return [np.concatenate([w, x.astype(w.dtype)]) for w in (*weights, packed)] + [x * 2.0]

    program = ps.trace(held, ps.spec("float32", [1]))
    path = str(tmp_path / "held.onnx")
    program.save(path)
    written, made = onnx.load(path), program.to_onnx()
    order = [tensor.name for tensor in made.graph.initializer]
    tensors = sorted(written.graph.initializer, key=lambda tensor: order.index(tensor.name))
    del written.graph.initializer[:]
    written.graph.initializer.extend(tensors)
    assert written == made
    assert max(map(len, (t.raw_data for t in tensors))) == 1600
