"""Branches that give sequences or optional values."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import BRANCHES, Row, drawn
from tests.onnx.sequences.subjects import check_derivatives, check_numbers, saved


@pytest.mark.parametrize("row", BRANCHES, ids=lambda row: row.name)
def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    check_numbers(row, tmp_path)


@pytest.mark.parametrize("row", BRANCHES, ids=lambda row: row.name)
def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    check_derivatives(row, tmp_path)


def test_an_optional_value_that_the_run_does_not_give_cannot_be_read(tmp_path: Path) -> None:
    text = """m (double[N] x, bool f) => (double[N] y) {
        o = If (f) <
            then_branch = yes () => (optional(double[N]) p) { p = Optional (x) },
            else_branch = no () => (optional(double[N]) q) { q = Optional <type = optional(double[2])> () }>
        y = OptionalGetElement (o) }"""
    program = ps.load(saved(tmp_path, text))
    np.testing.assert_array_equal(program(np.ones(2), np.array(True)), np.ones(2))
    with pytest.raises(RunError, match="out of data bounds"):
        program(np.ones(2), np.array(False))


def test_an_optional_sequence_may_be_given_as_the_run_decides(tmp_path: Path) -> None:
    text = """m (double[2] x, bool f) => (optional(seq(double[2])) o, double[K] y) {
        o = If (f) <
            then_branch = yes () => (optional(seq(double[2])) p) {
                e = Exp (x)  s = SequenceConstruct (x, e)  p = Optional (s) },
            else_branch = no () => (optional(seq(double[2])) q) { q = Optional <type = seq(double[2])> () }>
        h = OptionalHasElement (o)
        y = If (h) <
            then_branch = has () => (double[A] u) {
                t = OptionalGetElement (o)  u = ConcatFromSequence <axis = 0> (t) },
            else_branch = none () => (double[B] w) { w = Sin (x) }> }"""
    program = ps.load(saved(tmp_path, text))
    assert program.outputs == ("o.elements", "o.given", "o.shapes", "y")
    x = drawn(2)
    for flag, told in ((True, np.concatenate([x, np.exp(x)])), (False, np.sin(x))):
        o, y = program(x, np.array(flag))
        np.testing.assert_allclose(y, told, rtol=1e-12)
        assert (bool(o["given"]), o["elements"].size, o["shapes"].tolist()) == (flag, 4 * flag, [[2], [2]] * flag)
    gradient = ps.split(program, wrt="x", of="y", seed="ones").joint()
    np.testing.assert_allclose(gradient(x, np.array(True))[-1], 1 + np.exp(x), rtol=1e-12)
    np.testing.assert_allclose(gradient(x, np.array(False))[-1], np.cos(x), rtol=1e-12)


def test_an_optional_value_may_be_given_as_the_run_decides(tmp_path: Path) -> None:
    text = """m (double[N] x, bool f) => (double[N] y) {
        o = If (f) <
            then_branch = yes () => (optional(double[N]) p) { e = Exp (x)  p = Optional (e) },
            else_branch = no () => (optional(double[N]) q) { q = Optional <type = optional(double[2])> () }>
        h = OptionalHasElement (o)
        y = If (h) <
            then_branch = has () => (double[N] u) { g = OptionalGetElement (o)  u = Mul (g, g) },
            else_branch = none () => (double[N] w) { w = Sin (x) }> }"""
    gradient = ps.split(ps.load(saved(tmp_path, text)), wrt="x", seed="ones").joint()
    x = drawn(3)
    for flag, y, dx in ((True, np.exp(2 * x), 2 * np.exp(2 * x)), (False, np.sin(x), np.cos(x))):
        found = gradient(x, np.array(flag))
        np.testing.assert_allclose(found[0], y, rtol=1e-12)
        np.testing.assert_allclose(found[1], dx, rtol=1e-12)
