"""Programs of statistics and machine learning: networks, likelihoods, losses, clustering, risk."""

from scipy import special

from primsplit import numpy as np
from primsplit.frontends.scipy.special import logsumexp
from tests.programs.table import Table, integers, uniform

PROGRAMS = Table()
program = PROGRAMS.program


@program((5, 3), (3, 4), (4,), integers(5, high=4))
def softmax_regression(x, w, b, labels):
    logits = x @ w + b
    logits = logits - logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -log_p[np.arange(labels.shape[0]), labels].mean()


@program((5, 3), (3, 4), (4,), integers(5, high=4))
def cross_entropy_by_one_hot(x, w, b, labels):
    one_hot = (labels[:, None] == np.arange(b.shape[0])).astype(x.dtype)
    return -np.mean(np.sum(one_hot * (x @ w + b - logsumexp(x @ w + b, axis=1, keepdims=True)), axis=1))


@program((5, 3), (3, 4), (4,), (4, 1), (1,), (5, 1))
def two_layer_network(x, w1, b1, w2, b2, target):
    hidden = np.tanh(x @ w1 + b1)
    return 0.5 * np.mean((hidden @ w2 + b2 - target) ** 2)


@program((4, 6), (6,), (6,))
def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


@program((4, 6), (6,))
def rms_norm(x, scale):
    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6) * scale


@program((6, 4), (4,), (4,))
def batch_norm(x, scale, shift):
    normalised = (x - np.mean(x, 0)) / (np.std(x, 0) + 1e-3)
    return normalised * scale + shift


@program((2, 4, 6), (2, 4, 6), (2, 4, 6), tolerance=2e-6)
def causal_attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    n = q.shape[1]
    mask = np.arange(n)[:, None] >= np.arange(n)[None, :]
    scores = np.where(mask, scores, -1e30)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@program((2, 5, 8), (8, 8), (8, 8), (8, 8), symbolic=False)
def multi_head_attention(x, wq, wk, wv):
    b, t, d = x.shape
    heads = [(x @ w).reshape(b, t, 2, d // 2).transpose(0, 2, 1, 3) for w in (wq, wk, wv)]
    scores = np.einsum("bhid,bhjd->bhij", heads[0], heads[1]) / np.sqrt(d // 2)
    scores -= scores.max(-1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", p, heads[2]).transpose(0, 2, 1, 3).reshape(b, t, d)


@program((2, 3, 6, 6), (4, 3, 3, 3))
def convolution_by_windows(x, w):
    patches = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", patches, w)


@program((2, 7, 6), (3, 3), symbolic=False)
def convolution_by_slices(x, w):
    out = np.zeros((2, 5, 4))
    for i in range(3):
        for j in range(3):
            out += w[i, j] * x[:, i : i + 5, j : j + 4]
    return out


@program((2, 6, 4), symbolic=False)
def max_pool_by_reshape(x):
    return x.reshape(2, 3, 2, 2, 2).max(axis=(2, 4)), x.reshape(2, 3, 2, 2, 2).mean(axis=(2, 4))


@program((6, 2), (3, 2))
def k_means_loss(x, centers):
    distances = ((x[:, None, :] - centers[None, :, :]) ** 2).sum(-1)
    return distances.min(axis=1).sum()


@program((6, 2), (3, 2), step=1e-3)
def k_means_by_assignment(x, centers):
    nearest = np.argmin(np.linalg.norm(x[:, None] - centers, axis=2), axis=1)
    return np.sum((x - centers[nearest]) ** 2)


@program((8,), (3,), (3,), (3,))
def logistic_mixture(x, logits, means, log_scales):
    z = (x[:, None] - means) / np.exp(log_scales)
    log_density = -z - log_scales - 2 * np.logaddexp(0, -z)
    log_weights = logits - logsumexp(logits)
    return -np.mean(logsumexp(log_weights + log_density, axis=1))


@program((7, 3), (3,), integers(7, high=6))
def poisson_likelihood(x, beta, counts):
    eta = x @ beta
    return np.sum(counts * eta - np.exp(eta) - special.gammaln(counts + 1.0))


@program((7, 2), (2,), 0.4, integers(7, high=6), tolerance=1e-5)
def negative_binomial_likelihood(x, beta, log_size, counts):
    size, mean = np.exp(log_size), np.exp(x @ beta)
    return np.sum(
        special.gammaln(counts + size)
        - special.gammaln(size)
        - special.gammaln(counts + 1)
        + size * np.log(size / (size + mean))
        + counts * np.log(mean / (size + mean))
    )


@program((7, 2), (2,), np.array([1, 0, 1, 1, 0, 1, 1]))
def cox_partial_likelihood(x, beta, event):
    """Rows are sorted by falling time, so that the risk set of a row is the rows before it."""
    eta = np.dot(x, beta)
    return -np.sum(event * (eta - np.log(np.cumsum(np.exp(eta)))))


@program((9,), 0.5, -0.3, 0.1)
def autoregressive_likelihood(y, phi1, phi2, log_sigma):
    residual = y[2:] - phi1 * y[1:-1] - phi2 * y[:-2]
    n = residual.shape[0]
    return -0.5 * np.sum(residual**2) / np.exp(2 * log_sigma) - n * log_sigma - 0.5 * n * np.log(2 * np.pi)


@program((8,), 0.4, 0.2, symbolic=False)
def arma_likelihood(y, phi, theta):
    e = np.zeros(9)
    for t in range(1, 8):
        e[t] = y[t] - phi * y[t - 1] - theta * e[t - 1]
    return (e**2).sum()


@program((8,), np.array([0.1, 0.2, 0.7]), symbolic=False)
def garch_likelihood(returns, parameters):
    omega, alpha, beta = parameters
    variance = np.var(returns)
    total = 0.0
    for r in returns:
        total += np.log(variance) + r**2 / variance
        variance = omega + alpha * r**2 + beta * variance
    return 0.5 * total


@program((9,), (9,), 0.8, step=1e-3)
def huber_regression(x, y, slope):
    r = y - slope * x
    return np.where(np.abs(r) < 1.0, 0.5 * r**2, np.abs(r) - 0.5).mean()


@program((9,), (9,), step=1e-3)
def quantile_loss(y, q):
    error = y - q
    return np.mean(np.maximum(0.9 * error, (0.9 - 1) * error))


@program((9,), (9,))
def cauchy_and_welsch_loss(y, f):
    r = y - f
    return np.log1p(r**2).sum() - np.expm1(-(r**2) / 2).sum()


@program((10, 4), (4,))
def portfolio_risk(returns, logits):
    w = np.exp(logits) / np.exp(logits).sum()
    covariance = np.cov(returns, rowvar=False)
    marginal = covariance @ w
    risk = np.sqrt(w @ marginal)
    return risk, w * marginal / risk


@program((10, 4), (4,))
def value_at_risk(returns, w):
    losses = np.sort(-returns @ w)
    return losses[-3:].mean(), np.quantile(losses, 0.9), np.median(losses)


@program(uniform(4), 0.2, 1.5, np.array([0.8, 1.0, 1.3, 1.6]))
def black_scholes(spot, rate, years, strike):
    volatility = 0.3
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    return spot * special.ndtr(d1) - strike * np.exp(-rate * years) * special.ndtr(d2)


@program((6,), (6,))
def variational_gaussian(mean, log_deviation):
    kl = 0.5 * np.sum(np.exp(2 * log_deviation) + mean**2 - 1 - 2 * log_deviation)
    sample = mean + np.exp(log_deviation) * np.linspace(-1, 1, mean.shape[0])
    return kl + np.sum(np.logaddexp(0.0, sample))


@program((6, 4), (5, 4), 0.3)
def contrastive_loss(a, b, log_temperature):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1)[:, None]
    similarity = a @ b.T * np.exp(log_temperature)
    return -np.mean(np.diag(similarity)) + np.mean(logsumexp(similarity, axis=1))


@program((7, 3), integers(2, 4, high=7))
def embedding_bag(table, tokens):
    return np.tanh(table[tokens]).mean(axis=1)


@program((3, 4), (4, 4), (5, 4), (5,), symbolic=False)
def recurrent_cell(inputs, w, u, readout):
    h = np.zeros(4)
    for x in inputs:
        h = np.tanh(w @ x + h)
    return u @ h * readout


@program((4,), (12, 4), (12, 3), (12,), (3,), symbolic=False)
def gated_recurrent_unit(x, wx, wh, b, h):
    wh = wh[:12].reshape(3, 4, 3)[:, :3]
    gates = (wx @ x + b).reshape(3, 4)[:, :3]
    z = 1 / (1 + np.exp(-(gates[0] + wh[0] @ h)))
    r = special.expit(gates[1] + wh[1] @ h)
    n = np.tanh(gates[2] + r * (wh[2] @ h))
    return (1 - z) * n + z * h


@program((6,), step=1e-3)
def activations(x):
    gelu = 0.5 * x * (1 + special.erf(x / np.sqrt(2)))
    swish = x / (1 + np.exp(-x))
    elu = np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
    return gelu, swish, elu, softplus, np.maximum(x, 0), np.clip(x, -1, 1)


@program((4, 5), (5, 5), symbolic=False)
def multivariate_normal(x, root):
    L = np.tril(root, -1) + np.diag(np.exp(np.diag(root)))
    z = np.linalg.solve(L, x.T)
    return -0.5 * np.sum(z**2) - len(x) * np.log(np.diag(L)).sum()


@program((5, 3), integers(5, high=2).astype(bool))
def masked_mean(x, keep):
    weight = keep.astype(x.dtype)
    return (x * weight[:, None]).sum(0) / np.maximum(weight.sum(), 1), np.mean(x, where=keep[:, None], axis=0)


@program((6, 3), (3,))
def dropout_by_mask(x, w):
    keep = np.array([1.0, 0.0, 1.0]) / 0.8
    return (x * keep) @ w


@program((5,), (5,), tolerance=1e-6)
def pearson_correlation(x, y):
    xc, yc = x - x.mean(), y - y.mean()
    return np.corrcoef(x, y)[0, 1], (xc * yc).sum() / np.sqrt((xc**2).sum() * (yc**2).sum())
