"""The repeated steps of a large program are one Scan where it is differentiated, with the gradients of the steps."""

import numpy as np
import pytest
from scipy.special import expit

import primsplit as ps
from primsplit import tracing
from primsplit.ir import walk
from primsplit.rewrites import loops
from primsplit.rewrites.loops import repeats
from primsplit.rewrites.loops.repeats import STEPS, fold_repeats
from primsplit.targets.pipeline import STAGES
from primsplit.targets.stages import Target
from primsplit.testing import check_grads
from primsplit.testing.reference import evaluate
from primsplit.tracing.array import Array
from primsplit.transforms.idioms import rewritten

pytestmark = pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")

LARGE = 1_000
"""The ops of a large program in these tests: the package's limit takes five times as long, by the same code."""


@pytest.fixture(autouse=True)
def _smaller_programs_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "LARGE", LARGE)


def swings(count, function=None):
    """A pendulum of so many steps of 9 ops; `function` of the states before, behind them."""

    def f(start, pushes, drag):
        angle, speed, seen = start, 0.0, []
        for t in range(count):
            rate = pushes[t] - drag * speed - 9.81 * np.sin(angle)
            angle, speed = angle + 0.01 * speed, speed + rate * (0.01 + 1e-6 * t)
            seen.append(angle)
        return angle * angle + speed + (0.0 if function is None else function(seen))

    return f


def by_scan(start, pushes, drag):
    """The same by a Scan that the user wrote."""

    def step(state, t):
        angle, speed = state
        push, width = t
        rate = push - drag * speed - 9.81 * np.sin(angle)
        return (angle + 0.01 * speed, speed + rate * width), None

    (angle, speed), _ = ps.scan(step, (start, np.zeros(())), (pushes, 0.01 + 1e-6 * np.arange(float(len(pushes)))))
    return angle * angle + speed


def data(count):
    return np.float64(0.3), np.random.default_rng(0).normal(size=count), np.float64(0.1)


def kinds(f, *args):
    return [op.kind for op in walk(fold_repeats(ps.trace(f, *args).block))]


def folded(program, *args):
    """The program with its steps in a Scan."""
    block = fold_repeats(program.block)
    assert len(block.ops) < len(program.block.ops)
    return ps.trace(lambda *given: Array(tracing.inline(block, [a.value for a in given])[0]), *args)


COUNT = LARGE // 8


def test_values_and_gradients_are_those_of_a_scan() -> None:
    args = data(COUNT)
    found = kinds(swings(COUNT), *args)
    assert found.count("Scan") == 1
    assert len(found) < 100
    got = ps.split(swings(COUNT), *args, seed="ones").joint()(*args)
    wanted = ps.split(by_scan, *args, seed="ones").joint()(*args)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_gradients_are_central_differences() -> None:
    start, pushes, drag = data(COUNT)
    check_grads(lambda s, d: swings(COUNT)(s, pushes, d), start, drag, order=2)


def test_values_have_the_bits_of_the_steps() -> None:
    program = ps.trace(swings(COUNT), *data(COUNT))
    np.testing.assert_array_equal(folded(program, *data(COUNT))(*data(COUNT)), program(*data(COUNT)))


def of_layers(count):
    """Layers with one matrix."""

    def f(x, w):
        for _ in range(count):
            x = np.tanh(x @ w) + 0.5 * x
        return np.sum(x)

    return f


def test_layers_that_share_a_matrix_are_one_scan() -> None:
    x, w = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.random.default_rng(0).normal(size=(3, 3)) / 3
    found = kinds(of_layers(LARGE // 4), x, w)
    assert found.count("Scan") == 1
    assert found.count("MatMul") <= 3
    check_grads(of_layers(LARGE // 4), x / 1e3, w, order=1)


def of_squares(x, y):
    """Steps with calls: a square, and the logistic function."""
    for _ in range(LARGE // 5):
        x = expit(np.tanh(x) ** 2 * y) + np.sin(x)
    return np.sum(x)


def test_steps_with_calls_are_one_scan(monkeypatch) -> None:
    monkeypatch.setattr(rewritten, "fold_repeats", fold_repeats)
    x, y = np.linspace(-1.0, 1.0, 6), np.linspace(0.1, 0.2, 6)
    found = [op.kind for op in walk(fold_repeats(ps.trace(of_squares, x, y).block))]
    assert found.count("Scan") == 1
    assert found.count("call::square") <= 3
    got = ps.split(of_squares, x, y, seed="ones").joint()
    assert len(got.block.ops) < 100
    assert got(x, y)[0] == pytest.approx(of_squares(x, y), rel=1e-12)


SPEC, OPEN_ROWS = ps.spec("float32", ["N", 3]), np.linspace(-1.0, 1.0, 12).reshape(4, 3).astype(np.float32)


def of_open_rows(x, w):
    seen = []
    for _ in range(LARGE // 4):
        x = np.tanh(x * w) + np.sin(x)
        seen.append(x)
    return np.sum(x) + np.mean(np.stack(seen))


@pytest.mark.parametrize("rows", [4, 1, 0])
def test_steps_of_a_size_that_is_open_are_one_scan(rows, monkeypatch) -> None:
    monkeypatch.setattr(rewritten, "fold_repeats", fold_repeats)
    w = np.array([0.5, 1.0, 1.5], np.float32)
    assert kinds(of_open_rows, SPEC, w).count("Scan") == 1
    got = ps.split(of_open_rows, SPEC, w, seed="ones").joint()
    assert len(got.block.ops) < 200
    x = OPEN_ROWS[:rows]
    wanted = ps.split(by_open_scan, x, w, seed="ones").joint()(x, w)
    for a, b in zip(got(x, w), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def by_open_scan(x, w):
    """The same by a Scan that the user wrote."""

    def step(x, _):
        x = np.tanh(x * w) + np.sin(x)
        return x, x

    last, seen = ps.scan(step, x, np.zeros(LARGE // 4))
    return np.sum(last) + np.mean(seen)


def test_files_without_gradients_are_folded_too() -> None:
    count = loops.LARGE // 8
    program = ps.trace(swings(count), *data(count))
    assert [node.op_type for node in program.to_onnx().graph.node].count("Scan") == 1
    assert program(*data(count)) == pytest.approx(swings(count)(*data(count)), rel=1e-12)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("count", [loops.LARGE - 1, loops.LARGE])
def test_both_tables_of_passes_fold_from_the_same_number_of_ops_on(count, monkeypatch) -> None:
    monkeypatch.setattr(repeats, "LARGE", loops.LARGE)

    def f(x):
        for _ in range(count):
            x = np.sin(x)
        return x

    block = ps.trace(f, np.float64(0.5)).block
    stage = next(stage for stage in STAGES if stage.name == "fold_repeats")
    for found in (rewritten.fold_repeats(block), stage.apply(block, Target())):
        assert (found is block) == (count < loops.LARGE)


KEPT = {
    "a small program": (swings(STEPS), data(STEPS)),
    "large arrays": (of_layers(LARGE // 4 + 1), (np.ones((100, 100)), np.ones((100, 100)))),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_programs_stay(name) -> None:
    f, args = KEPT[name]
    assert "Scan" not in kinds(f, *args)


def two_steps_back(x):
    a, b = x, 2.0 * x
    for _ in range(LARGE // 3):
        a, b = b, np.sin(a) + 0.5 * b
    return a + b


def test_a_step_that_reads_two_steps_back_carries_both() -> None:
    program = ps.trace(two_steps_back, np.float64(0.7))
    np.testing.assert_array_equal(folded(program, np.float64(0.7))(0.7), program(0.7))
    check_grads(two_steps_back, np.float64(0.7), order=1)


def test_steps_that_read_a_value_of_the_first_one_stay() -> None:
    def f(x):
        y = x * np.exp(x)
        first = None
        for _ in range(LARGE // 2 + STEPS):
            again = np.exp(x)
            first = again if first is None else first
            y = y * first
        return y

    x = np.float64(-1e-3)
    program = ps.trace(f, x)
    folded_block = fold_repeats(program.block)
    again = ps.trace(lambda given: Array(tracing.inline(folded_block, [given.value])[0]), x)
    np.testing.assert_allclose(again(x), f(x), rtol=1e-10)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_open_sizes_that_may_be_equal_are_compared_without_asking(rows) -> None:
    def f(x, y):
        for t in range(LARGE):
            x, y = np.sin(x) + 1e-3 * t, np.cos(y)
        return x * y

    x, y = np.linspace(0.1, 0.9, rows), np.array([0.3])
    program = ps.trace(f, ps.spec("float64", ["N"]), ps.spec("float64", [1]))
    folded = fold_repeats(program.block)
    assert len(folded.ops) < LARGE
    np.testing.assert_allclose(evaluate(folded, [x, y])[0], f(x, y), rtol=1e-12)
