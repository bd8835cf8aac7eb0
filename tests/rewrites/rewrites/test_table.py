"""A rewrite sees an op, the ops of its inputs, and its attributes; the one registered first is tried first."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from primsplit.ir import Const, Op, Var
from primsplit.ops import op
from primsplit.rewrites.rewrites.table import REWRITES, Rewritten, Site, is_zero, number, rewrite, scalar
from primsplit.rewrites.simplify import simplify
from tests.recording import kinds, record


def site_of(function: Any, spec: str = "float32[4,3]") -> tuple[Site, list[Op]]:
    """The last op of a block, and the ops that a rewrite puts before it."""
    block = record(lambda x: function(x), spec)
    added: list[Op] = []
    return Site(block.ops[-1], {v: step for step in block.ops for v in step.outputs}, added.append), added


def test_an_input_is_found_with_the_op_that_defines_it() -> None:
    site, _ = site_of(lambda x: op.Mul(op.Exp(x), 2.0))
    made = site.maker(site.input(0), "Neg", "Exp")
    assert made is not None
    assert made.kind == "Exp"
    assert site.maker(site.input(0), "Neg") is None
    assert site.maker(made.inputs[0], "Exp") is None
    assert site.maker(site.input(1), "Exp") is None
    assert site.input(2) is None


def test_an_attribute_that_is_left_out_has_the_default_of_the_standard() -> None:
    assert site_of(lambda x: op.ReduceSum(x, [0]))[0].attribute("keepdims") == 1
    assert site_of(lambda x: op.ReduceSum(x, [0], keepdims=0))[0].attribute("keepdims") == 0
    assert site_of(lambda x: op.Transpose(x))[0].attribute("perm") is None


def test_another_op_defines_the_same_output_and_an_op_before_it_its_own() -> None:
    site, added = site_of(lambda x: op.ReduceSum(x, [0], keepdims=0))
    other = site.becomes("ReduceMax", site.op.inputs, {"keepdims": 0})
    assert (other.kind, other.outputs, other.attributes) == ("ReduceMax", site.op.outputs, {"keepdims": 0})
    before = site.make(site.type, site.op.inputs)
    assert [step.outputs for step in added] == [(before,)]
    assert before is not site.op.outputs[0]
    assert (added[0].kind, added[0].attributes) == ("ReduceSum", {"keepdims": 0})


@pytest.fixture
def _only_here() -> Iterator[None]:
    """Undo registrations after the test: a rewrite is appended to the list of its operator."""
    before = {kind: list(found) for kind, found in REWRITES.items()}
    yield
    for kind in list(REWRITES):
        if kind in before:
            REWRITES[kind][:] = before[kind]
        else:
            del REWRITES[kind]


@pytest.mark.usefixtures("_only_here")
def test_the_rewrite_that_is_registered_first_is_tried_first_and_none_leaves_the_op() -> None:
    tried = []

    @rewrite("Sinh")
    def none(_: Site) -> Rewritten:
        tried.append("none")
        return None

    @rewrite("Sinh", "Cosh")
    def input_of(site: Site) -> Rewritten:
        tried.append("input")
        return site.input(0)

    @rewrite("Sinh")
    def never(_: Site) -> Rewritten:
        raise AssertionError

    assert kinds(simplify(record(lambda x: op.Sinh(op.Exp(op.Cosh(x))), "float32[3]"))) == ["Exp"]
    assert tried == ["input", "none", "input"]


def test_a_number_is_of_a_constant_whose_elements_are_all_the_same() -> None:
    assert number(Const(np.full((2, 3), 4.0))) == 4.0
    assert number(Const(np.array([4.0, 5.0]))) is None
    assert number(None) is None
    assert number(record(lambda x: x, "float64[3]").params[0]) is None


@pytest.mark.parametrize("zero", [0.0, -0.0, np.zeros(3), np.int64(0)])
def test_a_zero_has_either_sign(zero: object) -> None:
    assert is_zero(Const(np.asarray(zero)))
    assert not is_zero(Const(np.asarray(zero) + 1))
    assert not is_zero(None)


def test_a_scalar_is_rounded_to_its_dtype() -> None:
    made = scalar(np.array([0.1]), np.dtype("float16"))
    assert made.type.shape == ()
    assert made.numpy() == np.float16(0.1)
    assert made.numpy().dtype == np.float16
    assert not isinstance(made, Var)
