"""What is public about a learning problem before any record is touched."""

from dataclasses import dataclass
from typing import final

from tacit.erm.loss import Loss
from tacit.erm.objective import Objective
from tacit.erm.rows import Rows
from tacit.erm.softmax import Softmax
from tacit.errors import InvalidParameter

__all__ = ["Setting"]


@final
@dataclass(frozen=True)
class Setting:
    """Number of rows, number of coefficients per score, norm of a row with its constant, and the loss."""

    count: int
    dimension: int
    norm: float
    loss: Loss

    @classmethod
    def of(cls, rows: Rows, loss: Loss) -> "Setting":
        """Read off what is public about rows: how many, how wide, and the norm they were clipped to."""
        return cls(rows.count, rows.dimension, rows.norm, loss)

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
    def is_joint(self) -> bool:
        """Whether the loss couples several scores."""
        return isinstance(self.loss, Softmax)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public, for people."""
        return (
            f"{self.dimension} features",
            f"row norm {self.norm:g}",
            f"loss {type(self.loss).__name__}",
        )

    def check(self, objective: Objective, alpha: float) -> Objective:
        """Return the objective if it is over this setting with this ridge."""
        rows = objective.rows
        found = Setting(rows.count, rows.dimension, rows.norm, objective.loss)
        if found != self or objective.alpha != alpha or objective.linear is not None:
            raise InvalidParameter("the objective is not the one that the perturbation was calibrated for.")
        return objective
