"""Write docs/scipy.md: whether a function of SciPy is traced by SciPy's own code or by a formula of the package.

    python -m tools.scipy_own_page            write the page
    python -m tools.scipy_own_page --check    exit 1 when the written page is not what the verdicts and the tables say

The functions and their ways are those of the package; the reasons are those that `tools.scipy_own` measured, and the
tests that are named in KEPT.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from primsplit.frontends.python.converter.own_code import OWN
from primsplit.frontends.scipy.overrides.science import MODULES, functions_of
from tools.scipy_own import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "scipy.md"
Verdicts = Mapping[str, Mapping[str, Any]]
OWN_CODE, FORMULA = "SciPy's own code", "formula"
HEAD = """# Functions of SciPy

<!-- Written by `python -m tools.scipy_own_page` from the package and from tools/scipy_own.json. -->

A function of SciPy is traced in one of two ways. Some are **SciPy's own code**: a converted copy of it is traced, and
it calls substitutes for compiled functions. The others are a **formula** of the package, where SciPy's code is
compiled, asks for numbers, is less exact, or makes a larger file. `python -m tools.scipy_own` tries SciPy's own code on
the samples of the tests, with known and with symbolic sizes. It compares values with SciPy's, slopes with central
differences, and the nodes of the gradient's file with the formula's. A file that is more than a tenth larger keeps the
formula, and so does an error, a missing number or an option that SciPy's code would lose.

"""
TAIL = """
Distributions, interpolants, solvers and the other classes of SciPy are not measured: they are formulas.
"""
REASONS = (
    (r"^larger: (\d+) nodes for (\d+)", r"a larger file: \1 nodes, \2 by the formula"),
    (r"^(a slope is|result \d+ (differs|is)|GradientMismatch)", "less exact"),
    (r"^symbolic sizes: ", "needs known sizes"),
    (r"^UndecidableSize", "needs known sizes"),
    (
        r"compiled function|no flags|no base|no strides|as_strided|NumPy array \(np|__code__|RecursionError",
        "compiled code",
    ),
    (
        r"float\(\) was asked|int\(\) was asked|Python integer|iteration asks|a NumPy array|truth|index",
        "asks for numbers",
    ),
)
"""Patterns of what was measured, and the reasons that the page gives."""
PART = "the formula is a part of others"
OPTIONS = "SciPy takes `keepdims` and `nan_policy` for NumPy's arrays alone"
KEPT = {
    **dict.fromkeys((
        "scipy.stats.bartlett", "scipy.stats.boxcox_llf", "scipy.stats.chisquare", "scipy.stats.differential_entropy",
        "scipy.stats.f_oneway", "scipy.stats.kurtosis", "scipy.stats.levene", "scipy.stats.power_divergence",
        "scipy.stats.tmean",
    ), OPTIONS),
    **dict.fromkeys((
        "scipy.linalg.cosm", "scipy.linalg.polar", "scipy.ndimage.minimum", "scipy.ndimage.variance",
        "scipy.signal.medfilt", "scipy.spatial.distance.braycurtis", "scipy.spatial.distance.canberra",
        "scipy.spatial.distance.cityblock", "scipy.spatial.distance.cosine", "scipy.spatial.distance.mahalanobis",
        "scipy.spatial.distance.minkowski", "scipy.spatial.distance.sqeuclidean",
    ), PART),
    "scipy.ndimage.standard_deviation": "less exact: no slope where all pixels are equal",
    "scipy.signal.cont2discrete": "the formula refuses by name what it does not take",
    "scipy.spatial.distance.jensenshannon": "less exact: a share of 0 has no slope",
    "scipy.stats.boxcox": "the formula refuses to search for an exponent",
    "scipy.stats.describe": "needs known sizes: all axes together",
    "scipy.stats.energy_distance": "loses a missing number",
    "scipy.stats.pearsonr": "less exact for two numbers",
    "scipy.stats.spearmanr": "loops over the elements",
    "scipy.stats.wasserstein_distance": "loses a missing number",
    "scipy.stats.yeojohnson": "the formula refuses to search for an exponent",
}  # fmt: skip
"""The functions that serve in the samples and are a formula all the same, with what their tests show."""


def reason(name: str, verdicts: Verdicts) -> str:
    """Return why a function is a formula."""
    if name in KEPT:
        return KEPT[name]
    if name not in verdicts:
        return "not measured"
    why: str = verdicts[name]["why"]
    if not why:
        return "serves in the samples; not tried with all tests"
    for pattern, text in REASONS:
        if (found := re.search(pattern, why)) is not None:
            return found.expand(text)
    return "refused"


def rows(verdicts: Verdicts) -> Iterator[tuple[str, str, str]]:
    """Yield each function with its way and the reason for it."""
    for module in MODULES:
        own = set(OWN.get(module, ()))
        for function in sorted({*functions_of(module), *own}):
            name = f"{module}.{function}"
            yield (name, OWN_CODE, "") if function in own else (name, FORMULA, reason(name, verdicts))


def render(verdicts: Verdicts) -> str:
    """Return the text of the page."""
    found = [*rows(verdicts)]
    counts = {way: sum(1 for row in found if row[1] == way) for way in (OWN_CODE, FORMULA)}
    total = f"{counts[OWN_CODE]} functions are traced by SciPy's own code, {counts[FORMULA]} by a formula.\n\n"
    lines = ["| function | way | why |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {way} | {why} |" for name, way, why in found]
    return HEAD + total + "\n".join(lines) + "\n" + TAIL


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the written page instead of writing it")
    asked = parser.parse_args(arguments)
    text = render(json.loads(RESULTS.read_text()))
    if asked.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
