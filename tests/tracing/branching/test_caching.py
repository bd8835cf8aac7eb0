"""Cached sub-programs: recorded once, used as one op, differentiated as one split."""

import pathlib
import time

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.testing import check_grads
from tests.threads import in_threads


@pytest.fixture
def squares():
    """Fixture F7."""

    @ps.cached
    def g(x):
        return (np.abs(x) ** 2).sum()

    return g


def test_it_is_traced_once_for_many_outer_programs(squares) -> None:
    g = squares
    x = np.array([1.0, 2.0, 3.0])

    def f(x):
        return 2 * g(x)

    value, gradient = ps.value_and_grad(f)(x)
    assert value == 28
    np.testing.assert_allclose(gradient, [4.0, 8.0, 12.0])
    np.testing.assert_allclose(ps.grad(lambda x: 2 * g(x + 1))(x), [8.0, 12.0, 16.0])
    ps.trace(lambda x: g(x) + g(2 * x), ps.spec("float64", [3]))
    assert (g.statistics.misses, g.statistics.hits) == (1, 3)


def test_a_program_that_is_run_again_finds_what_its_first_run_recorded() -> None:
    """The names mean substitutes in the second run, which `np.array` of traced numbers and `type(x)` ask for."""
    table, calls = np.array([1.0, 2.0, 3.0]), []

    @ps.cached
    def g(x):
        calls.append(x)
        return sum(x * table) + float(len(x))

    x = np.array([1.0, 2.0, 3.0])
    gradient = ps.grad(lambda x: np.array([x[0], g(x)]).sum())
    np.testing.assert_allclose(gradient(x), [2.0, 2.0, 3.0])
    ps.grad(lambda x: g(2 * x))(x)
    ps.grad(lambda x: g(x) if type(x) is np.ndarray else x[0])(x)
    assert (len(calls), g.statistics.misses) == (1, 1)
    assert "nothing" in g.explain_miss()


def test_threads_that_trace_at_the_same_time_share_one_recording() -> None:
    @ps.cached
    def slow(x):
        time.sleep(0.05)
        return np.sum(x * x)

    sizes, found = (2, 3), {}

    def work(i: int) -> None:
        found[i] = ps.grad(lambda x: i * slow(x))(np.ones(sizes[i % 2]))

    in_threads(work, 8)
    for i in range(8):
        np.testing.assert_array_equal(found[i], np.full(sizes[i % 2], 2.0 * i))
    assert (slow.statistics.misses, slow.statistics.hits) == (2, 6)


def test_recordings_come_and_go_while_threads_use_them() -> None:
    @ps.cached(maxsize=1)
    def square(x):
        return np.sum(x * x)

    wrong = []

    def work(i: int) -> None:
        for size in range(1, 25):
            x = np.arange(float(size + i % 3))
            if not np.array_equal(ps.grad(lambda x, i=i: square(x) + i)(x), 2.0 * x):
                wrong.append((i, size))

    in_threads(work, 6)
    assert not wrong
    assert len(square.recordings) == 1


def test_every_use_is_one_op(squares) -> None:
    g = squares
    program = ps.trace(lambda x: g(x) * g(x + 1), ps.spec("float64", [3]))
    assert [op.kind for op in program.block.ops] == ["call::g", "Add", "call::g", "Mul"]


def test_second_order_and_both_nestings(squares) -> None:
    g = squares
    inner = ps.cached(ps.grad(lambda x: (np.sin(x) * x).sum()), name="inner")
    check_grads(lambda x: g(np.sin(x)), np.array([0.3, 0.7]), order=2)
    check_grads(lambda x: (inner(x) ** 2).sum(), np.array([0.3, 0.7]), order=2)
    nested = ps.cached(lambda x: g(x) * g(2 * x), name="nested")
    check_grads(lambda x: nested(x).sum(), np.array([0.3, 0.7]), order=2)


def test_on_arrays_it_runs_what_was_recorded(squares) -> None:
    g = squares
    for _ in range(3):
        assert g(np.array([1.0, 2.0])) == 5.0
    assert g.statistics.misses == 1
    assert g.compiled.statistics.hits == 2


def test_a_miss_is_explained(squares) -> None:
    g = squares
    scale = [2.0]

    @ps.cached
    def scaled(x, power=1):
        return (scale[0] * x**power).sum()

    def use(function, *args, **named):
        ps.trace(lambda x: function(x, **named), *args)

    use(g, ps.spec("float64", [3]))
    assert "nothing" in g.explain_miss()
    use(g, ps.spec("float32", [3]))
    assert "float32[3] where float64[3] was" in g.explain_miss()
    use(scaled, ps.spec("float64", [3]))
    use(scaled, ps.spec("float64", [3]), power=2)
    assert "static argument" in scaled.explain_miss() or "nested" in scaled.explain_miss()
    assert "array" not in scaled.explain_miss()
    scale[0] = 3.0
    use(scaled, ps.spec("float64", [3]), power=2)
    assert "something that it reads" in scaled.explain_miss()


def test_the_least_recently_used_recording_goes() -> None:
    g = ps.cached(lambda x: x.sum(), name="g", maxsize=2)
    for n in (1, 2, 1, 3):
        ps.trace(g, ps.spec("float64", [n]))
    assert [key.types[0][0] for key in g.recordings] == [("float64", (1,)), ("float64", (3,))]
    ps.trace(g, ps.spec("float64", [2]))
    assert "forgotten for others: more than maxsize=2" in g.explain_miss()
    g.clear()
    assert not g.recordings
    ps.trace(g, ps.spec("float64", [2]))
    assert "nothing was recorded yet" in g.explain_miss()


def test_a_file_keeps_it_as_a_pair_of_functions(squares, tmp_path: pathlib.Path) -> None:
    g = squares
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: g(x) * g(np.sin(x)), ps.spec("float64", [3]), path=path, form="functions")
    import onnx

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    names = [f.name for f in model.functions]
    assert any(n.startswith("g") and "pullback" in n for n in names)
    calls = [n.op_type for f in model.functions for n in f.node if n.domain == "ps"]
    assert len([c for c in calls if c.startswith("g")]) >= 4
    x = np.array([0.3, 0.7, 1.1])
    found = ps.load(path)(x)
    expected = ps.value_and_grad(lambda x: (x**2).sum() * (np.sin(x) ** 2).sum())(x)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_other_transforms_see_through_it(squares) -> None:
    g = squares
    x, v = np.array([0.3, 0.7]), np.array([1.0, -2.0])
    _, tangent = ps.jvp(g, (x,), (v,))
    np.testing.assert_allclose(tangent, 2 * (x * v).sum(), rtol=1e-12)
    rows = np.stack([x, v, x + v])
    np.testing.assert_allclose(ps.vmap(g)(rows), (rows**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(ps.vmap(ps.grad(g))(rows), 2 * rows, rtol=1e-12)

    def f(xs):
        return ps.scan(lambda c, x: (c + g(np.stack([x, c])), None), 0.1, xs)[0]

    check_grads(f, np.array([0.3, 0.2, 0.4]), order=2)


def test_a_recording_follows_the_policy_of_each_trace() -> None:
    """One made along the branches of given arrays answers for no others, and one of all branches is no way around."""

    def cube_or_square(x):
        return x**3 if x > 1 else x**2

    for make in (ps.cached, ps.primitive):
        inner = make(cube_or_square)
        gradient = ps.grad(ps.guarded(lambda x, inner=inner: inner(x), lambda x: x > 1))
        assert [gradient(2.0), gradient(0.5)] == [12.0, 1.0]
        assert [ps.grad(inner)(2.0), ps.grad(inner)(0.5)] == [12.0, 1.0]
        with pytest.raises(ConcretizationError, match="a branch depends"):
            ps.trace(lambda x, inner=inner: inner(x), 1.0, branches="error")
