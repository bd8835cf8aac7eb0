"""Lambert's W of complex numbers: SciPy's values on the plane and on its cuts, with derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.special.plane import PLANE, N


@pytest.mark.sweep(2)
@pytest.mark.parametrize("branch", [0, -1, 1, -3])
def test_lamberts_function_is_scipys_on_the_plane_with_derivatives(branch: int) -> None:
    def f(x: Any, y: Any) -> Any:
        found = sp.lambertw(x + 1j * y, branch)
        return found.real, found.imag

    program = ps.trace(lambda z: sp.lambertw(z, branch), N)
    edges = np.array([0, -0.2, -1, 1, complex(-0.2, -0.0), complex(-1, -0.0), 1e-300])
    for z in (PLANE, edges, PLANE[:0]):
        np.testing.assert_allclose(program(z), sp.lambertw(z, branch), rtol=1e-14, atol=1e-280)
    check_grads(f, np.array([0.3, -0.8, 4.0]), np.array([0.1, 0.6, -3.0]), symbolic=False)
