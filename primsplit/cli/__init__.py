"""The command line: one command a file. `main` is what `primsplit` and `python -m primsplit` run."""

from primsplit.cli.app import app


def main() -> None:
    """Run the command line on the arguments of the process."""
    app(prog_name="primsplit")
