"""A check of a function whose runs take long compares along few directions, and finds wrong gradients all the same."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import hurried, verdicts
from primsplit.testing.verdicts import FileCheck

random = np.random.default_rng(0)
POINT: dict[str, Any] = {f"w{i}": random.standard_normal(20) for i in range(12)}


def loss(params: Any) -> Any:
    return sum(10.0**-i * np.sum(np.maximum(np.sin(params[f"w{i}"]), 0.1)) for i in range(6)) + np.sum(
        np.tanh(params["w6"] * params["w7"]) * params["w8"] + params["w9"] ** 3 + params["w10"] * params["w11"]
    )


def rows(wrong: str = "") -> dict[str, Any]:
    """The rows of gradients by name; that of one input is a hundredth too large."""
    made = ps.split(loss, POINT)
    joint = made.joint()

    def file(arrays: Any) -> Any:
        found = dict(zip(joint.outputs, joint.session().run({n: arrays[n] for n in joint.inputs}), strict=True))
        return {n: 1.01 * a if n == f"d_params.{wrong}" else a for n, a in found.items()}

    return {r.name: r for r in FileCheck(made, loss, ((POINT,), {}), file).rows() if r.name.startswith("d_")}


@pytest.fixture(params=[True, False])
def hurry(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there is time for one direction alone, along which all gradients are compared at once."""
    monkeypatch.setattr(verdicts, "is_long", lambda *_: True)
    monkeypatch.setattr(hurried, "LONG", 1e-9 if request.param else 1e3)
    return bool(request.param)


def test_right_gradients_are_confirmed_along_few_directions(hurry: bool) -> None:
    found = rows()
    assert {r.verdict for r in found.values()} == {"ok"}
    told = [r.note for r in found.values() if "direction" in r.note]
    assert len(told) >= 8
    assert {note.startswith("all gradients") for note in told} == {hurry}


@pytest.mark.parametrize("wrong", ["w0", "w5", "w7", "w11"])
def test_a_wrong_gradient_is_found_among_right_ones(wrong: str, hurry: bool) -> None:
    """Also where its part of the value is 1e-5 of the others'."""
    assert {name for name, r in rows(wrong).items() if r.verdict != "ok"} == {f"d_params.{wrong}"}


def test_short_runs_are_compared_along_many_directions() -> None:
    assert {r.note for r in rows().values()} <= {"", "within rounding", "at a kink"}
