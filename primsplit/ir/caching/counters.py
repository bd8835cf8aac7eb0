"""How often work was done that should be done once: traces, runs of rules and of their builders, sessions, buffers."""

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


class Buffers(NamedTuple):
    """The arrays and onnxruntime values made for inputs and results of runs, and the bytes that were taken for them.

    What onnxruntime takes for values in between is its own, and is not counted.
    """

    made: int
    bytes: int

    def since(self, before: "Buffers") -> "Buffers":
        """What was counted after `before`."""
        return Buffers(self.made - before.made, self.bytes - before.bytes)


class Counters:
    """The counts of this process."""

    traces = 0
    rules = 0
    sessions = 0
    builds = 0
    buffers = 0
    buffer_bytes = 0


def counts() -> Counts:
    """How often a function was traced, a rule run, an onnxruntime session made, and a staged rule built, so far.

    >>> before = ps.counts()
    >>> program = ps.trace(np.tanh, ps.spec("float32", ["N"]))
    >>> ps.counts().traces - before.traces
    1
    """
    return Counts(Counters.traces, Counters.rules, Counters.sessions, Counters.builds)


def buffers() -> Buffers:
    """How many buffers were made for runs so far, and of how many bytes."""
    return Buffers(Counters.buffers, Counters.buffer_bytes)
