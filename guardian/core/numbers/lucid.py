"""LUCID: how far a self-grade is to be moved towards a verdict, and what that recovers.

Of an episode: r the self-grade, U the truth, V a channel's verdict, all in [0, 1]. Bias b = r - U, verifier error nu = V - U,
beta = Cov(nu, b) / Var(b), eta = nu - beta b. De-inflation Q' = r - alpha (r - V) leaves the bias
(1 - alpha (1 - beta)) b + alpha eta. Source: "Memory Reward Inflation in Self-Improving LLM Agents", LUCID.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What a sample of audited episodes says of a channel. Variances are those of the sample (divided by n).

    Attributes:
        n: Episodes.
        var_bias: Var(b).
        var_noise: Var(eta).
        beta: Cov(nu, b) / Var(b); 0 where b does not vary.
        corr_truth: Corr(V, U); None where either does not vary.
        corr_bias: Corr(nu, b); None where either does not vary.
        mean_bias: E[b].
    """

    n: int
    var_bias: float
    var_noise: float
    beta: float
    corr_truth: float | None
    corr_bias: float | None
    mean_bias: float


def measure(grades: Sequence[float], verdicts: Sequence[float], truths: Sequence[float]) -> Moments:
    """Measure the moments of episodes that have a grade, a verdict and the truth.

    Args:
        grades: r of each, in [0, 1].
        verdicts: V of each.
        truths: U of each.

    Raises:
        ValueError: They are not equally long, or empty.
    """
    if not len(grades) == len(verdicts) == len(truths) or not grades:
        raise ValueError("grades, verdicts and truths must be as many as each other, and at least one")
    bias = [r - u for r, u in zip(grades, truths, strict=True)]
    error = [v - u for v, u in zip(verdicts, truths, strict=True)]
    var_bias = covary(bias, bias)
    beta = covary(error, bias) / var_bias if var_bias > 0 else 0.0
    noise = [nu - beta * b for nu, b in zip(error, bias, strict=True)]
    return Moments(
        n=len(grades),
        var_bias=var_bias,
        var_noise=covary(noise, noise),
        beta=beta,
        corr_truth=correlate(verdicts, truths),
        corr_bias=correlate(error, bias),
        mean_bias=math.fsum(bias) / len(bias),
    )


def choose_alpha(*, beta: float, var_bias: float, var_noise: float) -> float:
    """Give alpha* = (1 - beta) Var(b) / ((1 - beta)^2 Var(b) + Var(eta)), clamped to [0, 1]; 0 for beta >= 1."""
    if beta >= 1 or var_bias <= 0:
        return 0.0
    gap = 1 - beta
    return min(1.0, gap * var_bias / (gap * gap * var_bias + var_noise))


def leave_variance(alpha: float, *, beta: float, var_bias: float, var_noise: float) -> float:
    """Give Var(b') = (1 - alpha (1 - beta))^2 Var(b) + alpha^2 Var(eta), what is left of the bias' variance."""
    return (1 - alpha * (1 - beta)) ** 2 * var_bias + alpha * alpha * var_noise


def pay_off(*, beta: float, var_bias: float, var_noise: float) -> float:
    """Give the variance that the best alpha removes: Var(b) less what it leaves; never negative.

    Without a clamp at 1 that is (1 - beta)^2 Var(b)^2 / ((1 - beta)^2 Var(b) + Var(eta)).
    """
    alpha = choose_alpha(beta=beta, var_bias=var_bias, var_noise=var_noise)
    return var_bias - leave_variance(alpha, beta=beta, var_bias=var_bias, var_noise=var_noise)


def require_precision(*, gain: float, harm: float) -> float:
    """Give rho* = h / (g + h): a detector may demote only while its precision is above it.

    Args:
        gain: Of demoting a wrong record, above 0.
        harm: Of demoting a right one, at least 0.
    """
    return harm / (gain + harm)


def covary(a: Sequence[float], b: Sequence[float]) -> float:
    """Give the covariance of a sample, divided by n; exactly 0 for a constant."""
    if min(a) == max(a) or min(b) == max(b):
        return 0.0
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    return math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / len(a)


def correlate(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Give Pearson's correlation in [-1, 1]; None where either does not vary."""
    spread = covary(a, a) * covary(b, b)
    return max(-1.0, min(1.0, covary(a, b) / math.sqrt(spread))) if spread > 0 else None
