"""check_rrule passes a right rule, and each of its checks fails a rule that is broken in just that way."""

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rules.table import FRULES, RULES, Entry, Forward, Rule
from primsplit.testing import CheckFailed, check_rrule, structural
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.registering import Epoch

F = ps.spec("float64", [3])
WIDE = ps.spec("float64", [2, 3])


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Rule], None]:
    """Puts a rule in the place of an operator's own."""

    def put(kind: str, rule: Rule) -> None:
        monkeypatch.setitem(RULES, kind, Entry(kind, "rule", rule, ""))
        monkeypatch.setattr(Epoch, "count", next(_epochs))

    return put


_epochs = itertools.count(1_000_000)


def fails(check: str, kind: str, *inputs: Any, **options: Any) -> str:
    with pytest.raises(CheckFailed) as caught:
        check_rrule(kind, *inputs, **options)
    assert caught.value.check == check, str(caught.value)
    return str(caught.value)


def product(dx: Callable[..., Any], dy: Callable[..., Any] | None = None) -> Rule:
    """A rule for Mul with these cotangents."""

    def rule(x: Array, y: Array) -> Any:
        right = (lambda dz, x, y: sum_to(dz * x, y.shape)) if dy is None else dy
        return op.Mul(x, y), lambda dz: (dx(dz, x, y), right(dz, x, y))

    return rule


def test_a_right_rule_passes_every_check_and_tells_what_it_found() -> None:
    report = check_rrule("Mul", WIDE, F, expected_captures={"A": "input", "B": "input"}, separate=True)
    assert report.nodes == ["Mul", "Mul", "ReduceSum"]
    assert report.checks == [
        "form", "closed", "primal", "differences", "linear", "repeat", "subset", "sizes", "dtypes", "second_order",
        "forward", "files", "counters",
    ]  # fmt: skip
    assert report.dtypes == ["float32", "float16"]
    assert "[0, 0], [0]" in report.sizes


def test_a_wrong_factor_fails_against_differences(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: dz * y * 1.001))
    assert "derivative is" in fails("differences", "Mul", F, F)


def forward_rule(monkeypatch: pytest.MonkeyPatch, pushforward: Callable[..., Any]) -> None:
    """Gives Mul this forward rule."""
    entry = Forward(lambda x, y: (op.Mul(x, y), lambda tx, ty: pushforward(tx, ty, x, y)), lambda op, wrt: True)
    monkeypatch.setitem(FRULES, "Mul", entry)
    monkeypatch.setattr(Epoch, "count", next(_epochs))


def test_a_wrong_forward_rule_fails_against_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rule(monkeypatch, lambda tx, ty, x, y: tx * y * 1.001 + x * ty)
    assert "along a direction" in fails("forward", "Mul", F, F)


def test_a_forward_rule_that_is_not_linear_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rule(monkeypatch, lambda tx, ty, x, y: tx * y + x * ty + tx * ty)
    assert "not linear" in fails("forward", "Mul", F, F)


def test_a_pullback_that_has_no_transpose_fails_in_forward_mode_unless_it_is_for_reverse_alone(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken("Mul", product(lambda dz, x, y: op.Clip(dz, -1e9, 1e9) * y))
    monkeypatch.delitem(FRULES, "Mul")
    assert "is not linear" in fails("forward", "Mul", F, F, only=["forward"])
    check_rrule("Mul", F, F, only=["forward"], reverse_only=True)


def test_a_primal_that_is_not_the_operator_fails(broken: Any) -> None:
    broken("Mul", lambda x, y: (op.Add(x, y), lambda dz: (dz * y, dz * x)))
    assert "by the rule" in fails("primal", "Mul", F, F)


def test_a_value_that_is_not_numpys_fails() -> None:
    fails("primal", "Mul", F, F, numpy=lambda x, y: x * y + 1e-6)


def test_a_cotangent_of_another_dtype_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: op.Cast(dz * y, to=np.float32)))
    assert "float32" in fails("form", "Mul", F, F)


def test_a_missing_sum_over_a_broadcast_axis_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: sum_to(dz * y, x.shape), lambda dz, x, y: dz * x))
    fails("form", "Mul", WIDE, F)


def test_a_sum_that_is_missing_only_where_the_run_broadcasts_fails(broken: Any) -> None:
    broken(
        "Mul", product(lambda dz, x, y: op.Mul(dz, y, types=[x.type]), lambda dz, x, y: op.Mul(dz, x, types=[y.type]))
    )
    check_rrule("Mul", F, F, only=["form", "differences", "sizes"])
    fails("sizes", "Mul", F, F, separate=True, only=["sizes"])


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


def test_a_listing_that_differs_fails_and_one_that_is_the_same_passes() -> None:
    good = """
        Neg(X: float64[3]):   # any comment
          a: float64[3] = Neg(X)
          return a
        Neg.pullback(d_y0: float64[3]):
          d_X: float64[3] = Neg(d_y0)
          return d_X
    """
    check_rrule("Neg", F, listing=good, only=["closed"])
    fails("closed", "Neg", F, listing=good.replace("a: float64[3]", "c: float64[3]"), only=["closed"])


def test_a_rule_that_is_wrong_in_float32_alone_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: dz * y * (1.01 if x.dtype == np.float32 else 1.0)))
    fails("dtypes", "Mul", F, F)


def test_a_wrong_rule_of_an_operator_in_the_pullback_fails_at_second_order(broken: Any) -> None:
    broken("Cos", lambda x: (op.Cos(x), lambda dy: dy * op.Sin(x)))
    fails("second_order", "Sin", F)
    check_rrule("Sin", F, first_order_only=True)


def test_a_pullback_through_an_operator_without_a_rule_fails_at_second_order(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(RULES, "Cos")
    broken("Sin", RULES["Sin"].rule)
    assert "Cos has no derivative" in fails("second_order", "Sin", F)


def test_a_kink_with_another_convention_fails(broken: Any) -> None:
    broken("Relu", lambda x: (op.Relu(x), lambda dy: op.Where(op.GreaterOrEqual(x, 0.0), dy, 0.0)))
    kink = ([np.array([-1.0, 0.0, 1.0])], [[0, 0, 1]])
    fails("kinks", "Relu", np.array([-1.0, 0.5, 1.0]), kinks=[kink])


def test_a_size_frozen_into_a_rule_fails(broken: Any) -> None:
    def frozen(dz: Array, x: Array, y: Array) -> Array:
        return op.Expand(op.ReduceSum(dz, [0], keepdims=1), [3], types=[x.type])

    broken("Identity", lambda x: (op.Identity(x), lambda dy: frozen(dy, x, x)))
    fails("sizes", "Identity", F, only=["sizes"])


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


def test_a_primitive_with_a_wrong_rule_fails_and_with_a_right_one_passes() -> None:
    @ps.primitive
    def cube(x: Any) -> Any:
        return x * x * x

    ps.rrule(cube)(lambda x: (cube(x), lambda dy: (dy * 3.0 * x * x,)))
    check_rrule(cube, F)
    ps.rrule(cube)(lambda x: (cube(x), lambda dy: (dy * 3.0 * x,)))
    with pytest.raises(CheckFailed, match="differences"):
        check_rrule(cube, F)


def test_a_function_is_checked_against_itself_in_numpy() -> None:
    check_rrule(lambda x, y: (np.sin(x) * y, x - y), WIDE, F)


def test_a_sampler_keeps_inside_its_domain() -> None:
    check_rrule("Log", F, domain=lambda random, shape: random.uniform(0.5, 2.0, shape))
    check_rrule("Div", F, F, domain=[(-1.0, 1.0), (0.5, 1.5)])
