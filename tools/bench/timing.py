"""Fair timing: the alternatives of one comparison take turns in one process, and the medians are compared."""

import statistics
import time
from collections.abc import Callable, Mapping


def compare(
    alternatives: Mapping[str, Callable[[], object]], *, rounds: int = 15, budget: float = 0.2
) -> dict[str, float]:
    """The median seconds of one call of each alternative, over rounds in which each runs in turn.

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
    return {name: statistics.median(values) for name, values in samples.items()}


def print_table(title: str, seconds: Mapping[str, float], reference: str) -> None:
    """Each alternative in microseconds, and its ratio to the reference."""
    print(f"\n{title}")
    for name, value in sorted(seconds.items(), key=lambda item: item[1]):
        print(f"  {name:34s} {value * 1e6:12.1f} us   {value / seconds[reference]:7.2f} x {reference}")
