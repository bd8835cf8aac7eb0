"""scipy.spatial.transform.Slerp of traced times and rotations: SciPy's values, and gradients."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import primsplit as ps
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_grads

random = np.random.default_rng(5)
VECTORS = random.standard_normal((4, 3))
TIMES = np.array([0.0, 0.7, 1.0, 2.5])
ASKED = np.array([0.0, 0.3, 1.4, 0.7, 2.5])
KNOWN = Slerp(TIMES, Rotation.from_rotvec(VECTORS))


def of_vectors(v: Any, t: Any) -> Any:
    return Slerp(TIMES, Rotation.from_rotvec(v))(t).as_matrix()


def test_values_are_scipys() -> None:
    for f, args in (
        (of_vectors, (VECTORS, ASKED)),
        (lambda t: KNOWN(t).as_quat(), (ASKED,)),
        (lambda t: KNOWN(t).as_rotvec(), (np.float64(1.4),)),
        (lambda k: Slerp(k, Rotation.from_rotvec(VECTORS))([0.4, 2.0]).as_matrix(), (TIMES,)),
    ):
        np.testing.assert_allclose(ps.trace(f, *args)(*args), f(*args), atol=1e-14)


def test_gradients_agree_with_central_differences() -> None:
    check_grads(lambda t: KNOWN(t).as_matrix(), ASKED[1:3])
    check_grads(lambda v, t, k: Slerp(k, Rotation.from_rotvec(v))(t).as_matrix(), VECTORS[:3], ASKED[1:2], TIMES[:3],
                symbolic=False, order=1)  # fmt: skip


def test_a_time_for_each_rotation_is_asked_for_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="a time for each") as caught:
        ps.trace(lambda v: Slerp([0.0, 1.0], Rotation.from_rotvec(v))(0.3).as_quat(), VECTORS)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
