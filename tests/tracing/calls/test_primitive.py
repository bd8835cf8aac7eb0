"""A function that is one op: what it may read, and its derivative with and without a rule."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit import tracing
from primsplit.ir import NOWHERE, Type
from primsplit.ir.errors import Place, TraceError
from primsplit.testing import check_grads
from primsplit.tracing.array import Array


@ps.primitive
def mean_square(x: Any) -> Any:
    return (x * x).sum() / x.shape[0]


def test_a_primitive_with_a_rule_reads_a_size_that_was_read_around_it() -> None:
    def f(x: Any) -> Any:
        return mean_square(x * x.shape[0]) + mean_square(np.concatenate([x, x]) / (x.shape[0] + 1.0))

    check_grads(f, np.array([0.3, -1.2, 0.8]), resize=(1,))


def test_a_primitive_with_a_rule_reads_no_value_that_is_not_its_argument() -> None:
    def f(x: Any) -> Any:
        @ps.primitive
        def scaled(y: Any) -> Any:
            return y * x

        ps.rrule(scaled)(lambda y: (scaled(y), lambda dz: (dz,)))
        return scaled(x + 1.0)

    with pytest.raises(TraceError, match="reads a traced value that is not an argument") as caught:
        ps.trace(f, np.ones(3))
    assert "test_primitive.py" in str(caught.value)


@ps.primitive
def scaled(x: Any, factor: Any = 0.5) -> Any:
    return x * factor


def test_stop_gradient_blocks_one_path() -> None:
    x = np.array([3.0, 4.0])
    np.testing.assert_array_equal(ps.grad(lambda x: x[0] * ps.stop_gradient(x)[1])(x), [4.0, 0.0])


def test_what_stop_gradient_gives_or_takes_needs_no_rule() -> None:
    held = special.hyp0f1(1.5, 0.5)  # which has no derivative in its first argument
    assert abs(ps.grad(lambda x: x * special.hyp0f1(ps.stop_gradient(x), 0.5))(1.5) - held) < 1e-12
    assert abs(ps.grad(lambda x: x * ps.stop_gradient(special.hyp0f1(x, 0.5)))(1.5) - held) < 1e-12


def test_a_primitive_without_its_rule_is_differentiated_through_its_body() -> None:
    @ps.primitive
    def cube(x: Any) -> Any:
        return x * x * x

    @ps.rrule(cube)
    def _wrong_on_purpose(x: Any) -> Any:
        return cube(x), lambda dy: (dy * 100.0,)

    assert ps.grad(cube)(2.0) == 100.0
    ps.opt_out(cube)
    assert ps.grad(cube)(2.0) == 12.0


def test_a_body_that_a_rule_traced_first_keeps_no_line_of_its_program() -> None:
    kept = ps.primitive(lambda x: np.sin(x) * 2.0)
    for name in ("first", "second"):
        with tracing.recording(place=Place(f"{name}.py", 7, name)) as recording:
            kept(Array(recording.param(Type("float64", ()))))
        (body,) = (op.attributes["body"] for op in recording.ops)
        assert [op.place for op in body.ops] == [NOWHERE, NOWHERE]
