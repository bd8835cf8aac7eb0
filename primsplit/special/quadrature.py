"""Gauss quadrature on [0, 1] with powers of the distances from both ends as weights, computed in NumPy."""

import functools
import math

import numpy as np


@functools.cache
def gauss_jacobi(count: int, at_zero: float, at_one: float) -> tuple[tuple[float, float], ...]:
    """Nodes and weights of the integral of s**at_zero (1 - s)**at_one f(s) over [0, 1]; both powers are above -1.

    G. H. Golub and J. H. Welsch, Calculation of Gauss Quadrature Rules, Math. Comp. 23 (1969); the recurrence is that
    of NIST Digital Library of Mathematical Functions, 18.9.2, moved to [0, 1].
    """
    a, b = at_one, at_zero
    k = np.arange(1.0, count)
    middle = 2 * k + a + b
    diagonal = np.append((b - a) / (a + b + 2), (b * b - a * a) / (middle * (middle + 2)))
    first = 4 * (a + 1) * (b + 1) / ((a + b + 2) ** 2 * (a + b + 3))
    n, middle = k[1:], middle[1:]
    rest = 4 * n * (n + a) * (n + b) * (n + a + b) / (middle**2 * (middle + 1) * (middle - 1))
    beside = np.sqrt(np.append(first, rest)) / 2
    nodes, vectors = np.linalg.eigh(np.diag((diagonal + 1) / 2) + np.diag(beside, 1) + np.diag(beside, -1))
    total = math.gamma(a + 1) * math.gamma(b + 1) / math.gamma(a + b + 2)
    return tuple(zip(map(float, nodes), map(float, total * vectors[0] ** 2), strict=True))
