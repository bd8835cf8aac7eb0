"""Linear difference equations, solved by blocks of samples or by samples: SciPy's values, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.frontends.scipy import all_pole
from primsplit.testing import check_grads

random = np.random.default_rng(5)

SIGNAL = random.standard_normal(200)

POLES = np.array([0.9, 0.5 + 0.6j, 0.5 - 0.6j, -0.95, 0.2])

FILTERS: dict[str, tuple[Any, Any]] = {
    "order 1": scipys.butter(1, 0.3),
    "order 4": scipys.butter(4, 0.3),
    "poles close together": scipys.butter(4, 0.05),
    "poles closer than blocks allow": scipys.butter(8, 0.05),
    "a notch": scipys.iirnotch(0.1, 30),
    "more zeros than poles": ([0.3, -0.2, 0.5, 0.1], [2.0, -0.8]),
    "no zeros": ([1.0], np.poly(POLES).real),
    "an integrator": ([1.0], [1.0, -1.0]),
    "a double integrator": ([1.0], [1.0, -2.0, 1.0]),
    "a pole outside": ([1.0], [1.0, -1.05]),
    "a pole far outside": ([1.0, 0.5], [1.0, -2.5, 1.0]),
    "no poles": ([1.0, 0.5, 0.25], [2.0]),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", sorted(FILTERS.keys() - {"poles closer than blocks allow"}))
def test_a_filter_goes_by_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are right where going by samples would make them 0."""
    monkeypatch.setattr(all_pole, "by_samples", lambda back, x: x * 0.0)
    b, a = FILTERS[name]

    def filtered(x: Any) -> Any:
        return scipys.lfilter(b, a, x)

    all_pole.all_pole.bodies.clear()
    np.testing.assert_allclose(ps.trace(filtered, SIGNAL)(SIGNAL), filtered(SIGNAL), rtol=1e-6)
    all_pole.all_pole.bodies.clear()


@pytest.mark.parametrize("sample", [np.nan, np.inf])
def test_samples_before_one_that_is_not_finite_are_scipys(sample: float) -> None:
    x = SIGNAL.copy()
    x[70] = sample
    b, a = FILTERS["order 4"]
    found = ps.trace(lambda x: scipys.lfilter(b, a, x), x)(x)
    np.testing.assert_allclose(found, scipys.lfilter(b, a, x), rtol=1e-12)
    assert np.isfinite(found[:70]).all()


def test_a_signal_that_decays_to_denormal_numbers_goes_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_pole, "by_samples", lambda back, x: x * 0.0)
    all_pole.all_pole.bodies.clear()
    b, a = scipys.butter(2, 0.5)
    impulse = np.eye(1, 1600)[0]
    found = ps.trace(lambda x: scipys.lfilter(b, a, x), impulse)(impulse)
    np.testing.assert_allclose(found, scipys.lfilter(b, a, impulse), rtol=1e-12, atol=1e-300)
    all_pole.all_pole.bodies.clear()


def test_the_gradients_of_a_filter_that_goes_by_samples_are_right() -> None:
    b, a = FILTERS["poles closer than blocks allow"]
    check_grads(lambda x: scipys.lfilter(b, a, x), SIGNAL[:70], value_tolerance=1e-7, tolerance=1e-4)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_a_solution_satisfies_its_equation(length: int) -> None:
    """`y[t] = x[t] - a1 y[t-1] - a2 y[t-2]`, from samples before the first that are 0."""
    back, x = np.array([-0.9, 0.2]), SIGNAL[:length].reshape(1, -1)
    y = ps.trace(lambda b, x: all_pole.all_pole(b, x), back, ps.spec("float64", [1, "N"]))(back, x)
    late = np.concatenate([np.zeros((1, 2)), y], axis=1)
    np.testing.assert_allclose(y + back[0] * late[:, 1:-1] + back[1] * late[:, :-2], x, rtol=1e-12, atol=1e-12)


def test_delayed_rows_begin_with_zeros() -> None:
    found = ps.trace(lambda x: all_pole.delayed(x, 2), SIGNAL[None, :4])(SIGNAL[None, :4])
    np.testing.assert_array_equal(found, [[np.r_[np.zeros(j), SIGNAL[: 4 - j]]] for j in (1, 2)])
