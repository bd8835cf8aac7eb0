"""The work of a file is counted from the shapes that its kernels saw."""

import numpy as np
import pytest

import primsplit as ps
from tools.bench.work import Work, convolution_operations, counted, least_run, product_operations, work_of


@pytest.mark.parametrize(
    ("left", "right", "made", "operations"),
    [
        ((5, 3), (3, 4), (5, 4), 120.0),
        ((3, 5), (3, 4), (5, 4), 120.0),
        ((3, 5), (4, 3), (5, 4), 120.0),
        ((7, 5, 3), (3, 4), (7, 5, 4), 840.0),
        ((7, 5, 3), (7, 3, 4), (7, 5, 4), 840.0),
        ((2, 1, 5, 3), (7, 3, 4), (2, 7, 5, 4), 1680.0),
        ((3,), (3, 4), (4,), 24.0),
        ((3,), (3,), (), 6.0),
        ((0, 3), (3, 4), (0, 4), 0.0),
    ],
)
def test_a_product_takes_two_operations_for_each_multiply_add(left, right, made, operations) -> None:
    assert product_operations(left, right, made) == pytest.approx(operations, rel=1e-12)


def test_a_convolution_sums_over_its_windows() -> None:
    assert convolution_operations("Conv", (2, 6, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6)) == 2 * (2 * 4 * 6 * 6) * 27
    assert convolution_operations("ConvTranspose", (2, 6, 8, 8), (6, 4, 3, 3), (2, 4, 10, 10)) == 2 * 768 * 36


def event(kind: str, read: list, made: list, start: int = 0, took: int = 2) -> dict:
    """An event of a profile as onnxruntime writes it."""
    shapes = {"input_type_shape": [{d: list(s)} for d, s in read], "output_type_shape": [{d: list(s)} for d, s in made]}
    return {"name": f"{kind}_0_kernel_time", "ts": start, "dur": took, "args": {"op_name": kind, **shapes}}


def test_work_is_counted_by_dtype_and_time_by_operator() -> None:
    events = [
        event("MatMul", [("float", (5, 3)), ("float", (3, 4))], [("float", (5, 4))]),
        event("Gemm", [("double", (5, 3)), ("double", (3, 4))], [("double", (5, 4))], took=3),
        event("Exp", [("float", (5, 4))], [("float", (5, 4))]),
        event("Exp", [("float", (5, 4))], [("float", (5, 4))]),
        event("Add", [("float", (5, 4))] * 2, [("float", (5, 4))]),
        event("Scan", [("float", (5, 4))], [("float", (5, 4))], took=1000),
        event("MatMul", [("int64", (5, 3)), ("int64", (3, 4))], [("int64", (5, 4))]),
    ]
    found = counted(events, 64.0)
    assert dict(found.products) == pytest.approx({"float32": 120.0, "float64": 120.0})
    assert dict(found.functions) == {"float32": 40.0}
    assert (found.moved, found.calls) == (64.0, 7)
    assert dict(found.seconds) == pytest.approx({"MatMul": 4e-6, "Gemm": 3e-6, "Exp": 4e-6, "Add": 2e-6})


def test_of_each_kernel_the_least_time_of_all_runs_is_counted() -> None:
    runs = [{"name": "model_run", "ts": ts, "dur": 50} for ts in (0, 100, 200)]
    times = {0: (9, 3), 100: (5, 7), 200: (6, 6)}
    kernels = [event("Exp", [], [], start=ts + 10, took=first) for ts, (first, _) in times.items()]
    kernels += [event("Add", [], [], start=ts + 30, took=second) for ts, (_, second) in times.items()]
    outside = [event("Mul", [], [], start=60), {"name": "session_initialization", "ts": 0, "dur": 1}]
    found = least_run([*runs, *sorted(kernels, key=lambda e: e["ts"]), *outside])
    assert [(e["args"]["op_name"], e["dur"]) for e in found] == [("Exp", 5), ("Add", 3)]


def test_a_program_is_counted_with_the_steps_of_its_loops() -> None:
    def steps(h: np.ndarray, w: np.ndarray) -> np.ndarray:
        return ps.scan(lambda h, _: (np.tanh(h @ w), None), h, np.zeros(6, np.float32))[0]

    h, w = np.ones((5, 3), np.float32), np.ones((3, 3), np.float32)
    found = work_of(ps.trace(steps, h, w), [h, w])
    assert dict(found.products) == pytest.approx({"float32": 6 * 2 * 5 * 3 * 3})
    assert dict(found.functions) == {"float32": 6 * 15}
    assert found.moved == (15 + 9 + 15) * 4
    assert found.calls >= 12
    assert isinstance(found, Work)
