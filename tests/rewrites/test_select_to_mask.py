"""Long choices of zeros are products in the file, and exact also where a product would not be."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.select_to_mask import LONG
from primsplit.targets.finish import finish

rng = np.random.default_rng(0)
ODD = (np.nan, np.inf, -np.inf, -0.0, 0.0)


def kinds(program: ps.Program, provider: Any = "cpu") -> set[str]:
    """Operators of the program's file, outside of branches."""
    return {op.kind for op in finish(program.block, provider=provider).ops}


def numbers(shape: tuple[int, ...], dtype: Any, odd: tuple[float, ...]) -> np.ndarray[Any, Any]:
    """Random numbers of both signs, then some that products are wrong for."""
    x = rng.standard_normal(shape).astype(dtype)
    x.flat[: len(odd)] = odd
    return x


def positive_part(x: Any) -> Any:
    return np.maximum(x, 0.0)


def masked(x: Any) -> Any:
    return np.where(np.sin(x) > 0.5, x, 0.0)


def left_out(x: Any) -> Any:
    return np.where(np.sin(x) > 0.5, 0.0, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [(), ODD], ids=["finite", "odd"])
@pytest.mark.parametrize("shape", [(LONG,), (20, 1024), (0, 1024), (1, 1024)])
def test_a_cotangent_goes_through_a_positive_part_whatever_it_is(shape: Any, odd: Any, dtype: Any) -> None:
    sizes = shape if len(shape) == 1 else ("N", shape[1])
    back = ps.trace(lambda x, dy: ps.vjp(positive_part, x)[1](dy), *[ps.spec(np.dtype(dtype).name, sizes)] * 2)
    assert {"If", "Mul"} <= kinds(back)
    assert "Where" not in kinds(back)
    x, dy = numbers(shape, dtype, ()), numbers(shape, dtype, odd)
    x.flat[3:9] = (0.0, -0.0, 0.0, np.inf, -np.inf, -1e-40)
    (found,) = back(x, dy)
    np.testing.assert_array_equal(found, np.where(x > 0, dy, np.where(x < 0, 0, dy / 2)))


@pytest.mark.parametrize("f", [masked, left_out])
@pytest.mark.parametrize("odd", [(), ODD], ids=["finite", "odd"])
def test_a_choice_of_zeros_is_exact(f: Any, odd: tuple[float, ...]) -> None:
    traced = ps.trace(f, ps.spec("float64", [LONG]))
    assert "Where" not in kinds(traced)
    x = numbers((LONG,), np.float64, odd)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(traced(x), f(x))


def test_a_row_of_images_whose_number_is_open_is_as_long_as_an_image() -> None:
    def flat(images: Any) -> Any:
        return masked(np.reshape(images, -1))

    sized = ps.spec("float32", ["N", 32, 32])
    assert "If" in kinds(ps.trace(flat, sized))
    assert "If" not in kinds(ps.trace(flat, ps.spec("float32", ["N", 31, 32])))
    images = numbers((3, 32, 32), np.float32, ODD)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(ps.trace(flat, sized)(images), flat(images), rtol=1e-6)


def test_short_choices_and_those_of_whole_rows_stay() -> None:
    assert "If" not in kinds(ps.trace(masked, ps.spec("float32", [LONG - 1])))
    rows = ps.trace(lambda x: np.where(x[:, :1] > 0, x, 0.0), ps.spec("float32", [64, 1024]))
    assert "If" not in kinds(rows)


def test_a_file_for_cuda_chooses() -> None:
    assert "If" not in kinds(ps.trace(masked, ps.spec("float32", [LONG])), "cuda")


def test_a_file_with_such_a_product_is_differentiated_again(tmp_path: Any) -> None:
    path = tmp_path / "cube.onnx"
    ps.trace(ps.grad(lambda x: np.sum(np.maximum(x, 0.0) ** 3)), ps.spec("float64", [LONG])).save(str(path))
    x = rng.standard_normal(LONG)
    found = ps.grad(lambda x: np.sum(ps.load(str(path))(x) * np.cos(x)))(x)
    expected = 6 * np.maximum(x, 0) * np.cos(x) - 3 * np.maximum(x, 0) ** 2 * np.sin(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def of_two(x: Any) -> Any:
    return np.sum(np.where(np.sin(x) > 0.5, x * x, np.abs(x) - 0.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [(), (np.inf,), (3.0, np.nan)], ids=["finite", "infinite", "nan"])
def test_a_choice_between_two_arrays_that_is_summed_is_exact(odd: tuple[float, ...], dtype: Any) -> None:
    traced = ps.trace(of_two, ps.spec(np.dtype(dtype).name, [LONG]))
    assert "Where" not in kinds(traced)
    x = numbers((LONG,), dtype, odd)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(traced(x), of_two(x.astype(np.float64)), rtol=1e-5 if dtype == np.float32 else 1e-14)


def test_a_choice_between_two_arrays_that_is_handed_on_keeps_the_signs_of_its_zeros() -> None:
    traced = ps.trace(lambda x: np.where(np.sin(x) > 0.5, x * x, -0.0 * x), ps.spec("float64", [LONG]))
    assert "Where" in kinds(traced)
    x = np.where(np.arange(LONG) % 2, -0.0, 0.0)
    np.testing.assert_array_equal(np.signbit(traced(x)), np.signbit(-0.0 * x))


@pytest.mark.parametrize("odd", [0.0, np.inf, -np.inf, np.nan])
def test_tiles_choose_by_masks_unless_what_is_left_out_is_infinite(odd: float) -> None:
    def huber(w: Any, x: Any, y: Any) -> Any:
        away = y - x @ w
        size = np.abs(away)
        return np.sum(np.where(size < 1.0, 0.5 * away * away, size - 0.5))

    x, w = rng.standard_normal((60_000, 40)), rng.standard_normal(40)
    y = x @ w + rng.standard_t(2, 60_000)
    y[777] = odd
    joint = ps.split(huber, w, x, y, wrt="w").joint()
    (scan,) = (node for node in joint.to_onnx().graph.node if node.op_type == "Scan")
    (body,) = (a.g for a in scan.attribute if a.name == "body")
    assert {"If", "Mul"} <= {node.op_type for node in body.node}
    assert "Where" not in {node.op_type for node in body.node}
    value, gradient = joint.session()(w * 0.9, x, y)
    away = y - x @ (w * 0.9)
    np.testing.assert_allclose(value, huber(w * 0.9, x, y), rtol=1e-12)
    if np.isfinite(odd):
        np.testing.assert_allclose(gradient, -np.clip(away, -1, 1) @ x, rtol=1e-9)
