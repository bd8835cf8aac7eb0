"""Random NumPy programs in batches: what NumPy gives for each example, whichever inputs differ between them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import primsplit as ps
from tests.journeys.test_random_control import arguments, is_far_from_branching
from tests.programs.controlled import compiled, sources
from tests.programs.drawn import Step, call, programs

rng = np.random.default_rng(12)
SHAPES = [(3, 2), (3,), (2, 3)]
INPUTS = [rng.standard_normal(shape) for shape in SHAPES]
BATCH = [rng.standard_normal((4, *shape)) for shape in SHAPES]
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]
flags = st.lists(st.booleans(), min_size=3, max_size=3).filter(any)


def _check(program: list[Step], batched: list[bool]) -> None:
    told = " ; ".join(step.text for step in program) + f" {batched}"
    axes = tuple(0 if b else None for b in batched)
    given = [x if b else x[0] for x, b in zip(BATCH, batched, strict=True)]
    specs = [ps.spec("float64", ("B", *s)) if b else x for s, x, b in zip(SHAPES, given, batched, strict=True)]
    examples = [[x[i] if b else x for x, b in zip(given, batched, strict=True)] for i in range(4)]

    def function(*xs: Any) -> Any:
        return call(program, *xs)

    results = [np.stack(r) for r in zip(*(call(program, *(x.copy() for x in e)) for e in examples), strict=True)]
    whole = ps.trace(ps.vmap(function, in_axes=axes), *specs)
    for found, wanted in zip(whole(*given), results, strict=True):
        assert found.shape == wanted.shape, told
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=told)
    gradient = ps.grad(lambda *xs: sum(np.sum(np.cos(r)) for r in call(program, *xs)), wrt=(0, 1, 2))
    single = ps.trace(gradient, *examples[0])
    slopes = [np.stack(r) for r in zip(*(single(*e) for e in examples), strict=True)]
    for found, wanted in zip(ps.vmap(gradient, in_axes=axes)(*given), slopes, strict=True):
        scale = np.max(np.abs(wanted), initial=1)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * scale, err_msg=told)


@given(programs(INPUTS), flags)
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=QUIET)
def test_a_batch_of_a_random_program_is_numpys(program: list[Step], batched: list[bool]) -> None:
    _check(program, batched)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(programs(INPUTS, most=14), flags)
@settings(max_examples=30, deadline=None, suppress_health_check=QUIET)
def test_batches_of_many_long_random_programs_are_numpys(part: int, program: list[Step], batched: list[bool]) -> None:
    _check(program, batched)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(sources(), st.integers(0, 3))
@settings(max_examples=10, deadline=None, suppress_health_check=QUIET)
def test_batches_of_many_programs_of_branches_and_loops_are_their_examples(part: int, source: str, seed: int) -> None:
    points = [p for p in (arguments(3, seed + 10 * i) for i in range(3)) if is_far_from_branching(source, p)]
    assume(points)
    program = compiled(source, lambda a, b: a > b)

    def loss(*args: Any) -> Any:
        x, y, s, t = program(*args)
        return np.sum(x * np.arange(1.0, 4.0)) + np.sum(y) + s - t

    one = ps.value_and_grad(loss, (0, 1, 2, 3))
    examples = [one(*p) for p in points]
    values, slopes = ps.vmap(one)(*(np.stack(parts) for parts in zip(*points, strict=True)))
    np.testing.assert_allclose(values, [v for v, _ in examples], rtol=1e-9, atol=1e-9, err_msg=source)
    for found, wanted in zip(slopes, zip(*(g for _, g in examples), strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-8, atol=1e-9, err_msg=source)
