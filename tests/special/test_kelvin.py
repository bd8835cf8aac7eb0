"""Kelvin's functions: mpmath's values, what SciPy gives at the ends, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads

PAIRS = [(sp.ber, sp.bei), (sp.berp, sp.beip), (sp.ker, sp.kei), (sp.kerp, sp.keip)]
EXACT: dict[float, list[complex]] = {
    0.3: [
        0.999873437944946039 + 0.0224996835941504499j, -0.0016874881347756361 + 0.149993671888348378j,
        1.33721863752997694 - 0.733101912294863608j, -3.21986525355393757 + 0.274292098731697688j,
    ],
    5.875: [
        -8.76706423921121196 - 6.03417158092289353j, -1.142887117221011 - 9.96255044313445766j,
        -0.00142292445213826473 + 0.00786931376939242291j, 0.00670430522154129758 - 0.00520552217883051874j,
    ],
    6.125: [
        -8.83407985047786244 - 8.74534493633608039j, 0.706824423169595672 - 11.720646502517032j,
        -0.0000106116179228464242 + 0.00656688635323219916j, 0.00466433047502847715 - 0.00515698186493765109j,
    ],
    700.5: [
        2.65731771991819111e212 - 1.9618256450651369e213j, 1.57493158838240544e213 - 1.1979187740251027e213j,
        2.86852893881258108e-217 + 2.1841375441966713e-217j, -4.85984373543263471e-218 - 3.57433384013228472e-217j,
    ],
}  # fmt: skip
"""mpmath's, of the pairs as complex numbers; SciPy's own are wrong in the tenth digit near x = 10."""


def pairs(x: Any) -> Any:
    """All eight functions, two and two."""
    return np.stack([np.stack([real(x), imaginary(x)]) for real, imaginary in PAIRS])


def test_values_are_right_to_a_few_units_in_the_last_place_of_their_pair() -> None:
    program = ps.trace(pairs, ps.spec("float64", ["N"]))
    found = program(np.array(list(EXACT)))
    for (real, imaginary), wanted in zip(found, zip(*EXACT.values(), strict=True), strict=True):
        np.testing.assert_array_less(np.abs(real + 1j * imaginary - wanted), 4e-15 * np.abs(wanted))
    x = np.linspace(0.0, 25.0, 101)
    np.testing.assert_allclose(program(x)[:2], pairs(x)[:2], rtol=1e-8)
    np.testing.assert_allclose(program(-x)[:2], program(x)[:2] * np.array([1.0, -1.0])[:, None, None])


def test_what_is_special_is_scipys() -> None:
    x = np.array([0.0, -1.0, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(ps.trace(pairs, x)(x), pairs(x))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("place", range(4))
def test_derivatives_agree_with_central_differences(place: int) -> None:
    first, second = PAIRS[place]
    x = np.array([0.0, -0.4, 2.1, 9.4] if place < 2 else [0.4, 2.1, 9.4])
    check_grads(lambda x: np.stack([first(x), second(x)]), x)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kelvin_gives_all_of_them_in_complex_numbers_of_the_dtype(dtype: Any) -> None:
    def parts(x: Any) -> Any:
        return [p for w in sp.kelvin(x) for p in (w.real, w.imag)]

    x = np.array([0.5, 3.0], dtype)
    found = ps.trace(parts, x)(x)
    assert {f.dtype for f in found} == {np.dtype(dtype)}
    np.testing.assert_allclose(found, parts(x), rtol=1e-6)


def test_derivatives_of_kelvin_agree_with_central_differences() -> None:
    check_grads(lambda x: sp.kelvin(x)[0].real * sp.kelvin(x)[3].imag, np.array([1.3]))
