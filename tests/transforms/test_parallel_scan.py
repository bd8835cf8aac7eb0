"""`ps.scan(..., parallel=True)`: the values and gradients of the same loop in plain Python, for every length."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError, TraceError
from primsplit.ops import op
from primsplit.testing import check_grads
from primsplit.transforms import parallel_scan

random = np.random.default_rng(3)
FORCES = random.standard_normal(50)


def pendulum(drag: Any, start: Any, forces: Any, **options: Any) -> Any:
    """Two numbers and a vector are carried, and two arrays stacked."""

    def step(carry: Any, force: Any) -> Any:
        angle, speed, pulled = carry
        new = speed + 0.1 * (force - drag * speed - 2.0 * np.sin(angle))
        pulled = 0.9 * pulled + 0.1 * np.stack([new, np.tanh(angle)])
        return (angle + 0.1 * new, new, pulled), (np.cos(angle), pulled)

    return ps.scan(step, (start[0], start[1], start[2:]), forces, **options)


def flat(found: Any) -> list[Any]:
    (angle, speed, pulled), (cosines, every) = found
    return [angle, speed, pulled, cosines, every]


START = np.array([0.3, -0.2, 0.1, 0.5])


def by_steps_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spoil the way step by step, which is then seen to be not taken."""
    plain = parallel_scan.Steps.one_by_one
    monkeypatch.setattr(parallel_scan.Steps, "one_by_one", lambda *args: 0.0 * plain(*args))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_steps_at_once_are_those_of_the_loop(dtype: Any, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    by_steps_is_zero(monkeypatch)
    start, forces = START.astype(dtype), FORCES.astype(dtype)

    def run(start: Any, forces: Any) -> list[Any]:
        return flat(pendulum(dtype(0.3), start, forces, reverse=reverse, parallel=True))

    for one, right in zip(ps.trace(run, start, forces)(start, forces), run(START, FORCES), strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, right, rtol=200 * np.finfo(dtype).eps, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 64, 65])
def test_a_run_decides_how_many_steps_there_are(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_steps_is_zero(monkeypatch)

    def run(start: Any, forces: Any) -> list[Any]:
        return flat(pendulum(0.3, start, forces, parallel=True))

    program = ps.trace(run, START, ps.spec("float64", ["N"]))
    forces = np.resize(FORCES, count)
    for one, right in zip(program(START, forces), run(START, forces), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-12, atol=1e-14)


def test_the_derivatives_of_all_steps_at_once_are_right() -> None:
    def cost(drag: Any, start: Any, forces: Any) -> Any:
        angle, speed, pulled, cosines, every = flat(pendulum(drag, start, forces, parallel=True))
        return angle**2 + speed + np.sum(pulled) + np.sum(np.sin(cosines)) + np.sum(every**2)

    check_grads(cost, 0.3, START, FORCES[:20], modes=("reverse", "forward"), symbolic=False)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_the_gradient_of_few_steps_is_right(length: int) -> None:
    def cost(start: Any, forces: Any, **options: Any) -> Any:
        return sum(np.sum(x**2) for x in flat(pendulum(0.3, start, forces, **options)))

    spec = ps.spec("float64", ["N"])
    program = ps.split(lambda s, f: cost(s, f, parallel=True), START, spec, seed="ones").joint()
    one_by_one = ps.split(cost, START, spec, seed="ones").joint()
    for one, right in zip(program(START, FORCES[:length]), one_by_one(START, FORCES[:length]), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-12)


def test_steps_are_counted_without_sequences() -> None:
    def newton(a: Any, length: Any) -> Any:
        return ps.scan(lambda x, _: (0.5 * (x + a / x), x), a, length=length, parallel=True)

    last, every = ps.trace(lambda a: newton(a, 6), 3.0)(3.0)
    np.testing.assert_allclose(last, np.sqrt(3.0), rtol=1e-15)
    np.testing.assert_allclose(every, newton(3.0, 6)[1], rtol=1e-15)
    last, every = ps.trace(newton, 3.0, np.int64(6))(3.0, np.int64(4))
    np.testing.assert_allclose(every, newton(3.0, 4)[1], rtol=1e-15)


def logistic(rate: Any, length: int, **options: Any) -> Any:
    return ps.scan(lambda x, _: (rate * x * (1.0 - x), x), 0.3, length=length, **options)[1]


def test_a_chaotic_recurrence_goes_step_by_step() -> None:
    """Each step is that of the body, which no iteration reaches for the whole sequence."""
    found = ps.trace(lambda rate: logistic(rate, 300, parallel=True), 3.9)(3.9)
    np.testing.assert_allclose(found[1:], 3.9 * found[:-1] * (1.0 - found[:-1]), rtol=1e-13)
    np.testing.assert_allclose(found[:20], logistic(3.9, 20), rtol=1e-12)
    check_grads(lambda rate: np.sum(logistic(rate, 12, parallel=True)), 3.9)


def test_a_large_carry_at_the_end_hides_no_error_before_it() -> None:
    def run(rate: Any) -> Any:
        def step(x: Any, t: Any) -> Any:
            new = np.where(t < 99, rate * np.sin(3.0 * x), 1e200)
            return new, new

        return ps.scan(step, 0.3, np.arange(100.0), parallel=True)[1]

    found = ps.trace(run, 2.5)(2.5)
    np.testing.assert_allclose(found[1:-1], 2.5 * np.sin(3.0 * found[:-2]), rtol=1e-10)


def test_nan_is_where_the_loop_has_it() -> None:
    forces = FORCES.copy()
    forces[20] = np.nan

    def run(forces: Any) -> Any:
        return pendulum(0.3, START, forces, parallel=True)[1][0]

    np.testing.assert_allclose(ps.trace(run, forces)(forces), run(forces), rtol=1e-12)


def test_a_tolerance_is_the_error_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    by_steps_is_zero(monkeypatch)

    def angles(forces: Any, tolerance: Any) -> Any:
        return pendulum(0.3, 4 * START, forces, parallel=tolerance)[1][0]

    right = angles(FORCES, True)
    fine, coarse = (ps.trace(lambda f, t=t: angles(f, t), FORCES)(FORCES) for t in (True, 0.03))
    np.testing.assert_allclose(fine, right, rtol=1e-13)
    assert 1e-12 < np.abs(coarse - right).max() < 0.5


def test_a_batch_of_parallel_scans_has_those_of_each_example() -> None:
    starts = np.stack([START, 2 * START])

    def run(start: Any) -> list[Any]:
        return flat(pendulum(0.3, start, FORCES, parallel=True))

    found = ps.vmap(run)(starts)
    for one, right in zip(found, zip(*map(run, starts), strict=True), strict=True):
        np.testing.assert_allclose(one, np.stack(right), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("start", "error"), [(np.zeros(9), ShapeError), (0, DtypeError), ((0.0, 1), DtypeError), ((), DtypeError)]
)
def test_other_carries_are_refused(start: Any, error: type[PrimsplitError]) -> None:
    with pytest.raises(error):
        ps.trace(lambda xs: ps.scan(lambda c, x: (c, x), start, xs, parallel=True), FORCES)


def test_checkpoints_are_refused() -> None:
    with pytest.raises(ShapeError):
        ps.scan(lambda c, x: (c + x, None), 0.0, FORCES, parallel=True, checkpoint="sqrt")


def test_random_numbers_are_refused() -> None:
    """Each evaluation of the body would draw others."""
    with pytest.raises(TraceError, match="random"):
        ps.trace(lambda xs: ps.scan(lambda c, x: (0.5 * c + op.RandomNormalLike(x), c), 0.0, xs, parallel=True), FORCES)
