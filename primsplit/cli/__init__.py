"""The command line: one command a file. `main` is what `primsplit` and `python -m primsplit` run."""

import io
import sys

from primsplit.cli.app import app


def main() -> None:
    """Run the command line on the arguments of the process.

    What the terminal's or file's encoding has no character for is written as Python escapes it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="primsplit")
