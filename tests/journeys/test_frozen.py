"""Arrays from outside of a traced function: part of the program, refused, or parameters by name."""

import math
import warnings

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import FrozenArrayWarning, SpecError
from primsplit.programs import trace_program

WEIGHTS = np.array([1.0, -2.0, 0.5])


def frozen(x):
    return (x * WEIGHTS).sum()


def named(x):
    return np.tanh(x * ps.param(WEIGHTS, "w")).sum()


def test_an_array_from_outside_is_refused_at_its_line_where_asked() -> None:
    ps.trace(frozen, ps.spec("float64", [3]))
    with pytest.raises(SpecError, match="frozen into the program") as caught:
        ps.trace(frozen, ps.spec("float64", [3]), freeze="error")
    assert "(x * WEIGHTS)" in str(caught.value)


def test_a_named_parameter_gets_a_gradient_and_keeps_its_numbers() -> None:
    program = ps.trace(named, ps.spec("float64", [3]), freeze="error")
    assert list(program.params) == ["w"]
    x = np.array([0.3, 0.4, -0.2])
    joint = ps.split(named, ps.spec("float64", [3]), wrt=["x", "w"]).joint()
    assert joint.inputs == ("x", "w")
    value, d_x, d_w = joint(x, WEIGHTS)
    slope = 1 - np.tanh(x * WEIGHTS) ** 2
    np.testing.assert_allclose(value, named(x))
    np.testing.assert_allclose(d_w, slope * x, rtol=1e-12)
    np.testing.assert_allclose(d_x, slope * WEIGHTS, rtol=1e-12)
    assert [name for name, _ in joint.defaults.items()] == ["w"]


def test_a_named_parameter_stands_before_keyword_arguments() -> None:
    program = ps.trace(lambda x, *, k: named(x) + k, ps.spec("float64", [3]), k=ps.spec("float64", []))
    made = ps.split(program, wrt="w")
    assert made.joint().inputs == ("x", "w", "k")
    x = np.array([0.3, 0.4, -0.2])
    for found in (
        made.program(x, 2 * WEIGHTS, k=5.0),
        program(x, w=2 * WEIGHTS, k=5.0),
        made.joint()(x, 2 * WEIGHTS, 5.0)[0],
    ):
        np.testing.assert_allclose(found, np.tanh(x * 2 * WEIGHTS).sum() + 5.0)


def test_a_parameter_stays_one_in_a_function_that_is_run_again() -> None:
    def f(x, w):
        listed = np.array([x[0], 1.0, 2.0])
        total = np.sum(np.exp(w) * x * listed) + math.sin(w[1]) * x[0]
        return total if w[0] > 0 else total + w[0]

    x = np.array([0.3, 0.4, -0.2])
    joint = ps.split(lambda x: f(x, ps.param(WEIGHTS, "w")), ps.spec("float64", [3]), wrt="w").joint()
    for w in (WEIGHTS, -WEIGHTS):
        value, slope = joint(x, w)
        np.testing.assert_allclose(value, f(x, w))
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(f(x, w + s) - f(x, w - s)) / 2e-6 for s in steps], rtol=1e-6)


def test_two_parameters_of_one_name_are_refused() -> None:
    with pytest.raises(SpecError, match="two parameters are called w"):
        ps.trace(lambda x: x * ps.param(WEIGHTS, "w") + ps.param(2 * WEIGHTS, "w"), ps.spec("float64", [3]))


def test_a_parameter_inside_of_a_function_that_is_one_op_gets_its_gradient() -> None:
    inner = ps.primitive(lambda x: np.sin(x * ps.param(WEIGHTS, "w")))
    joint = ps.split(lambda x: inner(x).sum(), ps.spec("float64", [3]), wrt="w").joint()
    x = np.array([0.3, 0.4, -0.2])
    np.testing.assert_allclose(joint(x, WEIGHTS)[1], np.cos(x * WEIGHTS) * x, rtol=1e-12)


def test_a_large_array_is_reported_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_program, "LARGE", 24)
    with pytest.warns(FrozenArrayWarning, match="an array of 24 B") as caught:
        ps.trace(frozen, ps.spec("float64", [3]))
    (warned,) = caught
    assert warned.filename == __file__
    assert warned.lineno == frozen.__code__.co_firstlineno + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.trace(named, ps.spec("float64", [3]))
        monkeypatch.setattr(trace_program, "LARGE", 25)
        ps.trace(frozen, ps.spec("float64", [3]))


def test_the_large_arrays_of_a_line_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_program, "LARGE", 24)

    def looped(x):
        for shift in (1.0, 2.0, 3.0):
            x = x * (WEIGHTS + shift)
        return x

    with pytest.warns(FrozenArrayWarning, match="3 arrays of 72 B in all become part of the program") as caught:
        ps.trace(looped, ps.spec("float64", [3]))
    assert [warned.lineno for warned in caught] == [looped.__code__.co_firstlineno + 2]


def test_the_same_report_is_shown_once_however_often_a_function_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_program, "LARGE", 24)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            ps.trace(frozen, ps.spec("float64", [3]))
    assert [w.category for w in caught] == [FrozenArrayWarning]


@pytest.mark.parametrize("options", [{"freeze": "warn"}, {"branches": "all"}])
def test_an_option_that_there_is_not_is_refused(options) -> None:
    with pytest.raises(SpecError, match="is none of '"):
        ps.trace(frozen, ps.spec("float64", [3]), **options)


def _weights(program: ps.Program) -> list[list[int]]:
    return [list(t.dims) for t in program.to_onnx().graph.initializer if len(t.dims) == 2]


@pytest.mark.parametrize("named", [False, True])
def test_an_array_that_a_loop_reads_is_in_the_file_once(named: bool) -> None:
    table = np.linspace(-1.0, 1.0, 100).reshape(10, 10)

    def f(x):
        for _ in range(5):
            x = np.tanh((ps.param(table, "table") if named else table) @ x + table[1])
        return np.sum(x)

    made = ps.split(f, ps.spec("float64", [10])).joint()
    assert _weights(made) == [[10, 10]]
    ps.testing.check_grads(f, np.ones(10))


def test_an_array_whose_dtype_gives_way_in_a_loop_is_in_the_file_once() -> None:
    table = np.linspace(-1.0, 1.0, 100, dtype=np.float32).reshape(10, 10)

    def f(x):
        for _ in range(5):
            x = np.tanh(table @ x)
        return np.sum(x)

    made = ps.split(f, ps.spec("float64", [10])).joint()
    assert _weights(made) == [[10, 10]]
    ps.testing.check_grads(f, np.ones(10))


def test_an_array_that_changes_between_two_reads_is_two() -> None:
    table = np.linspace(-1.0, 1.0, 100).reshape(10, 10)
    before, after = table.copy(), -table.T

    def f(x):
        first = table @ x
        table[:] = after
        second = table @ x
        table[:] = before
        return first, second

    program = ps.trace(f, ps.spec("float64", [10]))
    x = np.linspace(0.0, 1.0, 10)
    for found, wanted in zip(program(x), (before @ x, after @ x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert _weights(program) == [[10, 10]] * 2


def test_zeros_of_either_sign_in_one_place_are_two_arrays() -> None:
    zeros = np.zeros(100)

    def f(x):
        first = 1.0 / (zeros + x * zeros)
        np.negative(zeros, out=zeros)
        second = 1.0 / (zeros + x * zeros)
        np.negative(zeros, out=zeros)
        return first, second

    first, second = ps.trace(f, 1.0)(1.0)
    assert np.all(first == np.inf)
    assert np.all(second == -np.inf)
