"""RODAS, a Rosenbrock method for stiff equations, which solves only linear systems with the Jacobian.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd edition, IV.7 and IV.10: L-stable, of order 4, its
error that of order 3. A step's unknowns are k with (I / (0.25 h) - J) k_i = f(t + c_i h, y + sum a_ij k_j) + sum c_ij
k_j / h + h d_i df/dt, and the last of them is both part of the result and its error.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.frontends.scipy.adaptive.runge_kutta import Function, Taken
from primsplit.numpy import failing
from primsplit.numpy.creation import eye
from primsplit.tracing.array import Array
from primsplit.transforms.directions import jacobian_of

GAMMA = 0.25
PLACES: tuple[tuple[float, ...], ...] = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
)
SLOPES: tuple[tuple[float, ...], ...] = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)
TIMES = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
BY_TIME = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
BETWEEN = (
    (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662),
    (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872),
)


class Rodas:
    """The method as `integrate` takes its steps."""

    error_estimator_order = 3

    def taken(self, f: Function, t: Any, y: Array, slope: Array, h: Any) -> Taken:
        """One step of size `h` from `y` at `t`, where the slope is known."""
        _, (by_time, by_place) = jacobian_of(f, (t, y), {}, (0, 1), mode="forward", chunk=None)
        solved: Any = failing.nan_where_singular.inv(eye(y.shape[0]) / (GAMMA * h) - by_place)
        unknowns: list[Array] = [solved @ (slope + BY_TIME[0] * h * by_time)]
        place: Any = y
        for at, slopes, time, share in zip((*PLACES[1:], ()), SLOPES[1:], TIMES[1:], BY_TIME[1:], strict=True):
            place = y + _sum(at, unknowns) if at else place + unknowns[-1]
            there = f(t + time * h, place) + _sum(slopes, unknowns) / h
            unknowns.append(solved @ (there + share * h * by_time if share else there))
        end = place + unknowns[-1]
        return Taken(end, f(t + h, end), lambda: unknowns[-1], lambda: _polynomial(y, end, unknowns, h))


def _polynomial(start: Array, end: Array, unknowns: Sequence[Array], h: Any) -> Any:
    """The coefficients of what is between both ends, by the powers of the share of the step, over `h`."""
    first, second = (_sum(weights, unknowns) for weights in BETWEEN)
    return np.stack([end - start + first, second - first, -second], axis=-1) / h


def _sum(weights: Sequence[float], unknowns: Sequence[Array]) -> Any:
    return sum((w * k for w, k in zip(weights, unknowns, strict=False)), 0.0)
