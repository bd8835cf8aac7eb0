"""Large constant matrices are not packed where no product gains by it; what is computed stays right."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.targets import packing
from primsplit.targets.packing import packs_for_nothing

random = np.random.default_rng(0)
WEIGHTS = [random.standard_normal((300, 300)).astype(np.float32) / 17 for _ in range(2)]


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LARGE", sum(w.nbytes for w in WEIGHTS))


def energy(x: Any) -> Any:
    for w in WEIGHTS:
        x = np.tanh(x @ w)
    return np.sum(x**2)


def slope_of(x: Any) -> Any:
    first = np.tanh(x @ WEIGHTS[0])
    second = np.tanh(first @ WEIGHTS[1])
    back = 2 * second * (1 - second**2) @ WEIGHTS[1].T
    return back * (1 - first**2) @ WEIGHTS[0].T


@pytest.mark.parametrize(
    ("shape", "is_idle"),
    [([300], True), ([1, 300], True), ([2, 300], False), ([300, 300], False), ([600, 300], True), (["N", 300], False)],
)
def test_rows_decide_whether_packing_gains(shape: Any, is_idle: bool) -> None:
    program = ps.split(energy, ps.spec("float32", shape)).joint()
    assert packs_for_nothing(program.block) == is_idle
    options = program.session().session.get_session_options()
    if is_idle:
        assert options.get_session_config_entry("session.disable_prepacking") == "1"


def test_small_matrices_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LARGE", 2 * packing.LARGE)
    assert not packs_for_nothing(ps.split(energy, ps.spec("float32", [1, 300])).joint().block)


def test_a_product_that_gains_keeps_all_packed() -> None:
    both = ps.trace(lambda x, z: energy(x) + energy(z), ps.spec("float32", [1, 300]), ps.spec("float32", [8, 300]))
    assert not packs_for_nothing(both.block)


@pytest.mark.parametrize("rows", [1, 8, 512])
def test_gradients_are_right_however_matrices_are_kept(rows: int) -> None:
    x = random.standard_normal((rows, 300)).astype(np.float32)
    gradient = ps.grad(energy)
    for given in (x, 0.5 * x):
        np.testing.assert_allclose(gradient(given), slope_of(given), rtol=1e-4, atol=1e-5)
    assert len(gradient.program(x).session().data) == 2
