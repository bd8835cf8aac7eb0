"""The body of a loop has one carry in all steps: its dtypes meet, its sizes may change, its axes may not."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, TraceError


def test_a_number_starts_a_carry_of_any_dtype() -> None:
    program = ps.trace(lambda xs: ps.scan(lambda c, x: (c + x, c), 0, xs), ps.spec("float32", ["N"]))
    assert [r.type.dtype for r in program.block.results] == [np.float32, np.float32]


@pytest.mark.parametrize(
    ("body", "init", "error", "told"),
    [
        (lambda c, x: c, 0.0, TraceError, "returns a pair"),
        (lambda c, x: (np.stack([c, c]), None), 0.0, ShapeError, "changes the number of axes"),
        (lambda c, x: ((c, c), None), 0.0, TraceError, "nested differently"),
        (
            lambda c, x: (c.astype(np.float32), None),
            np.zeros(2),
            DtypeError,
            r"float32 and float64(.|\n)*before: float64\[2\]\n +after: float32\[2\]",
        ),
    ],
)
def test_a_step_that_makes_another_carry_is_refused(body, init, error, told) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(lambda xs: ps.scan(body, init, xs), ps.spec("float64", ["N"]))
    assert len(str(caught.value).splitlines()) < 10


def test_a_counter_is_promoted_as_a_python_integer_and_keeps_float32() -> None:
    def f(x, n):
        return ps.fori_loop(0, n, lambda i, c: c * 0.5 + i * x, x)

    x = np.ones(2, np.float32)
    assert f(x, 3).dtype == np.float32
    assert ps.trace(f, x, 3)(x, 3).dtype == np.float32
    assert ps.trace(f, x, np.int64(3))(x, np.int64(3)).dtype == np.float32
