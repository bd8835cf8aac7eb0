"""Bounds are right, and rates are measured."""

import pytest

from tools.bench.roofline import bound, call_of_a_kernel, fastest, measure, named
from tools.bench.work import Work

LIMITS = {
    "products": {"MLAS float32 64": 50.0, "OpenBLAS float32 64": 100.0, "MKL float64 64": 25.0},
    "memory": {"MLAS float32 copy": 5.0, "NumPy float32 copy": 10.0},
    "functions": {"MLAS float32 Exp": 2.0, "NumPy float32 Exp": 1.0, "NumPy float64 Exp": 0.5},
    "call": 0.25,
}


def test_the_fastest_is_that_of_the_dtype() -> None:
    assert fastest(LIMITS["products"], "float32") == 100.0
    assert fastest(LIMITS["products"], "float64") == 25.0


@pytest.mark.parametrize(
    ("work", "seconds", "by"),
    [
        (Work({"float32": 4e9, "float64": 1e9}, {"float32": 1e6}, 1e6), 0.08, "products"),
        (Work({"float32": 1e6}, {}, 5e9), 0.5, "memory"),
        (Work({}, {"float32": 4e9, "float64": 1e9}, 1e9), 4.0, "functions"),
    ],
)
def test_the_longest_part_bounds_the_work(work: Work, seconds: float, by: str) -> None:
    found = bound(work, LIMITS)
    assert (found.seconds, found.by) == (pytest.approx(seconds), by)


def test_calls_of_kernels_are_told_apart() -> None:
    assert bound(Work(calls=1000), LIMITS).calls == pytest.approx(250e-6)


def test_a_processor_has_its_name_and_vectors() -> None:
    fields = {"model name": "Some CPU", "cpu family": "6", "model": "143", "flags": "sse2 avx2 avx512f"}
    assert named(fields) == "Some CPU, family 6, model 143, AVX-512"
    assert named({**fields, "flags": "sse2 avx2"}).endswith("AVX2")
    assert named({}) == ""


def test_rates_are_measured_for_each_library_and_dtype() -> None:
    found = measure(1, is_quick=True)
    for library in ("MLAS", "OpenBLAS"):
        for dtype in ("float32", "float64"):
            assert found["products"][f"{library} {dtype} 64"] > 0.1
    assert all(rate > 0.0 for part in ("memory", "functions") for rate in found[part].values())
    assert {name.split()[2] for name in found["functions"]} == {"Exp", "Log", "Tanh", "Erf", "Sin"}


def test_a_call_of_a_kernel_takes_between_ten_nanoseconds_and_a_millisecond() -> None:
    assert 0.01 < call_of_a_kernel(0.1) < 1000.0
