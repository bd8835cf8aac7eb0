"""Buffers: made and bound once, counted, never read and written by one run; results belong to the caller."""

from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.caching.counters import buffers
from primsplit.ir.errors import DtypeError, RunError, ShapeError, SpecError
from primsplit.testing import check_grads

Array = np.ndarray[Any, Any]
A = np.fromfunction(lambda i, j: ((7 * i + 3 * j) % 11) / 11, (16, 32))
B = np.fromfunction(lambda i, j: ((5 * i + 2 * j) % 13) / 13, (32, 8))
D_C = np.fromfunction(lambda i, j: ((3 * i + j) % 7) / 7, (16, 8))


def overwriting(a: Array, b: Array, c: Array) -> Array:
    np.matmul(a, b, out=c)
    return c


def test_the_product_of_the_thread_allocates_nothing_from_its_second_call_on() -> None:
    """16x32 by 32x8, its gradients and the copy of C: every value and the memory that it lies in are made once."""
    joint = ps.split(overwriting, A, B, np.zeros((16, 8))).joint()
    prepared = joint.prepare(A, B, np.zeros((16, 8)), D_C)
    prepared(A, B, np.zeros((16, 8)), D_C)
    before, where = buffers(), prepared.addresses()
    for _ in range(5):
        value, d_a, d_b, d_c = prepared(A, B, np.zeros((16, 8)), D_C)
    assert buffers().since(before) == (0, 0)
    assert prepared.addresses() == where
    assert where["y"] == (value.ctypes.data,)
    np.testing.assert_allclose(value[0, :2], [7.062937062937, 6.531468531469], rtol=1e-12)
    np.testing.assert_allclose([d_a.sum(), d_a[0, 0]], [803.1758241758241, 2.0], rtol=1e-12)
    np.testing.assert_allclose([d_b.sum(), d_b[0, 0]], [793.0, 2.8961038961038956], rtol=1e-12)
    np.testing.assert_array_equal(d_c, np.zeros((16, 8)))


def test_an_ordinary_call_makes_an_array_a_result() -> None:
    joint = ps.split(overwriting, A, B, np.zeros((16, 8))).joint()
    joint(A, B, np.zeros((16, 8)), D_C)
    before = buffers()
    found = joint(A, B, np.zeros((16, 8)), D_C)
    assert buffers().since(before) == (4, sum(x.nbytes for x in found))


def stepping() -> Any:
    moment = ps.state("moment", np.zeros(4))

    def step(x: Array) -> Array:
        moment[...] = 0.9 * moment + x
        return 2 * moment

    return step


def test_a_compiled_function_in_what_is_checked_reads_the_states_that_the_check_sets() -> None:
    """A check sets states for a while; what the function compiled before, in it and after it follows."""
    total = ps.state("total", np.array([1.0, -0.5]))
    slope = ps.value_and_grad(lambda x: np.sum((x + total) ** 3))

    def step(x: Array) -> Any:
        value, gradient = slope(x)
        total[...] = total + gradient
        return value

    def wanted(x: Array, before: Array) -> tuple[float, Array]:
        return float(np.sum((x + before) ** 3)), before + 3 * (x + before) ** 2

    x, before = np.array([0.3, 0.2]), np.array([1.0, -0.5])
    for _ in range(2):
        value, after = wanted(x, before)
        np.testing.assert_allclose(step(x), value, rtol=1e-12)
        np.testing.assert_allclose(total.now, after, rtol=1e-12)
        before = after
        check_grads(step, x, order=1)
        np.testing.assert_array_equal(total.now, after)


def test_a_prepared_program_hands_its_states_back_and_forth_between_two_buffers() -> None:
    program = ps.trace(stepping(), np.ones(4))
    prepared = program.prepare(np.ones(4))
    wanted = np.zeros(4)
    before, where = buffers(), prepared.addresses()
    for count in range(5):
        x = np.full(4, float(count))
        wanted = 0.9 * wanted + x
        np.testing.assert_allclose(prepared(x), 2 * wanted)
        np.testing.assert_allclose(program.state["moment"], wanted)
    assert buffers().since(before) == (0, 0)
    read, written = where["state.moment.in"], where["state.moment.out"]
    assert read == written[::-1]
    assert all(a != b for a, b in zip(read, written, strict=True))


def test_ordinary_and_prepared_calls_go_on_from_each_other() -> None:
    program, plain = ps.trace(stepping(), np.ones(4)), stepping()
    prepared = program.prepare(np.ones(4))
    for call in (program, prepared, program, program, prepared, prepared):
        np.testing.assert_allclose(call(np.ones(4)), plain(np.ones(4)))
    program.state.reset()
    np.testing.assert_allclose(prepared(np.ones(4)), np.full(4, 2.0))


def test_two_programs_that_carry_one_state_may_each_be_prepared() -> None:
    """The values are in either buffer of either state, whichever program ran last."""
    one, other = ps.state("one", 0.0), ps.state("other", 0.0)

    def first(x: Any) -> Any:
        one[...] = one + x
        return one + other

    def both(x: Any) -> Any:
        other[...] = other + x
        one[...] = one * 2.0
        return one + other

    programs = [ps.grad(f).program(1.0) for f in (first, both)]
    prepared = [p.prepare(1.0) for p in programs]
    plain = [0.0, 0.0]
    for turn in (0, 1, 0, 0, 1, 1, 0):
        prepared[turn](1.0)
        plain = [plain[0] + 1.0, plain[1]] if turn == 0 else [plain[0] * 2.0, plain[1] + 1.0]
        assert [float(one), float(other)] == plain


def test_a_caller_may_write_to_the_inputs_and_run() -> None:
    prepared = ps.trace(lambda x: {"y": x + 1, "z": [x * 2]}, np.zeros(3)).prepare(np.zeros(3))
    prepared.inputs["x"][:] = [1.0, 2.0, 3.0]
    found = prepared.run()
    assert found["y"] is prepared.outputs["y"]
    np.testing.assert_array_equal(found["z"][0], [2.0, 4.0, 6.0])
    assert prepared(found["y"])["y"] is found["y"]
    np.testing.assert_array_equal(found["y"], [3.0, 4.0, 5.0])


def test_sizes_that_are_symbols_take_those_of_the_arguments() -> None:
    specs = [ps.spec("float64", ["N", "K"]), ps.spec("float64", ["K"])]
    program = ps.split(lambda a, x: np.tanh(a @ x), *specs).joint()
    for n, k in ((3, 2), (1, 1), (0, 4)):
        a, x, seed = np.ones((n, k)), np.ones(k), np.ones(n)
        prepared = program.prepare(a, x, seed)
        for found, wanted in zip(prepared(a, x, seed), program(a, x, seed), strict=True):
            np.testing.assert_allclose(found, wanted)


def test_a_result_whose_size_only_the_run_knows_has_no_buffer() -> None:
    with pytest.raises(SpecError, match="whose size only the run knows"):
        ps.trace(lambda x: x[x > 0], np.ones(3)).prepare(np.ones(3))


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        (np.ones(3), ShapeError, r"x was prepared as float64\[5\], and is given as float64\[3\]"),
        (np.ones(5, np.float32), DtypeError, r"x was prepared as float64\[5\], and is given as float32\[5\]"),
        ((np.ones(5),), SpecError, "arguments of another structure"),
    ],
)
def test_other_arguments_than_it_was_prepared_for_are_refused_by_name(
    given: Any, error: type[Exception], told: str
) -> None:
    prepared = ps.trace(lambda x: x * 2, ps.spec("float64", ["N"])).prepare(np.ones(5))
    with pytest.raises(error, match=told):
        prepared(given)
    np.testing.assert_array_equal(prepared(np.ones(5)), np.full(5, 2.0))


def test_a_program_refuses_arguments_of_other_sizes_and_a_transform_records_for_them() -> None:
    program = ps.trace(lambda x: np.sum(x**2), np.ones(5))
    with pytest.raises(ShapeError, match="x has size 3 at axis 0, not 5"):
        program(np.ones(3))
    gradient = ps.grad(lambda x: np.sum(x**2))
    assert [len(gradient(np.ones(n))) for n in (5, 3)] == [5, 3]


def test_a_run_that_fails_raises_and_leaves_states_as_they_were() -> None:
    calls = ps.state("calls", 0.0)

    def checked(x: Array) -> Any:
        calls[...] = calls + 1.0
        if x[0] < 0:
            raise ValueError("negative")
        return x + calls

    program = ps.trace(checked, np.ones(2))
    prepared = program.prepare(np.ones(2))
    prepared(np.ones(2))
    for call in (prepared, program):
        with pytest.raises(RunError, match="negative"):
            call(-np.ones(2))
    assert float(program.state["calls"]) == 1.0


def test_a_buffer_that_a_run_would_read_and_write_is_refused() -> None:
    """onnxruntime does not look: it would write the product's first elements over factors that it still needs."""
    square = np.ones((64, 64))
    program = ps.trace(lambda x: x @ x, square)
    with pytest.raises(ShapeError, match="shares memory with an input"):
        program.run_into(square, square)
    with pytest.raises(ShapeError, match="shares memory with an input"):
        program.session().bound({"x": square}, {"y": square[:]})
    pair = ps.trace(lambda x: (x + 1, x + 2), np.ones(3))
    room = np.ones(3)
    with pytest.raises(ShapeError, match="or with another output"):
        pair.run_into((room, room), np.ones(3))
    with pytest.raises(ShapeError, match="or with another output"):
        pair.session().bound({"x": np.ones(3)}, {"y0": room, "y1": room})


def test_results_are_the_callers_and_stay_as_they_are() -> None:
    product = ps.hvp(lambda x: np.sum(x**4))
    x = np.array([1.0, 2.0])
    first = product(x, np.array([1.0, 0.0]))
    kept = first.copy()
    second = product(x, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, second)
    x[:] = 0.0
    np.testing.assert_array_equal(first, kept)


def test_a_result_of_a_program_with_states_is_neither_of_their_buffers() -> None:
    step = stepping()
    program = ps.trace(lambda x: (step(x), x), np.ones(4))
    first = program(np.ones(4))
    kept = [x.copy() for x in first]
    program(np.full(4, 5.0))
    for found, wanted in zip(first, kept, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_out_takes_the_results_without_a_copy_also_beside_states() -> None:
    program, plain = ps.trace(stepping(), np.ones(4)), stepping()
    room = np.empty(4)
    for _ in range(2):
        before = buffers()
        assert program.run_into(room, np.ones(4)) is room
        np.testing.assert_allclose(room, plain(np.ones(4)))
        assert buffers().since(before).bytes == 0


def test_a_number_is_written_into_an_array_without_axes() -> None:
    room = np.zeros(())
    ps.trace(lambda x: x * 2.0, 1.0).run_into(room, 4.0)
    assert room == 8.0


def test_a_gradient_of_captured_data_is_that_of_a_fresh_recording_at_every_step() -> None:
    """Mooncake's #1238: cotangents of captured data that were not set to zero grew from call to call."""
    data = np.array([1.0, -2.0, 0.5])

    def loss(w: Array) -> Any:
        return np.sum(np.tanh(data * w) ** 2)

    kept, w = ps.grad(loss), np.array([0.3, 0.1, -0.7])
    for _ in range(6):
        gradient = kept(w)
        np.testing.assert_array_equal(gradient, ps.grad(lambda w: np.sum(np.tanh(data * w) ** 2))(w))
        w = w - 0.1 * gradient
        data[0] += 0.25


def test_onnxruntime_shares_the_memory_of_arrays_that_are_bound() -> None:
    """The assumption of `Prepared`: a value made of an array shares its memory, and sees later writes."""
    array = np.arange(3.0)
    value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() == array.ctypes.data
    array[0] = 7.0
    np.testing.assert_array_equal(value.numpy(), [7.0, 1.0, 2.0])
