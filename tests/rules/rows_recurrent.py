"""Rows of the recurrent layers: sequences of 3 steps, 2 at a time, from 3 numbers to 4."""

from typing import Any

from tests.rules.row import F, Row, row

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(
    kind: str, *, directions: int = 1, states: bool = True, peepholes: bool = False, **attributes: Any
) -> Row:
    """A row with or without the optional inputs. The second derivative is refused: see test_recurrent.py."""
    gates = GATES[kind]
    inputs: list[Any] = [F(3, 2, 3), F(directions, 4 * gates, 3), F(directions, 4 * gates, 4)]
    if states:
        state = F(directions, 2, 4)
        inputs += [F(directions, 8 * gates), None, *[state] * (2 if kind == "LSTM" else 1)]
    if peepholes:
        inputs.append(F(directions, 12))
    return row(
        kind, *inputs, outputs=3 if kind == "LSTM" else 2, attributes={"hidden_size": 4, **attributes},
        domain=(-0.9, 0.9), is_symbolic=False, first_order_only=True,
        only=["form", "closed", "differences"], note=f"{directions} directions, states {states}",
    )  # fmt: skip


RECURRENT = [
    *(recurrent(kind, states=states) for kind in ("RNN", "LSTM") for states in (True, False)),
    *(recurrent("GRU", states=states, linear_before_reset=linear) for states in (True, False) for linear in (0, 1)),
    recurrent("LSTM", peepholes=True),
]
