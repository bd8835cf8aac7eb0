"""Calls inlined: the body's ops stand where the call was."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir import own_symbols, walk
from primsplit.rewrites.inline import inline_calls


@ps.primitive
def doubled(x: Any) -> Any:
    return x + x


@ps.primitive
def outer(x: Any) -> Any:
    return doubled(np.sin(x)) * 2.0


@ps.primitive
def found(x: Any) -> Any:
    return np.sum(x[np.nonzero(x)[0]])


def block_of(function: Any) -> Any:
    """The block of a function of a vector, calls left as they are."""
    return ps.trace(function, ps.spec("float64", ["N"])).block


def test_calls_of_calls_are_inlined_and_may_be_kept() -> None:
    block = block_of(lambda x: outer(x) + doubled(x))
    assert {"call::outer", "call::doubled"} <= {o.kind for o in walk(block)}
    assert [o.kind for o in inline_calls(block).ops] == ["Sin", "Add", "Mul", "Add", "Add"]
    kept = inline_calls(block, keep=lambda o: o.kind == "call::doubled")
    assert [o.kind for o in kept.ops] == ["Sin", "call::doubled", "Mul", "call::doubled", "Add"]


def test_two_copies_of_a_body_share_no_size_that_depends_on_data() -> None:
    block = inline_calls(block_of(lambda x: found(x) + found(2.0 * x)))
    own = [{s for s in own_symbols(block) if s.startswith("nonzero")}, [o for o in block.ops if o.kind == "NonZero"]]
    assert len(own[1]) == 2
    assert len(own[0]) == 2


def test_a_block_without_calls_is_itself() -> None:
    block = block_of(lambda x: np.sin(x))
    assert inline_calls(block) is block


def test_the_caller_s_names_stay_and_those_of_the_body_where_it_has_none() -> None:
    def named(x: Any) -> Any:
        mine = outer(x)
        return mine + 1.0

    block = inline_calls(block_of(named))
    assert "mine" in {v.hint for o in block.ops for v in o.outputs}


def test_two_results_that_are_one_value_are_one() -> None:
    @ps.primitive
    def twice(x: Any) -> Any:
        y = np.sin(x)
        return y, y, x

    def f(x: Any) -> Any:
        a, b, c = twice(x)
        return a * b * c

    block = inline_calls(block_of(f))
    (first, second, _) = block.ops
    assert (first.kind, second.inputs) == ("Sin", (first.outputs[0], first.outputs[0]))
    assert block.ops[-1].inputs[1] is block.params[0]


def test_ops_of_linear_algebra_say_which_call_they_are_of() -> None:
    block = inline_calls(
        block_of(lambda x: np.linalg.cholesky(np.outer(x, x)) * 2 + np.linalg.cholesky(x * x[:, None]))
    )
    calls = [op.place.call for op in walk(block) if op.place is not None]
    assert {call.partition(" ")[0] for call in calls} == {"", "cholesky"}
    assert len({*calls}) == 3
