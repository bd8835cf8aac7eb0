"""Rules of Scan and Loop: what a pullback reads, which way it goes, and steps counted by number or by condition."""

from typing import Any

import numpy as np

import primsplit as ps


def test_the_steps_of_a_loop_read_their_number() -> None:
    def f(x: Any, n: Any) -> Any:
        return ps.fori_loop(2, n, lambda i, c: c + x**i, np.float64(0.0))

    gradient = ps.split(f, ps.spec("float64", []), ps.spec("int64", []), wrt=0).joint()
    for n in (2, 3, 6):
        value, slope = gradient(np.float64(1.5), np.int64(n))
        np.testing.assert_allclose(value, sum(1.5**i for i in range(2, n)))
        np.testing.assert_allclose(slope, sum(i * 1.5 ** (i - 1) for i in range(2, n)))
