"""The windows of attributes, their elements tap by tap, and the transpose that adds these up."""

import itertools
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.dims import symbol
from primsplit.ops import op
from primsplit.rewrites.decompositions.windows import (
    Windows,
    every_axis_padded,
    fold,
    padded,
    pooled,
    unfold,
    unless_negative,
    windows_over,
)

FORMS = [
    Windows((3,), (1,), (1,), (0,), (0,)),
    Windows((2,), (3,), (1,), (1,), (0,)),
    Windows((3,), (2,), (2,), (1,), (2,)),
    Windows((1,), (2,), (1,), (0,), (0,)),
    Windows((2, 3), (2, 1), (1, 2), (1, 0), (0, 1)),
]


def elements(x: Any, windows: Windows) -> list[Any]:
    """The elements of each tap, read from a padded array."""
    rank = len(windows.kernel)
    lead = x.ndim - rank
    x = np.pad(x, [(0, 0)] * lead + list(zip(windows.before, windows.after, strict=True)))
    found = []
    for tap in itertools.product(*map(range, windows.kernel)):
        at = []
        for i in range(rank):
            span = (windows.kernel[i] - 1) * windows.dilations[i] + 1
            count = (x.shape[lead + i] - span) // windows.strides[i] + 1
            at.append(tap[i] * windows.dilations[i] + windows.strides[i] * np.arange(count))
        found.append(x[(..., *np.ix_(*at))])
    return found


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("windows", FORMS, ids=lambda w: str((w.kernel, w.strides, w.dilations)))
def test_a_tap_reads_its_element_of_every_window(windows: Windows, symbolic: bool) -> None:
    rank = len(windows.kernel)
    x = np.random.default_rng(0).standard_normal((2, *(9, 8)[:rank]))
    spec = ps.spec("float64", [2, *("A", "B")[:rank]]) if symbolic else x
    found = ps.trace(lambda x: tuple(unfold(x, windows)), spec)(x)
    for one, other in zip(found, elements(x, windows), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("windows", FORMS, ids=lambda w: str((w.kernel, w.strides, w.dilations)))
def test_fold_is_the_transpose_of_unfold(windows: Windows) -> None:
    random, rank = np.random.default_rng(1), len(windows.kernel)
    x = random.standard_normal((2, *(9, 8)[:rank]))
    read = elements(x, windows)
    taps = [random.standard_normal(t.shape) for t in read]
    back = ps.trace(lambda *taps: fold(taps, windows), *taps)(*taps)
    # What no window reads at the end is not there.
    inside = x[tuple(slice(n) for n in back.shape)]
    np.testing.assert_allclose(np.sum(back * inside), sum(np.sum(a * b) for a, b in zip(read, taps, strict=True)))
    longer = [9 - back.shape[1], 8 - back.shape[-1]][:rank]
    whole = ps.trace(lambda *taps: fold(taps, windows, longer), *taps)(*taps)
    assert whole.shape == x.shape
    np.testing.assert_array_equal(whole[tuple(slice(n) for n in back.shape)], back)


def test_a_maximum_of_windows_is_taken_axis_after_axis() -> None:
    windows = Windows((2, 3), (2, 1), (1, 2), (0, 0), (0, 0))
    x = np.random.default_rng(2).standard_normal((2, 9, 8))
    found = ps.trace(lambda x: pooled(x, windows, lambda a, b: op.Max(a, b)), x)(x)
    np.testing.assert_array_equal(found, np.max(elements(x, windows), axis=0))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "upper", "lower"),
    [
        (7, 3, 2, 1, (1, 1), (1, 1)),
        (6, 3, 2, 1, (0, 1), (1, 0)),
        (5, 2, 1, 3, (1, 2), (2, 1)),
        (4, 1, 3, 1, (0, 0), (0, 0)),
    ],
)
def test_same_padding_gives_a_window_for_each_stride(
    size: int, kernel: int, stride: int, dilation: int, upper: Any, lower: Any
) -> None:
    for auto_pad, wanted in (("SAME_UPPER", upper), ("SAME_LOWER", lower), ("VALID", (0, 0))):
        made = windows_over([size], [kernel], strides=[stride], dilations=[dilation], auto_pad=auto_pad)
        assert (*made.before, *made.after) == wanted
        span = (kernel - 1) * dilation + 1
        assert made.spans == [span]
        if auto_pad != "VALID":
            assert (size + sum(wanted) - span) // stride + 1 == -(-size // stride)


def test_windows_without_attributes_are_one_apart_and_not_padded() -> None:
    made = windows_over([symbol("N"), 5], [2, 3])
    assert made == Windows((2, 3), (1, 1), (1, 1), (0, 0), (0, 0))
    assert made.taps == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert windows_over([4, 5], [2, 3], pads=[1, 2, 3, 4]).before == (1, 2)


def test_a_negative_padding_cuts() -> None:
    x = np.arange(12.0).reshape(2, 6)
    found = ps.trace(lambda x: (padded(x, [-1], [2], 9.0), padded(x, [0], [0])), x)(x)
    np.testing.assert_array_equal(found[0], np.pad(x[:, 1:], [(0, 0), (0, 2)], constant_values=9.0))
    np.testing.assert_array_equal(found[1], x)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("axes", [[1], [-1, 0], [2, 1]], ids=str)
def test_pads_of_some_axes_are_zero_for_the_others(axes: list[int], is_known: bool) -> None:
    x, pads = np.arange(24.0).reshape(2, 3, 4), np.arange(1, 2 * len(axes) + 1)
    wanted = np.zeros((3, 2), int)
    wanted[axes] = pads.reshape(2, -1).T
    args = (pads, np.array(axes)) if is_known else (ps.spec("int64", [len(pads)]), ps.spec("int64", [len(axes)]))

    def program(x: Any, *given: Any) -> Any:
        of, at = given or (op.Identity(args[0]), op.Identity(args[1]))
        return every_axis_padded(x, of, np.array(-1.0), at)

    found = ps.trace(program, x)(x) if is_known else ps.trace(program, x, *args)(x, pads, np.array(axes))
    np.testing.assert_array_equal(found, np.pad(x, wanted, constant_values=-1.0))


def test_a_run_with_a_negative_size_fails_and_others_keep_the_array() -> None:
    def program(x: Any) -> Any:
        return unless_negative(op.Neg(x), [x.shape[0] - 2, 3])

    found = ps.trace(program, ps.spec("float64", ["N"]))
    np.testing.assert_array_equal(found(np.arange(2.0)), [0, -1])
    with pytest.raises(Exception, match="indices element out of data bounds"):
        found(np.arange(1.0))
