"""Fair timing: the alternatives of one comparison take turns in one process; their least times and medians are told.

On a machine that does other work too, the least time says most.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.bench.calls import Call


@dataclass(frozen=True, slots=True)
class Seconds:
    """The seconds of one call, or a ratio of them: the least, the median and the quartiles of the rounds."""

    least: float
    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The distance of the quartiles in parts of the median."""
        return (self.high - self.low) / self.median


def compare(alternatives: Mapping[str, Call], *, rounds: int = 15, budget: float = 0.2) -> dict[str, Seconds]:
    """The time of one call of each alternative, over rounds in which each runs in turn.

    Each is called often enough in a round to fill `budget` seconds divided by the number of rounds.
    """
    samples = take_turns(alternatives, rounds=rounds, budget=budget)
    return {name: summary(values) for name, values in samples.items()}


def take_turns(
    alternatives: Mapping[str, Call], *, rounds: int, budget: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of one call of each alternative in each round. For `budget` see `compare`.

    For `clock` see `clock_of`.
    """
    repeats = {}
    for name, function in alternatives.items():
        function()
        start = clock()
        function()
        once = max(clock() - start, 1e-7)
        repeats[name] = max(1, int(budget / rounds / once))
    samples: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds):
        for name, function in alternatives.items():
            start = clock()
            for _ in range(repeats[name]):
                function()
            samples[name].append((clock() - start) / repeats[name])
    return samples


def clock_of(threads: int) -> Callable[[], float]:
    """Return the clock for so many threads: on one core that of the processor, which leaves out other processes."""
    return time.process_time if threads == 1 else time.perf_counter


def summary(values: Sequence[float]) -> Seconds:
    """Return the least of the values, and their quartiles."""
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else [*values] * 3
    return Seconds(min(values), median, low, high)


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> Seconds:
    """Return their time over ours: each round gives one ratio, so that what slows a whole round down cancels."""
    return summary([their / our for their, our in zip(theirs, ours, strict=True)])


def print_table(title: str, seconds: Mapping[str, Seconds], reference: str) -> None:
    """The least microseconds of each alternative, their ratio to the reference, that of the medians, and the spread."""
    print(f"\n{title}")
    for name, value in sorted(seconds.items(), key=lambda item: item[1].least):
        least, middle = value.least / seconds[reference].least, value.median / seconds[reference].median
        ratios = f"{least:7.2f} x {reference} (medians {middle:.2f}, quartiles {100 * value.spread:3.0f} %)"
        print(f"  {name:34s} {value.least * 1e6:12.1f} us {ratios}")
