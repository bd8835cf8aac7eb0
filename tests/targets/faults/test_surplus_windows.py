"""Pools have no window that does not fit, or begins in the padding of ceil_mode, nor count what they reach over it."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.ops import op
from primsplit.targets.finish import finish
from primsplit.testing.windows import average_pool, lp_pool, max_pool

FORMS = [((1,), (3,), (0, 0)), ((2,), (3,), (1, 1)), ((2,), (2,), (1, 1)), ((2,), (4,), (0, 1)), ((3,), (2,), (1, 1))]
WITH_A_CUT = FORMS[:4]


def options(form: Any, **more: Any) -> dict[str, Any]:
    kernel, strides, pads = form
    return {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": 1, **more}


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_window_begins_in_the_padding(form: Any, dtype: str) -> None:
    whole = ps.trace(lambda x: op.MaxPool(x, **options(form)), ps.spec(dtype, [1, 2, "L"]))
    for length in range(3, 12):
        x = np.random.default_rng(length).standard_normal((1, 2, length)).astype(dtype)
        wanted = max_pool(x, **options(form))
        np.testing.assert_array_equal(whole(x), wanted)
        np.testing.assert_array_equal(ps.trace(lambda x: op.MaxPool(x, **options(form)), x)(x), wanted)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("include", [0, 1])
def test_an_average_counts_padding_and_not_what_is_beyond(form: Any, include: int) -> None:
    more = options(form, count_include_pad=include)
    for length in range(3, 12):
        x = np.random.default_rng(length).standard_normal((1, 2, length)).astype(np.float32)
        for spec in (x, ps.spec("float32", [1, 2, "L"])):
            found = ps.trace(lambda x: op.AveragePool(x, **more), spec)(x)
            np.testing.assert_allclose(found, average_pool(x, **more), rtol=1e-5, atol=1e-6)


def kinds(form: Any, size: Any) -> list[str]:
    program = ps.trace(lambda x: op.MaxPool(x, **options(form)), ps.spec("float32", [1, 2, size]))
    return [step.kind for step in finish(program.block).ops]


def test_a_cut_is_written_only_where_something_may_be_cut() -> None:
    assert "Slice" in kinds(WITH_A_CUT[0], "L")
    assert "Slice" in kinds(WITH_A_CUT[0], 3)
    assert kinds(WITH_A_CUT[0], 4) == ["MaxPool"]
    assert kinds(FORMS[4], "L") == ["MaxPool"]


SHORT = [
    {"kernel_shape": (2,), "strides": (2,)},
    {"kernel_shape": (3,), "strides": (3,), "pads": (1, 0)},
    {"kernel_shape": (2,), "strides": (2,), "dilations": (2,), "pads": (0, 1)},
    {"kernel_shape": (2, 2), "strides": (2, 2), "auto_pad": "VALID"},
    {"kernel_shape": (1, 2), "strides": (1, 2)},
    {"kernel_shape": (2, 1, 2), "strides": (2, 1, 2)},
]
"""Windows that do not fit over one element along an axis; onnxruntime has one all the same."""
POOLS = {"MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool}


def of_any_size(form: Any, dtype: str = "float32") -> Any:
    return ps.spec(dtype, ["B", 2, *(f"N{axis}" for axis in range(len(form["kernel_shape"])))])


def of_size(form: Any, size: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(size).standard_normal((1, 2, *(size for _ in form["kernel_shape"]))).astype(dtype)


@pytest.mark.parametrize("form", SHORT, ids=str)
@pytest.mark.parametrize("kind", POOLS)
def test_no_window_lies_over_what_is_too_short_for_one(kind: str, form: Any) -> None:
    pooled = ps.trace(lambda x: getattr(op, kind)(x, **form), of_any_size(form))
    assert pooled(of_size(form, 1)).size == 0
    whole = of_size(form, 5)
    np.testing.assert_allclose(pooled(whole), POOLS[kind](whole, **form), rtol=1e-5)


def test_nor_have_the_indices_one() -> None:
    both = ps.trace(lambda x: op.MaxPool(x, outputs=2, **SHORT[0]), of_any_size(SHORT[0]))
    assert [found.shape for found in both(of_size(SHORT[0], 1))] == [(1, 2, 0), (1, 2, 0)]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("form", SHORT, ids=str)
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_no_window_reads_has_no_gradient(kind: str, form: Any, dtype: str) -> None:
    def energy(x: Any) -> Any:
        return np.sum(getattr(op, kind)(x, **form) ** 2)

    spec, short = of_any_size(form, dtype), of_size(form, 1, dtype)
    value, gradient = ps.split(energy, spec).joint()(short)
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros_like(short))
    rows = ps.trace(ps.vmap(ps.grad(energy)), ps.spec(dtype, ["K", *spec.shape]))
    np.testing.assert_array_equal(rows(np.stack([short, short])), np.zeros((2, *short.shape)))


@pytest.mark.parametrize("form", SHORT, ids=str)
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_nor_do_its_tangents_reach_a_result(kind: str, form: Any) -> None:
    def energy(x: Any) -> Any:
        return np.sum(getattr(op, kind)(x, **form) ** 2)

    spec, short = of_any_size(form), of_size(form, 1)
    tangents = ps.trace(lambda x, v: ps.jvp(energy, (x,), (v,)), spec, spec)
    np.testing.assert_array_equal(tangents(short, short), (0, 0))
    turned = ps.trace(lambda x, v: ps.jvp(ps.grad(energy), (x,), (v,)), spec, spec)
    if kind == "MaxPool":  # The other asks onnxruntime for a Conv over what is too short, which it refuses.
        np.testing.assert_array_equal(turned(short, short), np.zeros((2, *short.shape)))


@pytest.mark.parametrize(("kind", "dtype"), [("MaxPool", "float32"), ("LpPool", "float64"), ("AveragePool", "float64")])
def test_a_run_with_fewer_windows_than_none_fails(kind: str, dtype: str) -> None:
    form = {"kernel_shape": (3,), "strides": (2,), "dilations": (2,)}
    pooled = ps.trace(lambda x: getattr(op, kind)(x, **form), of_any_size(form, dtype))
    with pytest.raises(RunError):
        pooled(of_size(form, 2, dtype))


def test_a_window_that_fits_over_one_element_is_not_cut() -> None:
    fits = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    side_by_side = {"kernel_shape": (3,)}
    for form in (fits, side_by_side):
        program = ps.trace(lambda x, form=form: op.MaxPool(x, **form), of_any_size(form))
        assert [step.kind for step in finish(program.block).ops] == ["MaxPool"]
    program = ps.trace(lambda x: op.MaxPool(x, **SHORT[0]), ps.spec("float32", ["B", 2, 2]))
    assert [step.kind for step in finish(program.block).ops] == ["MaxPool"]
