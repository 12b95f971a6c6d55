"""How many records a private linear classifier needs: the lemmas and theorems of the 2008 paper, with constants.

    training_gap              bounds the regularised loss over the training records (Lemmas 3 and 4)
    true_gap                  bounds the expected loss against any reference classifier (Theorems 4 and 5)
    records_for_training_gap  the fewest records for which `training_gap` is small enough
    records_for_true_gap      the same for `true_gap`, and the ridge to use

All four use public quantities only: they plan a study before a record is seen. The proofs are in sample_sizes.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from scipy.special import gammainccinv

from tacit.budget import Budget
from tacit.checks import checked_confidence, positive_number
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.standard import Logistic
from tacit.erm.perturbations.calibration import additive_noise
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter
from tacit.numerics.bisection import fewest

Planned: TypeAlias = OutputPerturbation | ObjectivePerturbation

_KINDS: dict[str, type[OutputPerturbation] | type[ObjectivePerturbation]] = {
    "output": OutputPerturbation,
    "objective": ObjectivePerturbation,
}
_TOLERANCE = 1e-5
_GRID = 1 + 1e-6
_MOST_RECORDS = 2**60


@final
@dataclass(frozen=True)
class SampleSize:
    """How many records to collect, and the ridge to fit them with."""

    count: int
    alpha: float


def training_gap(mechanism: Planned, *, failure: float) -> float:
    """Bound how far the released coefficient is from the least regularised loss J on the training records.

    Guarantee: J(released) <= min J + the bound, with probability at least 1 - failure over the noise.
    Assumes: any records; a smooth loss of one score; the solver reaches 1e-5 L R/n (so for n up to about 1e8).
    Reference: sample_sizes.md, "Training loss" (Chaudhuri and Monteleoni 2008, Lemmas 3 and 4).
    """
    _check(mechanism.setting.loss)
    tilt, shift = _disturbance(mechanism, checked_confidence(failure, "failure"))
    return tilt**2 / (2 * mechanism.alpha) + tilt * shift + _bend(mechanism) * shift**2 / 2


def true_gap(mechanism: Planned, *, reference_norm: float, failure: float) -> float:
    """Bound how much worse the released coefficient is, in expected loss, than any other of a given norm.

    Guarantee: E loss(released) <= E loss(w0) + the bound for every w0 with |w0| <= reference_norm, with
    probability at least 1 - failure over records and noise.
    Assumes: as `training_gap`, and records drawn independently from one distribution, clipped before their loss counts.
    Reference: sample_sizes.md, "Expected loss" (Chaudhuri and Monteleoni 2008, Theorems 4 and 5).
    """
    _check(mechanism.setting.loss)
    size, half = positive_number("reference_norm", reference_norm), checked_confidence(failure, "failure") / 2
    setting, alpha = mechanism.setting, mechanism.alpha
    sampling = setting.slope * (2 + math.sqrt(2 * math.log(1 / half))) / math.sqrt(setting.count)
    tilt, shift = _disturbance(mechanism, half)
    regularised = (sampling * (sampling + tilt) + tilt**2 / 2) / alpha
    regularised += (2 * sampling + tilt) * shift + _bend(mechanism) * shift**2 / 2
    return regularised + alpha * size**2 / 2


def records_for_training_gap(
    kind: Literal["output", "objective"],
    budget: Budget,
    *,
    dimension: int,
    alpha: float,
    gap: float,
    failure: float,
    norm: float = 1.0,
    loss: Loss | None = None,
) -> int:
    """Return the fewest records that keep `training_gap` within `gap`, the ridge being `alpha` unraised.

    Guarantee: this many records or more make J(released) <= min J + gap with probability at least 1 - failure.
    Assumes: as `training_gap`; rows of norm at most `norm`; the logistic loss unless another is given.
    Reference: sample_sizes.md, "Numbers of records".
    """
    ridge, wanted = positive_number("alpha", alpha), positive_number("gap", gap)

    def enough(count: int) -> bool:
        mechanism = _KINDS[kind](budget, Setting(count, dimension, norm, loss or Logistic()), ridge)
        return mechanism.alpha == ridge and training_gap(mechanism, failure=failure) <= wanted

    return _fewest(kind, enough)


def records_for_true_gap(
    kind: Literal["output", "objective"],
    budget: Budget,
    *,
    dimension: int,
    reference_norm: float,
    gap: float,
    failure: float,
    norm: float = 1.0,
    loss: Loss | None = None,
) -> SampleSize:
    """Return the fewest records, at the ridge gap/reference_norm^2, that keep `true_gap` within `gap`.

    Guarantee: this many records or more, fitted with that ridge, make E loss(released) <= E loss(w0) + gap for
    every w0 with |w0| <= reference_norm, with probability at least 1 - failure.
    Assumes: as `true_gap`; rows of norm at most `norm`; the logistic loss unless another is given.
    Reference: sample_sizes.md, "Numbers of records".
    """
    wanted = positive_number("gap", gap)
    ridge = wanted / positive_number("reference_norm", reference_norm) ** 2

    def enough(count: int) -> bool:
        mechanism = _KINDS[kind](budget, Setting(count, dimension, norm, loss or Logistic()), ridge)
        bound = true_gap(mechanism, reference_norm=reference_norm, failure=failure)
        return mechanism.alpha == ridge and bound <= wanted

    return SampleSize(_fewest(kind, enough), ridge)


def _disturbance(mechanism: Planned, failure: float) -> tuple[float, float]:
    """Bound the tilt |b|/n of the objective and the shift of its minimiser, both at once with chance 1 - failure."""
    setting, alpha = mechanism.setting, mechanism.alpha
    tolerance = _TOLERANCE * setting.slope / setting.count
    if isinstance(mechanism, OutputPerturbation):
        sensitivity = 2 * (setting.slope / setting.count + tolerance) / alpha
        return 0.0, tolerance / alpha + _additive(mechanism.budget, sensitivity, setting.free, failure)
    law = mechanism.linear_noise
    rounding = law.grid * math.sqrt(law.size) / (2 * setting.count)
    trace = _additive(mechanism.shares[1], 2 * (tolerance + rounding) / alpha, setting.free, 0.02 * failure)
    main = _reach(law.typical, law.size, law.kind == "gaussian", 0.98 * failure)
    return main / setting.count, tolerance / alpha + trace


def _additive(budget: Budget, sensitivity: float, size: int, failure: float) -> float:
    """Bound the norm of the noise that `budget` needs at this sensitivity."""
    law = additive_noise(budget, sensitivity, size)
    return _reach(law.standard_deviation, size, not budget.is_pure, failure)


def _reach(deviation: float, size: int, gaussian: bool, failure: float) -> float:
    """Return the norm that noise exceeds with chance `failure`, its coordinates having this standard deviation."""
    if gaussian:
        units = math.sqrt(2 * float(gammainccinv(size / 2, failure)))
    else:
        units = float(gammainccinv(size, failure)) / math.sqrt(size + 1)
    return deviation * units * _GRID


def _bend(mechanism: Planned) -> float:
    """Bound the second derivative of J in any direction."""
    setting = mechanism.setting
    return setting.loss.smoothness * setting.norm**2 + mechanism.alpha


def _fewest(kind: str, enough: Callable[[int], bool]) -> int:
    """Return the smallest count that is enough, `enough` being monotone."""
    if kind not in _KINDS:
        raise InvalidParameter(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}.")
    refusal = "no feasible number of records is enough. Ask for a larger gap or epsilon."
    return fewest(enough, most=_MOST_RECORDS, otherwise=refusal)


def _check(loss: Loss) -> None:
    """Refuse losses that the proofs do not cover."""
    if loss.outputs > 1 or math.isinf(loss.smoothness) or loss.steepest(math.inf) > loss.lipschitz:
        raise InvalidParameter(
            f"sample sizes are proved for smooth, Lipschitz losses of one score, and {type(loss).__name__} is none. "
            "Use Logistic, HuberHinge or HuberRegression."
        )
