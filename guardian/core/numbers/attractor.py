"""The Echo Gap: where a bank that writes its own self-graded episodes back ends up.

Of the records an agent retrieves a share p is wrong; the next episode is wrong with e(p) = min(1, e0 + kappa p). The self-grade accepts a
wrong one with leniency l and a right one with sensitivity s, and what is accepted is written back. The share of wrong ones among those is

    f(p) = e(p) l / (e(p) l + (1 - e(p)) s)

and the bank's share moves towards f(p). Its fixed point p* solves kappa (l - s) p^2 + (e0 (l - s) + s - kappa l) p - e0 l = 0.
Source: "Memory Reward Inflation in Self-Improving LLM Agents", Theorems 1 and 2; the collapse threshold is derived from the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

# A slope from which any wrong record makes every episode wrong; a steeper one leads to the same end, and to sums beyond floats.
_STEEPEST = 1e12


def err(p: float, *, kappa: float, base_error: float) -> float:
    """Give e(p) = min(1, e0 + kappa p), the error rate at a corrupted share p."""
    return min(1.0, base_error + kappa * p)


def write_back(p: float, *, kappa: float, leniency: float, sensitivity: float, base_error: float) -> float:
    """Give f(p), the share of wrong ones among what is accepted at a corrupted share p; p itself when nothing is accepted."""
    wrong = err(p, kappa=kappa, base_error=base_error)
    accepted = wrong * leniency + (1 - wrong) * sensitivity
    return wrong * leniency / accepted if accepted > 0 else p


def find_attractor(*, kappa: float, leniency: float, sensitivity: float, base_error: float) -> float:
    """Give p*, the fixed point that a bank reaches from below: the smaller root in [0, 1], 1 where there is none.

    Args:
        kappa: Rise of the error rate with the corrupted share, at least 0.
        leniency: l = P(accepted | wrong), in [0, 1].
        sensitivity: s = P(accepted | right), in [0, 1].
        base_error: e0, error rate with clean memories, in [0, 1].
    """
    kappa = min(kappa, _STEEPEST)
    a = kappa * (leniency - sensitivity)
    b = base_error * (leniency - sensitivity) + sensitivity - kappa * leniency
    c = -base_error * leniency
    # A root beyond the point where e(p) is 1 belongs to a model that the cap has left.
    inside = [abs(root) for root in _solve(a, b, c) if 0 <= root <= 1 and base_error + kappa * root <= 1 + 1e-12]
    return min(inside, default=1.0)


def shoot_once(*, leniency: float, sensitivity: float, base_error: float) -> float:
    """Give p0 = e0 l / (e0 l + (1 - e0) s), the share after one pass that nothing compounds."""
    accepted = base_error * leniency + (1 - base_error) * sensitivity
    return base_error * leniency / accepted if accepted > 0 else 0.0


def find_collapse(*, leniency: float, sensitivity: float) -> float:
    """Give kappa* = s / l: above it even a vanishing base error takes the bank over; infinite where nothing wrong is accepted."""
    return sensitivity / leniency if leniency > 0 else math.inf


def amplify_retrieval(bias: float, *, temperature: float, wrong: float, right: float) -> float:
    """Give A_ret = e^(b/T) (W + R e^(1/T)) / (W e^(b/T) + R e^(1/T)): how much more often a wrong record is retrieved for its grade.

    Args:
        bias: b of the wrong records' grades, in [0, 1].
        temperature: T of a softmax over utilities, above 0.
        wrong: W, number (or weight) of wrong records that compete.
        right: R, of right ones.
    """
    # All exponents are lowered by 1 / T, the largest, so that a small temperature does not overflow.
    lift = math.exp((bias - 1) / temperature)
    floor = math.exp(-1 / temperature)
    return math.exp(bias / temperature) * (wrong * floor + right) / (wrong * lift + right)


def amplify_transition(bias: float, *, rate: Callable[[float], float]) -> float:
    """Give A_tr = tau(b) / tau(0): how much more often what is wrong passes on for the bias of its grade.

    The other half of the amplification: `amplify_retrieval` is of being retrieved, this one of being taken over, once there, into the next
    episode and with it into the bank. Infinite where an honest grade lets nothing pass and a biased one does.

    Args:
        bias: b of the wrong records' grades, in [0, 1].
        rate: tau, the share in [0, 1] of wrong ones that pass at a bias.
    """
    biased, honest = rate(bias), rate(0.0)
    if honest > 0:
        return biased / honest
    return math.inf if biased > 0 else 1.0


def _solve(a: float, b: float, c: float) -> list[float]:
    """Give the real roots of a p^2 + b p + c, without the loss of digits that a small a brings."""
    if abs(a) < 1e-15:
        return [-c / b] if abs(b) > 1e-15 else ([0.0] if abs(c) < 1e-15 else [])
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return []
    q = -(b + math.copysign(math.sqrt(discriminant), b)) / 2
    return [q / a, *([c / q] if q else [0.0])]
