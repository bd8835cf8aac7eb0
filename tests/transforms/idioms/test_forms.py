"""Idioms are replaced where they fit, are closed and are not refused; the reasons of refusals are told."""

from typing import Any

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.tracing.array import Array
from primsplit.transforms.idioms.forms import Idiom, by_kind, replaced
from tests.recording import kinds, record


def _of_vectors(x: Array, y: Array) -> str | None:
    return None if x.type.rank == 1 else "no vector"


IDIOMS = by_kind(
    [
        Idiom(
            lambda x, y: pattern.Log(pattern.Mul(pattern.Exp(x), y)),
            _of_vectors,
            lambda x, y: x + op.Log(y),
            exact="rounds",
        )
    ]
)


def found(f: Any, text: str = "float64[3]") -> tuple[Block, list[str]]:
    """The block after its idioms are replaced, and why some were not."""
    refusals: list[str] = []
    block = record(lambda x, y: f(x, y), text, text)
    made = replaced(block, IDIOMS, refusals)
    check_types(made)
    assert made is not block or kinds(made) == kinds(block)
    return made, refusals


def test_a_form_is_replaced_by_what_is_built_and_keeps_its_result() -> None:
    made, refusals = found(lambda x, y: op.Neg(op.Log(op.Mul(y, op.Exp(x)))))
    assert kinds(made) == ["Log", "Add", "Neg"]
    assert refusals == []


def test_a_form_of_which_something_else_reads_a_part_stays() -> None:
    made, refusals = found(lambda x, y: op.Add(op.Log(op.Mul(e := op.Exp(x), y)), e))
    assert kinds(made) == ["Exp", "Mul", "Log", "Add"]
    assert refusals == []


def test_a_refusal_tells_its_reason() -> None:
    made, refusals = found(lambda x, y: op.Log(op.Mul(op.Exp(x), y)), "float64[3,2]")
    assert kinds(made) == ["Exp", "Mul", "Log"]
    assert refusals == ["no vector"]


def test_what_is_built_must_have_the_type_of_the_form() -> None:
    wrong = by_kind([Idiom(lambda x: pattern.Exp(x), None, lambda x: op.ReduceSum(x, keepdims=0), exact="rounds")])
    block = record(lambda x: op.Exp(x), "float64[3]")
    refusals: list[str] = []
    assert replaced(block, wrong, refusals) is block
    assert refusals == ["float64 is built in the place of float64[3]"]
