"""scipy.spatial.transform's rotations of traced numbers: unit quaternions (x, y, z, w), in float64 as there.

Rotations are smooth at no rotation: sines of a half angle are series of the squared angle, and `from_matrix` takes the
polar factor by Newton's iteration, since a singular value decomposition has no derivative where all values are equal.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import double, of_at_least, of_length
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.dense.orthogonal import factor_with
from primsplit.numpy.dense.singular import reduced_svd, values_with
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import Held, array_like
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = ["Turn"]

MISSING = ("approx_equal", "as_davenport", "reduce")
"""The attributes of SciPy's rotations that rotations of traced numbers lack."""
SMALL = 0.25
"""Up to here functions of a squared angle are summed as series, which have derivatives at 0."""
TERMS = 9
STEPS = 10
"""Of an iteration that squares its error."""


class Turn(Held):
    """A rotation, or an array of rotations, whose quaternions `numbers` [..., 4] are traced."""

    __array_ufunc__ = None

    def __init__(self, numbers: Any) -> None:
        self.numbers: Any = array_like(numbers)

    def read(self) -> Array:
        """The quaternions."""
        found: Array = self.numbers
        return found

    # Ways to tell a rotation.

    @staticmethod
    def from_quat(quat: Any, *, scalar_first: bool = False) -> "Turn":
        """Of quaternions of any size but 0, for which a run fails, as it does for NaN."""
        given = _last(quat, 4, "quat")
        is_some = np.sum(given * given, axis=-1) > 0
        given = refusing(given, np.logical_not(is_some), ValueError("Found zero norm quaternions in `quat`."))
        return Turn(_normal(np.roll(given, -1, axis=-1) if scalar_first else given))

    @staticmethod
    def from_rotvec(rotvec: Any, degrees: bool = False) -> "Turn":
        """Of axes times angles."""
        vector = _last(rotvec, 3, "rotvec") * (math.pi / 180 if degrees else 1.0)
        square = np.sum(vector * vector, axis=-1, keepdims=True)
        return Turn(np.concatenate([vector * _half_sine(square), _half_cosine(square)], axis=-1))

    @staticmethod
    def from_mrp(mrp: Any) -> "Turn":
        """Of axes times the tangent of a quarter of the angle."""
        vector = _last(mrp, 3, "mrp")
        square = np.sum(vector * vector, axis=-1, keepdims=True)
        return Turn(np.concatenate([2.0 * vector, 1.0 - square], axis=-1) / (1.0 + square))

    @staticmethod
    def from_euler(seq: str, angles: Any, degrees: bool = False) -> "Turn":
        """Of angles [..., axes] about one to three axes, "xyz" that stay where they are, or "XYZ" that turn too."""
        given: Any = array_like(double(angles)) * (math.pi / 180 if degrees else 1.0)
        axes = _axes(seq)
        given = _last(given[None] if given.ndim == 0 else given, len(axes), "angles")
        turns = [_about(axis, given[..., i]) for i, axis in enumerate(axes)]
        found = turns[0]
        for turn in turns[1:]:
            found = found * turn if seq.isupper() else turn * found
        return found

    @staticmethod
    def from_matrix(matrix: Any, *, assume_valid: bool = False) -> "Turn":
        """Of matrices [..., 3, 3]: of the orthogonal ones next to them, unless they are said to be such."""
        m = _last(matrix, (3, 3), "matrix")
        told = "Non-positive determinant (left-handed or null coordinate frame) in rotation matrix"
        if not assume_valid:
            m = refusing(m, np.logical_not(np.linalg.det(stop_gradient(m)) > 0), ValueError(told))
        return Turn(_of_orthogonal(m if assume_valid else _orthogonal(m)))

    @staticmethod
    def concatenate(rotations: Iterable[Any]) -> "Turn":
        """One after the other."""
        listed = [of(r).numbers for r in ([rotations] if hasattr(rotations, "as_quat") else rotations)]
        return Turn(np.concatenate([q if q.ndim > 1 else q[None] for q in listed]))

    @staticmethod
    def align_vectors(a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False) -> tuple["Turn", Any]:
        """The rotation that turns `b` best into `a`, and the root of what is left: Kabsch, Acta Cryst. A32 (1976)."""
        first, second = (_last(v, 3, name) for v, name in ((a, "a"), (b, "b")))
        if return_sensitivity or any(v.ndim != 2 or dims.is_one(v.shape[0]) for v in (first, second)):
            raise unsupported("scipy.spatial.transform.Rotation.align_vectors of one vector, or with its sensitivity,")
        first, second = failing.finite(of_at_least(of_length(first, second.shape[0], 0), 2, 0)), failing.finite(second)
        factor: Any = 1.0 if weights is None else _not_negative(array_like(double(weights)))[:, None]
        product: Any = (factor * first).T @ second
        u, s, vt = reduced_svd(product)
        side = np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)
        flip = np.stack([np.ones_like(side), np.ones_like(side), side])
        rest = np.sum(factor * (first**2 + second**2)) - 2.0 * np.sum(values_with(product, u, s, vt) * flip)
        return Turn(_of_orthogonal(factor_with(product, u * flip, s * flip, vt))), np.sqrt(np.maximum(rest, 0.0))

    # What a rotation is asked.

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """The quaternions; the canonical one of two has the scalar that is not negative."""
        q = self._canonical() if canonical else self.numbers
        return np.roll(q, 1, axis=-1) if scalar_first else q

    def _canonical(self) -> Any:
        """The quaternions whose last number that is not 0 is positive, and where the scalar is 0 their first."""
        x, y, z, w = (self.numbers[..., i : i + 1] for i in range(4))
        leading = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
        return np.where(leading < 0, -self.numbers, self.numbers)

    def as_matrix(self) -> Any:
        """Matrices [..., 3, 3]."""
        x, y, z, w = (self.numbers[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Axes times angles from 0 to pi."""
        q = self._canonical()
        vector = q[..., :3] * _double_arcsine(np.sum(q[..., :3] ** 2, axis=-1, keepdims=True), q[..., 3:])
        return vector * (180 / math.pi) if degrees else vector

    def as_mrp(self) -> Any:
        """Axes times the tangent of a quarter of the angle."""
        q = self._canonical()
        return q[..., :3] / (1.0 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """Angles about three axes: E. Bernardes and S. Viollet, PLoS ONE 17 (2022). Of the two that lock one is 0."""
        axes = _axes(seq)
        if len(axes) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        angles = _angles(self.numbers, axes if seq.islower() else axes[::-1], is_extrinsic=seq.islower())
        return angles * (180 / math.pi) if degrees else angles

    def magnitude(self) -> Any:
        """The angles from 0 to pi."""
        size = np.linalg.norm(self.numbers[..., :3], axis=-1)
        return 2.0 * np.arctan2(size, np.abs(self.numbers[..., 3]))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors [..., 3], turned, or turned back."""
        given = _last(vectors, 3, "vectors")
        matrix = self.as_matrix()
        matrix = np.swapaxes(matrix, -1, -2) if inverse else matrix
        if matrix.ndim == 2:
            return given @ matrix.T
        return np.sum(matrix * given[..., None, :], axis=-1)

    # What is made of rotations.

    def inv(self) -> "Turn":
        """The rotation back."""
        return Turn(self.numbers * np.array([-1.0, -1.0, -1.0, 1.0]))

    def __mul__(self, other: Any) -> "Turn":
        """The other rotation first, then this one."""
        p, q = self.numbers, of(other).numbers
        a, b, v, w = p[..., 3:], q[..., 3:], p[..., :3], q[..., :3]
        turned = a * w + b * v + _cross(v, w)
        return Turn(_normal(np.concatenate([turned, a * b - np.sum(v * w, axis=-1, keepdims=True)], axis=-1)))

    def __rmul__(self, other: Any) -> "Turn":
        return of(other) * self

    def __pow__(self, n: Any, modulus: None = None) -> "Turn":
        """The rotation by a multiple of the angle, which may be traced."""
        if isinstance(n, int) and abs(n) == 1:
            return self if n == 1 else self.inv()
        return Turn.from_rotvec(n * self.as_rotvec())

    def mean(self, weights: Any = None) -> "Turn":
        """The rotation with the least weighed sum of squared distances: F. L. Markley et al., JGCD 30 (2007)."""
        rows = self.numbers.reshape((-1, 4))
        weighed = rows if weights is None else rows * _not_negative(array_like(double(weights))).reshape((-1, 1))
        return Turn(np.linalg.eigh(weighed.T @ of_at_least(rows, 1, 0))[1][:, -1])

    @property
    def single(self) -> bool:
        """Whether this is one rotation."""
        return bool(self.numbers.ndim == 1)

    @property
    def shape(self) -> Any:
        """The shape of the array of rotations."""
        return self.numbers.shape[:-1]

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            raise unsupported(f"scipy.spatial.transform.Rotation.{name}")
        raise AttributeError(f"a rotation has no attribute {name!r}")

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return len(self.numbers)

    def __getitem__(self, key: Any) -> "Turn":
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        keys = key if isinstance(key, tuple) else (key,)
        return Turn(self.numbers[(*keys, slice(None)) if any(k is Ellipsis for k in keys) else key])


def of(rotation: Any) -> Turn:
    """A rotation of SciPy's, or one of these."""
    return rotation if isinstance(rotation, Turn) else Turn(np.asarray(rotation.as_quat()))


def _last(value: Any, sizes: int | tuple[int, ...], name: str) -> Any:
    """An array of float64 whose last axes have these sizes, which the run checks where it must. Raises ShapeError."""
    found: Any = array_like(double(value))
    last = (sizes,) if isinstance(sizes, int) else sizes
    lead = found.shape[: -len(last)]
    if found.ndim < len(last) or not all(map(dims.could_be, found.shape[len(lead) :], last)):
        told = ", ".join(("...", *map(str, last)))
        raise ShapeError(f"Expected `{name}` to have shape ({told}), got {found.shape}", place=tracing.user_place())
    for place, size in enumerate(last, start=len(lead)):
        found = of_length(found, size, place)
    return found


def _not_negative(weights: Any) -> Any:
    return refusing(weights, weights < 0, ValueError("`weights` may not contain negative values"))


def _normal(q: Any) -> Any:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _cross(v: Any, w: Any) -> Any:
    """The vector product along the last axis, of shapes that are broadcast."""
    order: Sequence[Sequence[int]] = ([1, 2, 0], [2, 0, 1])
    (p, q), (r, s) = ((x[..., order[0]], x[..., order[1]]) for x in (v, w))
    return p * s - q * r


def _series(square: Any, terms: Sequence[float], function: Callable[[Any], Any]) -> Any:
    """A function of a root that is smooth in its square: by its series where that is small."""
    is_small = square < SMALL
    near: Any = 0.0
    for term in reversed(terms):
        near = near * np.where(is_small, square, 0.0) + term
    return np.where(is_small, near, function(np.sqrt(np.where(is_small, 1.0, square))))


def _half_sine(square: Any) -> Any:
    """sin(a / 2) / a, of a squared."""
    terms = [(-1) ** k / (2 ** (2 * k + 1) * math.factorial(2 * k + 1)) for k in range(TERMS)]
    return _series(square, terms, lambda a: np.sin(0.5 * a) / a)


def _half_cosine(square: Any) -> Any:
    """cos(a / 2), of a squared."""
    terms = [(-1) ** k / (4**k * math.factorial(2 * k)) for k in range(TERMS)]
    return _series(square, terms, lambda a: np.cos(0.5 * a))


def _double_arcsine(square: Any, scalar: Any) -> Any:
    """2 arctan(s / w) / s for w the scalar, not negative, and s the size of the rest, of s squared."""
    terms = [math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(2 * TERMS + 8)]
    return 2.0 * _series(square, terms, lambda s: np.arctan2(s, scalar) / s)


def _axes(seq: str) -> list[int]:
    """The axes of Euler angles. Raises ValueError as SciPy does."""
    named = seq.lower()
    is_known = 1 <= len(seq) <= 3 and set(named) <= set("xyz") and (seq.islower() or seq.isupper())
    if not is_known or any(a == b for a, b in itertools.pairwise(named)):
        raise ValueError(f"Expected axes from `seq` to be up to three of 'xyz' or of 'XYZ', got {seq}.")
    return ["xyz".index(a) for a in named]


def _about(axis: int, angle: Any) -> Turn:
    """The rotation about one of the axes."""
    zero = np.zeros_like(angle)
    numbers = [zero, zero, zero, np.cos(0.5 * angle)]
    numbers[axis] = np.sin(0.5 * angle)
    return Turn(np.stack(numbers, axis=-1))


def _orthogonal(m: Any) -> Any:
    """The orthogonal factor of the polar decomposition by Higham's iteration, SIAM J. Sci. Stat. Comput. 7 (1986).

    It has derivatives there, where equal singular values leave the decomposition none. NaN for mirrored or flat spaces.
    """
    cofactors, volume = _cofactors(m)
    m = m / np.cbrt(np.where(volume > 0, volume, np.nan))
    for _ in range(STEPS):
        cofactors, volume = _cofactors(m)
        m = 0.5 * (m + cofactors / volume)
    return m


def _cofactors(m: Any) -> tuple[Any, Any]:
    """The cofactors of matrices [..., 3, 3], and the determinants [..., 1, 1]."""
    a, b, c = (m[..., i, :] for i in range(3))
    found = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=-2)
    return found, np.sum(a * found[..., 0, :], axis=-1)[..., None, None]


def _of_orthogonal(m: Any) -> Any:
    """The quaternions of orthogonal matrices, by the largest of four numbers: S. W. Shepperd, 1978."""
    d = [m[..., i, i] for i in range(3)]
    trace = d[0] + d[1] + d[2]
    ways = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        numbers: list[Any] = [None] * 4
        numbers[i] = 1.0 - trace + 2.0 * d[i]
        numbers[j], numbers[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
        numbers[3] = m[..., k, j] - m[..., j, k]
        ways.append(np.stack(numbers, axis=-1))
    turned = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1.0 + trace]
    ways.append(np.stack(turned, axis=-1))
    way = np.argmax(np.stack([*d, trace], axis=-1), axis=-1)[..., None]
    found = ways[3]
    for i in range(3):
        found = np.where(way == i, ways[i], found)
    return _normal(found)


LOCKED = 1e-7
"""The largest distance of the middle angle from gimbal lock, where the other two angles are one."""


def _angles(q: Any, axes: Sequence[int], *, is_extrinsic: bool) -> Any:
    """Euler angles of quaternions [..., 4] about axes that stay where they are; else about the reverse."""
    i, j, k = axes
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = q[..., i], q[..., j], q[..., k] * sign, q[..., 3]
    a, b, c, d = (w, x, y, z) if is_symmetric else (w - y, x + z, y + w, z - x)
    middle = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    at_0, at_pi = np.abs(middle) <= LOCKED, np.abs(middle - math.pi) <= LOCKED
    lone = np.where(at_0, 2.0 * half_sum, 2.0 * half_difference * (-1.0 if is_extrinsic else 1.0))
    first, third = half_sum - half_difference, half_sum + half_difference
    first, third = (first, third) if is_extrinsic else (third, first)
    first, third = np.where(at_0 | at_pi, lone, first), np.where(at_0 | at_pi, 0.0, third)
    if not is_symmetric:
        middle = middle - 0.5 * math.pi
        first, third = (first, third * sign) if is_extrinsic else (first * sign, third)
    angles = np.stack([first, middle, third], axis=-1)
    return np.remainder(angles + math.pi, 2.0 * math.pi) - math.pi
