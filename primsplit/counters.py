"""How often work was done that should be done once: traces, runs of rules and of their builders, sessions."""

from typing import NamedTuple


class Counts(NamedTuple):
    """The counts at one time; the difference of two says what was done in between."""

    traces: int
    rules: int
    sessions: int
    builds: int

    def since(self, before: "Counts") -> "Counts":
        """What was counted after `before`."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))


class Counters:
    """The counts of this process."""

    traces = 0
    rules = 0
    sessions = 0
    builds = 0


def counts() -> Counts:
    """How often a function was traced, a rule run, an onnxruntime session made, and a staged rule built, so far."""
    return Counts(Counters.traces, Counters.rules, Counters.sessions, Counters.builds)
