"""Ways to start a program: a file, a text, the prompt, a debugger."""

from dataclasses import dataclass

PROGRAM = """
import numpy as np
import primsplit as ps

table = np.array([1.0, 3.0])


def f(x):
    return table[int(x > 0)] * x if x > -1 else 2 * x


print([float(ps.grad(f)(x)) for x in (-2.0, -0.5, 0.5)])
"""


@dataclass(frozen=True)
class Command:
    """A way to start the program: `PATH` and `PROGRAM` stand for its file and its text, if it is not `typed`.

    It is a way of Pythons from the version `since` on, and before `until`; () is for all. `refused` are the first words
    of the error where it is refused.
    """

    construct: str
    arguments: tuple[str, ...]
    typed: bool = False
    refused: str = ""
    until: tuple[int, ...] = ()
    since: tuple[int, ...] = ()


WATCHED = """
import runpy, sys
import primsplit

def watch(frame, event, argument):
    return watch if frame.f_code.co_filename == sys.argv[1] else None

sys.settrace(watch)
runpy.run_path(sys.argv[1])
"""
"""Runs a program under a tracer of its lines."""
NOT_READ = "the source of f"
COMMANDS = [
    Command("`python program.py`", ("PATH",)),
    Command("`python -c PROGRAM`", ("-c", "PROGRAM")),
    Command("`python -`, a text on standard input", ("-",), typed=True, refused=NOT_READ),
    Command("the prompt, before Python 3.13", ("-i", "-q"), typed=True, refused=NOT_READ, until=(3, 13)),
    Command("the prompt, from Python 3.13 on", ("-i", "-q"), typed=True, since=(3, 13)),
    Command("a debugger: `python -m pdb program.py`", ("-m", "pdb", "-c", "continue", "PATH")),
    Command("a tracer of lines, as coverage sets one", ("-c", WATCHED, "PATH")),
]
"""Ways to start one program."""
