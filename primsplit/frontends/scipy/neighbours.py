"""scipy.spatial's neighbour search with traced points: every distance is computed and compared."""

import operator
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, of_length
from primsplit.numpy import failing
from primsplit.numpy.axes import reaching
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

UNBOUNDED = ValueError("data must be finite, check for nan or inf values")
ENDLESS = ValueError("'x' must be finite, check for nan or inf values")


class Neighbours:
    """The KDTree for points [count, axes]; `boxsize` makes them periodic.

    Of points that are as far the earlier comes first. Distances have a gradient, which is 0 where they are 0; which
    points are meant has none.
    """

    def __init__(
        self,
        data: Any,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Any = None,
    ) -> None:
        self.data: Any = failing.finite(array_like(double(data)), UNBOUNDED)
        self.n, self.m = self.data.shape
        self.boxsize = boxsize

    def _distances(self, points: Any, others: Any, p: Any) -> Any:
        apart = of_length(points, self.m) - others
        if self.boxsize is not None:
            period = np.asarray(self.boxsize, float)
            safe = np.where(period > 0, period, 1.0)
            apart = apart - period * np.round(apart / safe)  # a period of 0 is none
        return np.linalg.norm(apart, ord=p, axis=-1)

    def query(
        self, x: Any, k: Any = 1, eps: Any = 0.0, p: Any = 2.0, distance_upper_bound: Any = np.inf, workers: int = 1
    ) -> tuple[Any, Any]:
        """The distances to the k nearest points, and their places; no axis for one alone.

        A run with fewer points fails. Raises UnsupportedFunction for `eps`, a bound, or a list of ranks.
        """
        count = operator.index(k)
        if eps or distance_upper_bound != np.inf or count < 1 or (isinstance(self.n, int) and self.n < count):
            raise unsupported("KDTree.query with eps, a bound, or of more points than there are,")
        data = reaching(self.data, 0, count)
        points: Any = failing.finite(array_like(double(x)), ENDLESS)
        found = self._distances(points[..., None, :], data, p)
        nearest = np.argsort(found, axis=-1, kind="stable")[..., :count]
        distances = np.take_along_axis(found, nearest, axis=-1)
        return (distances[..., 0], nearest[..., 0]) if count == 1 else (distances, nearest)

    def query_pairs(self, r: Any, p: Any = 2.0, eps: Any = 0.0, output_type: str = "set") -> Any:
        """The places [pairs, 2] of points that are no further apart than `r`, the lower one first, in ascending order.

        Raises UnsupportedFunction for a set, whose size only the run knows, and for `eps`.
        """
        if output_type != "ndarray" or eps:
            raise unsupported('KDTree.query_pairs without output_type="ndarray", or with eps,')
        near = self._distances(self.data[:, None, :], self.data[None, :, :], p) <= r
        return np.argwhere(np.triu(near, 1))
