"""The joint multiclass loss: one score a class, cost log(sum exp) minus the score of the true class."""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from tacit.erm.losses.loss import Loss
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats


@final
@dataclass(frozen=True)
class Softmax(Loss):
    """Multinomial logistic loss over `classes` classes; targets are class indices.

    The derivative in the scores is p - e_y, of norm below sqrt(2); its Jacobian diag(p) - p p^T has norm at
    most 1/2. Replacing a record moves the sum of gradients by at most 2 sqrt(2) R.
    """

    classes: int
    lipschitz: ClassVar[float] = math.sqrt(2.0)
    smoothness: ClassVar[float] = 0.5
    one_sided: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.classes, bool) or not isinstance(self.classes, Integral) or self.classes < 2:
            raise InvalidParameter(f"classes must be an integer of at least 2, got {self.classes!r}.")
        object.__setattr__(self, "classes", int(self.classes))

    @property
    def outputs(self) -> int:
        """One score a class."""
        return self.classes

    @property
    def at_zero(self) -> float:
        """Zero scores give every class the same probability."""
        return math.log(self.classes)

    def prepare(self, targets: object) -> NDArray[np.intp]:
        """Check that targets are class indices."""
        given = np.asarray(targets)
        if given.dtype.kind not in "iu" or np.any(given < 0) or np.any(given >= self.classes):
            raise InvalidParameter(
                f"Targets of Softmax must be integers from 0 to {self.classes - 1}, got something else."
            )
        return given.astype(np.intp, copy=False)

    def values(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return log(sum exp) minus the true class's score, for every record."""
        below = shifted - shifted.max(axis=1, keepdims=True)
        own = below[np.arange(len(below)), targets.astype(np.intp, copy=False)]
        return np.asarray(np.log(np.exp(below).sum(axis=1)) - own)

    def slopes(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return p - e_y for every record."""
        slopes = self.probabilities(shifted)
        slopes[np.arange(len(slopes)), targets.astype(np.intp, copy=False)] -= 1.0
        return slopes

    def curvatures(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return p (1 - p) for every score."""
        chances = self.probabilities(shifted)
        return np.asarray(chances * (1.0 - chances))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the class probabilities, in the memory of `scores`."""
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def rounding(self, reach: float) -> float:
        """Bound the rounding error of p - e_y in norm.

        Each p carries a relative error of the exponent's rounding (t exp(-t) < 0.4 units), four units of
        exp, the sum of k terms and the quotient; |p| <= 1.
        """
        return (2 * self.classes + 20) * UNIT_ROUNDOFF
