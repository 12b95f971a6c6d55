"""What a service answers, as values: amounts, answers with their error, scores with their ranges."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from tacit.budget import Budget
from tacit.errors import ServiceError
from tacit.evaluation.figure import Figure
from tacit.kernels.interactive.session import PointAnswers
from tacit.numerics.arrays import Floats


@final
@dataclass(frozen=True)
class ServedAnswer:
    """A private average, how far it may be off with which confidence, and what it cost; as the oracle's `Answer`.

    Answers to queries that were asked together share one charge: `cost` is that of all of them.
    """

    value: Any
    tolerance: float
    confidence: float
    cost: Budget
    guarantee: str
    repeated: bool
    private: bool = True

    def __str__(self) -> str:
        return f"{self.value} within {self.tolerance:.3g} at {self.confidence:.4g} ({self.guarantee})"


@final
@dataclass(frozen=True)
class ServedPrice:
    """What something would cost, how good it would be where that is known, and whether it can be paid now."""

    budget: Budget
    expected_error: Any
    affordable: bool
    left: Budget

    def __str__(self) -> str:
        can = "enough" if self.affordable else "NOT enough: it would be refused"
        error = "" if self.expected_error is None else f", with an error of up to {self.expected_error}"
        return f"costs {self.budget}{error}. {self.left} is left: {can}."


@final
class ServedReport:
    """The scores of a model: attributes as in `tacit.evaluation.report`, each a `Figure` with its ranges.

    Several classes: `of(name)` is one class against the rest.
    """

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self.guarantee = str(plain.get("guarantee", ""))
        self._figures = {name: _figure(each) for name, each in plain["figures"].items()}
        self._classes = {name: ServedReport(each) for name, each in plain.get("classes", {}).items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._figures:
            raise AttributeError(f"this report has no figure {name!r}; it has {', '.join(self.__dir__())}.")
        return self._figures[name]

    def of(self, name: str) -> "ServedReport":
        """Return the report on one class against the rest."""
        if name not in self._classes:
            raise AttributeError(f"this report has no class {name!r}; it has {', '.join(self._classes) or 'none'}.")
        return self._classes[name]

    def __dir__(self) -> list[str]:
        return sorted(self._figures)

    def __str__(self) -> str:
        return "\n".join([*(f"{name}: {figure}" for name, figure in self._figures.items()), self.guarantee])


def amount(plain: Mapping[str, Any]) -> Budget:
    """Return the exact amount that was written as two fractions."""
    try:
        return Budget.amount(Fraction(plain["exact"]["epsilon"]), Fraction(plain["exact"]["delta"]))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise ServiceError("the service named an amount that is none. Does it run another tacit?") from None


def point_answers(plain: Mapping[str, Any]) -> PointAnswers:
    """Return answers of a predictor; what is no number came as null."""
    values, deviation, error = (_floats(plain[name]) for name in ("values", "standard_deviation", "error"))
    return PointAnswers(values, deviation, error, np.array(plain["guaranteed"], dtype=bool))


def _floats(numbers: Any) -> Floats:
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)


def _figure(plain: Any) -> Any:
    """Return a figure with its ranges; a number without them, or a list, as it is."""
    if not isinstance(plain, Mapping) or "noise" not in plain:
        return plain
    ranges = {name: _range(plain[name]) for name in ("noise", "sampling", "interval")}
    return Figure(value=_number(plain["value"]), confidence=float(plain["confidence"]), **ranges)


def _range(ends: Any) -> tuple[float, float]:
    low, high = ends
    return (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)
