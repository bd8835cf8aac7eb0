"""Random numbers of gamma and beta distributions, with derivatives in the shapes from the quantile functions.

G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, ACM Trans. Math. Softw. 26 (2000) 363-372,
with so many trials for each element that all of them failing is negligible; M. Figurnov, S. Mohamed and A. Mnih,
Implicit reparameterization gradients, NeurIPS 2018: a number changes with a shape so that its distribution function
stays constant.
"""

import math
from collections.abc import Sequence

import numpy as np

from primsplit.numpy.dense.loop import scan
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.distribution_functions import quantile_slope
from primsplit.special.incomplete_beta import beta_density, beta_shapes_slope
from primsplit.special.incomplete_gamma import gamma_density, gamma_shape_slope
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to

WIDE = np.dtype(np.float64)
"""The dtype of a draw, before it is rounded to the requested dtype.

onnxruntime's generator is linear: two float32 draws with neighbouring seeds, as unseeded operators have, start with
numbers that agree in four digits. A float64 draw uses two numbers of the generator, which hides that.
"""
LEAST = 2.0**-54
"""Smaller numbers between 0 and 1 are replaced by this."""
TRIALS = 12
"""At most one trial in twenty fails, so all fail with a chance of 2e-16; the number is then one near the mean.

They are drawn before a Scan, not in a Loop: onnxruntime starts unseeded draws in the bodies of two loops alike.
"""

Seeds = Sequence[float | None]


def log_gamma_draw(a: Array, seeds: Seeds) -> Array:
    """The logarithms of gamma variables of float64 shapes; NaN for shapes not above 0. It takes three seeds.

    For a shape below 1, a draw of that shape plus 1 is multiplied by a power of a uniform number (section 6 of
    Marsaglia and Tsang).
    """
    defined, is_small = op.And(a > 0.0, a < math.inf), a < 1.0
    d = op.Where(defined, op.Where(is_small, a + 1.0, a), 1.0) - 1 / 3
    width = op.Reciprocal(op.Sqrt(d * 9.0))

    def trial(waiting: Array, found: Array, normal: Array, chance: Array) -> tuple[list[Array], list[Array]]:
        side = 1.0 + width * normal
        inside = side > 0.0
        logarithm = 3.0 * op.Log(op.Where(inside, side, 1.0))
        bound = normal * normal * 0.5 + d * (1.0 - side * side * side + logarithm)
        taken = op.And(op.And(inside, chance < bound), waiting)
        return [op.And(waiting, op.Not(taken)), op.Where(taken, logarithm, found)], []

    like = expand_to(op.Unsqueeze(d, [0]), (TRIALS, *d.shape))
    draws = [op.RandomNormalLike(like, dtype=WIDE, seed=seeds[0]), _log_uniform(like, seeds[1])]
    _, found = scan(trial, [op.Equal(d, d), d * 0.0], draws)
    power = _log_uniform(d, seeds[2]) / op.Where(op.And(defined, is_small), a, 1.0)
    return op.Where(defined, found + op.Log(d) + op.Where(is_small, power, 0.0), math.nan)


def _log_uniform(like: Array, seed: float | None) -> Array:
    drawn: Array = op.Log(op.Max(op.RandomUniformLike(like, dtype=WIDE, seed=seed), LEAST))
    return drawn


moved_gamma = unit(
    "gamma_draw",
    lambda a, drawn: op.Identity(drawn),
    lambda dz, a, drawn, z: dz * quantile_slope(gamma_shape_slope(a, z), gamma_density(a, z)),
    None,
)
"""A gamma variable, with its derivative in the shape."""
moved_beta = unit(
    "beta_draw",
    lambda a, b, drawn: op.Identity(drawn),
    lambda dz, a, b, drawn, z: dz * quantile_slope(beta_shapes_slope(a, b, z, 1, 0), beta_density(a, b, z)),
    lambda dz, a, b, drawn, z: dz * quantile_slope(beta_shapes_slope(a, b, z, 0, 1), beta_density(a, b, z)),
    None,
)
"""A beta variable, with its derivatives in the shapes."""
