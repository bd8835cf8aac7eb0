"""A rewrite is a pattern, a check that says why not, and what is built; unused kinds cost nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ir.errors import RuleError
from primsplit.ops import op
from primsplit.rewrites import simplify
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.rewrites.rewrites.patterns import PATTERNS, rewrite
from primsplit.rewrites.rewrites.table import REWRITES
from tests.recording import record
from tests.registered import only_here


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Rewrites that a test registers are gone after it."""
    with only_here():
        yield


def kinds(block: Block) -> list[str]:
    return [o.kind for o in block.ops]


def written(function: Any, *specs: Any) -> list[str]:
    """The operators of the file that is written of a function."""
    return [node.op_type for node in ps.trace(function, *specs).to_onnx().graph.node]


FLOATS = ps.spec("float32", ["N", 3])


def test_ops_that_a_pattern_fits_are_replaced_in_files() -> None:
    def model(x: Any) -> Any:
        return np.log(np.exp(x)) * 2.0

    assert written(model, FLOATS) == ["Exp", "Log", "Mul"]
    found = rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x: x, exact="rounds")
    assert written(model, FLOATS) == ["Mul"]
    found.remove()
    assert written(model, FLOATS) == ["Exp", "Log", "Mul"]


def test_what_is_built_is_computed_in_a_run() -> None:
    rewrite(lambda x, y: pattern.Sub(x, pattern.Exp(y)), None, lambda x, y: (x + y) * 2.0 - np.tanh(y), exact="rounds")
    x, y = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    found = ps.trace(lambda x, y: np.tanh(x - np.exp(y)), x, y)
    np.testing.assert_allclose(found(x, y), np.tanh((x + y) * 2.0 - np.tanh(y)), rtol=1e-12)


def test_inputs_of_operators_that_commute_match_in_either_order_and_others_in_theirs() -> None:
    rewrite(lambda x, y: pattern.Mul(x, pattern.Exp(y)), None, lambda x, y: x, exact="rounds")
    rewrite(lambda x, y: pattern.Div(x, pattern.Exp(y)), None, lambda x, y: x, exact="rounds")
    a, b = ps.spec("float32", [3]), ps.spec("float32", [3])
    assert written(lambda x, y: np.exp(x) * np.tanh(y), a, b) == ["Tanh"]
    assert written(lambda x, y: np.tanh(y) * np.exp(x), a, b) == ["Tanh"]
    assert written(lambda x, y: np.tanh(y) / np.exp(x), a, b) == ["Tanh"]
    assert "Div" in written(lambda x, y: np.exp(x) / np.tanh(y), a, b)


def test_a_capture_stands_for_one_value_and_equal_constants_are_one() -> None:
    rewrite(lambda x: pattern.Sub(pattern.Exp(x), x), None, lambda x: np.tanh(x), exact="rounds")
    a, b = ps.spec("float32", [3]), ps.spec("float32", [3])
    assert written(lambda x, y: np.exp(x) - x + y, a, b) == ["Tanh", "Add"]
    assert "Tanh" not in written(lambda x, y: np.exp(x) - y, a, b)
    rewrite(lambda x, c: pattern.Max(pattern.Max(x, c), c), None, lambda x, c: np.maximum(x, c), exact="bit")

    def twice(x: Any) -> Any:
        return op.Max(op.Max(x, np.float32(2.5)), np.float32(2.5))

    assert kinds(simplify(record(twice, "float32[3]")))[-1:] == ["Max"]


def test_a_pattern_that_stands_twice_is_one_op() -> None:
    def normalized(x: Any, axes: Any) -> Any:
        exp = pattern.Exp(x)
        return pattern.Div(exp, pattern.ReduceSum(exp, axes))

    rewrite(normalized, None, lambda x, axes: op.Softmax(x, axis=1), exact="rounds")

    def one(x: Any) -> Any:
        e = np.exp(x)
        return e / np.sum(e, axis=1, keepdims=True)

    assert written(one, FLOATS) == ["Softmax"]
    assert "Softmax" not in written(lambda x, y: np.exp(x) / np.sum(np.exp(y), axis=1, keepdims=True), FLOATS, FLOATS)


def test_attributes_are_matched_and_captured_with_the_standards_defaults() -> None:
    rewrite(
        lambda x, axis: pattern.Log(pattern.Softmax(x, axis=axis)),
        lambda x, axis: None if axis == -1 else f"the axis is {axis}",
        lambda x, axis: op.LogSoftmax(x, axis=axis),
        exact="rounds",
    )
    assert written(lambda x: np.log(op.Softmax(x)), FLOATS) == ["LogSoftmax"]
    assert written(lambda x: np.log(op.Softmax(x, axis=0)), FLOATS) == ["Softmax", "Log"]
    rewrite(lambda x: pattern.Exp(pattern.LogSoftmax(x, axis=0)), None, lambda x: op.Softmax(x, axis=0), exact="rounds")
    assert written(lambda x: np.exp(op.LogSoftmax(x, axis=0)), FLOATS) == ["Softmax"]
    assert written(lambda x: np.exp(op.LogSoftmax(x, axis=1)), FLOATS) == ["LogSoftmax", "Exp"]


@pytest.mark.parametrize(
    ("wanted", "given", "is_same"),
    [(0.0, 0.0, True), (0.0, -0.0, False), (-0.0, -0.0, True), (0.1, 0.1, True), (0.1, 0.2, False)],
)
def test_a_number_is_a_constant_that_is_it_to_the_bit(wanted: float, given: float, is_same: bool) -> None:
    rewrite(lambda x: pattern.PRelu(x, wanted), None, lambda x: np.tanh(x), exact="rounds")
    block = record(lambda x: op.PRelu(x, np.array(given, np.float32)), "float32[3]")
    assert kinds(simplify(block)) == ["Tanh" if is_same else "PRelu"]


def test_an_input_that_is_left_out_is_none_in_a_pattern() -> None:
    rewrite(lambda x, high: pattern.Clip(x, None, high), None, lambda x, high: op.Min(x, high), exact="rounds")
    high = np.float32(2.0)
    assert kinds(simplify(record(lambda x: op.Clip(x, None, high), "float32[3]"))) == ["Min"]
    assert kinds(simplify(record(lambda x: op.Clip(x, high, high), "float32[3]"))) == ["Clip"]


def test_a_call_is_matched_by_its_name() -> None:
    @ps.primitive
    def own(x: Any) -> Any:
        return x * 2.0

    block = ps.trace(lambda x: np.tanh(own(x)), ps.spec("float32", [3])).block
    rewrite(lambda x: pattern.Tanh(pattern["call::own"](x)), None, lambda x: np.sin(x), exact="rounds")
    assert kinds(simplify(block))[-1] == "Sin"


def test_ops_that_something_else_reads_stay() -> None:
    rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x: x, exact="rounds")
    assert written(lambda x: (np.log(np.exp(x)) * 2.0, np.exp(x)), FLOATS) == ["Exp", "Mul"]


def test_what_is_not_surely_of_the_same_size_stays() -> None:
    rewrite(lambda x, y: pattern.Mul(x, pattern.Exp(y)), None, lambda x, y: x, exact="rounds")
    assert "Mul" in written(lambda x, y: x * np.exp(y), ps.spec("float32", ["N", 1]), ps.spec("float32", ["N", "M"]))


def test_what_is_of_another_type_is_told() -> None:
    rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x: x.astype(np.float64), exact="rounds")
    with pytest.raises(RuleError, match=r"Rewrite Log\(Exp\(x\)\) builds float64\[3\] in the place of float32\[3\]"):
        written(lambda x: np.log(np.exp(x)), ps.spec("float32", [3]))


def test_a_rewrite_that_builds_what_it_fits_ends() -> None:
    rewrite(lambda x: pattern.Exp(x), None, lambda x: np.exp(np.exp(x) * 1.5), exact="rounds")
    assert written(np.exp, ps.spec("float32", [3]))[-1] == "Exp"


def test_a_block_without_the_kind_asks_nothing_of_the_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x: x, exact="rounds")

    def asked(*args: Any) -> Any:
        raise AssertionError(args)

    monkeypatch.setattr(found, "matches", asked)
    block = record(lambda x: op.Tanh(op.Exp(x)), "float32[3]")
    assert simplify(block) is block
    with_log = record(lambda x: op.Log(op.Tanh(x)), "float32[3]")
    assert simplify(with_log) is with_log


def test_one_that_is_registered_again_takes_its_own_place() -> None:
    for built in (np.tanh, np.sin):
        rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x, f=built: f(x), exact="rounds")
    assert written(lambda x: np.log(np.exp(x)), FLOATS) == ["Sin"]
    assert sum(getattr(r, "root", None) is not None for r in REWRITES["Log"]) == 1


def test_a_derivative_that_is_cached_is_made_anew() -> None:
    gradient = ps.grad(lambda x: np.sum(np.sin(x / 3.0)))
    np.testing.assert_allclose(gradient(np.ones(1)), np.cos(1.0 / 3.0) / 3.0)
    found = rewrite(lambda x: pattern.Div(x, 3.0), None, lambda x: x * 5.0, exact="rounds")
    np.testing.assert_allclose(gradient(np.ones(1)), np.cos(5.0) * 5.0)  # x / 3 and what its pullback divides by 3
    found.remove()
    np.testing.assert_allclose(gradient(np.ones(1)), np.cos(1.0 / 3.0) / 3.0)


def test_a_function_of_numpys_that_has_a_rule_may_be_built() -> None:
    rewrite(lambda x: pattern.Log(pattern.Add(x, 1.0)), None, lambda x: np.log1p(x), exact="rounds")
    x = np.array([1e-20, 0.5])
    np.testing.assert_allclose(ps.trace(lambda x: np.log(x + 1.0) * 2.0, x)(x), 2.0 * np.log1p(x), rtol=1e-12)


def test_a_recording_that_is_kept_in_a_folder_is_that_of_its_rewrites(tmp_path: Path) -> None:
    def third(x: Any) -> Any:
        return np.sum(x / 3.0)

    def read() -> tuple[float, int]:
        kept = ps.cached(third, store=tmp_path)
        return float(kept(np.ones(3))), kept.statistics.read

    assert [read(), read()] == [(1.0, 0), (1.0, 1)]
    found = rewrite(lambda x: pattern.Div(x, 3.0), None, lambda x: x * 5.0, exact="rounds")
    assert [read(), read()] == [(15.0, 0), (15.0, 1)]
    found.remove()
    assert read() == (1.0, 1)


REFUSED = [
    (
        "an unknown operator",
        lambda: rewrite(lambda x: pattern.Lgo(x), None, lambda x: x, exact="bit"),
        "Lgo is no",
    ),
    ("no pattern", lambda: rewrite(lambda x: x, None, lambda x: x, exact="bit"), "is no op"),
    ("a lost capture", lambda: rewrite(lambda x, y: pattern.Log(x), None, lambda x, y: x, exact="bit"), "capture y"),
    ("inputs", lambda: rewrite(lambda x: pattern.Log(x, x), None, lambda x: x, exact="bit"), "Log takes input"),
    ("an attribute", lambda: rewrite(lambda x: pattern.Log(x, a=1), None, lambda x: x, exact="bit"), "no attribute a"),
    ("a text", lambda: rewrite(lambda x: pattern.Add(x, "1"), None, lambda x: x, exact="bit"), "is a str"),
    ("a check", lambda: rewrite(lambda x: pattern.Log(x), lambda: None, lambda x: x, exact="bit"), "the check of"),
    ("a build", lambda: rewrite(lambda x: pattern.Log(x), None, lambda x, y: x, exact="bit"), "the build of"),
    ("exact", lambda: rewrite(lambda x: pattern.Log(x), None, lambda x: x, exact="yes"), "not 'yes'"),
]


@pytest.mark.parametrize(("wrong", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_rewrite_that_would_never_be_right_is_refused_at_the_users_line(wrong: Any, told: str) -> None:
    before = dict(PATTERNS)
    with pytest.raises(RuleError, match=told) as caught:
        wrong()
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    assert before == PATTERNS


def test_a_check_returns_none_or_a_text() -> None:
    rewrite(lambda x: pattern.Log(pattern.Exp(x)), lambda x: True, lambda x: x, exact="bit")
    with pytest.raises(RuleError, match="returned bool"):
        written(lambda x: np.log(np.exp(x)), FLOATS)
