"""Rows of the recurrent layers: sequences of 3 steps, 2 at a time, from 3 numbers to 4."""

from typing import Any

import numpy as np

from tests.rules.row import F, Row, row

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = {1: "forward", 2: "bidirectional"}


def recurrent(
    kind: str,
    *,
    directions: int = 1,
    states: bool = True,
    peepholes: bool = False,
    lengths: tuple[int, int] | None = None,
    **attributes: Any,
) -> Row:
    """A row with or without the optional inputs."""
    gates, is_batch_first = GATES[kind], attributes.get("layout", 0)
    inputs: list[Any] = [F(2, 3, 3) if is_batch_first else F(3, 2, 3), F(directions, 4 * gates, 3)]
    state = F(2, directions, 4) if is_batch_first else F(directions, 2, 4)
    inputs += [F(directions, 4 * gates, 4), F(directions, 8 * gates) if states else None]
    inputs += [None if lengths is None else np.array(lengths, np.int32)]
    inputs += [state if states else None] * (2 if kind == "LSTM" else 1)
    if peepholes:
        inputs.append(F(directions, 12))
    told = {"direction": DIRECTIONS[directions], **attributes}
    return row(
        kind, *inputs, outputs=3 if kind == "LSTM" else 2, attributes={"hidden_size": 4, **told},
        domain=(-0.9, 0.9), is_symbolic=False, max_step=1e-4, note=f"states {states} lengths {lengths}",
    )  # fmt: skip


def with_activations(kind: str, *names: str, **parameters: Any) -> Row:
    return recurrent(kind, activations=list(names), **parameters)


ALPHAS = {"activation_alpha": [0.3, 0.4, 0.6], "activation_beta": [0.7, 0.5]}

RECURRENT = [
    *(recurrent(kind, states=states) for kind in GATES for states in (True, False)),
    recurrent("GRU", linear_before_reset=1),
    recurrent("LSTM", peepholes=True, input_forget=1),
    *(recurrent(kind, directions=2, lengths=(1, 3)) for kind in GATES),
    recurrent("GRU", lengths=(2, 0), direction="reverse", linear_before_reset=1),
    recurrent("LSTM", lengths=(0, 2), direction="reverse", layout=1, peepholes=True),
    recurrent("RNN", layout=1, directions=2),
    *(recurrent(kind, clip=0.5) for kind in GATES),
    with_activations("RNN", "Elu", "ThresholdedRelu", directions=2, activation_alpha=[0.3, 0.1]),
    with_activations("GRU", "HardSigmoid", "Softsign", **ALPHAS),
    with_activations("LSTM", "HardSigmoid", "ScaledTanh", "Affine", **ALPHAS),
]
