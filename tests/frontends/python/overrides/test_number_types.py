"""NumPy's number classes where they are called to convert traced numbers."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])


def of_numpys_classes(x: Any) -> Any:
    single, whole = np.float32(x), np.int64(x[1]) + np.uint8(np.bool_(x[2]))
    turned = np.complex64(x[0], x[1]) * np.complex128(2 + 1j) + np.complex128(x[2])
    assert x.dtype.type is np.float64
    assert type(x[0]) is np.float64
    return single * np.float32(0.5), np.float64(single[1]) * whole, np.float64(x) is x, turned.imag, np.double(len(x))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_classes_of_numpy_convert_traced_numbers_where_they_are_called() -> None:
    made = ps.trace(of_numpys_classes, X)(X)
    for found, wanted in zip(made, of_numpys_classes(X), strict=True):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    check_grads(lambda x: np.float64(np.sum(x)) ** 2 * np.float64([x[0], 1.5]), X, symbolic=False, order=1)
    with pytest.raises(ps.PrimsplitError, match=r"np\.matrix has no form for traced arrays"):
        ps.trace(lambda x: np.matrix(x) * 2, X)
    with pytest.raises(ps.PrimsplitError, match=r"Write np\.block\(x\)"):
        ps.trace(lambda x: np.bmat([[np.atleast_2d(x), np.atleast_2d(x)]]), X)
    with pytest.raises(ps.PrimsplitError, match="product of matrices"):
        ps.trace(lambda x: np.bmat(np.atleast_2d(x)), X)
    kinds = ps.trace(lambda x: [kind(x[0]) for kind in (np.float64, np.float32)], X)
    np.testing.assert_array_equal(kinds(X), [X[0], np.float32(X[0])])
