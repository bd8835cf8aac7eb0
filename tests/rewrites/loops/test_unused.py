"""A loop carries, walks and stacks only what somebody uses."""

import numpy as np

import primsplit as ps
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls


def loop_of(program, kind):
    block = optimize(inline_calls(program.block))
    return next(op for op in block.ops if op.kind == kind)


def test_a_carry_that_only_feeds_itself_is_dropped() -> None:
    def f(xs, ys):
        def step(c, x):
            a, b = c
            return (a + x[0], b * x[1]), (a, b)

        (a, _), _ = ps.scan(step, (0.0, 1.0), (xs, ys))
        return a

    program = ps.trace(f, ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    scan = loop_of(program, "Scan")
    assert (len(scan.inputs), len(scan.outputs)) == (2, 1)
    assert program(np.arange(3.0), np.ones(3)) == 3.0


def test_a_carry_that_another_one_reads_stays() -> None:
    def f(xs):
        def step(c, x):
            a, b = c
            return (a + b, b + x), None

        return ps.scan(step, (0.0, 1.0), xs)[0][0]

    program = ps.trace(f, ps.spec("float64", ["N"]))
    assert len(loop_of(program, "Scan").outputs) == 2
    assert program(np.ones(4)) == 10.0


def test_a_loop_keeps_what_its_condition_reads() -> None:
    def f(x):
        def step(c):
            n, y, z = c
            return n + 1, y * x, z * y

        return ps.while_loop(lambda c: c[0] < 5, step, (0, 1.0, 1.0))[1]

    program = ps.trace(f, 2.0)
    assert len(loop_of(program, "Loop").outputs) == 2
    assert program(2.0) == 32.0
