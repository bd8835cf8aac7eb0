"""Conversions to dtypes of two to eight bits: the numbers that ml_dtypes rounds to."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.decompositions.few_bits import converted, low_bits, power_below, power_of_two

X = np.concatenate([np.random.default_rng(0).standard_normal(200) * 4, np.arange(-8, 8, 0.25), [-0.0, 1e-9, 1e9]])


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_rounded_to_the_nearest_number_ties_to_even(name: str, dtype: Any) -> None:
    x = X.astype(dtype)
    found = ps.trace(lambda x: converted(x, name), x)(x)
    largest = float(ml_dtypes.finfo(name).max)
    wanted = np.clip(x, -largest, largest).astype(name).astype(found.dtype)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_not_a_number_becomes_0_where_the_dtype_has_none() -> None:
    x = np.array([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(ps.trace(lambda x: converted(x, "float4_e2m1fn"), x)(x), [0.0, 6.0, -6.0])


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("int2", [0, 1, -2, -1, 0, 1, -2, 1]), ("uint2", [0, 1, 2, 3, 0, 1, 2, 1]), ("int4", [0, 1, 2, 3, 4, 5, -2, -7])],
)
def test_integers_keep_their_lowest_bits(name: str, numbers: list[int]) -> None:
    x = np.array([0, 1, 2, 3, 4, 5, -2, 25])
    np.testing.assert_array_equal(ps.trace(lambda x: low_bits(x, name), x)(x), numbers)


def test_a_half_is_rounded_away_from_zero_before_its_bits_are_taken() -> None:
    x = np.array([0.5, 1.5, -0.5, -1.5, 2.49, -2.51])
    np.testing.assert_array_equal(ps.trace(lambda x: low_bits(x, "int4"), x)(x), [1, 2, -1, -2, 2, -3])


@pytest.mark.parametrize(
    ("mode", "numbers"),
    [("up", [1.0, 2.0, 4.0, 4.0, 8.0]), ("down", [1.0, 1.0, 2.0, 4.0, 4.0]), ("nearest", [1.0, 2.0, 2.0, 4.0, 8.0])],
)
def test_a_scale_is_the_power_of_two_above_below_or_nearest(mode: str, numbers: list[float]) -> None:
    x = np.array([1.0, 1.5, 2.5, 4.0, 6.0])
    np.testing.assert_array_equal(ps.trace(lambda x: power_of_two(x, mode), x)(x), numbers)


def test_a_scale_out_of_range_is_the_end_or_not_a_number() -> None:
    x = np.array([0.0, -1.0, 1e300, np.nan, 2.0**127])
    np.testing.assert_array_equal(
        ps.trace(lambda x: power_of_two(x), x)(x), [2.0**-127, 2.0**-127, 2.0**127, np.nan, 2.0**127]
    )
    np.testing.assert_array_equal(
        ps.trace(lambda x: power_of_two(x, saturate=False), x)(x), [np.nan, np.nan, np.nan, np.nan, 2.0**127]
    )


def test_the_power_below_is_exact() -> None:
    x = np.abs(X[np.abs(X) > 1e-12])
    wanted = 2.0 ** np.floor(np.log2(x.astype(np.longdouble))).astype(float)
    np.testing.assert_array_equal(ps.trace(power_below, x)(x), wanted)
