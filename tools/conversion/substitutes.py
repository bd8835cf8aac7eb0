"""Python's own functions, and those of NumPy, `math` and SciPy that have substitutes."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats

from tools.conversion.rows import Row, Section


def extremes(x: Any) -> Any:
    return min(x, 1 - x) + max([x, 0.5, x * x], key=abs)


def sorting(x: Any) -> Any:
    first, *_, last = sorted([x, 0.5, -x])
    return first - 2 * last + sum(sorted([x, 0.5], key=lambda v: -v, reverse=True)[:1])


def all_and_any(x: Any) -> Any:
    values = [x, 2 * x, 1.0]
    return x if all(v > 0 for v in values) else 2 * x if any([v > 1 for v in values]) else 3 * x


def length_and_range(x: Any) -> Any:
    return sum(x[k] * k for k in range(len(x)))


def asking_for_a_class(x: Any) -> Any:
    is_number = isinstance(x, float) and not isinstance(x, Iterable)
    return x * x if is_number and type(x) is float else np.sum(x)


def asking_for_an_attribute(x: Any) -> Any:
    return getattr(x, "real", 0.0) if hasattr(x, "real") else 2 * x


def rounding(x: Any) -> Any:
    return x * abs(x) + pow(x, 2) + divmod(x, 0.4)[1] + sum([x, 1.0])


def an_int(x: Any) -> Any:
    return x * int(3 * x)


def a_bool(x: Any) -> Any:
    return x if bool(x > 0) else 2 * x


def a_float(x: Any) -> Any:
    return float(x) * 2


def a_round(x: Any) -> Any:
    return x * round(x)


def a_complex(x: Any) -> Any:
    return abs(complex(x, 2.0))


def walking(x: Any) -> Any:
    pairs = zip(reversed([x, 2.0]), filter(None, [1, 0, 2]), strict=True)
    return sum(a * b for a, b in pairs) + sum(map(lambda v: v * v, [x, 1.0]))


def math_functions(x: Any) -> Any:
    return math.sin(x) * math.exp(x) + math.hypot(x, 2.0) + math.floor(x) * x + math.pi


def numbers_of_numpy(x: Any) -> Any:
    return np.float64(x) * 2 + np.float32(1.5)


def numbers_of_two_parts(x: Any) -> Any:
    return np.abs(np.complex128(x, 2.0))


def a_matrix(x: Any) -> Any:
    return (np.matrix([[x, 1.0], [0.0, x]]) ** 2)[0, 0]


def arrays_of_traced_numbers(x: Any) -> Any:
    rows = np.array([[x, 1.0], [0.0, x * x]])
    filled = np.zeros(2)
    filled[0] = x
    return np.sum(rows @ filled) + np.stack([x, 2 * x])[1]


def vectorized(x: Any) -> Any:
    return np.sum(np.vectorize(lambda v: v if v > 0 else 0.1 * v)(x))


def piecewise(x: Any) -> Any:
    return np.sum(np.piecewise(x, [x > 0], [lambda v: v * v, 0.5]))


def special_functions(x: Any) -> Any:
    return scipy.special.logsumexp([x, 1.0]) + scipy.special.expit(x)


def a_distribution(x: Any) -> Any:
    return scipy.stats.norm.logpdf(x, 0.5, 2.0) + scipy.stats.norm(x).cdf(0.3)


def a_root(x: Any) -> Any:
    return scipy.optimize.brentq(lambda v: v**3 + v - x, -3.0, 3.0)


def a_sum_in_c(x: Any) -> Any:
    return math.fsum([x, 2.0])


SUBSTITUTES = Section(
    "Functions of Python and libraries",
    "A converted function calls substitutes for Python's functions, and for NumPy's, `math`'s and SciPy's that ask an "
    "argument for a number. `primsplit rules NAME` tells of a function whether traced values may be given to it.",
    [
        Row("`min`, `max`", extremes),
        Row("`sorted`", sorting, ifs=2),
        Row("`all`, `any`", all_and_any, ifs=1),
        Row("`len`, `range`", length_and_range, at=[np.array([0.3, -0.7])]),
        Row("`isinstance`, `type`", asking_for_a_class),
        Row("`hasattr`, `getattr`", asking_for_an_attribute),
        Row("`abs`, `pow`, `divmod`, `sum`", rounding),
        Row("`int`", an_int),
        Row("`bool`", a_bool, ifs=1),
        Row("`float`", a_float),
        Row("`round`", a_round),
        Row("`complex`", a_complex),
        Row("`zip`, `map`, `filter`, `reversed`", walking),
        Row("`math`", math_functions),
        Row("`np.float64(x)`", numbers_of_numpy),
        Row("`np.complex128(x)`", numbers_of_two_parts),
        Row("`np.matrix`", a_matrix, refused="np.matrix has no form for traced arrays"),
        Row("`np.array`, `np.zeros`", arrays_of_traced_numbers),
        Row("`np.vectorize`", vectorized, at=[np.array([0.3, -0.7])]),
        Row("`np.piecewise`", piecewise, at=[np.array([0.3, -0.7])]),
        Row("`scipy.special`", special_functions),
        Row("`scipy.stats`", a_distribution),
        Row("`scipy.optimize.brentq`", a_root),
        Row("`math.fsum`", a_sum_in_c),
    ],
)
