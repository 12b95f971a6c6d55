"""Joint multiclass losses: one score a class, cost log(sum exp) minus the score of the true class."""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from tacit.checks import finite_number
from tacit.erm.losses.loss import Loss
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Codes, Floats


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
    free_jacobian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.classes, bool) or not isinstance(self.classes, Integral) or self.classes < 2:
            raise InvalidParameter(f"classes must be an integer of at least 2, got {self.classes!r}.")
        object.__setattr__(self, "classes", int(self.classes))

    @property
    def for_gradients(self) -> "ClippedSoftmax":
        """This loss with clipped slopes: what noisy gradients of it have to hide is smaller."""
        return ClippedSoftmax(self)

    @property
    def outputs(self) -> int:
        """One score a class."""
        return self.classes

    @property
    def at_zero(self) -> float:
        """Zero scores give every class the same probability."""
        return math.log(self.classes)

    def prepare(self, targets: object) -> Codes:
        """Check that targets are class indices."""
        given = np.asarray(targets)
        if given.dtype.kind not in "iu" or np.any(given < 0) or np.any(given >= self.classes):
            raise InvalidParameter(
                f"Targets of Softmax must be integers from 0 to {self.classes - 1}, got something else."
            )
        return given.astype(np.intp, copy=False)

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


@final
@dataclass(frozen=True)
class ClippedSoftmax(Loss):
    """The softmax loss with every record's slope p - e_y scaled down to norm 1 where it is longer: L = 1.

    The probabilities p are those of scores from which, for the record's own class, `anchor` was taken: a record counts
    until its class leads by that much. A slope is longer than 1 only where a record's class is all but ruled out; its
    norm is at most sqrt(2) in any case. The clipped field is not the gradient of a convex loss, so this is for gradient
    descent alone.
    """

    inner: Softmax
    anchor: float = 2.0
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = Softmax.smoothness  # Projecting to a ball brings slopes no further apart.
    one_sided: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor", finite_number("anchor", self.anchor))

    @property
    def margin(self) -> float:
        """The lead at which a record begins to count less: the anchor."""
        return self.anchor

    @property
    def outputs(self) -> int:
        """One score a class."""
        return self.inner.outputs

    @property
    def offset_bound(self) -> float:
        """The anchor, by which scores are longer."""
        return self.anchor

    @property
    def at_zero(self) -> float:
        """As for the softmax loss with the anchor, at most."""
        return self.inner.at_zero + self.anchor

    def prepare(self, targets: object) -> NDArray[np.generic]:
        """Check that targets are class indices."""
        return self.inner.prepare(targets)

    def slopes(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return p - e_y, scaled down to norm 1 where it is longer."""
        slopes = self.inner.slopes(self._anchored(shifted, targets), targets)
        length = np.sqrt(np.einsum("ij,ij->i", slopes, slopes))
        slopes /= np.maximum(length, 1.0)[:, None]
        return slopes

    def curvatures(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return those of the softmax loss with the anchor."""
        return self.inner.curvatures(self._anchored(shifted, targets), targets)

    def rounding(self, reach: float) -> float:
        """The slope's own error, and that of its computed length, a sum of squares."""
        return self.inner.rounding(reach) + (self.outputs + 8) * UNIT_ROUNDOFF * math.sqrt(2)

    def _anchored(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Take the anchor from the scores of records' own classes, in place."""
        shifted[np.arange(len(shifted)), targets.astype(np.intp, copy=False)] -= self.anchor
        return shifted
