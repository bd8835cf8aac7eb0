"""scipy.signal.lfilter by blocks of samples: SciPy's values, at least its accuracy, and gradients."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(5)
SIGNAL = random.standard_normal(200)
ROWS = random.standard_normal((2, 70))
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


def exactly(b: Any, a: Any, x: Any) -> Any:
    """The filter in 60 digits."""
    with localcontext(prec=60):
        forth, back, given = ([Decimal(float(v)) for v in side] for side in (b, a, x))
        found: list[Decimal] = []
        for t in range(len(given)):
            total = sum(w * given[t - j] for j, w in enumerate(forth) if j <= t)
            total -= sum((w * found[t - j] for j, w in enumerate(back) if 1 <= j <= t), Decimal(0))
            found.append(total / back[0])
        return np.array([float(v) for v in found])


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["noise", "what makes little noise"])
@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_is_as_accurate_as_scipys(name: str, kind: str, dtype: Any) -> None:
    b, a = (np.asarray(v, dtype) for v in FILTERS[name])
    x = SIGNAL[:120].astype(dtype)
    if kind != "noise":
        x = scipys.lfilter(a, b[:1], x).astype(dtype)
    right = exactly(b, a, x)
    scipys_own = np.abs(scipys.lfilter(b, a, x) - right).max()
    for found in (ps.trace(lambda x: scipys.lfilter(b, a, x), x)(x), ps.trace(scipys.lfilter, b, a, x)(b, a, x)):
        assert found.dtype == dtype
        assert np.abs(found - right).max() <= 8 * scipys_own + 4 * np.finfo(dtype).eps * np.abs(right).max()


@pytest.mark.parametrize("name", ["order 1", "poles closer than blocks allow", "more zeros than poles", "no poles"])
def test_a_signal_of_any_length_continues_from_a_state(name: str) -> None:
    b, a = (np.asarray(v) for v in FILTERS[name])
    state = random.standard_normal(max(len(b), len(a)) - 1)
    spec = ps.spec("float64", ["N"])
    program = ps.trace(lambda x, z: scipys.lfilter(b, a, x, zi=z), spec, state)
    for count in (1, 2, 63, 64, 65, 130):
        x = SIGNAL[:count]
        for one, scipys_own in zip(program(x, state), scipys.lfilter(b, a, x, zi=state), strict=True):
            np.testing.assert_allclose(one, scipys_own, rtol=1e-5, atol=1e-12)


def test_a_signal_without_samples_leaves_the_state() -> None:
    b, a = FILTERS["order 4"]
    state = SIGNAL[:4]
    program = ps.trace(lambda x, z: scipys.lfilter(b, a, x, zi=z), ps.spec("float64", ["N"]), state)
    filtered, last = program(SIGNAL[:0], state)
    assert filtered.shape == (0,)
    np.testing.assert_array_equal(last, state)


@pytest.mark.sweep(10)
@pytest.mark.parametrize("name", ["order 4", "more zeros than poles", "no poles", "a pole outside"])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_gradients_of_a_filter_are_right(name: str, axis: int) -> None:
    b, a = (np.asarray(v) for v in FILTERS[name])
    x = ROWS if axis else ROWS.T
    shape = [2, 2]
    shape[axis] = max(len(b), len(a)) - 1
    check_grads(lambda b, a, x, z: scipys.lfilter(b, a, x, axis, z), b, a, x, random.standard_normal(shape))


def test_second_derivatives_of_a_filter_are_right() -> None:
    b, x = np.array([0.2, 0.1]), SIGNAL[:40]
    slope = ps.grad(lambda a: np.sum(scipys.lfilter(b, a, x) ** 2))
    check_grads(lambda a: slope(a), np.array([1.5, -0.6, 0.3]))


def test_a_complex_signal_is_filtered_by_its_parts() -> None:
    b, a = FILTERS["order 4"]
    z, state = ROWS[0] + 1j * ROWS[1], np.array([0.1j, 0.2, 0.3 + 1j, 0.0])
    found = ps.trace(lambda z, s: scipys.lfilter(b, a, z, zi=s), z, state)(z, state)
    for one, scipys_own in zip(found, scipys.lfilter(b, a, z, zi=state), strict=True):
        np.testing.assert_allclose(one, scipys_own, rtol=1e-12, atol=1e-14)


def test_filters_in_a_batch_are_those_of_each_example() -> None:
    b = np.array([0.3, 0.2])
    a = np.array([[1.0, -0.5, 0.2], [2.0, 0.4, -0.1]])
    found = ps.vmap(lambda a, x: scipys.lfilter(b, a, x))(a, ROWS)
    scipys_own = [scipys.lfilter(b, each, x) for each, x in zip(a, ROWS, strict=True)]
    np.testing.assert_allclose(found, np.stack(scipys_own), rtol=1e-12)
