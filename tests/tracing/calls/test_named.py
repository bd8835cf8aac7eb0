"""Functions of NumPy's that are recorded by name are known by the function, and listed in one line."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir.notation.listing import constants, listing
from primsplit.ir.notation.parsing import parse
from primsplit.numpy.extrema import NAMED
from primsplit.tracing.calls.named import arguments_of, named


def test_a_call_is_known_by_its_function_and_not_by_its_name() -> None:
    @ps.primitive
    def max(x: Any) -> Any:  # noqa: A001  # of the name that is meant
        return np.sum(x)

    mine, own = (ps.trace(f, ps.spec("float64", [3])).block.ops for f in (max, np.max))
    assert mine[0].kind == own[0].kind == "call::max"
    assert arguments_of(mine[0], NAMED["max"]) is None
    assert arguments_of(own[0], NAMED["min"]) is None
    assert arguments_of(own[0], NAMED["max"]) == {"axis": 0, "keepdims": False, "may_be_empty": False}


@named("twice")
def twice(x: Any, *, times: int = 1) -> Any:
    return x * 2.0**times


def test_arguments_that_are_not_passed_are_the_defaults() -> None:
    @ps.extend.batch(twice, replace=True)
    def each(batched: tuple[bool, ...], x: Any, *, times: int = 1) -> Any:
        return twice(x, times=times)

    plain, more = ps.trace(lambda x: (twice(x), twice(x, times=3)), ps.spec("float64", [2])).block.ops
    assert arguments_of(plain, twice) == {"times": 1}
    assert arguments_of(more, twice) == {"times": 3}


def test_a_listing_to_be_parsed_holds_the_program_of_a_call_and_one_to_be_read_its_name() -> None:
    made = ps.trace(lambda x: np.max(x, axis=0), ps.spec("float64", [2, 3]))
    assert "= max(x, axis=0)" in made.listing()
    whole = listing(made.block)
    assert "ReduceMax" in whole
    assert "ReduceMax" not in made.listing()
    assert parse(whole, constants(made.block)) == made.block


def test_the_names_of_a_listing_skip_those_of_the_programs_that_it_leaves_out() -> None:
    lines = ps.trace(lambda x: np.exp(np.max(x, axis=0)), ps.spec("float64", [2, 3])).listing().splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:3]] == ["a", "b"]
