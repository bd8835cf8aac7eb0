"""What the checks of `primsplit.testing` raise."""


class CheckFailed(AssertionError):
    """A rule or program is not what it promises to be. `check` is the name of the check that found it."""

    def __init__(self, check: str, what: str) -> None:
        self.check = check
        super().__init__(f"{check}: {what}")


class GradientMismatch(AssertionError):
    """A gradient, or an exported value, is not what plain NumPy says."""
