"""Lifetime laws as fits see them: likelihood and sampling, each by its mean and its shape.

Functions of times [s], mean [s] and shape: log density, log survival, log survival in the steady state, the time by
which all but a share have failed, and random lifetimes. In the steady state a clock has run for long when observation
starts: the time to its first failure has density S(t) / mean, and survival ``integral of S from t on / mean`` (Cox,
Renewal Theory, 1962).
"""

import numpy as np
from scipy import special

_LEAST = 1e-300  # below, a log survival says "impossible" and no more


def _log(values):
    return np.log(np.maximum(values, _LEAST))


class Exponential:
    """Constant hazard; no shape."""

    name, shapes, shape_name = "exponential", 0, None

    @staticmethod
    def log_density(t, mean, shape):
        return -t / mean - np.log(mean)

    @staticmethod
    def log_survival(t, mean, shape):
        return -t / mean

    log_steady = log_survival

    @staticmethod
    def exceeded(share, mean, shape):
        return -mean * np.log(share)

    @staticmethod
    def sample(rng, size, mean, shape):
        return rng.exponential(mean, size)

    sample_steady = sample


class Weibull:
    """Hazard a power of age: falling below shape 1."""

    name, shapes, shape_name = "weibull", 1, "shape"

    @staticmethod
    def scale(mean, shape):
        return mean * np.exp(-special.gammaln(1.0 + 1.0 / shape))

    @staticmethod
    def log_density(t, mean, shape):
        log = np.log(t / Weibull.scale(mean, shape))
        return np.log(shape) + (shape - 1.0) * log - np.log(Weibull.scale(mean, shape)) - np.exp(shape * log)

    @staticmethod
    def log_survival(t, mean, shape):
        return -((t / Weibull.scale(mean, shape)) ** shape)

    @staticmethod
    def exceeded(share, mean, shape):
        return Weibull.scale(mean, shape) * (-np.log(share)) ** (1.0 / shape)

    @staticmethod
    def log_steady(t, mean, shape):
        return _log(special.gammaincc(1.0 / shape, (t / Weibull.scale(mean, shape)) ** shape))

    @staticmethod
    def sample(rng, size, mean, shape):
        return Weibull.scale(mean, shape) * rng.standard_exponential(size) ** (1.0 / shape)

    @staticmethod
    def sample_steady(rng, size, mean, shape):
        # the gap that holds a given moment is length-biased, and the moment lies anywhere in it
        gap = Weibull.scale(mean, shape) * rng.standard_gamma(1.0 + 1.0 / shape, size) ** (1.0 / shape)
        return gap * rng.random(size)


class Gamma:
    """Gamma lifetimes; shape 1 is the exponential."""

    name, shapes, shape_name = "gamma", 1, "shape"

    @staticmethod
    def log_density(t, mean, shape):
        x = t * shape / mean
        return shape * np.log(x) - x - np.log(t) - special.gammaln(shape)

    @staticmethod
    def log_survival(t, mean, shape):
        return _log(special.gammaincc(shape, t * shape / mean))

    @staticmethod
    def exceeded(share, mean, shape):
        return special.gammainccinv(shape, share) * mean / shape

    @staticmethod
    def log_steady(t, mean, shape):
        x = t * shape / mean
        with np.errstate(divide="ignore"):
            term = np.exp(shape * np.log(x) - x - special.gammaln(shape + 1.0))
        return _log(special.gammaincc(shape, x) * (1.0 - x / shape) + term)

    @staticmethod
    def sample(rng, size, mean, shape):
        return rng.standard_gamma(shape, size) * (mean / shape)

    @staticmethod
    def sample_steady(rng, size, mean, shape):
        return rng.standard_gamma(shape + 1.0, size) * (mean / shape) * rng.random(size)


class Lognormal:
    """The logarithm of the lifetime is normal with deviation sigma."""

    name, shapes, shape_name = "lognormal", 1, "sigma"

    @staticmethod
    def _z(t, mean, sigma):
        with np.errstate(divide="ignore"):
            return (np.log(t / mean) + 0.5 * sigma**2) / sigma

    @staticmethod
    def log_density(t, mean, sigma):
        z = Lognormal._z(t, mean, sigma)
        return -0.5 * z**2 - np.log(t * sigma) - 0.5 * np.log(2.0 * np.pi)

    @staticmethod
    def log_survival(t, mean, sigma):
        return special.log_ndtr(-Lognormal._z(t, mean, sigma))

    @staticmethod
    def exceeded(share, mean, sigma):
        return mean * np.exp(-sigma * special.ndtri(share) - 0.5 * sigma**2)

    @staticmethod
    def log_steady(t, mean, sigma):
        z = Lognormal._z(t, mean, sigma)
        return _log(special.ndtr(sigma - z) - t / mean * special.ndtr(-z))

    @staticmethod
    def sample(rng, size, mean, sigma):
        return mean * np.exp(sigma * rng.standard_normal(size) - 0.5 * sigma**2)

    @staticmethod
    def sample_steady(rng, size, mean, sigma):
        return mean * np.exp(sigma * rng.standard_normal(size) + 0.5 * sigma**2) * rng.random(size)


LAWS = {law.name: law for law in (Exponential, Weibull, Lognormal, Gamma)}
