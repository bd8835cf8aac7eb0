"""Biases of attention by the distance of two words: what the operators' documentation says, and gradients."""

from pathlib import Path

import numpy as np
import pytest

from primsplit.testing import check_grads
from tests.onnx.definitions.kernels import loaded_with_constants


@pytest.mark.parametrize("is_bidirectional", [0, 1])
def test_the_bias_of_a_distance_is_that_of_its_bucket(is_bidirectional: int, tmp_path: Path) -> None:
    buckets, heads, length, most = 8, 3, 30, 20
    table = np.random.default_rng(0).normal(size=(heads, buckets))
    given = [np.ascontiguousarray(table).reshape(buckets, heads), np.array(length), np.array(length)]
    attributes = {"max_distance": most, "is_bidirectional": is_bidirectional}
    model = loaded_with_constants(tmp_path, "RelativePositionBias", given, 4, "float64", **attributes)
    expected = np.zeros((1, heads, length, length))
    for q in range(length):
        for k in range(length):
            half = buckets // 2 if is_bidirectional else buckets
            distance = abs(k - q) if is_bidirectional else max(q - k, 0)
            exact = half // 2
            far = exact + int(np.log(max(distance, 1) / exact) / np.log(most / exact) * (half - exact))
            bucket = distance if distance < exact else min(far, half - 1)
            expected[0, :, q, k] = table[:, bucket + (half if is_bidirectional and k > q else 0)]
    np.testing.assert_array_equal(model(given[0]), expected)
    check_grads(model, given[0], order=1)


def test_a_bias_under_a_gate_is_what_its_documentation_says(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    batch, length, heads, size = 2, 5, 3, 4
    shapes = [
        (batch, length, heads * size),
        (heads * size,),
        (1, heads, length, length),
        (size, 8),
        (8,),
        (1, heads, 1, 1),
    ]
    given = [random.normal(size=s) for s in shapes]
    query, query_bias, relative, weight, bias, eco = given
    model = loaded_with_constants(tmp_path, "GatedRelativePositionBias", given, 4, "float64", num_heads=heads)

    by_head = (query + query_bias).reshape(batch, length, heads, size).swapaxes(1, 2)
    both = 1 / (1 + np.exp(-(by_head @ weight + bias).reshape(batch, heads, length, 2, 4).sum(-1)))
    u, r = both[..., :1], both[..., 1:]
    np.testing.assert_allclose(model(query), (u * (r * eco - 1) + 2) * relative, rtol=1e-9)
    check_grads(model, query, order=1)
