"""Python loops that are recorded step by step: reported once, at their line, and recorded all the same."""

import warnings

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnrolledLoopWarning

STEPS = 1000


def looped(x):
    for _ in range(STEPS):
        x = x - 0.001 * np.sin(x)
    return x


def scanned(x):
    return ps.scan(lambda c, _: (c - 0.001 * np.sin(c), None), x, length=STEPS)[0]


def line_of(function, text):
    """The number of the line with this text in the function's source."""
    with open(function.__code__.co_filename) as file:
        lines = file.readlines()
    first = function.__code__.co_firstlineno
    return next(i for i, line in enumerate(lines, 1) if i >= first and text in line)


def warnings_of(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = make()
    return made, [w for w in caught if issubclass(w.category, UnrolledLoopWarning)]


def test_a_long_python_loop_is_reported_once_at_its_line_and_recorded() -> None:
    program, (warned,) = warnings_of(lambda: ps.trace(looped, 0.5))
    assert (warned.filename, warned.lineno) == (__file__, line_of(looped, "np.sin"))
    told = str(warned.message)
    assert f"{STEPS} times" in told
    assert f"{len(program.block.ops)} ops" in told
    assert "ps.scan" in told
    assert "ps.fori_loop" in told
    np.testing.assert_allclose(program(0.5), looped(0.5), rtol=1e-12)


def test_each_trace_reports_its_own_loop() -> None:
    def twice():
        ps.trace(looped, 0.5)
        ps.split(lambda x: looped(2 * x), 0.5)

    assert len(warnings_of(twice)[1]) == 2


def test_a_loop_inside_a_gradient_a_body_or_a_branch_is_reported() -> None:
    for function in (
        lambda x: ps.grad(looped)(x),
        lambda x: ps.scan(lambda c, _: (looped(c), None), x, length=2)[0],
        lambda x: looped(x) if x > 0 else x,
    ):
        found = warnings_of(lambda function=function: ps.trace(function, 0.5))[1]
        assert [w.lineno for w in found] == [line_of(looped, "np.sin")]


@pytest.mark.parametrize(
    "function",
    [scanned, lambda x: ps.grad(scanned)(x), lambda x: sum(np.sin(x) for _ in range(400))],
    ids=["scan", "gradient of scan", "400 steps"],
)
def test_a_scan_and_a_short_loop_are_not(function) -> None:
    assert warnings_of(lambda: ps.trace(function, 0.5))[1] == []


def test_it_can_be_made_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnrolledLoopWarning)
        with pytest.raises(UnrolledLoopWarning):
            ps.trace(looped, 0.5)
