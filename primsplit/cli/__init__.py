"""The command line: one module per command. `primsplit` and `python -m primsplit` run `main`."""

import io
import sys

from primsplit.cli.app import app


def main() -> None:
    """Run the command line on the arguments of the process.

    Characters that the encoding of the terminal or file lacks are written as Python escapes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="primsplit")
