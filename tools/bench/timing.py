"""Fair timing: the alternatives of one comparison take turns in one process; their least times and medians are told.

On a machine that does other work too, the least time says most.
"""

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tools.bench.calls import Call


@dataclass(frozen=True, slots=True)
class Seconds:
    """What one call takes: the least and the median of the rounds, and the quartiles of them."""

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
    repeats = {}
    for name, function in alternatives.items():
        function()
        start = time.perf_counter()
        function()
        once = max(time.perf_counter() - start, 1e-7)
        repeats[name] = max(1, int(budget / rounds / once))
    samples: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds):
        for name, function in alternatives.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                function()
            samples[name].append((time.perf_counter() - start) / repeats[name])
    return {name: _summary(values) for name, values in samples.items()}


def _summary(values: list[float]) -> Seconds:
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return Seconds(min(values), median, low, high)


def print_table(title: str, seconds: Mapping[str, Seconds], reference: str) -> None:
    """The least microseconds of each alternative, their ratio to the reference, that of the medians, and the spread."""
    print(f"\n{title}")
    for name, value in sorted(seconds.items(), key=lambda item: item[1].least):
        least, middle = value.least / seconds[reference].least, value.median / seconds[reference].median
        ratios = f"{least:7.2f} x {reference} (medians {middle:.2f}, quartiles {100 * value.spread:3.0f} %)"
        print(f"  {name:34s} {value.least * 1e6:12.1f} us {ratios}")
