"""The fits of special functions, by name: polynomials and quotients of polynomials.

`fits.json` holds them, each with its formula, its interval and its error. The tools `fit_approximations`,
`fit_bessel` and `fit_integrals` write that file.

    FITS["DAWSON"](x * x)        # D(x) / x for x from 0 to 2
"""

import json
from collections.abc import Mapping
from importlib import resources

from primsplit.numpy.approximations.rational import Rational


def _read() -> dict[str, Rational]:
    file = resources.files("primsplit.numpy.approximations") / "fits.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Rational(tuple(row["numerator"]), tuple(row.get("denominator", (1.0,))), row.get("origin", 0.0))
        for name, row in rows.items()
    }


FITS: Mapping[str, Rational] = _read()
