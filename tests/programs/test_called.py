"""Programs that are called while another is recorded."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.array([[1.0, 2.0, 3.0]])


def test_the_ops_of_a_called_program_become_part_of_the_recording() -> None:
    inner = ps.trace(lambda x: np.sin(x) * 2.0, ps.spec("float64", ["N", 3]))
    outer = ps.trace(lambda x: inner(x) + 1.0, X)
    assert [op.kind for op in outer.block.ops] == ["Sin", "Mul", "Add"]
    np.testing.assert_allclose(outer(X), 2 * np.sin(X) + 1, rtol=1e-14)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(inner(x)))(X), 2 * np.cos(X), rtol=1e-14)


@pytest.mark.parametrize("x", [X[:, :2], X[0], X.astype(np.float32)], ids=["size", "rank", "dtype"])
def test_arrays_that_do_not_fit_are_refused_at_the_call(x: Any) -> None:
    inner = ps.trace(lambda x: np.sin(x), ps.spec("float64", ["N", 3]))
    with pytest.raises(ps.PrimsplitError) as raised:
        ps.trace(lambda x: inner(x), x)
    assert raised.value.place is not None
    assert raised.value.place.filename == __file__
