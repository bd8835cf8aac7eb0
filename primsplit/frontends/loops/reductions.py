"""The derivatives of reductions: a sum's cotangent goes to every turn, that of a maximum to one winner of a group."""

from collections.abc import Sequence

from primsplit.frontends.loops.terms import Term

LAST = 2**62
"""Greater than the number of any turn."""


def reduction_partials(
    function: str, reduced: Sequence[str], dz: Term, z: Term, value: Term, start: Term | None
) -> tuple[Term, Term | None]:
    """The cotangents of the value, for each turn of the reduced loops, and of what the reduction starts from.

    `dz` and `z` do not depend on the reduced loops: that the sum's cotangent stands for every turn is the broadcast
    which a sum is the derivative of.
    """
    if function == "add":
        return dz, dz
    if function == "multiply":
        return _product(reduced, dz, value, start)
    return _extreme(reduced, dz, z, value, start)


def _extreme(reduced: Sequence[str], dz: Term, z: Term, value: Term, start: Term | None) -> tuple[Term, Term | None]:
    """All of it to one of the equal extrema: the start, else that of the first turn, the last loop fastest."""
    winner = value.equal(z)
    for loop in reduced:
        turn = Term(dz.lines, dz.lines.index(loop))
        first = winner.where(turn, LAST).combined("minimum", reduced)
        winner = winner & turn.equal(first)
    if start is None:
        return winner.where(dz, 0.0), None
    stays = start.equal(z)
    return winner.where(stays.where(0.0, dz), 0.0), stays.where(dz, 0.0)


def _product(reduced: Sequence[str], dz: Term, value: Term, start: Term | None) -> tuple[Term, Term | None]:
    """The product of the other factors: with one zero among them, it is 0 but for that one; with two, always 0."""
    zero = value.equal(0.0)
    factor = zero.where(1.0, value)
    zeros = zero.where(1, 0).combined("add", reduced)
    product = factor.combined("multiply", reduced)
    if start is None:
        scaled = dz * product
        return zero.where(zeros.equal(1).where(scaled, 0.0), zeros.equal(0).where(scaled / factor, 0.0)), None
    none_left, one_left = zeros.equal(0), zeros.equal(1)
    scaled = dz * product * start
    others = zero.where(one_left.where(scaled, 0.0), none_left.where(scaled / factor, 0.0))
    return others, none_left.where(dz * product, 0.0)
