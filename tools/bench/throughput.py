"""Time tracing, splitting and saving of a program, per op.

```
python -m tools.bench.throughput [ops]
```
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps


def chain(x: Any, steps: int) -> Any:
    """A program of 2 * steps ops."""
    for _ in range(steps):
        x = np.sin(x) * 0.5
    return x


def measure(ops: int) -> dict[str, float]:
    """Seconds of each stage for a program of this many ops, and their total."""
    times = [time.perf_counter()]
    program = ps.trace(chain, ps.spec("float64", ["N"]), ops // 2)
    times.append(time.perf_counter())
    made = ps.split(program)
    times.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        made.save(str(Path(folder) / "chain.onnx"))
    times.append(time.perf_counter())
    stages = dict(zip(("trace", "split", "save"), np.diff(times), strict=True))
    return {**stages, "total": times[-1] - times[0]}


def main() -> None:
    """Print a table."""
    ops = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    measure(100)
    for count in (ops // 10, ops):
        stages = measure(count)
        told = "  ".join(f"{name} {seconds:.3f} s" for name, seconds in stages.items())
        print(f"{count:7d} ops traced: {told}  ({stages['total'] / count * 1e6:.0f} us an op)")


if __name__ == "__main__":
    main()
