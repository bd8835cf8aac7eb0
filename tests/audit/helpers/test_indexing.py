"""Reading and writing of elements at places."""

import numpy as np

from primsplit.audit.helpers.indexing import gather_elements, gather_nd, scatter_elements, scatter_nd, slice_along

A = np.arange(12.0).reshape(3, 4)


def test_a_slice_backwards_reaches_the_first_element() -> None:
    np.testing.assert_array_equal(slice_along(A, [2], [-(2**40)], [0], [-2]), A[::-2])
    np.testing.assert_array_equal(slice_along(A, [1, 0], [3, 2]), A[1:3, :2])


def test_elements_at_fewer_places_than_the_array_has() -> None:
    np.testing.assert_array_equal(gather_elements(A, np.array([[3, 0]]), axis=1), [[3.0, 0.0]])
    np.testing.assert_array_equal(gather_nd(A, np.array([[2], [0]])), A[[2, 0]])
    np.testing.assert_array_equal(gather_nd(A, np.array([[1], [0], [3]]), batch_dims=1), [1.0, 4.0, 11.0])


def test_writes_leave_the_array_as_it_is_and_add_up() -> None:
    before = A.copy()
    np.testing.assert_array_equal(
        scatter_nd(A, np.array([[0, 1], [0, 1]]), np.array([1.0, 2.0]), "add")[0], [0.0, 4.0, 2.0, 3.0]
    )
    np.testing.assert_array_equal(scatter_elements(A, np.array([[0, 0]]), np.array([[9.0, 8.0]]))[0], [9, 8, 2, 3])
    found = scatter_elements(A, np.array([[0, 0]]), np.array([[9.0, 8.0]]), axis=1, reduction="min")
    np.testing.assert_array_equal(found[0], [0, 1, 2, 3])
    np.testing.assert_array_equal(A, before)
