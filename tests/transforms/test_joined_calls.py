"""Calls of one function on many numbers are one call on rows: SciPy's values, right gradients, few nodes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.programs.program import Program
from primsplit.rewrites.inline import inline_calls
from primsplit.testing import check_grads
from primsplit.transforms.joined_calls import join_calls
from tests.recording import kinds

COUNTS = np.linspace(0.5, 9.0, 20)


def nodes(program: Program) -> int:
    return len(program.to_onnx().graph.node)


def by_day(k: Any, counts: Any) -> Any:
    total = 0.0
    for t in range(20):
        total = total + special.gammaln(counts[t] + k) * special.gammaln(k)
    return total


def of_pairs(a: Any, x: Any) -> Any:
    """Four chains, each of whose calls reads the one before, and two functions that read each other's results."""
    chains = [x[i] for i in range(4)]
    for _ in range(3):
        chains = [special.gammaln(a + special.erf(c) ** 2) for c in chains]
    return sum(chains)


def of_vectors(a: Any, x: Any) -> Any:
    return sum(np.sum(special.gammaln(a * x[i : i + 3]) * special.erf(x[i])) for i in range(8))


def in_a_row(a: Any, x: Any) -> Any:
    for t in range(6):
        a = special.gammaln(a + x[t])
    return a


def of_several_readers(a: Any, x: Any) -> Any:
    found = [special.gammaln(a + x[t]) for t in range(6)]
    return found[0] * found[5], np.stack(found), found[3]


def out_of_order(a: Any, x: Any) -> Any:
    """Each result is read before the next argument is computed."""
    total = 0.0 * a
    for t in range(8):
        total = np.sin(total + special.gammaln(a + np.exp(x[7 - t])))
    return total


def of_the_same(a: Any, x: Any) -> Any:
    """Arguments that are computed alike from the same arrays, alone and beside others."""
    few = x[:3]
    same = [special.gammaln((few - a) * 0.1 + 1.0) for _ in range(6)]
    others = [special.gammaln((few - a) * 0.1 + x[t]) for t in range(6)]
    return sum(np.sum(f * g) for f, g in zip(same, others, strict=True))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (of_the_same, of_pairs, of_vectors, in_a_row, of_several_readers, out_of_order)
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_joined_calls_have_scipys_values_and_right_gradients(name: str) -> None:
    check_grads(FUNCTIONS[name], 1.3, COUNTS[:12], modes=("reverse", "forward"), symbolic=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loop_over_numbers_has_a_few_nodes_a_turn(dtype: Any) -> None:
    counts, k = COUNTS.astype(dtype), dtype(0.7)
    program = ps.split(by_day, k, counts, wrt=["k", "counts"], seed="ones").joint()
    one = ps.split(lambda k, c: special.gammaln(c + k), k, counts[0], seed="ones").joint()
    assert nodes(program) < 2.5 * nodes(one) + 15 * 20
    value, of_k, of_counts = program(k, counts)
    wide = COUNTS.astype(np.float64), float(k)
    digits = 1e-12 if dtype == np.float64 else 2e-5
    each = special.gammaln(wide[0] + wide[1])
    slopes = special.digamma(wide[0] + wide[1])
    last = special.gammaln(wide[1])
    np.testing.assert_allclose(value, np.sum(each) * last, rtol=digits)
    np.testing.assert_allclose(of_counts, slopes * last, rtol=digits, atol=digits)
    np.testing.assert_allclose(of_k, np.sum(slopes) * last + np.sum(each) * special.digamma(wide[1]), rtol=digits)


def test_calls_that_read_one_another_stay_apart() -> None:
    few = ps.trace(lambda a, x: special.gammaln(special.gammaln(a + x[0]) + x[1]), 1.3, COUNTS)
    many = ps.trace(in_a_row, 1.3, COUNTS)
    assert nodes(many) == 3 * nodes(few)


def test_copies_of_a_body_that_calls_another_are_joined() -> None:
    """Derivatives copy bodies, and those that they call."""

    def copied(body: Block) -> Block:
        return replace(body, ops=tuple(each.with_blocks(copied) for each in body.ops))

    block = ps.trace(lambda x: [special.ndtr(x[t]) for t in range(6)], COUNTS).block
    block = replace(block, ops=tuple(each.with_blocks(copied) for each in block.ops))
    assert Counter(kinds(join_calls(block, lambda _: False)))["call::ndtr"] == 1


def test_calls_with_loops_and_branches_are_joined() -> None:
    @ps.primitive
    def grown(x: Any) -> Any:
        x = ps.while_loop(lambda y: y < 100.0, lambda y: y * y + 1.0, x)
        return ps.cond(x > 200.0, lambda: np.sqrt(x) + 1.0, lambda: x * 0.5 - 1.0)

    def by_hand(x: float) -> float:
        while x < 100.0:
            x = x * x + 1.0
        return x**0.5 + 1.0 if x > 200.0 else x * 0.5 - 1.0

    program = ps.trace(lambda x: [grown(x[t]) for t in range(6)], COUNTS)
    assert Counter(kinds(join_calls(program.block, lambda _: False)))["call::grown"] == 1
    given = np.array([0.5, 3.0, 9.0, 120.0, 150.0, 400.0, *COUNTS[6:]])
    np.testing.assert_allclose(program(given), [by_hand(float(x)) for x in given[:6]], rtol=1e-15)


def test_calls_that_draw_numbers_stay_apart() -> None:
    @ps.primitive
    def noise(x: Any) -> Any:
        for _ in range(8):
            x = x * 1.5 + op.RandomNormalLike(x)
        return x

    block = ps.trace(lambda x: [noise(x[t]) for t in range(6)], COUNTS).block
    assert join_calls(block, lambda _: False) is block


def test_calls_in_branches_are_joined_too() -> None:
    def chosen(a: Any, x: Any) -> Any:
        return ps.cond(a > 1.0, lambda: sum(special.gammaln(a + x[t]) for t in range(6)), lambda: a)

    program = ps.trace(chosen, 1.3, COUNTS)
    (branch,) = (n for n in program.to_onnx().graph.node if n.op_type == "If")
    one = nodes(ps.trace(lambda a, x: special.gammaln(a + x[0]), 1.3, COUNTS))
    assert max(len(a.g.node) for a in branch.attribute) < 2 * one + 6 * 4
    np.testing.assert_allclose(program(1.3, COUNTS), sum(special.gammaln(1.3 + COUNTS[:6])), rtol=1e-13)


def test_large_arrays_are_not_joined() -> None:
    x = np.linspace(1.0, 2.0, 6 * 70).reshape(6, 70)
    one = nodes(ps.trace(lambda x: special.gammaln(x[0]), x))
    assert nodes(ps.trace(lambda x: [special.gammaln(x[t]) for t in range(6)], x)) > 5 * one


def test_arguments_that_are_computed_alike_are_computed_on_rows() -> None:
    def function(a: Any, x: Any) -> Any:
        return np.stack([special.gammaln(x[t] * a + 1.0) for t in range(6)])

    block = ps.trace(function, 1.3, COUNTS).block
    body = next(each.attributes["body"] for each in block.ops if each.kind == "call::gammaln")
    joined = Counter(kinds(inline_calls(join_calls(block, lambda _: False))))
    inside = Counter(kinds(body))
    assert joined["Mul"] == inside["Mul"] + 1
    assert joined["Add"] == inside["Add"] + 1
    assert joined["Concat"] == 1  # the user's


LONG: dict[str, Callable[[Any], Any]] = {
    "Erf": special.erf,
    "Sigmoid": special.expit,
    "Tan": np.tan,
    "ndtr, which calls another function": special.ndtr,
    "i0": special.i0,
}


@pytest.mark.parametrize("name", LONG)
def test_operators_and_calls_that_a_file_writes_out_are_joined(name: str) -> None:
    function, x = LONG[name], np.linspace(0.1, 0.9, 40)

    def each(x: Any) -> Any:
        total = 0.0
        for t in range(len(x)):
            total = total + function(x[t])
        return total

    program, one = (ps.split(f, x, wrt="x", seed="ones").joint() for f in (each, lambda x: np.sum(function(x))))
    assert nodes(program) < nodes(one) + 12 * len(x)
    value, slopes = program(x)
    np.testing.assert_allclose(value, np.sum(function(x)), rtol=1e-13)
    np.testing.assert_allclose(slopes, (function(x + 1e-5) - function(x - 1e-5)) / 2e-5, rtol=1e-8)
