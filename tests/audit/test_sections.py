"""The ops of a file are divided as they say what they are a part of."""

from primsplit.audit.sections import order_told, sections_of
from primsplit.ir import Block, Op, Type, Value, Var
from primsplit.ir.errors import Place

LINE = Place("f.py", 1, "f")


def var() -> Var:
    return Var(Type("float32", ()))


def block(*rows: tuple[str, Place | None, str, tuple[Value, ...]]) -> tuple[Block, list[Op]]:
    """A block of ops of these names, places and remarks, each with one output; the last one's is the result."""
    ops = [Op(kind, inputs, (var(),), {}, place, remark) for kind, place, remark, inputs in rows]
    return Block("f", (), tuple(ops), (ops[-1].outputs[0],)), ops


def kinds(made: Block) -> list[tuple[str, list[str]]]:
    return [(section.name, [op.kind for op in section.ops]) for section in sections_of(made)]


def test_passes_stand_one_after_the_other_where_they_can() -> None:
    x = var()
    made, _ = block(("A", LINE, "", (x,)), ("P", LINE, "pullback of A", (x,)), ("B", LINE, "", (x,)))
    assert kinds(made) == [("forward", ["A", "B"]), ("backward", ["P"])]


def test_a_gradient_that_a_function_takes_is_a_part_of_its_forward_pass() -> None:
    x, d, gradient = var(), var(), var()
    step = Op("Update", (d,), (var(),), {}, LINE)
    pull = Op("P", (x,), (d,), {}, LINE, "pullback of A")
    outer = Op("Q", (d,), (gradient,), {}, LINE, "pullback of P (order 2)")
    made = Block("f", (x,), (Op("A", (x,), (var(),), {}, LINE), pull, step, outer), (*step.outputs, gradient))
    assert kinds(made) == [("forward", ["A", "P", "Update"]), ("backward", ["Q"])]
    assert [order_told(op) for op in made.ops] == [0, 1, 0, 2]


def test_passes_that_read_one_another_stand_as_they_alternate() -> None:
    x, d = var(), var()
    step = Op("Update", (d,), (var(),), {}, LINE)
    pull = Op("P", (x,), (d,), {}, LINE, "pullback of A")
    made = Block("f", (x,), (Op("A", (x,), (var(),), {}, LINE), pull, step), step.outputs)
    found = [section.name for section in sections_of(made, {*step.outputs})]
    assert found == ["forward", "backward", "forward"]


def test_what_has_no_line_and_no_rule_belongs_to_what_it_reads_or_to_its_readers() -> None:
    x, ones, d, e = var(), var(), var(), var()
    forward = Op("A", (x,), (var(),), {}, LINE)
    seed = Op("ConstantOfShape", (x,), (ones,))
    pull = Op("P", (ones,), (d,), {}, LINE, "pullback of A")
    made = Block("f", (x,), (forward, seed, pull, Op("Cast", (d,), (e,))), (forward.outputs[0], e))
    assert kinds(made) == [("forward", ["A"]), ("backward", ["ConstantOfShape", "P", "Cast"])]


def test_recomputed_ops_are_backward_and_tangents_come_last() -> None:
    x = var()
    made, _ = block(("T", LINE, "tangent of A", (x,)), ("R", LINE, "computed again", (x,)), ("A", LINE, "", (x,)))
    assert kinds(made) == [("forward", ["A"]), ("backward", ["R"]), ("tangent", ["T"])]


def test_the_second_function_of_a_file_is_backward() -> None:
    x, h, d = var(), var(), var()
    made = Block("f", (x,), (Op("ps::f", (x,), (h,)), Op("ps::f__pullback", (h,), (d,))), (h, d))
    assert kinds(made) == [("forward", ["ps::f"]), ("backward", ["ps::f__pullback"])]
