"""A primitive is batched by the rule that it is given, and by its program without one."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.transforms.batching.rules import batch
from primsplit.transforms.batching.table import BATCHING, Shared, Site

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])


def total() -> Any:
    return ps.primitive(lambda x: np.sum(x), name="total")


def test_the_rule_is_what_a_batch_is_made_of() -> None:
    f = total()
    batch(f)(lambda batched, x: np.sum(x, axis=1) * 10.0)
    np.testing.assert_array_equal(ps.vmap(f)(X), [60.0, 160.0])
    assert float(f(X[0])) == 6.0


def test_a_rule_is_told_which_arguments_differ_and_gives_what_is_shared() -> None:
    seen = []

    @ps.primitive
    def scaled(x: Any, by: Any, axis: int) -> Any:
        return np.sum(x, axis=axis), by * 2.0

    @batch(scaled)
    def scaled_batch(batched: tuple[bool, ...], x: Any, by: Any, axis: int) -> Any:
        seen.append((batched, x.shape, by.shape, axis))
        return np.sum(x, axis=axis + 1), Shared(by * 2.0)

    sums, doubled = ps.vmap(lambda x: scaled(x, np.ones(4), 0))(X)
    assert seen[0] == ((True, False, False), (2, 3), (4,), 0)
    np.testing.assert_array_equal(sums, X.sum(axis=1))
    np.testing.assert_array_equal(doubled, np.full((2, 4), 2.0))


def test_arrays_of_one_argument_are_all_batched_where_one_is() -> None:
    @ps.primitive
    def affine(p: Any) -> Any:
        return p["a"] * p["b"]

    @batch(affine)
    def affine_batch(batched: tuple[bool, ...], p: Any) -> Any:
        assert batched == (True,)
        assert p["a"].shape == p["b"].shape == (2, 3)
        return p["a"] * p["b"] * 10.0

    np.testing.assert_array_equal(ps.vmap(lambda a: affine({"a": a, "b": np.arange(3.0)}))(X), X * np.arange(3.0) * 10)


@pytest.mark.parametrize("mode", ["rrule", "frule", "none"])
def test_the_derivative_of_a_batch_is_that_of_its_examples(mode: str) -> None:
    f = ps.primitive(lambda x: np.tanh(x) * x, name="own")
    if mode == "rrule":
        ps.rrule(f)(lambda x: (f(x), lambda dy: dy * 3.0 * x))
    if mode == "frule":
        ps.frule(f)(lambda x: (f(x), lambda tx: tx * 3.0 * x))
    batch(f)(lambda batched, x: np.tanh(x) * x)
    slope = 3.0 * X if mode != "none" else np.tanh(X) + X / np.cosh(X) ** 2
    np.testing.assert_allclose(ps.vmap(lambda x: ps.grad(lambda z: np.sum(f(z)))(x))(X), slope)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(ps.vmap(f)(x)))(X), slope)
    np.testing.assert_allclose(ps.jvp(ps.vmap(f), (X,), (np.ones_like(X),))[1], slope)


def test_a_batch_of_batches_is_made_of_the_rules_program() -> None:
    f = total()
    batch(f)(lambda batched, x: np.sum(x, axis=1) * 10.0)
    np.testing.assert_array_equal(ps.vmap(ps.vmap(f))(np.stack([X, X])), [[60.0, 160.0]] * 2)


def test_a_rule_that_comes_later_is_used_where_the_batch_is_cached() -> None:
    f = total()
    batched = ps.vmap(f)
    np.testing.assert_array_equal(batched(X), [6.0, 16.0])
    batch(f)(lambda batched, x: np.sum(x, axis=1) * 10.0)
    np.testing.assert_array_equal(batched(X), [60.0, 160.0])
    ps.opt_out(f)
    np.testing.assert_array_equal(batched(X), [6.0, 16.0])


def test_complex_arguments_are_complex_in_the_rule() -> None:
    f = ps.primitive(lambda z: z * 1j, name="turned")
    batch(f)(lambda batched, z: z * 2j)
    z = X + 1j * X[::-1]
    np.testing.assert_array_equal(ps.vmap(f)(z), z * 2j)


def test_a_file_with_the_batch_runs_without_the_rule(tmp_path: Any) -> None:
    f = total()
    batch(f)(lambda batched, x: np.sum(x, axis=1) * 10.0)
    ps.trace(ps.vmap(f), ps.spec("float64", ["N", 3])).save(tmp_path / "batch.onnx")
    np.testing.assert_array_equal(ps.load(tmp_path / "batch.onnx")(X), [60.0, 160.0])


def test_an_operators_rule_takes_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BATCHING, "Selu", BATCHING["Selu"])

    @batch("Selu", replace=True)
    def selu(site: Site) -> Any:
        assert site.is_batched(0)
        return site.emit(site.input(0)) * 10.0

    from primsplit.ops import op

    found = ps.vmap(lambda x: op.Selu(x))(X)
    np.testing.assert_allclose(found, X * 10.0 * 1.0507009873554805, rtol=1e-6)


REFUSED = [
    ("no operator", "Selou", lambda site: None, "Did you mean .*Selu"),
    ("no primitive", np.sin, lambda batched, x: x, "batch takes a primitive"),
    ("too few", total(), lambda x: x, "too many positional arguments"),
    ("states", ps.primitive(lambda x, *, s: x + s, state={"s": 0.0}), lambda batched, x: x, "has states"),
]


@pytest.mark.parametrize(("target", "rule", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_rule_that_would_not_be_used_is_refused_at_its_line(target: Any, rule: Any, told: str) -> None:
    with pytest.raises(RuleError, match=told) as caught:
        batch(target)(rule)
    if target is not np.sin:
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__


def test_a_rule_whose_output_is_not_the_batchs_is_told() -> None:
    f = total()
    batch(f)(lambda batched, x: (x, x))
    with pytest.raises(RuleError, match="has 2 arrays as its output, where total has 1"):
        ps.vmap(f)(X)
    g = ps.primitive(lambda x: np.sum(x), name="other")
    batch(g)(lambda batched, x: x)
    with pytest.raises(ps.PrimsplitError, match="the batching rule of other gave"):
        ps.vmap(g)(X)


def test_a_primitive_with_a_rule_may_stand_before_a_branch() -> None:
    f = total()
    batch(f)(lambda batched, x: np.sum(x, axis=1))

    def positive(x: Any) -> Any:
        y = f(x)
        return y if y > 0 else -2.0 * y

    program = ps.trace(positive, X[0])
    assert [float(program(x)) for x in (X[0], -X[0])] == [6.0, 12.0]
