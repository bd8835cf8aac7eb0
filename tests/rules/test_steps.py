"""A Scan and a Loop as their derivative sees them: carries, then the values of each step, and the number of steps."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rules import loops, turns
from primsplit.rules.steps import Turns

ROWS = np.arange(8.0).reshape(4, 2)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Turns]:
    """The loops that a test differentiates."""
    found: list[Turns] = []

    def noted(site: Any, loop: Turns) -> Any:
        found.append(loop)
        return turns.run_turns(site, loop)

    monkeypatch.setattr(loops, "run_turns", noted)
    return found


def test_a_scan_has_its_carries_first_and_an_element_of_each_sequence(seen: list[Turns]) -> None:
    def f(xs: Any) -> Any:
        (total, product), _ = ps.scan(lambda c, x: ((c[0] + x, c[1] * x), c[0]), (np.zeros(2), np.ones(2)), xs)
        return np.sum(total) + np.sum(product)

    np.testing.assert_allclose(ps.grad(f)(ROWS + 1.0), 1.0 + np.prod(ROWS + 1.0, axis=0) / (ROWS + 1.0))
    (scan,) = seen
    assert (scan.count, scan.first, len(scan.writes)) == (2, 0, 1)
    assert scan.elements == scan.body.params[2:]
    assert [str(p.type) for p in scan.elements] == ["float64[2]"]
    assert len(scan.sequences) == 1
    assert scan.again is None


def test_a_loop_has_the_number_of_the_step_behind_its_carries(seen: list[Turns]) -> None:
    def f(x: Any) -> Any:
        return ps.fori_loop(0, 3, lambda i, c: c * x + i, x)

    # ((x x) x + 1) x + 2
    np.testing.assert_allclose(ps.grad(f)(np.float64(1.5)), 4 * 1.5**3 + 1)
    for loop in seen:
        assert loop.elements == loop.body.params[loop.count :]
        assert (loop.count, loop.first) == (len(loop.inits), 2 if loop.again else 0)


def test_the_number_of_steps_is_that_of_the_run(seen: list[Turns]) -> None:
    def f(x: Any, n: Any) -> Any:
        return ps.fori_loop(0, n, lambda i, c: c * x, np.float64(1.0))

    made = ps.split(f, ps.spec("float64", []), ps.spec("int64", []), wrt=0).joint()
    for count in (0, 1, 5):
        np.testing.assert_allclose(made(np.float64(1.5), np.int64(count))[1], count * 1.5 ** (count - 1))
    assert seen[0].steps is not None
    assert seen[0].count == 1
