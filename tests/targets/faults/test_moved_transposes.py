"""The positions to which a Transpose may move: behind elementwise ops, and not behind a Reshape."""

import pytest

from primsplit.ir import Op, Type, Var
from primsplit.targets.faults.moved_transposes import Reached, moves_first, permutation


def cube(rank: int = 3) -> Var:
    return Var(Type("float32", [2] * rank))


@pytest.mark.parametrize(
    ("perm", "order", "is_first_moved"),
    [(None, (2, 1, 0), True), ([0, 2, 1], (0, 2, 1), False), ([1, 0, 2], (1, 0, 2), True)],
)
def test_a_transpose_turns_all_axes_unless_it_says(
    perm: list[int] | None, order: tuple[int, ...], is_first_moved: bool
) -> None:
    op = Op("Transpose", (cube(),), (cube(),), {} if perm is None else {"perm": perm})
    assert permutation(op) == order
    assert moves_first(op) is is_first_moved


def test_a_transpose_reaches_what_is_computed_element_by_element_up_to_a_barrier() -> None:
    x, turned, sine, total, flat = (cube() for _ in range(5))
    reached = Reached(moves_first)
    for op in (
        Op("Transpose", (x,), (turned,)),
        Op("Sin", (turned,), (sine,)),
        Op("Add", (x, sine), (total,)),
        Op("Reshape", (total,), (flat,)),
    ):
        reached.follow(op)
    assert [v in reached for v in (x, turned, sine, total, flat)] == [False, True, True, True, False]
    assert reached.meets(Op("MatMul", (flat, sine), (cube(),)))
    assert not reached.meets(Op("MatMul", (flat, x), (cube(),)))
