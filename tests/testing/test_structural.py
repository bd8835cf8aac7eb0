"""Checks of a rule's form and split: each fails a rule that is broken in just that way."""

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.testing import structural
from primsplit.tracing.array import Array
from tests.testing.breaking import F, fails, product


@pytest.mark.parametrize(
    "bent",
    [lambda dz: dz * dz, lambda dz: dz + 1.0, op.Abs, lambda dz: op.Where(op.Greater(dz, 0.0), dz, 0.0)],
    ids=["square", "shift", "abs", "clipped"],
)
def test_a_pullback_that_is_not_linear_fails(broken: Any, bent: Callable[..., Any]) -> None:
    broken("Mul", product(lambda dz, x, y: bent(dz) * y))
    fails("linear", "Mul", F, F, only=["linear"])


def test_a_cotangent_that_ignores_the_incoming_one_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: y))
    fails("linear", "Mul", F, F, only=["linear"])


def test_too_few_cotangents_fail(broken: Any) -> None:
    broken("Mul", lambda x, y: (op.Mul(x, y), lambda dz: (dz * y,)))
    assert "1 cotangents for 2 inputs" in fails("form", "Mul", F, F)


def test_a_gradient_to_an_integer_input_fails(broken: Any) -> None:
    def rule(x: Array, indices: Array, *, axis: int) -> Any:
        zeros = op.ConstantOfShape(op.Shape(x), value=np.zeros(1))

        def pullback(dz: Array) -> Any:
            return op.ScatterND(zeros, op.Unsqueeze(indices, [-1]), dz, reduction="add"), indices

        return op.Gather(x, indices, axis=axis), pullback

    broken("Gather", rule)
    assert "a cotangent for input 1" in fails("form", "Gather", F, np.array([0, 2]))


def test_no_gradient_to_a_float_input_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: None))
    assert "no cotangent for input 0" in fails("form", "Mul", F, F)


def test_a_zero_cotangent_that_becomes_nan_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: dz * (y / (x - x))))
    fails("form", "Mul", F, F, only=["form"])


def test_a_rule_that_reads_a_python_value_that_changes_fails(broken: Any) -> None:
    state = itertools.count(1)
    broken("Mul", product(lambda dz, x, y: dz * y * (1.0 + next(state))))
    assert "records something else" in fails("repeat", "Mul", F, F, only=["repeat"])


def test_a_cotangent_of_one_result_that_is_not_taken_alone_fails(broken: Any) -> None:
    def rule(x: Array, sizes: Array, *, axis: int) -> Any:
        parts = op.Split(x, sizes, axis=axis, outputs=2)

        def pullback(first: Array | None, second: Array | None) -> Any:
            given = [p * 0.5 if d is None else d for p, d in zip(parts, (first, second), strict=True)]
            return op.Concat(*given, axis=axis), None

        return parts, pullback

    broken("Split", rule)
    assert "alone" in fails("form", "Split", F, [1, 2], only=["form", "differences"], is_symbolic=False)


def test_unexpected_captures_and_operators_fail() -> None:
    assert "the captures are" in fails("closed", "Sin", F, expected_captures={"output": "output"})
    assert "the pullback is" in fails("closed", "Sin", F, expected_nodes=["Mul"])


def test_a_rule_that_is_run_twice_for_one_signature_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return default

    monkeypatch.setattr(importlib.import_module("primsplit.transforms.split"), "_cache", Forgetful())
    assert "run again" in fails("counters", "Mul", F, F, only=["counters"])


def test_a_subset_with_other_numbers_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = structural.split_whole

    def swapped(block: Any, wrt: Any, of: Any) -> Any:
        return whole(block, [1 - i for i in wrt] if len(wrt) == 1 else wrt, of)

    monkeypatch.setattr(structural, "split_whole", swapped)
    fails("subset", "Mul", F, F, only=["subset"])
