"""A row of the table of rules as a batch: some inputs differ between the examples, the others are shared."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ops.traits import sized_by
from primsplit.tracing.specs import spec
from tests.rules.row import Row, subject_of

COUNT = 3


def batch_of(row: Row) -> list[np.ndarray]:
    """Each array of the row for three examples; an array that the row gives is rolled along its first axis."""
    points = [subject_of(row, seed).point for seed in range(COUNT)]
    given = [isinstance(row.inputs[i], np.ndarray) for i in subject_of(row).positions]
    return [
        np.stack([np.roll(x, b, axis=0) if fixed and x.ndim else x for b, x in enumerate(examples)])
        for examples, fixed in zip(zip(*points, strict=True), given, strict=True)
    ]


def subsets(row: Row) -> Iterator[tuple[int, ...]]:
    """The arrays that differ between examples: each alone, then all, but those that decide sizes."""
    positions = subject_of(row).positions
    free = [k for k, i in enumerate(positions) if i not in sized_by(row.kind, 1 + max(positions, default=0))]
    yield from ((k,) for k in free)
    if len(free) > 1:
        yield tuple(free)


def stacked(results: Sequence[Any]) -> list[np.ndarray]:
    """The examples' outputs, stacked."""
    return [np.stack(outputs) for outputs in zip(*map(leaves, results), strict=True)]


def leaves(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def check_batch(row: Row) -> None:
    """The batch of an op is the stack of the op's results, whichever inputs differ between examples.

    Once for a number of examples that is known beforehand, and once for one that only the run knows, also as 1 and 0.
    """
    subject, arrays, chosen = subject_of(row), batch_of(row), list(subsets(row))
    first = [x[0] for x in arrays]

    def batched(stacks: Sequence[Any], shared: Sequence[Any]) -> Any:
        found = []
        for subset in chosen:
            axes = tuple(0 if k in subset else None for k in range(len(stacks)))
            given = [stacks[k] if k in subset else x for k, x in enumerate(shared)]
            found.append(leaves(ps.vmap(subject, in_axes=axes)(*given)))
        return found

    def with_examples(stacks: Sequence[Any]) -> Any:
        examples = [
            [leaves(subject(*(x[b if k in subset else 0] for k, x in enumerate(stacks)))) for b in range(COUNT)]
            for subset in chosen
        ]
        return examples, batched(stacks, [x[0] for x in stacks])

    examples, found = ps.trace(with_examples, arrays)(arrays)
    wanted = [stacked(results) for results in examples]
    _check(found, wanted, chosen, "known")
    program = ps.trace(batched, [spec(x.dtype, ("B", *x.shape[1:])) for x in arrays], first)
    for size in (COUNT, 1):
        made = program([x[:size] for x in arrays], first)
        _check(made, [[y[:size] for y in outputs] for outputs in wanted], chosen, str(size))
    made = program([x[:0] for x in arrays], first)
    told = iter(r.type.shape or () for r in program.block.results)
    pairs = [zip(*pair, strict=True) for pair in zip(wanted, made, strict=True)]
    _check(made, [[_nothing(z, y, next(told)) for z, y in outputs] for outputs in pairs], chosen, "0")


def _nothing(examples: np.ndarray, found: np.ndarray, told: Sequence[Any]) -> np.ndarray:
    """Return an empty batch: a size that depends on data is determined by nothing."""
    known = [d if isinstance(d, int) else n for d, n in zip(told[1:], found.shape[1:], strict=True)]
    return examples[:0].reshape((0, *known))


def _check(found: Any, wanted: Any, chosen: Sequence[tuple[int, ...]], size: str) -> None:
    for subset, outputs, expected in zip(chosen, found, wanted, strict=True):
        for y, z in zip(outputs, expected, strict=True):
            _same(y, z, f"inputs {subset} differ, size {size}")


def _same(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        return
    tolerance = {2: 2e-3, 4: 2e-5, 8: 1e-11}[found.dtype.itemsize]
    finite = np.where(np.isfinite(wanted), wanted, 0)
    scale = max(1.0, float(np.max(np.abs(finite), initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=name)
