"""NumPy's functions of sizes: grids, tiles and indices of sizes that only the run knows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

TABLE = np.array([0.5, -1.0, 2.0, 0.25])

ON_GRIDS: dict[str, Callable[[Any], Any]] = {
    "mgrid of one axis": lambda x: np.mgrid[: len(x)] * x,
    "mgrid of a size and of traced ends": lambda x: np.mgrid[1 : len(x) + 1 : 2, x.sum() * 0 : 2.0 : 0.5],
    "mgrid with a count": lambda x: np.mgrid[-1:1:5j, 0 : len(x)] * x,
    "ogrid": lambda x: sum(np.ogrid[0 : len(x), 0:3]) * x[:, None],
    "indices": lambda x: np.indices((len(x), 2))[0] * x[:, None],
    "sparse indices": lambda x: np.indices((3, len(x)), dtype=float, sparse=True)[1] * x,
    "fromfunction": lambda x: np.fromfunction(lambda i, j, p: i * j + p, (2, x.shape[0]), p=0.5) * x,
    "broadcast_to": lambda x: np.broadcast_to(np.arange(2.0), (len(x), 2)) * x[:, None],
    "broadcast_to of complex numbers": lambda x: np.abs(np.broadcast_to(np.eye(2) * 1j, (len(x), 2, 2))).sum() * x,
    "tile": lambda x: np.tile(np.eye(2), (len(x), 1)).sum(axis=1) * np.repeat(x, 2),
    "resize": lambda x: np.resize(TABLE, len(x)) * x,
}


def test_an_error_that_numpy_hides_behind_an_attribute_asks_for_a_second_run() -> None:
    def f(x: Any) -> Any:
        return np.mgrid[0 : x.shape[0], 0 : x.shape[1]].sum() + x.sum()

    assert ps.trace(f, ps.spec("float64", ["N", "M"]))(np.zeros((2, 3))) == 9.0


def test_a_size_that_numpy_cannot_take_is_told_at_the_users_line() -> None:
    def f(x: Any) -> Any:
        return np.correlate(np.ones(3), np.ones(3), mode=len(x)).sum() + x.sum()

    with pytest.raises(ps.PrimsplitError, match=r"np\.correlate takes no size") as raised:
        ps.trace(f, ps.spec("float64", ["N"]))
    assert "mode=len(x)" in str(raised.value)


@pytest.mark.parametrize("name", ON_GRIDS)
def test_what_takes_a_size_takes_one_that_only_the_run_knows(name: str) -> None:
    f = ON_GRIDS[name]
    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 5):
        x = np.arange(1.0, n + 1)
        assert made(x).dtype == f(x).dtype
        np.testing.assert_allclose(made(x), f(x))
