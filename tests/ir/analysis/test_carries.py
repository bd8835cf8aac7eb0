"""Facts about the carries of a loop: joined with those after a step until they stay."""

from collections.abc import Sequence

import numpy as np

import primsplit as ps
from primsplit.ir import Op, Type, Var
from primsplit.ir.analysis.carries import lead_and_carries, needed_back, settled
from primsplit.ir.analysis.dependence import needed

ONE = Type("float32", [])


def loop(kind: str, inputs: int, **attributes: int) -> Op:
    """A loop without a body."""
    return Op(kind, tuple(Var(ONE) for _ in range(inputs)), (), attributes)


def test_a_loop_has_two_inputs_before_its_carries_and_a_scan_none() -> None:
    assert lead_and_carries(loop("Loop", 5)) == (2, 3)
    assert lead_and_carries(loop("Scan", 5, num_scan_inputs=2)) == (0, 3)


def test_a_fact_goes_from_carry_to_carry_until_nothing_changes() -> None:
    # Each step hands the first carry to the second, and so on: the fact "may be negative" comes to all three.
    seen: list[list[bool]] = []

    def step(given: Sequence[bool]) -> Sequence[bool]:
        seen.append(list(given))
        condition, first, second, third = False, *given[2:5]
        return [condition, first, first, second, third]

    ends, outputs = settled(loop("Loop", 5), [False, False, True, False, False], False, step, lambda a, b: a or b)
    assert ends == [False]
    assert outputs == [True, True, True, True]
    assert [given[2:] for given in seen] == [[True, False, False], [True, True, False], [True, True, True]]


def test_the_rows_of_a_scan_keep_their_facts() -> None:
    def step(given: Sequence[int]) -> Sequence[int]:
        carry, row = given
        return [max(carry, row), row]

    ends, outputs = settled(loop("Scan", 2, num_scan_inputs=1), [1, 4], 0, step, max)
    assert (ends, outputs) == ([], [4, 4])


def test_a_wanted_carry_wants_the_carries_that_its_step_reads() -> None:
    # The first carry is the sum of the second, which is the sum of the third; nothing reads the fourth.
    def turn(carries: list[ps.Array], row: ps.Array) -> tuple[list[ps.Array], ps.Array]:
        a, b, c, d = carries
        return [a + b, b + c, c * 2.0, d + row], row

    block = ps.trace(lambda x, rows: ps.scan(turn, [x[i] for i in range(4)], rows)[0], np.ones(4), np.ones(5)).block
    (scan,) = [op for op in block.ops if op.kind == "Scan"]
    count = len(scan.outputs)
    for wanted, carries in ((0, 3), (1, 2), (2, 1)):
        _, begun = needed_back(
            scan, [i == wanted for i in range(count)], lambda body, results: needed(body.ops, results)
        )
        assert begun == list(scan.inputs[wanted : wanted + carries])
