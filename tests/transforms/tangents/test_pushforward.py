"""Tangent lists of blocks: what is in them, what their primals compute, and forward mode through control flow."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.analysis.dependence import dependent
from primsplit.ops import op
from primsplit.programs.pushed import push_program
from primsplit.tracing import trees
from primsplit.transforms.tangents.pushforward import push_whole
from tests.recording import record


def test_the_listing_of_a_tangent_list() -> None:
    program = ps.trace(lambda x, y: np.tanh(x) * y, ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    lines = [line.split("#")[0].rstrip() for line in push_program(program).listing().splitlines()]
    assert [" ".join(line.split()) for line in lines] == [
        "program(x: float64[N], y: float64[N]):",
        "tanh: float64[N] = Tanh(x)",
        "result: float64[N] = Mul(tanh, y)",
        "a: float64[N] = Mul(tanh, tanh)",
        "sub: float64[N] = Sub(1.0, a)",
        "return result",
        "",
        "program.tangent(sub: float64[N], y: float64[N], tanh: float64[N], t_x: float64[N], t_y: float64[N]):",
        "b: float64[N] = Mul(t_x, sub)",
        "c: float64[N] = Mul(b, y)",
        "d: float64[N] = Mul(tanh, t_y)",
        "e: float64[N] = Add(c, d)",
        "return e",
    ]


def test_what_does_not_depend_on_the_tangent_is_computed_in_the_primal() -> None:
    block = record(lambda x: op.Sin(x) * 2.0, "float64[N]")
    pushed = push_whole(block, [0], [0])
    assert [o.kind for o in pushed.tangent.ops] == ["Mul", "Mul"]
    assert "Cos" in [o.kind for o in pushed.primal.ops]


def test_zeros_are_made_where_they_are_read_rather_than_captured() -> None:
    block = record(
        lambda x: op.ScatterND(op.Expand(0.0, op.Shape(x)), np.array([[1]]), op.Slice(x, [0], [1])), "float64[N]"
    )
    pushed = push_whole(block, [0], [0])
    assert all(c.type.rank == 1 and c.type.dtype == np.int64 for c in pushed.captures)


def test_an_input_that_the_result_ignores_has_no_tangent_op() -> None:
    block = record(lambda x, y: op.Mul(x, 2.0), "float64[3]", "float64[3]")
    assert push_whole(block, [1], [0]).targets == ()
    assert len(push_whole(block, [0, 1], [0]).tangent.ops) == 1


def test_a_diamond_of_sixty_stages_is_pushed_once_an_op() -> None:
    def chain(x: Any) -> Any:
        for _ in range(60):
            x = op.Mul(op.Sin(x), op.Cos(x))
        return x

    block = record(chain, "float64[3]")
    pushed = push_whole(block, [0], [0])
    assert len(pushed.tangent.ops) == 60 * 5


def test_outputs_of_a_loop_depend_each_by_itself() -> None:
    def counted(n: Any, x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            return s + x, i * 2

        return ps.scan(lambda s, i: step(i, s), np.zeros(3), np.arange(4))

    program = ps.trace(lambda x: counted(4, x), ps.spec("float64", [3]))
    depends = dependent(program.block.ops, program.block.params)
    carry, stacked = program.block.results
    assert carry in depends
    assert stacked not in depends


LOOPS = [
    ("scan", lambda x: ps.scan(lambda c, r: (np.tanh(c + r), c * r), x[0], x)),
    ("fori_loop", lambda x: ps.fori_loop(0, 4, lambda i, c: np.sin(c) + c, x)),
    ("while_loop", lambda x: ps.while_loop(lambda c: np.sum(c) < 30.0, lambda c: c * 1.5 + np.sin(c), x)),
    ("cond", lambda x: ps.cond(np.sum(x) > 0.0, lambda y: np.exp(y), lambda y: y * 2.0, x)),
    ("map", lambda x: ps.map(lambda r: np.sum(np.sin(r)) * r, x)),
]


@pytest.mark.parametrize("function", [f for _, f in LOOPS], ids=[n for n, _ in LOOPS])
def test_forward_mode_goes_through_control_flow(function: Any) -> None:
    random = np.random.default_rng(0)
    x, t = random.uniform(0.2, 1.0, (3, 2)), random.standard_normal((3, 2))
    _, tangent = ps.jvp(function, (x,), (t,))
    step = 1e-6
    program = ps.trace(function, x)
    ahead, behind = (trees.flatten(program(x + s * step * t))[0] for s in (1, -1))
    for found, a, b in zip(trees.flatten(tangent)[0], ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * step), rtol=1e-7, atol=1e-8)
