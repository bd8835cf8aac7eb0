"""The key of a call: equal for calls of the same program, and its leaves are those of the flattened arguments."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs.looks import look_of
from primsplit.tracing import trees

A, B, C = np.ones(2), np.zeros((3, 1), np.float32), np.arange(3)
CALLS: list[tuple[Any, ...]] = [
    (A,), (B,), (A, B), (B, A), (2.0, A), (A, 2.0), (np.float64(2.0), A), ({"a": A},), ({"b": A},), ({"a": B},),
    ({"a": A, "b": B},), ({"a": B, "b": A},), ({"a": A}, B), (A, {"a": B}), ({"a": A}, {"b": B}), ({"a": {"b": A}},),
    ({"a": [A]},), ([A, B],), ([A], B), ({},), ({1: A},), ({"a": 2.0},), ({"a": A, "b": 2.0},), ((), A), ({"a": C},),
]  # fmt: skip


@pytest.mark.parametrize("args", CALLS, ids=str)
def test_leaves_are_in_the_order_of_the_structure(args: tuple[Any, ...]) -> None:
    leaves, _ = look_of(args, {})
    wanted = trees.flatten((args, {}))[0]
    assert len(leaves) == len(wanted)
    assert all(a is b for a, b in zip(leaves, wanted, strict=True))


def test_calls_of_different_programs_have_different_keys() -> None:
    assert len({look_of(args, {})[1] for args in CALLS}) == len(CALLS)


def test_the_order_of_a_dictionary_does_not_matter() -> None:
    (_, one), (_, other) = look_of(({"a": A, "b": B},), {}), look_of(({"b": B, "a": A},), {})
    assert one == other
    slope = ps.grad(lambda p: np.sum(p["a"] ** 2) + np.sum(p["b"]))
    for params in ({"a": A, "b": A + 1.0}, {"b": A + 2.0, "a": 3.0 * A}):
        np.testing.assert_array_equal(slope(params)["a"], 2 * params["a"])
