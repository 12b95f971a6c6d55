"""What is public about a learning problem before any record is touched."""

import math
import operator
from dataclasses import dataclass
from typing import final

from tacit.accounting.unit import RECORD
from tacit.checks import finite_number
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge, HuberRegression, Logistic, Squared
from tacit.erm.losses.tabulated import Tabulated
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.errors import InvalidParameter

_LARGEST_CONDITION = 1e8
_CONDITION_PER_ROW = 100.0
_PROVEN = frozenset({Logistic, HuberHinge, Hinge, Squared, HuberRegression, Tabulated, Softmax})


@final
@dataclass(frozen=True)
class Setting:
    """Number of rows, or of persons, number of coefficients per score, norm of a row with its constant, and the loss.

    With `several` a person may own any number of rows, which share one record's weight. `filled`, if known, says that
    the sizes of a row's numbers add up to at most its root times `norm`.

    The loss is one of the library's own, whose constants are proved; a subclass of one is another loss.
    """

    count: int
    dimension: int
    norm: float
    loss: Loss
    several: bool = False
    filled: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", operator.index(self.count))
        object.__setattr__(self, "dimension", operator.index(self.dimension))
        object.__setattr__(self, "norm", finite_number("norm", self.norm))
        if type(self.loss) not in _PROVEN:
            raise InvalidParameter(
                f"{type(self.loss).__name__} is not a loss of this library, whose constants are proved. "
                "Use PrivateERM, or Tabulated.of(loss)."
            )

    @classmethod
    def of(cls, rows: Rows, loss: Loss) -> "Setting":
        """Read off what is public about rows: how many (or whose), how wide, and the norm they were clipped to."""
        return cls(rows.count, rows.dimension, rows.norm, loss, rows.whom != RECORD, rows.filled)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a coefficient."""
        return (self.dimension,) if self.loss.outputs == 1 else (self.loss.outputs, self.dimension)

    @property
    def free(self) -> int:
        """How many numbers in a coefficient are free: joint scores may shift together without effect."""
        return self.dimension * max(1, self.loss.outputs - 1)

    @property
    def slope(self) -> float:
        """A bound on the norm of one record's gradient; replacing a record moves the sum by twice as much."""
        return self.loss.lipschitz * self.norm

    @property
    def sparse(self) -> bool:
        """Whether rows have so few numbers other than 0 that pure noise by their sum is below noise by their norm.

        Per coordinate the one is 2 sqrt(2 filled) slopes over epsilon, the other 2 sqrt(coordinates + 1).
        """
        return self.filled is not None and not self.is_joint and 2 * self.filled < self.free + 1

    def require_bounded(self, alpha: float | None = None) -> None:
        """Refuse a loss whose slope may exceed L: at minimisers with this ridge, or anywhere when None is given."""
        loss = self.loss
        if loss.steepest(math.inf) <= loss.lipschitz or (
            alpha is not None and loss.bounded_at_minimum(self.norm, alpha)
        ):
            return
        raise InvalidParameter(
            f"the slope of {loss.name} has no bound that holds here. Use HuberRegression, or PrivateLinearRegression."
        )

    def require_smooth(self, kind: str) -> None:
        """Refuse a loss that is not Lipschitz, or not smooth, for a perturbation of this kind."""
        self.require_bounded()
        if math.isinf(self.loss.smoothness):
            raise InvalidParameter(
                f"{kind} perturbation needs a smooth loss, and {type(self.loss).__name__} is not. "
                "Use perturbation='output', or HuberHinge."
            )

    def require_solvable(self, alpha: float) -> None:
        """Refuse a ridge so small beside the curvature of the loss that records could keep a solver busy for long."""
        bend = 1.0 if math.isinf(self.loss.smoothness) else self.loss.smoothness
        least = bend * self.norm**2 / (_LARGEST_CONDITION + _CONDITION_PER_ROW * self.count)
        if not alpha >= least:
            raise InvalidParameter(
                f"alpha={alpha:g} is too small for rows of norm {self.norm:g} under {self.loss.name}: records could "
                f"keep the solver busy for long. Use at least {least:.3g}, a wider loss or a smaller norm."
            )

    @property
    def is_joint(self) -> bool:
        """Whether the loss couples several scores."""
        return self.loss.outputs > 1

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public, for people."""
        return (f"{self.dimension} features", f"row norm {self.norm:g}", f"loss {self.loss.name}")

    def check(self, objective: Objective, alpha: float) -> Objective:
        """Return the objective if it is over this setting with this ridge."""
        found = Setting.of(objective.rows, objective.loss)
        if found != self or objective.alpha != alpha or objective.linear is not None:
            raise InvalidParameter("the objective is not the one that the perturbation was calibrated for.")
        return objective
