"""The parts of a row of docs/conversion.md: a construct, an example of it, and the result of tracing the example."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A construct of Python with an example.

    `refused` are the first words of the error of one that is refused, `fails` those of the error of a run at `at[0]`.
    `ifs` is how many Ifs the traced program has outside of others. The example is tried `at` these arguments, which
    lie on both sides of its branches; where it is not `smooth` it has no derivative. An example that `makes` returns
    the function that is tried. `warns` is the class of a warning that tracing gives. `changes` tells what the example
    changed of what is not its own: one trace changes as much as one call.
    """

    construct: str
    example: Callable[..., Any]
    refused: str = ""
    fails: str = ""
    ifs: int = 0
    at: Sequence[Any] = (-0.7, 1.3)
    smooth: bool = True
    makes: bool = False
    warns: str = ""
    changes: Callable[[], int] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function that is tried."""
        made: Callable[..., Any] = self.example() if self.makes else self.example
        return made


@dataclass(frozen=True)
class Section:
    """Rows of one kind, with examples in one module; `says` stands above their table."""

    title: str
    says: str
    rows: Sequence[Row]
