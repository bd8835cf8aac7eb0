"""Count work that caches should save: traces, runs of rules, onnxruntime sessions, staged builds and buffers."""

from typing import NamedTuple


class Counts(NamedTuple):
    """The counts at one time; the difference of two is the work done in between."""

    traces: int
    rules: int
    sessions: int
    builds: int

    def since(self, before: "Counts") -> "Counts":
        """Return what was counted after `before`."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))


class Buffers(NamedTuple):
    """The arrays and onnxruntime values allocated for inputs and results of runs, and their bytes.

    Intermediate values, which onnxruntime allocates, are not counted.
    """

    made: int
    bytes: int

    def since(self, before: "Buffers") -> "Buffers":
        """Return what was counted after `before`."""
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
    """Return how many traces, runs of rules, onnxruntime sessions and builds of staged rules there were so far.

    >>> before = ps.counts()
    >>> program = ps.trace(np.tanh, ps.spec("float32", ["N"]))
    >>> ps.counts().traces - before.traces
    1
    """
    return Counts(Counters.traces, Counters.rules, Counters.sessions, Counters.builds)


def buffers() -> Buffers:
    """Return how many buffers were allocated for runs so far, and their bytes."""
    return Buffers(Counters.buffers, Counters.buffer_bytes)
