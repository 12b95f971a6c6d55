"""What released kernel models share: the common course of `fit`, and scores over public points."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit.budget import Budget
from tacit.checks import is_whole, whole_number
from tacit.data.store.lazy_rows import StreamedRows
from tacit.erm.fitting import LossFor
from tacit.erm.perturbations.defaults import Kind
from tacit.errors import InvalidParameter
from tacit.estimators.classes import check_told
from tacit.estimators.effects import Effects, average_effects
from tacit.estimators.encoded import before_the_charge, in_lots, learn, stand_alone
from tacit.estimators.parameters import refuse_ledger
from tacit.estimators.price import Priced
from tacit.estimators.saving.declared import FITTED
from tacit.estimators.saving.fields import Saved
from tacit.estimators.tables import validated
from tacit.estimators.weighing import Weighing
from tacit.kernels.fit.reading import Alpha, certified_linear, certified_model, public_facts
from tacit.kernels.fit.ridge import AnswerNoise, foresee_noise, foresee_signal
from tacit.kernels.kernel.custom import check_proven
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Kernel, size_of
from tacit.kernels.kernel.standard import Linear
from tacit.kernels.maps.fourier import FourierFeatures
from tacit.kernels.maps.landmarks import Landmarks, landmarks_given, listed
from tacit.kernels.released.model import (
    METHODS,
    Method,
    Released,
    answer_noise,
    release_answers,
    release_linear,
    release_tdil,
)
from tacit.kernels.released.non_interactive import lattice
from tacit.kernels.saved import DOMAIN, KERNEL, LANDMARKS, MODEL
from tacit.numerics.arrays import Floats
from tacit.numerics.spread import beside
from tacit.releases import Terms

_AT_A_TIME = 8192
"""How many rows are scored at a time: beside each are its values at all public points."""


@dataclass(eq=False, repr=False)
class KernelEstimator(Priced, BaseEstimator):  # type: ignore[misc]
    """The parameters of released models, scores, and the common course of `fit`."""

    kernel: Kernel | None = None
    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    landmarks: Any = 100
    method: Method = "landmarks"
    perturbation: Kind = "auto"
    rounds: int = 20
    loss: str = "logistic"
    data_norm: float | None = None
    alpha: Alpha = "auto"
    largest_weight: float | None = None

    saved: ClassVar[Saved] = Saved(
        {**FITTED, "domain_": DOMAIN, "model_": MODEL}, {"kernel": KERNEL, "landmarks": LANDMARKS}
    )

    task: ClassVar[Literal["classification", "regression"]]

    @property
    def _streams(self) -> int | None:
        """How many features a row becomes, for the methods that may keep them outside of memory."""
        if self.method not in METHODS[:2] or not isinstance(self.kernel, Kernel) or not self.kernel.vectors:
            return None
        return (
            whole_number("landmarks", self.landmarks) if is_whole(self.landmarks) else (*np.shape(self.landmarks), 0)[0]
        )

    @np.errstate(all="ignore")
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model, charging the ledger once.

        `sample_weight` and `groups` are as for `PrivateLogisticRegression`; they are for methods "landmarks" and
        "fourier".
        """
        check_told(getattr(self, "classes", None), X)
        return cast("Self", learn(self, X, y, self.task, sample_weight, groups))

    def _release(
        self,
        domain: Domain,
        X: Any,
        records: Any,
        targets: Any,
        loss_for: LossFor,
        budget: Budget | None,
        assumed: str,
        weighing: Weighing,
        factors: Any = None,
    ) -> Released:
        terms = Terms.of(self, *public_facts(domain, self.loss, assumed))
        if self.method not in METHODS:
            raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        if self.method in METHODS[:2]:
            mapped = FourierFeatures.of(domain, self.landmarks) if self.method == "fourier" else self._map(domain, X)
            persons = weighing.persons
            units = persons.n if persons is not None else len(targets) if stand_alone() else None
            make = partial(mapped.features, alone=units)
            shares = weighing.shares(len(targets), factors)
            features: Any
            if isinstance(records, StreamedRows):
                with before_the_charge(self):
                    features = records.rows.mapped(make, mapped.count)
                targets, shares = beside(targets, features), None if shares is None else shares.beside(features)
            else:
                features = make(records)
            return release_linear(
                mapped, features, targets, loss_for, budget, self.perturbation, self.alpha, terms, shares
            )
        if factors is not None:
            raise InvalidParameter(f"method={self.method!r} takes no class_weight. Use 'landmarks' or 'fourier'.")
        weighing.refuse(f"method={self.method!r}")
        if budget is None:
            refuse_ledger(self.ledger)
            raise InvalidParameter(f"method={self.method!r} needs a finite epsilon. Use 'landmarks'.")
        check_proven(domain.kernel)
        over_net = self.method == "tdil"
        if over_net:
            net, answers, what = self._net(domain, X, budget), whole_number("rounds", self.rounds), "rounds"
        else:
            public = self._map(domain, X)
            answers, what = size_of(public.points), "landmarks"

        def foresee(count: int, budget: Budget, answers: int) -> AnswerNoise:
            multiple = answer_noise(self.method, budget, answers)
            return foresee_noise(self.loss, self.alpha, domain, count, multiple)

        noise = foresee_signal(foresee, size_of(records), budget, answers, what, self.alpha, self.random_state)
        loss, alpha = noise.loss, noise.alpha
        # By exact type: a subclass may be another function.
        if over_net and type(domain.kernel) is Linear:
            # Clipped here as everywhere: by itself the linear fit would refuse entries whose squares overflow.
            found = certified_linear(domain, domain.clipped(records), targets, loss, alpha)
        else:
            found = certified_model(domain, records, targets, loss, alpha, None)
        if over_net:
            return release_tdil(net, found, budget, answers, alpha, terms)
        return release_answers(public, found, budget, self.method, alpha, terms)

    def _map(self, domain: Domain, X: Any) -> Landmarks:
        return Landmarks.at(domain, landmarks_given(self.landmarks, X, domain))

    def _net(self, domain: Domain, X: Any, budget: Budget) -> Any:
        """Return the net: the points given, a lattice of so many, or nothing where the ball itself is drawn from."""
        if not is_whole(self.landmarks) or not domain.vectors:
            return landmarks_given(self.landmarks, X, domain)
        # By exact type: a subclass may have another bound.
        if type(domain.kernel) is Linear and not budget.is_pure:
            return None
        return lattice(domain.width, domain.norm, int(self.landmarks))

    @property
    def curves_(self) -> Effects:
        """The average effect of every column over made-up records; of models that learned from `Records`."""
        encoder = getattr(self, "encoder_", None)
        if encoder is None:
            raise AttributeError("curves_ is there after a fit to Records, whose schema says what columns mean.")
        return average_effects(
            encoder, self._effect, "score" if self.task == "classification" else encoder.schema.target
        )

    def _effect(self, X: Any) -> Floats:
        """Return what the model says of rows, in the units that its curves are drawn in."""
        return self._scores(X)

    @np.errstate(all="ignore")
    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "model_")
        alone = stand_alone(X)

        def scores(rows: Any) -> Floats:
            records = validated(self, rows, reset=False) if self.domain_.vectors else listed(rows)
            starts = range(0, size_of(records), _AT_A_TIME)
            return np.concatenate(
                [self.model_.scores(records[start : start + _AT_A_TIME], alone=alone) for start in starts]
            )

        return in_lots(self, X, scores)
