"""Functions with complex results: Hankel's of positive numbers, as SciPy has them."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.numpy.agreement import check_grads


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", ["hankel1", "hankel2", "hankel1e", "hankel2e"])
def test_hankels_functions_of_positive_numbers_are_scipys(name: str) -> None:
    function = getattr(sp, name)

    def f(x: Any) -> Any:
        found = [function(order, x) for order in (0, 1, 2.5)]
        return tuple(p for z in found for p in (z.real, z.imag))

    x = np.array([0.3, 1.7, 12.0])
    check_grads(f, x)
    narrow = x.astype(np.float32)
    found, wanted = ps.trace(lambda x: function(1, x), narrow)(narrow), function(1, narrow)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert np.isnan(ps.trace(lambda x: function(1, x), x)(-x)).all()


@pytest.mark.parametrize("args", [(1.0 + 1.0j, 2.0), (1.0 + 0.0j, 2.0 + 0.0j), (1.0, 2.0 + 1.0j)])
def test_hankels_functions_of_complex_orders_or_arguments_are_refused(args: tuple[complex, complex]) -> None:
    order, x = map(np.asarray, args)
    for function in (lambda order, x: sp.hankel1(order, x), lambda order, x: sp.hankel1(args[0], x)):
        with pytest.raises(PrimsplitError):
            ps.trace(function, order, x)
