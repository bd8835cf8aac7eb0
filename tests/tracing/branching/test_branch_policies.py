"""Row T4: the policies of Python branches, in calls on arrays and in files: explore, error, guard, static."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import BranchError, ConcretizationError, RunError, SpecError
from tests.tracing.branching.differences import slopes


def branching(x):
    """The fixture of the row: cubed from the first element above 1 on."""
    for element in x:
        if element > 1:
            return np.sum(x) ** 3
    return np.sum(x) ** 2


def settling(x, rates):
    """As many steps as the data say."""
    steps = 0
    while x > 1:
        x = 0.9 * x + 0.01 * np.sin(x) * np.sum(rates)
        steps += 1
    return x * (1 + 0.1 * steps)


def test_a_guarded_gradient_records_a_tape_for_each_way_that_arrays_take() -> None:
    gradient = ps.grad(branching, branches="guard")
    for x, expected, tapes in (
        ([0.1, 0.2, 0.3], 1.2, 1),
        ([1.1, 1.2, 1.3], 38.88, 2),
        ([0.0, 1.1, 1.0], 13.23, 3),
        ([0.3, 0.2, 0.1], 1.2, 3),
        ([0.5, 1.6, 0.0], 13.23, 3),
    ):
        np.testing.assert_allclose(gradient(np.array(x)), np.full(3, expected), rtol=1e-12)
        assert gradient.statistics.misses == tapes
    assert gradient.statistics.hits == 2


def test_a_loop_without_a_known_end_is_guarded_for_each_number_of_steps() -> None:
    rates = np.array([0.5, 0.25])
    both = ps.value_and_grad(settling, (0, 1), branches="guard")
    starts = (0.5, 1.7, 6.1, 1.71, 9.3, 310.0)  # of 0 to 55 steps, two of them alike
    for x in starts:
        value, gradient = both(x, rates)
        np.testing.assert_allclose(value, settling(x, rates), rtol=1e-12)
        for found, expected in zip(gradient, slopes(settling, x, rates), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert both.statistics.misses == 5
    second = ps.hessian(settling, branches="guard")
    gradient = ps.grad(settling, branches="guard")
    for x in starts[:3]:
        np.testing.assert_allclose(second(x, rates), slopes(gradient, x, rates)[0], rtol=1e-5, atol=1e-8)


def test_policies_of_a_transform() -> None:
    low, high = np.array([0.1, 0.2, 0.3]), np.array([1.1, 1.2, 1.3])
    explored = ps.grad(branching)
    assert [float(explored(x)[0]) for x in (low, high)] == pytest.approx([1.2, 38.88])
    assert explored.statistics.misses == 1
    with pytest.raises(ConcretizationError, match="if element > 1"):
        ps.grad(branching, branches="error")(low)
    static = ps.grad(branching, branches="static")
    assert static(low)[0] == pytest.approx(1.2)
    with pytest.raises(BranchError, match="another way"):
        static(high)
    for wrong in ("never", None):
        with pytest.raises(SpecError, match="is none of 'explore', 'error', 'guard', 'static'"):
            ps.grad(branching, branches=wrong)


@pytest.mark.parametrize(
    "transformed",
    [ps.grad, ps.jacobian, ps.hessian, ps.laplacian, ps.derivative, ps.value_and_derivative, ps.value_and_jacobian],
)
def test_every_transform_takes_a_policy(transformed) -> None:
    def bent(x):
        return x**3 if x > 1 else x**2

    with pytest.raises(ConcretizationError):
        transformed(bent, branches="error")(2.0)
    guarded, explored = transformed(bent, branches="guard"), transformed(bent)
    for x in (0.5, 2.0, 0.25):
        assert guarded(x) == explored(x)
    assert guarded.statistics.misses == 2


def _slope_of_jvp(function, x, branches):
    return ps.jvp(function, (x,), (1.0,), branches=branches)[1]


def _slope_of_vjp(function, x, branches):
    return ps.vjp(function, x, branches=branches)[1](1.0)[0]


def _slope_of_linearize(function, x, branches):
    return ps.linearize(function, x, branches=branches)[1](1.0)


@pytest.mark.parametrize("slope", [_slope_of_jvp, _slope_of_vjp, _slope_of_linearize])
def test_derivatives_at_arguments_take_a_policy(slope) -> None:
    def halved(x):
        while x > 1:
            x = 0.5 * x
        return x**2

    with pytest.raises(ConcretizationError, match="while x > 1"):
        slope(halved, 6.0, "explore")
    with pytest.raises(ConcretizationError):
        slope(halved, 0.5, "error")
    assert [slope(halved, x, "guard") for x in (6.0, 0.5, 7.0, 1.5)] == [0.1875, 1.0, 0.21875, 0.75]
    assert slope(halved, 0.5, "static") == 1.0
    with pytest.raises(BranchError, match="another way"):
        slope(halved, 6.0, "static")


def test_a_split_of_a_guarded_function_holds_the_ways_that_calls_took_for_every_size() -> None:
    function = ps.guarded(settling)
    rates = np.array([0.5, 0.25])
    for x in (0.5, 1.7, 2.2, 6.1):
        function(x, rates)
    specs = ps.spec("float64", []), ps.spec("float64", ["N"])
    joint = ps.split(function, *specs, branches="guard").joint()
    for x, given in ((0.4, rates), (1.7, np.array([0.1, 0.2, 0.3])), (2.2, np.zeros(0)), (6.1, rates)):
        value, *gradient = joint(x, given)
        np.testing.assert_allclose(value, settling(x, given), rtol=1e-12)
        for found, expected in zip(gradient, slopes(settling, x, given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    with pytest.raises(BranchError, match="while x > 1"):
        joint(300.0, rates)


def test_specs_tell_no_way_and_arrays_tell_theirs() -> None:
    with pytest.raises(SpecError, match=r"arrays, not specs(.|\n)*ps\.guarded"):
        ps.trace(branching, ps.spec("float64", [3]), branches="guard")
    program = ps.trace(branching, np.array([0.1, 1.2, 0.3]), branches="guard")
    assert program(np.array([0.0, 1.1, 1.0])) == pytest.approx(2.1**3)
    with pytest.raises(BranchError):
        program(np.array([0.1, 0.2, 0.3]))


RUN = """
import sys
sys.modules["primsplit"] = None
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
rows = [[0.3, 0.2, 0.1], [0.5, 1.6, 0.0]]
print([session.run(None, {"x": np.array(x)})[0].tolist() for x in rows])
try:
    session.run(None, {"x": np.array([2.0, 0.0, 0.0])})
except Exception as error:
    print(type(error).__name__)
"""


def test_one_file_holds_every_way_that_was_recorded(tmp_path: pathlib.Path) -> None:
    gradient = ps.grad(branching, branches="guard")
    x = np.array([0.1, 0.2, 0.3])
    gradient(x)
    x[:] = 5.0  # what the recording was made for stays as it was
    gradient(np.array([0.0, 1.1, 1.0]))
    path = str(tmp_path / "ways.onnx")
    assert ps.export_guarded(gradient, path) == [path]
    told = subprocess.run([sys.executable, "-c", RUN, path], capture_output=True, text=True, check=True)
    rows, raised = told.stdout.splitlines()
    np.testing.assert_allclose(json.loads(rows), [[1.2] * 3, [13.23] * 3], rtol=1e-12)
    assert raised == "InvalidArgument"
    with pytest.raises(SpecError, match="no values to tell files apart"):
        ps.export_guarded(gradient, str(tmp_path / "folder"), form="variants")


def test_what_is_drawn_decides_in_the_run() -> None:
    def function(x):
        return x * 3.0 if ps.random.uniform() > 0.5 else x

    gradient = ps.grad(function, branches="guard")
    found = {float(gradient(1.0)) for _ in range(60)}
    assert found == {1.0, 3.0}
    assert gradient.statistics.misses == 1


def test_asking_for_the_program_of_arrays_changes_no_state() -> None:
    count = ps.state("count", np.zeros(()))

    def function(x):
        count[...] = count + 1.0
        return x * count if x > 1 else x

    guarded = ps.guarded(function)
    assert [float(guarded(x)) for x in (2.0, 0.5, 3.0)] == [2.0, 0.5, 9.0]
    guarded.program(4.0)
    assert guarded(4.0) == 16.0


def test_an_error_of_the_function_is_no_other_way() -> None:
    def function(x):
        if x > 1:
            raise ValueError("too large")
        return x**2

    gradient = ps.grad(function, branches="guard")
    assert gradient(0.5) == 1.0
    with pytest.raises((ValueError, RunError), match="too large"):
        gradient(2.0)
    assert gradient(0.25) == 0.5
