"""Rotations of SciPy in converted functions: known and traced ones together."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import primsplit as ps


def test_known_and_traced_rotations_are_rotations_in_a_converted_function() -> None:
    known = Rotation.from_euler("z", 0.5)

    def f(v: Any) -> Any:
        made = Rotation.from_rotvec(v)
        assert isinstance(made, Rotation)
        assert isinstance(known, Rotation)
        assert not isinstance(v, Rotation)
        return known.apply(v), (known * made).as_matrix(), (made * known).as_matrix(), (known**2).as_matrix() * v[0]

    v = np.array([0.1, -0.4, 0.3])
    for found, wanted in zip(ps.trace(f, v)(v), f(v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
