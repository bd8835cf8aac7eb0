"""Value and gradient of every file in models/: onnxruntime beside JAX and torch, and beside the forward pass alone.

    python -m tools.bench.models [NAME ...] [--budget SECONDS] [--json]

One core; inputs are bound or converted once; the alternatives take turns. `backward / forward` is the time of the
exported gradient file over that of the exported function; the aim is 3 at most for models that multiply matrices, 4
for others. A peer's gradient is compared with ours before it is timed; one that cannot run the file says why. torch
runs the NumPy function through its own NumPy, which adds some microseconds an operation to its eager form.
Needs `pip install -e ".[compare]"`.
"""

import argparse
import contextlib
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench import peers
from tools.bench.calls import Calls, as_numbers, bound
from tools.bench.timing import Seconds, compare

MODELS = Path(__file__).parents[2] / "models"
MATRICES = {"digits_classifier", "bayesian_logistic", "gaussian_process", "robust_regression"}
OURS, FORWARD = "primsplit", "forward only"
PEERS = {"jax.jit": peers.with_jax, "torch eager": peers.with_torch, "torch.compile": peers.with_torch_compiled}


def exported(path: Path) -> tuple[Calls, list[Any], list[int]]:
    """The gradient file and the forward file as calls, the example's arguments, and which are differentiated."""
    import primsplit as ps
    from primsplit.programs.plain import arrays_of
    from primsplit.programs.userfile import load

    file = load(str(path))
    example = file.example()
    if example is None:
        raise SystemExit(f"{path} has no example_inputs()")
    made = ps.split(file.function, *example.args, wrt=file.wrt, seed="ones")
    leaves = arrays_of(made.program, (example.args, {}))
    names = list(inspect.signature(file.function).parameters)
    wrt = [names.index(n) for n in file.wrt or names]
    return {OURS: bound(made.joint(), leaves), FORWARD: bound(made.program, leaves)}, list(example.args), wrt


def measure(path: Path, budget: float) -> tuple[dict[str, Seconds], dict[str, str]]:
    """The times of all alternatives for one model, and why some are missing."""
    from primsplit.programs.userfile import load

    alternatives, args, wrt = exported(path)
    expected = as_numbers(alternatives[OURS]())
    missing: dict[str, str] = {}
    for name, make in PEERS.items():
        file = load(str(path))
        try:
            with contextlib.redirect_stderr(None):
                call = make(file.module, file.name, args, wrt)
                wrong = disagreement(expected, call())
        except Exception as error:  # noqa: BLE001  # a peer's failure, of any class, is a row of the table
            missing[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}"
            continue
        if wrong > 1e-6:
            missing[name] = f"its gradient differs from ours by {wrong:.1e}"
        else:
            alternatives[name] = call
    return compare(alternatives, budget=budget), missing


def disagreement(expected: Sequence[Any], found: Any) -> float:
    """The largest distance of a gradient from ours, relative to the gradient's largest element."""
    pairs = zip(expected[1:], as_numbers(found)[1:], strict=True)
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def row(name: str, seconds: dict[str, Seconds], missing: dict[str, str]) -> dict[str, Any]:
    """One model's line of the table."""
    ratio = seconds[OURS].median / seconds[FORWARD].median
    microseconds = {k: round(v.median * 1e6, 1) for k, v in seconds.items()}
    return {
        "model": name,
        "microseconds": microseconds,
        "spread": {k: round(v.spread, 3) for k, v in seconds.items()},
        "gradient_over_forward": round(ratio, 2),
        "target": 3 if name in MATRICES else 4,
        "over_ours": {k: round(v.median / seconds[OURS].median, 2) for k, v in seconds.items() if k in PEERS},
        "missing": missing,
    }


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """The table, and below it why peers are missing."""
    columns = [OURS, FORWARD, *PEERS]
    print("microseconds a call, median (distance of the quartiles); a peer's time over ours")
    print(f"{'model':20s}" + "".join(f"{c:>18s}" for c in columns) + f"{'backward/forward':>18s}")
    for r in rows:
        cells = [_cell(r, c) for c in columns]
        aim = "" if r["gradient_over_forward"] <= r["target"] else f" > {r['target']}"
        print(f"{r['model']:20s}" + "".join(f"{c:>18s}" for c in cells) + f"{r['gradient_over_forward']:>12.2f}{aim}")
    for r in rows:
        for peer, why in r["missing"].items():
            print(f"{r['model']}, {peer}: {why}")


def _cell(r: dict[str, Any], column: str) -> str:
    if column not in r["microseconds"]:
        return "-"
    ratio = f" {r['over_ours'][column]:.1f}x" if column in r["over_ours"] else ""
    return f"{r['microseconds'][column]:.0f} ({100 * r['spread'][column]:.0f}%){ratio}"


def main() -> None:
    """Measure the models that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models, by default all")
    parser.add_argument("--budget", type=float, default=0.6, help="seconds for each alternative of each model")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    peers.use_cores(1)
    rows = []
    for path in sorted(MODELS.glob("*.py")):
        if asked.names and path.stem not in asked.names:
            continue
        print(f"{path.stem} ...", file=sys.stderr)
        rows.append(row(path.stem, *measure(path, asked.budget)))
    if asked.json:
        print(json.dumps(rows, indent=2))
    else:
        print_rows(rows)


if __name__ == "__main__":
    main()
