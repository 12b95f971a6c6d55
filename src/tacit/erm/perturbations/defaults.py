"""Defaults from public quantities alone: which perturbation, how much margin, and how much ridge.

All follow from noise over signal: the length of the noise in a sum of gradients over that of a sum in which all records
agree. What was compared, and on which made-up tables, is in docs/decisions/0015-defaults-by-three-scores.md.

- With a delta, noise goes into the objective wherever that is proved at no loss (losses of one score whose slope has
  one sign): as accurate as noisy gradients with these ridges, at a hundredth of the passes over the records.
- The margin of private logistic regression is 4 + log10(noise over signal), between nothing and 3: it fades with the
  noise, so that a large epsilon gives the ordinary model.
- The ridge is n alpha = max(floor, c R sigma), where sigma is the noise in the sum of gradients: the noise in a
  prediction is then about 1/c units of the score where the records do not speak. The floor is what the guarantee needs,
  and at least L R^2/20, the ridge without noise. Under a margin c is the square root of noise over signal, kept between
  0.15 and 0.5.
- Gradients of the softmax loss, clipped: c is 1/4, chosen with their anchor on synthetic problems
  (benchmarks/results/softmax_clipping.md).
- Other losses, with a delta: c is 1/2. That form was suggested by accuracies on Adult and one synthetic set, the
  constant was fixed on 24 other synthetic problems. For pure objective perturbation c is 3 sigma d/(n L R), kept
  between 1/10 and 1: less ridge where the records outweigh the noise. That was found on 24 synthetic problems and gains
  on 16 others, for the logistic loss without an anchor (benchmarks/results/default_ridge.md).
"""

import math
from fractions import Fraction
from typing import Literal

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.checks import positive_number
from tacit.erm.losses.loss import Loss
from tacit.erm.perturbations.calibration import gaussian_is_certified
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation, Perturbation
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter

Kind = Literal["auto", "objective", "output", "gradient"]

MARGIN = 3.0
"""The largest margin in the loss of a private logistic regression of two classes."""
_FADED = 2.0**-10

_KINDS: dict[str, type[OutputPerturbation] | type[ObjectivePerturbation] | type[GradientPerturbation]] = {
    "objective": ObjectivePerturbation,
    "output": OutputPerturbation,
    "gradient": GradientPerturbation,
}


def perturbation_for(kind: str, budget: Budget, setting: Setting, alpha: float | Literal["auto"]) -> Perturbation:
    """Build the perturbation, choosing what was left to `auto`."""
    chosen = kind
    if kind == "auto":
        chosen = default_kind(budget.is_pure, setting.loss)
        if chosen == "objective" and not budget.is_pure and not gaussian_is_certified(budget, setting):
            # An epsilon above 50, or hardly any delta: noise of a pure budget is as good, and leaves delta unspent.
            budget = Budget.amount(budget.exact_epsilon, Fraction(0))
    if not isinstance(chosen, str) or chosen not in _KINDS:
        raise InvalidParameter(f"perturbation must be one of auto, {', '.join(_KINDS)}, got {kind!r}.")
    ridge = default_alpha(chosen, budget, setting) if is_auto(alpha) else checked_alpha(alpha)
    return _KINDS[chosen](budget, setting, ridge)


def is_auto(alpha: object) -> bool:
    """Whether the ridge was left to the defaults."""
    return isinstance(alpha, str) and alpha == "auto"


def checked_alpha(alpha: object) -> float:
    """Return a declared ridge as a float; refuse what cannot be one."""
    return positive_number("alpha, if it is not 'auto',", alpha)


def default_kind(pure: bool, loss: Loss) -> Kind:
    """Perturb the objective where it costs no accuracy, else the gradients; the output when the loss is not smooth."""
    if math.isinf(loss.smoothness):
        return "output"
    return "objective" if pure or loss.one_sided else "gradient"


def unit_noise(budget: Budget, coordinates: int, filled: int | None = None) -> float:
    """Return the noise in one coordinate of a sum of vectors of length 1, one of which a replacement moves.

    `filled`, if known, is how many numbers of such a vector differ from 0: few of them need less pure noise.
    """
    if not budget.is_pure:
        return 2 / gaussian_shift(budget)
    squares = coordinates + 1 if filled is None else min(coordinates + 1, 2 * filled)
    return 2 * math.sqrt(squares) / budget.epsilon


def noise_over_signal(budget: Budget, coordinates: int, count: int, filled: int | None = None) -> float:
    """Return the length of the noise in a sum of gradients over that of a sum in which all records agree."""
    return unit_noise(budget, coordinates, filled) * math.sqrt(coordinates) / count


def default_margin(budget: Budget | None, coordinates: int, count: int, filled: int | None = None) -> float:
    """Return the margin that fits the noise; none without privacy."""
    if budget is None:
        return 0.0
    # Not quite 0: the ridge of a loss with a margin belongs to it.
    return min(MARGIN, max(_FADED, 4 + math.log10(noise_over_signal(budget, coordinates, count, filled))))


def least_alpha(slope: float, norm: float, count: int) -> float:
    """Return the ridge where there is no noise, which no default with noise is below: n alpha = L R^2/20."""
    return 0.05 * slope * norm**2 / count


def default_alpha(kind: str, budget: Budget, setting: Setting) -> float:
    """Return the ridge that fits the noise, from public quantities."""
    loss, norm, count = setting.loss, setting.norm, setting.count
    slope = (loss.for_gradients if kind == "gradient" else loss).lipschitz * norm
    share = 0.25 if kind == "gradient" and setting.is_joint else 0.5
    filled = setting.filled if kind == "objective" and not setting.is_joint else None
    sigma = slope * unit_noise(budget, setting.free, filled)
    if loss.margin and kind != "output":
        relative = sigma * math.sqrt(setting.dimension) / (count * slope)
        share = min(0.5, max(0.15, math.sqrt(relative)))
    elif kind == "objective" and budget.is_pure:
        share = min(1.0, max(0.1, 3 * sigma * setting.dimension / (count * slope)))
    floor = least_alpha(loss.for_gradients.lipschitz, norm, count)
    if kind == "objective" and loss.free_jacobian:
        floor = max(floor, (8 if setting.is_joint else 2) * norm**2 / budget.epsilon / count)
    return max(floor, share * norm * sigma / count)
