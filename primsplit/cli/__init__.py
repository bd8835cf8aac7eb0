"""The command line: one command a file. `main` is what `primsplit` and `python -m primsplit` run."""


def main() -> None:
    """Run the command line on the arguments of the process."""
    from primsplit.cli.app import app

    app(prog_name="primsplit")
