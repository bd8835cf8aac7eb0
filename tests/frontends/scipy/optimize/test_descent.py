"""Steps downhill to a least value: where SciPy's end, on whatever shape of the ground."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

import primsplit as ps


def test_a_valley_is_followed_to_its_end_as_scipy_does() -> None:
    def end(p: Any) -> Any:
        return minimize(lambda x: (p - x[0]) ** 2 + 50 * (x[1] - x[0] ** 2) ** 2, np.array([-1.2, 1.0])).x

    np.testing.assert_allclose(ps.trace(end, np.array(1.3))(np.array(1.3)), [1.3, 1.69], rtol=1e-12)
    np.testing.assert_allclose(ps.jacobian(end)(np.array(1.3)), [1.0, 2.6], rtol=1e-9)


def test_a_start_on_top_of_a_hill_is_left_for_a_minimum() -> None:
    def lowest(p: Any) -> Any:
        return minimize(lambda x: np.cos(p * x[0]) + 0.1 * x[0] ** 2, np.array([0.3])).x[0]

    found = ps.trace(lowest, np.array(2.0))(np.array(2.0))
    np.testing.assert_allclose(found, lowest(2.0), rtol=1e-6)
    np.testing.assert_allclose(-2 * np.sin(2 * found) + 0.2 * found, 0, atol=1e-12)
