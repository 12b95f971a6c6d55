"""How much epsilon a target needs, by rehearsals on data that are not private: made up by the schema, or public."""

from dataclasses import dataclass
from math import inf
from typing import Any, final

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.isotonic import isotonic_regression

from tacit.checks import finite_number, whole_number
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.estimators.exact_scores import public_data, said_public
from tacit.estimators.price import Priced
from tacit.model_selection.data import Data, places
from tacit.model_selection.judging import goodness
from tacit.numerics.arrays import Floats

LADDER = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The epsilons that are tried."""

_HELD_OUT = 0.25
_HALF_LEARNED = (20.0, 10.0)
"""Epsilon times records over columns at which half is learned, without and with a delta: measured, see
benchmarks/results/sensible_epsilon.md."""


@final
@dataclass(frozen=True)
class Needed:
    """The epsilon at which rehearsals reach a target, half way among them, and the range of most of them.

    `epsilon` is infinite if half of them never reach it: `without` says what is reached without privacy. `curve` holds
    the mean score at each epsilon of `ladder`.
    """

    target: float
    epsilon: float
    low: float
    high: float
    without: float
    ladder: tuple[float, ...]
    curve: tuple[float, ...]
    data: str

    def __str__(self) -> str:
        told = "; ".join(f"{epsilon:g}: {score:.3f}" for epsilon, score in zip(self.ladder, self.curve, strict=True))
        head = (
            f"epsilon about {self.epsilon:.2g} (from {self.low:.2g} to {self.high:.2g} in 8 of 10 rehearsals) for"
            if self.epsilon < inf
            else f"no epsilon up to {self.ladder[-1]:g} is enough for"
        )
        return (
            f"{head} {self.target:g}, on {self.data}. Reached at epsilon {told}; without privacy: {self.without:.3f}."
        )


def epsilon_for(
    estimator: Any,
    data: Any,
    *,
    accuracy: float,
    n: int | None = None,
    delta: float | None = None,
    repeats: int = 10,
    signal: float = 3.0,
) -> Needed:
    """Return the epsilon that rehearsals of a classifier need to reach an accuracy on records they have not seen.

    Guarantee: no private record is touched: of `Records` only their number and schema are used.
    Assumes: data that are said to be public are.
    Reference: none is needed; nothing is released.

    `data` is a `Schema` (and `n`, how many records there will be) or `Records`, for which made-up ones stand in
    (`signal` says how closely their target follows the rest), or, inside `with tacit.public_data():`, public records
    or `(X, y)`, which are rehearsed on as they are. What made-up records need says how the estimator, n, the columns
    and epsilon play together; what yours need depends on how much there is to learn in them.
    """
    if not isinstance(estimator, Priced) or not is_classifier(estimator):
        raise InvalidParameter(f"estimator must be a classifier of tacit's, got {type(estimator).__name__}.")
    target = finite_number("accuracy", accuracy)
    if not 0 < target < 1:
        raise InvalidParameter(f"accuracy must lie strictly between 0 and 1, got {accuracy!r}.")
    times = whole_number("repeats", repeats)
    spent = estimator.delta if delta is None else delta
    scores, without, told = [], [], ""
    for repeat in range(times):
        arguments, told = _rehearsed(data, n, repeat, signal)
        parts = _cut(estimator, arguments, repeat)
        scores.append([_reached(estimator, *parts, epsilon, spent, repeat) for epsilon in LADDER])
        without.append(_reached(estimator, *parts, inf, 0.0, repeat))
    curves = np.array([isotonic_regression(each) for each in scores])
    low, middle, high = np.quantile([_crossing(each, target) for each in curves], (0.1, 0.5, 0.9), method="higher")
    return Needed(
        target, float(middle), float(low), float(high), float(np.mean(without)), LADDER,
        tuple(np.mean(scores, axis=0).tolist()), told,
    )  # fmt: skip


def sensible_epsilon(n: int, columns: int, *, delta: float = 0.0) -> float:
    """Return below which epsilon a logistic regression is hardly worth fitting to n records with so many coded columns.

    A rule of thumb from public quantities, measured on made-up tables: there about half of what can be learned is
    learned, and most of it from three to five times as much on. Tables with a few strong columns need less.
    """
    records, width = whole_number("n", n), whole_number("columns", columns)
    share = finite_number("delta", delta)
    if not 0 <= share < 1:
        raise InvalidParameter(f"delta must be at least 0 and below 1, got {delta!r}.")
    return _HALF_LEARNED[share > 0] * width / records


def _rehearsed(data: Any, n: int | None, seed: int, signal: float) -> tuple[tuple[Any, ...], str]:
    """Return what is fitted in a rehearsal, and what to call it."""
    if isinstance(data, Schema):
        if n is None:
            raise InvalidParameter("n is missing: how many records will there be?")
        return (data.twin(n, seed, signal=signal),), f"{n:,} made-up records"
    if isinstance(data, Records) and not (said_public() or data.is_twin):
        return (data.schema.twin(data.n if n is None else n, seed, signal=signal),), f"{n or data.n:,} made-up records"
    if not isinstance(data, Records) and not (isinstance(data, tuple | list) and len(data) == 2):
        raise InvalidParameter(f"data must be a Schema, Records or a pair (X, y), got {type(data).__name__}.")
    if not isinstance(data, Records) and not said_public():
        raise InvalidParameter(
            "rehearsals are not private, so that rows must be public: say so, with tacit.public_data(): ..., or give "
            "the Schema and n, and made-up records stand in for yours."
        )
    arguments = (data,) if isinstance(data, Records) else tuple(data)
    kind = "made-up" if isinstance(data, Records) and data.is_twin else "public"
    return arguments, f"{kind} records as they are"


def _cut(estimator: Any, arguments: tuple[Any, ...], repeat: int) -> tuple[Data, Data]:
    data = Data.of(clone(estimator).set_params(epsilon=1.0), *arguments, *(() if len(arguments) == 2 else (None,)))
    if data.cuts < 2:
        raise InvalidParameter(
            f"at least 2 {data.unit.kind}s are needed, to learn from and to judge on, got 1 (persons "
            "without an id are judged or learned from together)."
        )
    order = np.roll(places(data.cuts), repeat * data.cuts // 7)
    held = np.zeros(data.cuts, dtype=np.bool_)
    held[order[: max(1, round(_HELD_OUT * data.cuts))]] = True
    return data.part(~held), data.part(held)


def _reached(estimator: Any, train: Data, test: Data, epsilon: float, delta: float, seed: int) -> float:
    """Return the accuracy that a rehearsal reaches."""
    model = clone(estimator).set_params(epsilon=epsilon, delta=delta, ledger=None, random_state=seed)
    if train.y is not None:
        model.set_params(classes=train.classes)
    with public_data():
        train.fit(model)
        return goodness(model, test, "accuracy") / test.slots


def _crossing(curve: Floats, target: float) -> float:
    """Return where a rising curve reaches the target, between the steps of the ladder on a logarithmic line."""
    above = np.flatnonzero(curve >= target)
    if not above.size:
        return inf
    place = int(above[0])
    if place == 0:
        return LADDER[0]
    share = (target - curve[place - 1]) / (curve[place] - curve[place - 1])
    return float(np.exp(np.log(LADDER[place - 1]) * (1 - share) + np.log(LADDER[place]) * share))
