"""How a row of the table of rules becomes a batch: some inputs differ between the examples, the others are shared."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.batching.table import SIZING
from primsplit.specs import spec
from primsplit.testing.subject import Subject, make_subject
from tests.rules.row import Row

COUNT = 3
NEVER_EMPTY = {"Col2Im", "Conv", "ConvInteger", "ConvTranspose", "Det", "MaxRoiPool", "Pad", "QLinearConv"}
"""onnxruntime, or what stands for these operators in float64, refuses a batch of no images or matrices."""


def subject_of(row: Row, seed: int = 0) -> Subject:
    options = row.arguments
    return make_subject(
        row.kind, row.inputs, attributes=options.get("attributes") or {}, outputs=options.get("outputs"),
        domain=options.get("domain", (-2.0, 2.0)), random=np.random.default_rng(seed),
    )  # fmt: skip


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
    free = [k for k, i in enumerate(positions) if i not in SIZING.get(row.kind, ())]
    yield from ((k,) for k in free)
    if len(free) > 1:
        yield tuple(free)


def stacked(results: Sequence[Any]) -> list[np.ndarray]:
    """The examples' outputs, stacked."""
    return [np.stack(outputs) for outputs in zip(*map(leaves, results), strict=True)]


def leaves(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def check_batch(row: Row, *, count: int | str = COUNT) -> None:
    """The batch of an op is the stack of the op's results, whichever inputs differ between examples.

    With a name for the `count`, the batch's size is known only when it runs, also as 1 and 0.
    """
    subject, arrays, chosen = subject_of(row), batch_of(row), list(subsets(row))
    singles = _singles(subject, arrays, chosen)
    specs = [spec(x.dtype, (count, *x.shape[1:])) for x in arrays]

    def batched(*inputs: Any) -> Any:
        found = []
        for subset in chosen:
            axes = tuple(0 if k in subset else None for k in range(len(inputs)))
            given = [x if k in subset else x[0] for k, x in enumerate(inputs)]
            found.append(leaves(ps.vmap(subject, in_axes=axes)(*given)))
        return found

    program = ps.trace(batched, *specs)
    for size in (COUNT,) if isinstance(count, int) else (COUNT, 1, 0):
        if size == 0 and (row.kind in NEVER_EMPTY or any(len(subset) < len(arrays) for subset in chosen)):
            continue
        made = program(*(x[:size] for x in arrays))
        for subset, found, wanted in zip(chosen, made, singles, strict=True):
            for y, expected in zip(found, wanted, strict=True):
                _same(y, expected[:size], f"inputs {subset} differ, {size} examples")


def _singles(subject: Subject, arrays: Sequence[np.ndarray], chosen: Sequence[tuple[int, ...]]) -> Any:
    def one_by_one(*inputs: Any) -> Any:
        return [
            [leaves(subject(*(x[b if k in subset else 0] for k, x in enumerate(inputs)))) for b in range(COUNT)]
            for subset in chosen
        ]

    return [stacked(results) for results in ps.trace(one_by_one, *arrays)(*arrays)]


def _same(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        return
    tolerance = {2: 2e-3, 4: 2e-5, 8: 1e-11}[found.dtype.itemsize]
    finite = np.where(np.isfinite(wanted), wanted, 0)
    scale = max(1.0, float(np.max(np.abs(finite), initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=name)
