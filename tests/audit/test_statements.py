"""What a statement holds."""

from primsplit.audit.statements import Assignment, Branch, Suite
from primsplit.audit.trees import name
from primsplit.ir import Op


def test_a_statement_has_the_ops_of_its_bodies() -> None:
    inner, outer = Op("Add", (), ()), Op("If", (), ())
    assignment = Assignment(op=inner, ops=(inner,), targets=("y",), value=name("x"))
    sides = Suite((assignment,), (("y", name("y")),)), Suite((), (("y", name("x")),))
    branch = Branch(op=outer, ops=(outer,), targets=("y",), test=name("c"), sides=sides)
    assert [*branch.every_op()] == [outer, inner]
    assert [len(side.handed_on) for side in branch.suites()] == [0, 1]
