"""Programs as NumPy users write them, in batches: values and gradients are those of each example."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing import trees
from primsplit.tracing.specs import leaf_type
from tests.programs import learning, science, shapes, structures, writing
from tests.programs.table import Row
from tests.transforms.batching.examples import COUNT, batch, check, loss

THEMES = (science, learning, writing, shapes, structures)
ROWS = [row for theme in THEMES for row in theme.PROGRAMS]
EVERY = 8
"""One program in so many is tried each time, the others with the long sweeps."""
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _marked() -> Iterator[Any]:
    for position, row in enumerate(ROWS):
        if any(np.asarray(x).dtype.kind == "f" for x in trees.flatten(row.arguments)[0] if leaf_type(x) is not None):
            yield pytest.param(row, marks=() if position % EVERY == 0 else pytest.mark.slow, id=row.name)


@pytest.mark.parametrize("row", list(_marked()))
def test_a_batch_of_programs_of_any_size_is_the_stack_of_its_examples(row: Row) -> None:
    function, stacks, _ = batch(row.function, row.arguments)
    single = ps.trace(function, *(x[0] for x in stacks))
    whole = ps.trace(ps.vmap(function), *(ps.spec(x.dtype, ("B", *x.shape[1:])) for x in stacks))
    examples = [single(*(x[b] for x in stacks)) for b in range(COUNT)]
    check(whole(*stacks), examples)
    check(whole(*(x[:1] for x in stacks)), examples[:1])


@pytest.mark.parametrize("row", list(_marked()))
def test_per_example_gradients_are_those_of_each_example(row: Row) -> None:
    function, stacks, wrt = batch(row.function, row.arguments)
    gradient = ps.value_and_grad(loss(function), wrt=tuple(wrt))
    single = ps.trace(gradient, *(x[0] for x in stacks))
    examples = [single(*(x[b] for x in stacks)) for b in range(COUNT)]
    check(ps.trace(ps.vmap(gradient), *stacks)(*stacks), examples)


@pytest.mark.slow
@pytest.mark.parametrize("row", list(_marked()))
def test_the_gradient_through_a_batch_is_that_of_each_example(row: Row) -> None:
    function, stacks, wrt = batch(row.function, row.arguments)
    total = loss(function)
    single = ps.trace(ps.grad(total, wrt=tuple(wrt)), *(x[0] for x in stacks))
    examples = [single(*(x[b] for x in stacks)) for b in range(COUNT)]
    through = ps.grad(lambda *xs: ps.vmap(total)(*xs).sum(), wrt=tuple(wrt))
    check(ps.trace(through, *stacks)(*stacks), examples)
