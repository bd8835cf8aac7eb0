"""The errors that the checks of `primsplit.testing` raise."""


class CheckFailed(AssertionError):
    """A rule or program fails a check. `check` is the name of the check."""

    def __init__(self, check: str, what: str) -> None:
        self.check = check
        super().__init__(f"{check}: {what}")


class GradientMismatch(AssertionError):
    """A gradient, or an exported value, differs from plain NumPy."""
