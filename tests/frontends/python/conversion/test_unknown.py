"""Conditions that only the run knows, in functions that are run with joins."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.frontends.python.conversion.unknown import is_unknown, joining, joins_one_type
from primsplit.tracing.asarray import as_array


def test_a_condition_is_unknown_where_a_function_is_run_with_joins_and_only_the_run_knows_it() -> None:
    seen: list[tuple[bool, ...]] = []

    def f(x: Any) -> Any:
        traced, known = x > 0, as_array(np.array(True))
        outside = is_unknown(traced)
        with joining(of_one_type=False):
            inside = is_unknown(traced), is_unknown(known), is_unknown(np.bool_(True)), is_unknown(1.0)
        seen.append((outside, *inside, is_unknown(traced)))
        return x

    ps.trace(f, 1.0)
    assert seen == [(False, True, False, False, False, False)]


def test_joins_of_one_type_are_told_apart_and_end_with_the_block() -> None:
    assert not joins_one_type()
    with joining(of_one_type=True):
        assert joins_one_type()
        with joining(of_one_type=False):
            assert not joins_one_type()
        assert joins_one_type()
    assert not joins_one_type()
