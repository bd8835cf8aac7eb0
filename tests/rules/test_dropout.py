"""Dropout: the pullback reads the mask that was drawn."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

X = np.linspace(1.0, 2.0, 400).reshape(20, 20)


def dropped(ratio: Any, training: Any = True) -> Any:
    def made(x: ps.Array, *rest: ps.Array) -> tuple[ps.Array, ps.Array]:
        given = [np.float64(ratio)] if ratio is not None else [None]
        given.append(rest[0] if rest else np.bool_(training))
        y, mask = op.Dropout(x, *given, outputs=2)
        return y, mask

    return made


def kinds(block: Block) -> list[str]:
    return [found.kind for found in block.ops]


@pytest.mark.parametrize("ratio", [None, 0.25, 0.9])
def test_what_was_kept_gets_its_cotangent_over_the_share_that_is_kept(ratio: float | None) -> None:
    joint = ps.split(dropped(ratio), X, of=[0]).joint()
    cotangent = np.linspace(-1.0, 1.0, 400).reshape(20, 20)
    y, mask, dx = joint(X, cotangent)
    kept = 0.5 if ratio is None else 1 - ratio
    assert 0 < mask.sum() < 400
    np.testing.assert_allclose(y, np.where(mask, X / kept, 0), rtol=1e-12)
    np.testing.assert_allclose(dx, np.where(mask, cotangent / kept, 0), rtol=1e-12)


def test_the_pullback_draws_nothing() -> None:
    split = ps.split(dropped(0.5), X, of=[0]).split
    assert kinds(split.primal).count("Dropout") == 1
    assert "Dropout" not in kinds(split.pullback)


def test_a_ratio_of_zero_keeps_all() -> None:
    y, mask, dx = ps.split(dropped(0.0), X, of=[0]).joint()(X, X)
    assert mask.all()
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(dx, X)


def test_without_training_dropout_is_the_identity() -> None:
    split = ps.split(dropped(0.5, training=False), X, of=[0])
    y, mask, dx = split.joint()(X, X)
    assert mask.all()
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(dx, X)
    assert kinds(split.split.pullback) == []


def test_the_run_may_decide_whether_it_trains() -> None:
    joint = ps.split(dropped(0.75), X, np.bool_(True), of=[0]).joint()
    y, mask, dx = joint(X, np.bool_(True), X)
    np.testing.assert_allclose(dx, np.where(mask, X / 0.25, 0), rtol=1e-12)
    np.testing.assert_allclose(y, dx, rtol=1e-12)
    y, mask, dx = joint(X, np.bool_(False), X)
    np.testing.assert_array_equal(dx, X)
    np.testing.assert_array_equal(y, X)


def test_the_second_derivative_is_taken_under_one_mask() -> None:
    def squares(x: ps.Array) -> ps.Array:
        return (op.Dropout(x, np.float64(0.5), np.bool_(True)) ** 2).sum()

    def both(x: ps.Array) -> tuple[ps.Array, ps.Array]:
        first = ps.grad(squares)(x)
        return first, ps.grad(lambda x: (ps.grad(squares)(x) * x).sum())(x)

    first, second = ps.trace(both, X)(X)
    assert set(np.round(np.unique(first / X), 9)) == {0.0, 8.0}
    assert set(np.round(np.unique(second / X), 9)) == {0.0, 16.0}


@pytest.mark.parametrize("row", rows_of("dropout"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
