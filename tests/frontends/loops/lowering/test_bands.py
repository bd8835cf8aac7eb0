"""Windows of few taps in float64 are products with a band matrix, also where numbers are infinite or sizes 0."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.loops.interpreter import interpret
from primsplit.ir import walk
from primsplit.testing import check_grads
from tests.frontends.loops.running import drawn

GATHERED = "y[i] := x[i+a]*k[a]"
ADDED = "y[i+a] += x[i]*k[a]"
ROWS = "y[b,i] := x[b,i+a]*k[a]"


def _split(text: str, *shapes: list[Any]) -> Any:
    return ps.split(ps.loops(text), *(ps.spec("float64", shape) for shape in shapes))


@pytest.mark.parametrize("taps", [1, 2, 9, 33])
def test_a_window_and_its_gradients_are_numpys_for_every_length(taps: int) -> None:
    joint = _split(GATHERED, ["N"], [taps]).joint()
    k = drawn(taps, taps)
    for length in (0, 1, taps - 1, taps, taps + 1, 31, 32, 33, 64, 65, 66, 100):
        x = drawn(length, length)
        count = max(0, length - taps + 1)
        seed = drawn(1, count)
        y, d_x, d_k = joint(x, k, seed)
        assert (y.shape, d_x.shape, d_k.shape) == ((count,), x.shape, k.shape)
        if count:
            np.testing.assert_allclose(y, np.correlate(x, k, "valid"), atol=1e-12)
            np.testing.assert_allclose(d_x, np.convolve(seed, k, "full"), atol=1e-12)
            np.testing.assert_allclose(d_k, np.correlate(x, seed, "valid"), atol=1e-12)
        else:
            assert not d_x.any()
            assert not d_k.any()


@pytest.mark.parametrize(
    ("text", "shapes"),
    [(GATHERED, [(40,), (3,)]), (ADDED, [(37,), (4,), (40,)]), (ROWS, [(2, 35), (3,)])],
)
def test_its_derivatives_are_right_to_second_order(text: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [drawn(i, *shape) for i, shape in enumerate(shapes)]
    check_grads(ps.loops(text), *arrays, symbolic=False)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["x", "k"])
def test_a_number_that_is_not_finite_is_seen_by_the_windows_that_have_it(name: str, number: float) -> None:
    nest = ps.loops(GATHERED)
    arrays = {"x": drawn(0, 70), "k": drawn(1, 5)}
    arrays[name][3] = number
    (wanted,) = interpret(nest.loopset, arrays).values()
    np.testing.assert_allclose(nest(**arrays), wanted, rtol=1e-12)
    seed = drawn(2, 66)
    seed[40] = number
    _, d_x, d_k = ps.split(nest, *arrays.values()).joint()(*arrays.values(), seed)
    np.testing.assert_allclose(d_x, np.convolve(seed, arrays["k"], "full"), rtol=1e-11)
    np.testing.assert_allclose(d_k, np.correlate(arrays["x"], seed, "valid"), rtol=1e-11)


def test_forward_mode_and_batches_are_those_of_differences() -> None:
    nest, step = ps.loops(GATHERED), 1e-6
    x, k, dx, dk = drawn(0, 50), drawn(1, 4), drawn(2, 50), drawn(3, 4)
    slope = (nest(x + step * dx, k + step * dk) - nest(x - step * dx, k - step * dk)) / (2 * step)
    np.testing.assert_allclose(ps.jvp(nest, (x, k), (dx, dk))[1], slope, rtol=1e-6, atol=1e-8)
    gradient = ps.grad(lambda x, k: np.sum(np.sin(nest(x, k))), (0, 1))
    rows = np.stack([x, dx])
    for place, batched in enumerate(ps.vmap(gradient, (0, None))(rows, k)):
        np.testing.assert_allclose(batched, [gradient(row, k)[place] for row in rows], rtol=1e-11, atol=1e-13)


def test_there_is_no_copy_of_the_numbers_for_each_tap() -> None:
    made = _split(GATHERED, [20000], [9])
    for block in (made.primal, made.pullback):
        for op in walk(block):
            body = op.attributes.get("body")
            assert op.kind not in {"Conv", "ConvTranspose"}
            assert body is None or all(np.prod(v.type.shape) < 30000 for o in body.ops for v in o.outputs)


@pytest.mark.parametrize("text", ["y[i] := x[2*i+a]*k[a]", "y[i] := x[i+2*a]*k[a]", "y[o,i] := x[i+a]*k[o,a]"])
def test_steps_and_channels_are_products_with_windows(text: str) -> None:
    shapes = [[40], [2, 3] if "o" in text else [3]]
    kinds = {op.kind for op in walk(_split(text, *shapes).primal)}
    assert "call::correlated" not in kinds
