"""Roots of polynomials are NumPy's, of the right order and number."""

import numpy as np

from tests.numpy.agreement import session
from tests.numpy.matrices import parts


def test_roots_of_fewer_coefficients_than_there_are_places_are_nan() -> None:
    (found,) = session(lambda p: parts(np.roots(p)), ["N"])(np.array([0.0, 1, 2]))
    assert np.isnan(found).all()
