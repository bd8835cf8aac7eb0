"""ONNX's RNN, GRU and LSTM as NumPy functions, step by step, because onnx.reference has only the plain forms.

They are the functions that `primsplit audit` writes for these layers.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from primsplit.audit.expressions.recurrent import with_numbers
from primsplit.audit.helpers import recurrent as layers
from primsplit.ir import AnyArray
from primsplit.ops.traits import traits

CELLS: dict[str, tuple[Callable[..., Any], int]] = {
    "RNN": (layers.rnn_cell, 1),
    "GRU": (layers.gru_cell, 1),
    "LSTM": (layers.lstm_cell, 2),
}
"""The cell of each layer, and how many states it hands on. No trait: functions."""


def recurrent(
    kind: str,
    x: AnyArray,
    w: AnyArray,
    r: AnyArray,
    b: AnyArray | None = None,
    lengths: AnyArray | None = None,
    *more: AnyArray | None,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    layout: int = 0,
    input_forget: int = 0,
    linear_before_reset: int = 0,
    hidden_size: int | None = None,
) -> tuple[AnyArray, ...]:
    """All results of a layer of one kind."""
    cell, states = CELLS[kind]
    first = [*more, None, None][:states]
    names = activations or [*traits(kind).activations] * w.shape[0]
    functions = with_numbers(names, activation_alpha, activation_beta)
    own: dict[str, Any] = {"after": linear_before_reset} if kind == "GRU" else {}
    if kind == "LSTM":
        own = {"coupled": input_forget, "peepholes": more[2] if len(more) > 2 else None}
    told: Any = {"direction": direction, "activations": functions, "clip": clip or None, "layout": layout}
    found: tuple[AnyArray, ...] = layers.recurrent(cell, x, w, r, b, lengths, *first, **told, **own)
    return found


def _first(kind: str, *inputs: Any, **attributes: Any) -> AnyArray:
    return recurrent(kind, *inputs, **attributes)[0]


RECURRENT: dict[str, Callable[..., Any]] = {kind: partial(recurrent, kind) for kind in CELLS}
"""All results, by operator."""

SEQUENCES: dict[str, Callable[..., Any]] = {kind: partial(_first, kind) for kind in CELLS}
"""The first result, by operator."""
