"""Keeps NaN and infinity out of the cotangents of turns that a choice leaves out.

What a choice (`where`) leaves out has a cotangent of 0, and so has everything it was computed from, whatever the
derivatives are there. The cotangent is therefore carried on inside of the choice, and the choice is made again behind
what is computed from it.
"""

import functools
import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from primsplit.frontends.loops.terms import Term

Condition = tuple[int, bool]
"""The line of a condition, and whether it is to be true."""


@dataclass(frozen=True)
class Chosen:
    """A cotangent that is `term` where each of the choices is as it says, and else 0."""

    term: Term
    choices: tuple[Condition, ...] = ()

    def chosen(self, condition: Term, *, where: bool) -> "Chosen":
        """The cotangent where a condition is true, or false if `where` is False, and 0 elsewhere."""
        choice = condition.at, where
        return self if choice in self.choices else Chosen(self.term, (*self.choices, choice))

    def whole(self) -> Term:
        """The cotangent as one line."""
        return self.without(())

    def without(self, choices: Collection[Condition]) -> Term:
        """The cotangent as one line, in which these choices are not made."""
        term = self.term
        for at, where in self.choices:
            if (at, where) not in choices:
                condition = Term(term.lines, at)
                term = condition.where(term, 0.0) if where else condition.where(0.0, term)
        return term

    def sum(self, loops: Iterable[str]) -> "Chosen":
        """The sum over loops. A choice that does not depend on them is made behind it."""
        over = set(loops)
        if not over:
            return self
        lines = self.term.lines.operations
        outer = tuple(choice for choice in self.choices if not over & set(lines[choice[0]].loops))
        return Chosen(self.without(outer).sum(over), outer)


def added(parts: Sequence[Chosen]) -> Chosen:
    """The sum of cotangents. Choices that all of them are in are made behind it."""
    first, *others = parts
    common = tuple(choice for choice in first.choices if all(choice in part.choices for part in others))
    return Chosen(functools.reduce(operator.add, (part.without(common) for part in parts)), common)
