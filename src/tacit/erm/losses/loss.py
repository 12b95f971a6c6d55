"""What a loss is: a convex cost of scores that declares its constants and its rounding errors.

The formulas of a pointwise loss take one argument t: the margin y w.x minus `anchor` (1 for the hinges,
whose corner sits there), or the residual w.x - y. Measuring t from the corner keeps the derivative
accurate where it changes.

A loss also says how accurately it is computed (`rounding`), because the certificate of a solution
includes the rounding errors of its gradient.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats


class Loss(ABC):
    """What the scores of a linear model cost: convex, nonnegative, with declared constants.

    Scores are arrays of shape (rows, columns). For a pointwise loss the columns are independent models;
    for a joint loss they are the `outputs` scores of one model. What a loss declares here is believed of the library's
    own losses only (`Setting`).
    """

    free_jacobian: ClassVar[bool] = False
    """Whether objective perturbation pays nothing for the Jacobian once there is enough ridge (perturbation.md)."""

    @property
    def name(self) -> str:
        """What to call the loss."""
        return type(self).__name__

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """A bound L on the norm of the derivative in a record's scores."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """A bound c on the second derivative in a record's scores; infinite when there is none."""

    @property
    @abstractmethod
    def one_sided(self) -> bool:
        """Whether the derivative never changes its sign."""

    @property
    def margin(self) -> float:
        """By how much a record's own class must lead before it counts less, which probabilities account for."""
        return 0.0

    @property
    def has_corner(self) -> bool:
        """Whether this is the hinge itself, for which there is a solver of its own (`tacit.erm.solver.hinge`)."""
        return False

    @property
    def for_gradients(self) -> "Loss":
        """The loss whose gradients noise is added to: this one, unless another has less to hide."""
        return self

    def gradient_diameter(self, size: float, norm: float) -> float:
        """Bound how far apart two records' gradients are at a coefficient of norm `size`, rows being within `norm`."""
        return 2 * (self.lipschitz * norm)

    @property
    def offset_bound(self) -> float:
        """A bound on the size of `offset`."""
        return 0.0

    @property
    def outputs(self) -> int:
        """How many scores of a record one model has."""
        return 1

    @abstractmethod
    def prepare(self, targets: object) -> NDArray[np.generic]:
        """Return the targets in the form the other methods take; refuse what is not a target."""

    def offset(self, targets: NDArray[np.generic]) -> Floats | None:
        """Return what is subtracted from each record's scores first; None for nothing.

        The difference is taken before scores are rounded when these are computed with twice the digits.
        """
        return None

    @abstractmethod
    def slopes(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return the derivative in every score (of every column, when these are independent models).

        `shifted` holds scores minus their offset and is scratch space afterwards.
        """

    @abstractmethod
    def curvatures(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return the second derivative in every score by itself; `shifted` is as in `slopes`."""

    def probabilities(self, scores: Floats) -> Floats:
        """Return p, in the memory of `scores`, for a joint loss whose second derivatives are diag(p) - p p^T."""
        raise NotImplementedError(f"{self.name} has no such second derivatives")

    @property
    @abstractmethod
    def at_zero(self) -> float:
        """A bound on the loss of a record whose scores are all zero."""

    def steepest(self, reach: float) -> float:
        """Bound the norm of the derivative when scores are at most `reach`."""
        return self.lipschitz

    def bounded_at_minimum(self, norm: float, alpha: float) -> bool:
        """Whether L bounds the derivative at the minimiser for every data set with this norm and ridge."""
        return self.steepest(math.inf) <= self.lipschitz

    def rounding(self, reach: float) -> float:
        """Bound the absolute rounding error of a computed derivative, scores being at most `reach`."""
        return 64 * UNIT_ROUNDOFF * self.steepest(reach)

    def relative_smoothness(self, reach: float) -> float:
        """Bound how far a relative change of the argument moves the derivative, per unit of change."""
        return self.smoothness * reach


class PointwiseLoss(Loss):
    """A loss of one number t for each record: the margin minus `anchor`, or the residual.

    Subclasses implement `value`, `derivative` and `curvature` of t, elementwise and without warnings for
    any finite t. A loss of your own is checked against its declarations by `check_loss`; `PrivateERM` takes nothing
    from it but its derivative at fixed points (`tabulated.py`), so that overriding other methods has no effect.
    """

    kind: ClassVar[Literal["margin", "residual"]] = "margin"
    anchor: float = 0.0

    @abstractmethod
    def value(self, t: Floats) -> Floats:
        """Return the loss at t."""

    @abstractmethod
    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return the derivative at t, in `out` when given (which may be t itself)."""

    @abstractmethod
    def curvature(self, t: Floats) -> Floats:
        """Return the second derivative at t (at a corner, any value between its two sides)."""

    @property
    def largest_target(self) -> float:
        """The bound to which residual targets are clipped; margin targets are -1 or +1."""
        return 1.0

    @property
    def offset_bound(self) -> float:
        """The largest target, or the anchor."""
        return self.largest_target if self.kind == "residual" else abs(self.anchor)

    @property
    def at_zero(self) -> float:
        """The loss at score zero, for the worst target."""
        if self.kind == "margin":
            return float(self.value(np.array([-self.anchor]))[0])
        ends = np.array([-self.largest_target, self.largest_target])
        return float(np.max(self.value(ends)))

    def prepare(self, targets: object) -> Floats:
        """Check that margin targets are -1 or +1; clip residual targets to their bound."""
        prepared = np.ascontiguousarray(np.asarray(targets), dtype=np.float64)
        if self.kind == "margin":
            if not np.all(np.abs(prepared) == 1.0):
                raise InvalidParameter("Targets of a margin loss must be -1 or +1, got something else.")
            return prepared
        if not np.all(np.isfinite(prepared)):
            raise InvalidParameter("Targets must be finite numbers, got NaN or infinity.")
        return np.clip(prepared, -self.largest_target, self.largest_target)

    def offset(self, targets: NDArray[np.generic]) -> Floats | None:
        """Return the target of a residual, or where the margin equals the anchor."""
        column = targets.astype(np.float64, copy=False)
        if self.kind == "residual":
            return column
        return self.anchor * column if self.anchor else None

    def argument(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return t from scores minus their offset, in the memory of `shifted`."""
        if self.kind == "margin":
            shifted *= targets.astype(np.float64, copy=False)[:, None]
        return shifted

    def slopes(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return the derivative in every score."""
        t = self.argument(shifted, targets)
        # The derivative in a margin becomes one in the score by the same product with the target.
        return self.argument(self.derivative(t, out=t), targets)

    def curvatures(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return the second derivative in every score."""
        return self.curvature(self.argument(shifted, targets))
