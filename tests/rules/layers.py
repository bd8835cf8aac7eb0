"""Recurrent layers for tests: their weights, inputs and specs."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ops import op

GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}
"""PyTorch's gates in the order of ONNX."""
FROM, H = 3, 4


def weights(kind: str, directions: int) -> list[Any]:
    """W, R and B of a layer, float32."""
    random, rows = np.random.default_rng(0), len(GATES[kind]) * H
    return [random.uniform(-0.6, 0.6, (directions, *s)).astype("f") for s in ((rows, FROM), (rows, H), (2 * rows,))]


def sample(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f")


def layer(kind: str, **attributes: Any) -> Any:
    """The operator of x, W, R, B and initial states."""
    count = 3 if kind == "LSTM" else 2
    if kind == "GRU":
        attributes.setdefault("linear_before_reset", 1)

    def gru_or_rnn(x: Any, w: Any, r: Any, b: Any, h: Any) -> Any:
        return getattr(op, kind)(x, w, r, b, None, h, outputs=count, hidden_size=H, **attributes)

    def lstm(x: Any, w: Any, r: Any, b: Any, h: Any, c: Any) -> Any:
        return op.LSTM(x, w, r, b, None, h, c, outputs=count, hidden_size=H, **attributes)

    return lstm if kind == "LSTM" else gru_or_rnn


def specs(kind: str, directions: int, dtype: str = "float32") -> list[Any]:
    """Sequences of any length, any number at a time."""
    fixed = [ps.spec(dtype, w.shape) for w in weights(kind, directions)]
    state = ps.spec(dtype, [directions, "N", H])
    return [ps.spec(dtype, ["T", "N", FROM]), *fixed, *[state] * (2 if kind == "LSTM" else 1)]
