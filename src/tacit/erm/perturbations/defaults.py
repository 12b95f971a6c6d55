"""Defaults from public quantities alone: which perturbation, and how much ridge.

The ridge is n alpha = max(floor, c R sigma), where sigma is the noise in the sum of gradients: the noise in a
prediction is then about 1/c units of the score where the records do not speak.

- A logistic loss with an anchor, what private logistic regression minimises: c is 3 sqrt(sigma sqrt(d)/(n L R)), kept
  between 0.15 and 1.5, over the anchor. Under the root is the length of the noise over that of a sum in which all
  records agree. Found on synthetic tables, checked on others (docs/decisions/0005-a-margin-in-the-loss.md).
- Gradients of the softmax loss, clipped: c is 1/4, chosen with their anchor on synthetic problems
  (benchmarks/results/softmax_clipping.md).
- Other losses, with a delta: c is 1/2. That form was suggested by accuracies on Adult and one synthetic set, the
  constant was fixed on 24 other synthetic problems. For pure objective perturbation c is 3 sigma d/(n L R), kept
  between 1/10 and 1: less ridge where the records outweigh the noise. That was found on 24 synthetic problems and gains
  on 16 others, for the logistic loss without an anchor (benchmarks/results/default_ridge.md).
"""

import math
from typing import Literal

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation, Perturbation
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter

Kind = Literal["auto", "objective", "output", "gradient"]

_KINDS: dict[str, type[OutputPerturbation] | type[ObjectivePerturbation] | type[GradientPerturbation]] = {
    "objective": ObjectivePerturbation,
    "output": OutputPerturbation,
    "gradient": GradientPerturbation,
}


def perturbation_for(kind: str, budget: Budget, setting: Setting, alpha: float | Literal["auto"]) -> Perturbation:
    """Build the perturbation, choosing what was left to `auto`."""
    chosen = default_kind(budget, setting) if kind == "auto" else kind
    if not isinstance(chosen, str) or chosen not in _KINDS:
        raise InvalidParameter(f"perturbation must be one of auto, {', '.join(_KINDS)}, got {kind!r}.")
    ridge = default_alpha(chosen, budget, setting) if is_auto(alpha) else checked_alpha(alpha)
    return _KINDS[chosen](budget, setting, ridge)


def is_auto(alpha: object) -> bool:
    """Whether the ridge was left to the defaults."""
    return isinstance(alpha, str) and alpha == "auto"


def checked_alpha(alpha: object) -> float:
    """Return a declared ridge as a float; refuse what cannot be one."""
    ridge = finite_number("alpha", alpha)
    if not 1e-100 <= ridge <= 1e100:
        raise InvalidParameter(f"alpha must be 'auto' or a positive number from 1e-100 to 1e100, got {alpha!r}.")
    return ridge


def default_kind(budget: Budget, setting: Setting) -> Kind:
    """Perturb the objective when delta is 0, else the gradients; the output when the loss is not smooth."""
    if math.isinf(setting.loss.smoothness):
        return "output"
    return "objective" if budget.is_pure else "gradient"


def default_alpha(kind: str, budget: Budget, setting: Setting) -> float:
    """Return the ridge that fits the noise, from public quantities."""
    loss, norm, count = setting.loss, setting.norm, setting.count
    slope = (loss.for_gradients if kind == "gradient" else loss).lipschitz * norm
    share = 0.25 if kind == "gradient" and setting.is_joint else 0.5
    if budget.is_pure:
        sigma = 2 * slope * math.sqrt(setting.free + 1) / budget.epsilon
    else:
        sigma = 2 * slope / gaussian_shift(budget)
    if loss.margin and kind != "output":
        relative = sigma * math.sqrt(setting.dimension) / (count * slope)
        share = min(1.5, max(0.15, 3 * math.sqrt(relative))) / loss.margin
    elif kind == "objective" and budget.is_pure:
        share = min(1.0, max(0.1, 3 * sigma * setting.dimension / (count * slope)))
    floor = 0.0
    if kind == "objective" and loss.free_jacobian:
        floor = (8 if setting.is_joint else 2) * norm**2 / budget.epsilon
    return max(floor, share * norm * sigma) / count
