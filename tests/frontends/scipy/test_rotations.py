"""scipy.spatial.transform.Rotation of traced numbers: SciPy's values, and gradients, at and near no rotation too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

R = Rotation
random = np.random.default_rng(3)
VECTOR, VECTORS, QUATS = random.standard_normal(3), random.standard_normal((4, 3)), random.standard_normal((4, 4))
MATRICES = R.from_quat(QUATS).as_matrix() + 0.1 * random.standard_normal((4, 3, 3))
FIXED = R.from_euler("xyz", [0.3, 0.2, -0.4])
ANGLES = np.array([0.3, -0.4, 1.2])

ONE: dict[str, tuple[Callable[..., Any], Any]] = {
    "matrix": (lambda v: R.from_rotvec(v).as_matrix(), VECTOR),
    "matrices": (lambda v: R.from_rotvec(v, degrees=True).as_matrix(), 50 * VECTORS),
    "no rotation": (lambda v: R.from_rotvec(v).as_matrix(), np.zeros(3)),
    "small rotations": (lambda v: R.from_rotvec(v).as_rotvec(), 0.1 * VECTORS),
    "large rotations": (lambda v: R.from_rotvec(2 * v).as_rotvec(degrees=True), VECTORS),
    "quaternions": (lambda q: R.from_quat(q).as_quat(), QUATS),
    "canonical ones": (lambda q: R.from_quat(q).as_quat(canonical=True), QUATS),
    "the scalar first": (lambda q: R.from_quat(q, scalar_first=True).as_quat(scalar_first=True), QUATS[0]),
    "a mean": (lambda q: R.from_quat(q).mean().as_matrix(), QUATS),
    "a weighted mean": (lambda q: R.from_quat(q[:3]).mean(weights=[1.0, 0.5, 2.0]).as_matrix(), QUATS),
    "vectors of quaternions": (lambda q: R.from_quat(q).as_rotvec(), QUATS),
    "parameters": (lambda v: R.from_mrp(0.5 * v).as_mrp(), VECTORS),
    "an angle": (lambda a: R.from_euler("x", a[0]).as_matrix(), ANGLES),
    "an angle in a row": (lambda a: R.from_euler("z", a[1:2]).as_quat(), ANGLES),
    "columns of one axis": (lambda a: R.from_euler("y", a[:, None], degrees=True).as_quat(), 50 * ANGLES),
    **{
        f"angles {seq}": (lambda a, s=seq: R.from_euler(s, a[: len(s)]).as_quat(), ANGLES)
        for seq in ("zx", "XZ", "xyz", "ZYX", "zxz", "YXY")
    },
    "rows of angles": (lambda v: R.from_euler("ZYX", v).as_matrix(), VECTORS),
    **{
        f"as {seq}": (lambda q, s=seq: R.from_quat(q).as_euler(s), QUATS)
        for seq in ("xyz", "ZYX", "zxz", "YXY", "zyx", "XYZ")
    },
    "as degrees": (lambda v: R.from_rotvec(v).as_euler("xyz", degrees=True), VECTOR),
    "of matrices": (lambda m: R.from_matrix(m).as_quat(), MATRICES),
    "of a matrix": (lambda m: R.from_matrix(m).as_rotvec(), FIXED.as_matrix()),
    "of valid matrices": (
        lambda v: R.from_matrix(R.from_rotvec(3 * v).as_matrix(), assume_valid=True).as_quat(canonical=True), VECTORS
    ),
    "sizes": (lambda v: R.from_rotvec(v).magnitude(), VECTORS),
    "backwards": (lambda v: R.from_rotvec(v).inv().as_matrix(), VECTORS),
    "of a known one": (lambda v: (FIXED * R.from_rotvec(v)).as_quat(), VECTORS),
    "after a known one": (lambda v: (R.from_rotvec(v) * FIXED).as_quat(), VECTORS),
    "powers": (lambda v: (R.from_rotvec(v) ** 2.5 * R.from_rotvec(v) ** -1 * R.from_rotvec(v) ** 1).as_quat(), VECTORS),
    "a traced power": (lambda v: (FIXED ** v[0]).as_matrix(), VECTOR),
    "known, of vectors": (lambda v: FIXED.apply(v), VECTORS),
    "some": (lambda v: R.from_rotvec(v)[1:].as_quat() + R.from_rotvec(v)[0].as_quat(), VECTORS),
    "joined": (lambda v: R.concatenate([R.from_rotvec(v[0]), FIXED, R.from_rotvec(v)]).as_matrix(), VECTORS),
    "one by one": (lambda v: sum(r.apply([1.0, 2.0, 3.0]) for r in R.from_rotvec(v)), VECTORS),
    "a question": (
        lambda v: R.from_rotvec(v).as_quat() * isinstance(R.from_rotvec(v), Rotation) * R.from_rotvec(v).single, VECTOR
    ),
}  # fmt: skip

TWO: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "a vector": (lambda v, x: R.from_rotvec(v).apply(x), VECTOR, VECTORS[0]),
    "vectors": (lambda v, x: R.from_rotvec(v).apply(x), VECTOR, VECTORS),
    "back": (lambda v, x: R.from_rotvec(v).apply(x, inverse=True), VECTORS, VECTORS[::-1]),
    "one vector, many rotations": (lambda v, x: R.from_rotvec(v).apply(x), VECTORS, VECTOR),
    "products": (lambda v, x: (R.from_rotvec(v) * R.from_rotvec(x)).as_matrix(), VECTORS, VECTOR),
    "best": (lambda v, x: R.align_vectors(v, x)[0].as_matrix(), VECTORS, VECTORS[::-1]),
    "best of axes": (lambda v: R.align_vectors(v, R.from_rotvec(VECTOR).as_matrix())[0].as_matrix(), np.eye(3)),
    "best of weights": (lambda v, x: R.align_vectors(v, VECTORS, weights=x * x)[1], QUATS[:, :3], QUATS[0]),
}


def agree(found: Any, wanted: Any) -> None:
    assert (np.shape(found), np.asarray(found).dtype.name) == (np.shape(wanted), "float64")
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


LONG = {"of matrices", "as zyx", "as XYZ", "as zxz", "angles zxz", "angles xyz"}
"""Conversions at any number of rotations, and orders of axes like those of other rows: slow tests."""


@pytest.mark.sweep(36)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in ONE])
def test_rotations_are_scipys_with_gradients(name: str) -> None:
    f, x = ONE[name]
    agree(ps.trace(f, x.astype(np.float32))(x.astype(np.float32)), f(x.astype(np.float32)))
    check_grads(f, x, symbolic=False, order=1)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", TWO)
def test_what_rotations_do_is_scipys_with_gradients(name: str) -> None:
    f, *given = TWO[name]
    check_grads(f, *given, symbolic=False)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", ["matrices", "quaternions", "as xyz", "of matrices", "sizes", "powers"])
def test_one_file_serves_every_number_of_rotations(name: str) -> None:
    f, x = ONE[name]
    program = ps.trace(f, ps.spec("float64", ["N", *x.shape[1:]]))
    for count in (4, 1, 0):
        agree(program(x[:count]), f(x[:count]))
    check_grads(lambda x: f(x), x[:2], resize=())


def test_locked_angles_are_scipys() -> None:
    locked = R.from_euler("xyz", [[0.3, np.pi / 2, 0.2], [0.3, -np.pi / 2, 0.2]]).as_quat()
    for seq in ("xyz", "XYZ", "zyx"):
        wanted = R.from_quat(locked).as_euler(seq, suppress_warnings=True)
        agree(ps.trace(lambda q, s=seq: R.from_quat(q).as_euler(s), locked)(locked), wanted)


def test_what_cannot_be_is_told_at_the_users_line() -> None:
    for error, told, function in (
        (ShapeError, "shape", lambda x: R.from_rotvec(R.from_rotvec(x).as_rotvec()[:2]).as_matrix()),
        (ShapeError, "have shape", lambda x: R.from_rotvec(x[:2]).as_matrix()),
        (ShapeError, "have shape", lambda x: R.from_euler("xyz", R.from_rotvec(x).as_rotvec()[:2]).as_matrix()),
        (UnsupportedFunction, "reduce", lambda x: R.from_rotvec(x[None]).reduce()),
        (
            UnsupportedFunction,
            "of one vector",
            lambda x: R.align_vectors(R.from_rotvec(x).as_rotvec()[None], VECTOR[None])[1],
        ),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, VECTOR)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__


def test_a_known_rotation_that_changes_is_read_again() -> None:
    known = R.from_rotvec(VECTORS)
    turned = ps.grad(lambda x: np.sum(known.apply(x)))
    before = turned(VECTOR)
    known[0] = R.identity()
    assert np.abs(turned(VECTOR) - before).max() > 0.1
    np.testing.assert_allclose(turned(VECTOR), known.as_matrix().sum(axis=(0, 1)), rtol=1e-12)
