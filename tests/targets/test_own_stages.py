"""A stage of the user's: where it runs, what it may give, and that it counts for what is cached."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import extend
from primsplit.ir import Block
from primsplit.ir.errors import PrimsplitError, RuleError
from primsplit.targets.pipeline import STAGES, rows, stages
from tests.registered import only_here

X = ps.spec("float64", [3])


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    with only_here():
        yield


def kinds(function: Any) -> list[str]:
    return [node.op_type for node in ps.trace(function, X).to_onnx().graph.node]


def with_cosines(block: Block) -> Block:
    """Put a Cos in the place of each Sin."""
    return replace(block, ops=tuple(replace(op, kind="Cos") if op.kind == "Sin" else op for op in block.ops))


def test_a_stage_changes_what_a_file_holds_and_what_a_program_computes() -> None:
    x = np.array([0.1, 0.2, 0.3])
    assert kinds(np.sin) == ["Sin"]
    extend.stage("Take cosines.", kinds="Sin")(with_cosines)
    assert kinds(np.sin) == ["Cos"]
    np.testing.assert_allclose(ps.trace(np.sin, X)(x), np.cos(x))
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(np.cos(x)))(x), -np.cos(x))


def test_what_was_compiled_before_is_compiled_again() -> None:
    compiled = ps.value_and_grad(lambda x: np.sum(np.sin(x)))
    x = np.array([0.1, 0.2, 0.3])
    assert compiled(x)[0] == pytest.approx(np.sum(np.sin(x)))
    extend.stage("Take cosines.")(with_cosines)
    assert compiled(x)[0] == pytest.approx(np.sum(np.cos(x)))


def test_it_runs_before_the_stage_that_it_names_or_last() -> None:
    names = [stage.name for stage in STAGES]
    extend.stage("Take cosines.", before="legalize")(with_cosines)

    @extend.stage("Do nothing.")
    def idle(block: Block) -> Block:
        return block

    at = names.index("legalize")
    assert [stage.name for stage in stages()] == [*names[:at], "with_cosines", *names[at:], "idle"]
    assert {row["why"] for row in rows() if row["for"] == "own"} == {"Take cosines.", "Do nothing."}


def test_it_is_not_run_where_its_operators_are_not() -> None:
    seen: list[Block] = []

    @extend.stage("Note blocks.", kinds="Tanh Sin|Cos")
    def noted(block: Block) -> Block:
        seen.append(block)
        return block

    kinds(np.tanh)
    assert not seen
    kinds(lambda x: np.cos(np.tanh(x)))
    assert seen


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda block: None, "gave NoneType, not a Block"),
        (lambda block: replace(block, results=(*block.results, *block.results)), "changed the program's parameters"),
        (lambda block: replace(block, ops=()), "which nothing computes"),
    ],
    ids=["nothing", "more results", "fewer ops"],
)
def test_a_block_that_does_not_fit_is_refused(run: Any, told: str) -> None:
    extend.stage("Break programs.")(run)
    with pytest.raises(PrimsplitError, match=told):
        kinds(np.sin)


def test_an_unknown_stage_and_another_number_of_arguments_are_refused_where_they_are_registered() -> None:
    with pytest.raises(RuleError, match="no stage 'legalise'") as caught:
        extend.stage("Come early.", before="legalise")
    assert "Did you mean legalize?" in str(caught.value)
    with pytest.raises(RuleError, match="other arguments"):
        extend.stage("Take two.")(lambda block, target: block)  # type: ignore[arg-type, misc]
    with pytest.raises(RuleError, match="a stage optimize of its own"):

        @extend.stage("Hide ours.")
        def optimize(block: Block) -> Block:
            return block


def test_two_modules_do_not_share_a_name_unasked() -> None:
    extend.stage("Take cosines.")(with_cosines)
    extend.stage("Take cosines again.")(with_cosines)

    def other(block: Block) -> Block:
        return block

    other.__name__, other.__module__ = "with_cosines", "elsewhere"
    with pytest.raises(RuleError, match="has a stage already"):
        extend.stage("Do nothing.")(other)
    extend.stage("Do nothing.", replace=True)(other)
    assert kinds(np.sin) == ["Sin"]
