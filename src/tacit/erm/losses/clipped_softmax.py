"""A joint loss whose slopes are clipped: what noisy gradients of it have to hide is smaller."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from tacit.checks import finite_number
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats


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
    one_sided: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor", finite_number("anchor", self.anchor))

    @property
    def margin(self) -> float:
        """The anchor."""
        return self.anchor

    @property
    def smoothness(self) -> float:
        """Projecting to a ball brings slopes no further apart."""
        return self.inner.smoothness

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

    def values(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return the softmax loss with the anchor, which is not clipped."""
        return self.inner.values(self._anchored(shifted, targets), targets)

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
