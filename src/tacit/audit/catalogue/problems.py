"""Linear problems of tacit as the auditor sees them: what is calibrated, and the exact law of the coefficient."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from tacit.accounting.analytic import gaussian_delta
from tacit.audit.attacks import Attack, Canary, LikelihoodRatio, LowBits
from tacit.audit.case import Case
from tacit.audit.laws import CountedRows, Formula, NoiseLaw, Tilted, minimiser
from tacit.audit.report import Exact
from tacit.audit.search import Found, Pair, largest_loss, tiny_pairs
from tacit.budget import Budget
from tacit.erm import PointwiseLoss
from tacit.erm.perturbations.defaults import perturbation_for
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation, Perturbation
from tacit.erm.perturbations.setting import Setting

_SETS = 8
_Built = tuple[Pair, tuple[Attack, ...], Exact | None]


def ridge_for(n_lambda: float | None, count: int) -> float | Literal["auto"]:
    """Return the estimators' `alpha` for so many records."""
    return "auto" if n_lambda is None else n_lambda / count


@final
@dataclass(frozen=True)
class LinearProblem:
    """A pointwise loss and its derivatives, under one perturbation; rows have norm at most 1."""

    loss: PointwiseLoss
    formula: Formula
    kind: str
    claim: Budget
    n_lambda: float | None = None

    def calibrated(self, count: int, dimension: int = 1) -> Perturbation:
        """Return tacit's own calibration for so many records."""
        setting = Setting(count, dimension, 1.0, self.loss)
        return perturbation_for(self.kind, self.claim, setting, ridge_for(self.n_lambda, count))

    def law(self, count: int, dimension: int = 1) -> Tilted:
        """Return the exact law of the coefficient under objective perturbation, the solver's trace of noise aside."""
        calibrated = self.calibrated(count, dimension)
        assert isinstance(calibrated, ObjectivePerturbation)
        law = calibrated.linear_noise
        return Tilted(self.formula, count * calibrated.alpha, NoiseLaw(law.scale, law.gaussian))

    def case(self, estimator: Callable[..., Any], plays: int) -> Case:
        """Return the game on the worst of some tiny data sets with one feature, and what their densities say."""
        built = {"objective": self._objective, "output": self._output}.get(self.kind, _label_flip)
        pair, attacks, exact = built()
        count = pair.first.count
        alpha = ridge_for(self.n_lambda, count)
        first, second = ((records.rows, records.targets) for records in (pair.first, pair.second))

        def fit(data: Any) -> Any:
            return estimator(alpha=alpha).fit(*data)

        return Case(self.claim, fit, first, second, attacks, plays, exact, self._note(count))

    def _note(self, count: int) -> str:
        used = count * self.calibrated(count).alpha
        if self.n_lambda is None or used <= self.n_lambda * (1 + 1e-9):
            return f"n lambda = {used:.4g}"
        return f"n lambda was raised from {self.n_lambda:g} to {used:.4g}, which the guarantee needs"

    def _objective(self) -> _Built:
        pairs = list(tiny_pairs(1, 1.0, sets=_SETS))
        laws = [self.law(pair.first.count) for pair in pairs]
        losses = [largest_loss(law, pair)[0] for law, pair in zip(laws, pairs, strict=True)]
        deltas = [self._delta(law, pair) for law, pair in zip(laws, pairs, strict=True)]
        worst = int(np.argmax(losses if self.claim.is_pure else deltas))
        pair, law = pairs[worst], laws[worst]
        attack = LikelihoodRatio(
            lambda w: law.log_density(w[:, :1], pair.first), lambda w: law.log_density(w[:, :1], pair.second)
        )
        loss = max(losses) if self.claim.is_pure else math.inf
        return pair, (attack,), Exact(loss, max(deltas), len(pairs), pair.kind)

    def _delta(self, law: Tilted, pair: Pair) -> float:
        reach = (40 * law.noise.unit + 4) / law.ridge
        return law.delta(pair.first, pair.second, self.claim.epsilon, reach, steps=20_001)

    def _output(self) -> _Built:
        pairs = list(tiny_pairs(1, 1.0, sets=_SETS))
        shifts = [self._shift(pair) for pair in pairs]
        worst = int(np.argmax(shifts))
        pair = pairs[worst]
        noise = self._output_noise(pair.first.count)
        ridge = pair.first.count * self.calibrated(pair.first.count).alpha
        one, other = (minimiser(records, self.formula, ridge) for records in (pair.first, pair.second))
        attacks = (
            LikelihoodRatio.shifted(lambda w: noise.log_density(w[:, :1]), one, other),
            LowBits((float(one[0]), 0.0), (float(other[0]), 0.0)),
        )
        if not noise.gaussian:
            return pair, attacks, Exact(max(shifts), None, len(pairs), pair.kind)
        delta = gaussian_delta(self.claim.epsilon, max(shifts))
        return pair, attacks, Exact(math.inf, delta, len(pairs), pair.kind)

    def _output_noise(self, count: int) -> NoiseLaw:
        """Return tacit's own noise on one coefficient, of which it states the deviation for a row of norm 1."""
        calibrated = self.calibrated(count)
        assert isinstance(calibrated, OutputPerturbation)
        deviation = calibrated.prediction_noise
        return NoiseLaw(deviation / math.sqrt(2)) if self.claim.is_pure else NoiseLaw(deviation, gaussian=True)

    def _shift(self, pair: Pair) -> float:
        """Return how far the solution moves, in units of the noise."""
        count = pair.first.count
        ridge, noise = count * self.calibrated(count).alpha, self._output_noise(count)
        moved = minimiser(pair.first, self.formula, ridge) - minimiser(pair.second, self.formula, ridge)
        return float(np.linalg.norm(moved)) / noise.unit


def with_found(case: Case, found: Found) -> Case:
    """Return the case with what a further search found, if it is worse."""
    before = case.exact
    if before is not None and before.loss >= found.loss:
        return replace(case, exact=replace(before, pairs=before.pairs + found.pairs))
    pairs = found.pairs + (0 if before is None else before.pairs)
    return replace(case, exact=Exact(found.loss, None, pairs, found.where))


def _label_flip() -> _Built:
    first = CountedRows.of([[1.0]], [1.0])
    pair = Pair(first, first.replaced([1.0], -1.0), np.zeros(1), "one record, its label flips")
    return pair, (Canary((1.0, 0.0)),), None
