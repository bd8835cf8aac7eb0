"""A call is recorded as a block of its own, and an error carries what was recorded."""

import statistics
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.ir import Const, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError, TraceError
from primsplit.ir.notation.listing import Tape
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.calls.recorded import StandIn, merged, open_inputs, record_call
from tests.random_programs import run

X = np.ones((3, 4))


def test_an_error_carries_the_program_as_far_as_it_was_recorded() -> None:
    def stops(x: Any) -> Any:
        waves = np.sin(x)
        return statistics.fmean([waves.sum()])

    with pytest.raises(PrimsplitError) as caught:
        ps.trace(stops, X)
    tape = caught.value.tape
    assert isinstance(tape, Tape)
    assert [op.kind for op in tape.block.ops] == ["Sin", "ReduceSum"]
    assert "waves: float64[3,4] = Sin(x)" in str(tape)


def test_a_stand_in_is_a_number_where_the_argument_is_one() -> None:
    number, empty, vector = Type("float64", []), Type("float64", []), Type("float64", [2])
    leaves = [(2.0, number), (np.float64(2.0), number), (np.zeros(()), empty), (number, number), (vector, vector)]
    kinds = [StandIn.for_leaf(leaf, given).kind for leaf, given in leaves]
    assert kinds == [2, 1, 0, 1, 0]


def test_a_call_is_a_block_of_its_arguments_and_its_results_are_nested() -> None:
    seen: list[tuple[bool, bool]] = []

    def call(handles: list[Array]) -> Any:
        x, scale = handles
        seen.append((scale.weak, x.weak))
        return {"y": x * scale, "rest": (x, 3.0)}

    given = [StandIn(Type("float64", [symbol("N")])), StandIn(Type("float64", []), weak=True)]
    with tracing.fresh_stack():
        block, spec = record_call("f", given, call)
    assert [str(p.type) for p in block.params] == ["float64[N]", "float64"]
    assert seen == [(True, False)]
    x = np.array([1.0, 2.0])
    found = trees.unflatten(spec, run(block, [x, np.array(4.0)]))
    np.testing.assert_array_equal(found["y"], 4 * x)
    np.testing.assert_array_equal(found["rest"][0], x)
    assert found["rest"][1] == 3.0


def test_what_is_no_array_is_refused_by_its_class() -> None:
    with tracing.fresh_stack(), pytest.raises(TraceError, match="the function returns a object, which is no array"):
        record_call("f", [StandIn(Type("float64", []))], lambda _: object())


def test_the_next_handle_stands_where_an_argument_is_marked() -> None:
    with tracing.fresh_stack(), tracing.recording() as into:
        x, y = (Array(into.param(Type("float64", []))) for _ in range(2))
        assert merged([1, "a", 2, None], [0, None, 0, None], [x, y]) == [x, "a", y, None]


def test_an_input_that_is_no_parameter_is_handed_over_as_it_is() -> None:
    constant, sized = Const(np.array(2.0)), Var(Type("int64", [1]), "n", (symbol("N"),))
    with tracing.fresh_stack(), tracing.recording() as into:
        params, handles = open_inputs([sized, None, constant], into, lambda v: isinstance(v, Var))
        assert [p.type for p in params] == [sized.type]
        assert params[0] is not sized
        assert params[0].sizes == (symbol("N"),)
        assert [None if h is None else h.value for h in handles] == [params[0], None, constant]
