"""A rule is run once on fresh variables: its cotangents are checked, and what nobody asked for is not kept."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.ir.parts import Split
from primsplit.ops import op
from primsplit.transforms.rule_run import run_rule
from tests.recording import kinds, record

X = np.array([1.0, 2.0, 3.0])


def total(x: Any) -> Any:
    return np.sum(x)


@pytest.mark.parametrize(("given", "told"), [(0, "0 cotangents for 2"), (1, "1 cotangents for 2"), (3, "3 cotangents")])
def test_a_rule_with_too_few_or_too_many_cotangents_is_refused_at_its_line(given: int, told: str) -> None:
    @ps.primitive
    def product(x: Any, y: Any) -> Any:
        return x * y

    @ps.rrule(product)
    def rule(x: Any, y: Any) -> Any:
        def pullback(dz: Any) -> Any:
            return (dz,) * given

        return product(x, y), pullback

    with pytest.raises(RuleError, match=told) as caught:
        ps.grad(lambda x: total(product(x, x)))(X)
    assert "test_rule_run.py" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


@ps.primitive
def times(x: Any, y: Any) -> Any:
    return x * y


def test_what_is_put_off_and_not_asked_for_is_not_in_the_split() -> None:
    split = ps.split(times, np.ones((2, 3)), np.ones(3), wrt=1)
    assert [op.kind for op in split.backward.block.ops] == ["Mul", "ReduceSum"]
    assert len(split.captures) == 1


def rule_of(pullback: Any) -> Any:
    return lambda x, y: (op.Mul(x, y), pullback(x, y))


def run(rule: Any, *, wrt: tuple[int, ...] = (0, 1)) -> Split:
    """The split of a product of float64[3,2] and float64[3,2] by a rule."""
    block = record(lambda x, y: op.Mul(x, y), "float64[3,2]", "float64[3,2]")
    return run_rule(block.ops[0], rule, {}, wrt, (0,), name="mul")


def test_a_split_captures_what_the_pullback_reads_and_keeps_no_op_that_nobody_reads() -> None:
    def pullback(x: Any, y: Any) -> Any:
        kept, _never = op.Exp(x), op.Sin(x)
        return lambda dz: (op.Mul(dz, y), op.Mul(dz, kept))

    split = run(rule_of(lambda x, y: lambda dz: (op.Mul(dz, y), op.Mul(dz, op.Exp(x)))), wrt=(0,))
    assert kinds(split.primal) == ["Mul"]
    assert kinds(split.pullback) == ["Mul"]
    assert split.captures == split.primal.params[1:]
    both = run(rule_of(pullback))
    assert kinds(both.primal) == ["Mul", "Exp"]
    assert len(both.captures) == 2


def test_an_input_without_a_cotangent_is_no_target() -> None:
    split = run(rule_of(lambda x, y: lambda dz: (None, op.Mul(dz, x))))
    assert (split.wrt, split.targets) == ((0, 1), (1,))
    assert len(split.pullback.results) == 1


BROKEN: dict[str, tuple[Any, str]] = {
    "another shape": (lambda x, y: lambda dz: (op.ReduceSum(dz, [0]), dz), "of type float64\\[1,2\\] for input 0"),
    "another dtype": (lambda x, y: lambda dz: (dz, op.Cast(dz, to=np.float32)), "float32\\[3,2\\] for input 1"),
    "one too few": (lambda x, y: lambda dz: dz, "1 cotangents for 2 inputs"),
    "no array": (lambda x, y: lambda dz: (3.0, dz), "returned float as a cotangent"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_cotangent_that_does_not_fit_is_refused(name: str) -> None:
    pullback, told = BROKEN[name]
    with pytest.raises(RuleError, match=told):
        run(rule_of(pullback))


def test_an_error_in_the_place_of_a_cotangent_is_raised_if_that_is_asked_for() -> None:
    rule = rule_of(lambda x, y: lambda dz: (dz, RuleError("not by the second")))
    assert run(rule, wrt=(0,)).targets == (0,)
    with pytest.raises(RuleError, match="not by the second"):
        run(rule)
