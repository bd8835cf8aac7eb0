"""SciPy's trees of points in converted functions: known and traced points."""

from typing import Any

import numpy as np
import pytest
import scipy.spatial

import primsplit as ps

SITES = np.random.default_rng(0).standard_normal((6, 2))


@pytest.mark.parametrize("name", ["KDTree", "cKDTree"])
def test_a_tree_is_scipys_of_known_points_and_is_asked_at_traced_ones(name: str) -> None:
    tree = getattr(scipy.spatial, name)

    def f(x: Any) -> Any:
        plain = tree(SITES)
        assert type(plain) is tree
        return tree(x).query(SITES, 2)[0], plain.n * x

    x = SITES[:3] + 0.1
    for found, wanted in zip(ps.trace(f, x)(x), f(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_known_tree_outside_of_the_function_takes_traced_points_and_its_period() -> None:
    for tree in (scipy.spatial.KDTree(SITES), scipy.spatial.KDTree(SITES % 1.0, boxsize=1.0)):

        def f(x: Any, tree: Any = tree) -> Any:
            return tree.query(x, 3)[0]

        x = SITES[:2] % 1.0 * 0.9
        np.testing.assert_allclose(ps.trace(f, x)(x), f(x), rtol=1e-12)
