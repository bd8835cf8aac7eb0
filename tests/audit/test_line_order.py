"""The order of nodes in a listing: by the user's lines, and by what the results demand."""

from itertools import permutations

from primsplit.audit.line_order import by_demand, by_lines
from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.errors import Place

X = Type("float32", [3])


def op(kind: str, line: int | None, *inputs: Var) -> Op:
    return Op(kind, inputs, (Var(X),), {}, None if line is None else Place("f.py", line, "f"))


def kinds(ops: list[Op]) -> list[str]:
    return [each.kind for each in ops]


def test_nodes_of_a_line_stand_together() -> None:
    x = Var(X)
    ops = [op("Exp", 1, x), op("Sin", 2, x), op("Cos", 1, x)]
    assert kinds(by_lines(ops)) == ["Exp", "Cos", "Sin"]


def test_a_node_stays_behind_what_it_reads() -> None:
    x = Var(X)
    first = op("Exp", 1, x)
    second = op("Sin", 2, *first.outputs)
    ops = [first, second, op("Cos", 1, *second.outputs), op("Tan", 1, x)]
    assert kinds(by_lines(ops)) == ["Exp", "Tan", "Sin", "Cos"]


def test_the_order_of_demand_is_that_of_no_file() -> None:
    x = Var(X)
    free = [op("Exp", 1, x), op("Sin", 2, x), op("Neg", 4, x)]
    exp, sin, _ = (each.outputs[0] for each in free)
    add = op("Add", 3, exp, sin)
    for ops in permutations(free):
        block = Block("f", (x,), (*ops, add), add.outputs)
        order = by_demand(block)
        assert kinds(sorted(block.ops, key=order.__getitem__)) == ["Exp", "Sin", "Add", "Neg"]


def test_the_operand_that_takes_more_steps_comes_first() -> None:
    x = Var(X)
    short, exp = op("Sin", 1, x), op("Exp", 2, x)
    long = op("Cos", 3, *exp.outputs)
    add = op("Add", 4, short.outputs[0], long.outputs[0])
    order = by_demand(Block("f", (x,), (short, exp, long, add), add.outputs))
    assert kinds(sorted(order, key=order.__getitem__)) == ["Exp", "Cos", "Sin", "Add"]
