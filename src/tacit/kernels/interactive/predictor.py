"""Answers on demand from a secret kernel model: the trusted learner of the interactive setting."""

import os
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.data.columns import Number
from tacit.data.encoder import PublicEncoder
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.estimators.classes import check_told
from tacit.estimators.encoded import learn
from tacit.estimators.exact_scores import exact_score
from tacit.estimators.fitted import refuse_containers
from tacit.estimators.parameters import needed_budget
from tacit.estimators.price import Priced
from tacit.estimators.weighing import Weighing
from tacit.kernels.fit.reading import (
    CLASSIFICATION,
    LOSSES,
    Alpha,
    Certified,
    certified_model,
    foreseen,
    needed_kernel,
    public_facts,
    read_points,
    read_records,
    read_targets,
)
from tacit.kernels.fit.ridge import AnswerNoise, foresee_noise, foresee_signal
from tacit.kernels.interactive.memory import ProcessMemory
from tacit.kernels.interactive.pinp import Pinp, PinpPath, pinp_noise
from tacit.kernels.interactive.session import USUAL, AnswerSession, PinpAnswerer, PointAnswers, ProcessAnswerer
from tacit.kernels.interactive.state_file import FileMemory, check_new
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Kernel, size_of
from tacit.kernels.maps.landmarks import Landmarks, landmarks_given
from tacit.mechanisms.process import GaussianProcess, SamplePath
from tacit.releases import Release, Terms

_MOST_POINTS = (10_000, 3_000, 1_000, 300, 100)
_WEIGHT = 1 / 4
"""Of PINP's threshold in the ridge, so that it is four times other noise (benchmarks/results/kernel_ridge.md)."""
_CHOICES = {"method": ("gaussian-process", "pinp"), "loss": LOSSES, "constants": ("certified", "published")}


@final
@dataclass(eq=False, repr=False)
class InteractiveKernelPredictor(Priced, BaseEstimator):  # type: ignore[misc]
    """A kernel model that stays with the learner and answers points with noise, in any order, as they are asked.

    Guarantee: all answers together are (epsilon, delta)-private for replace-one neighbours, charged once by `fit`.
    Assumes: public are n, the number of features, `data_norm`, the kernel with its bound, the ridge, and the classes or
    `target_range`; answers are given by copies that share one memory.
    Reference: tacit/kernels/interactive/predictor.md, tacit/mechanisms/process.md, tacit/kernels/interactive/pinp.md.

    Parameters
    ----------
    kernel : a kernel, e.g. RBF(1.0) or Polynomial(3, constant=1.0); add a number for an intercept.
    epsilon, delta : the budget of the fit and of all its answers; delta must be above 0.
    method : "gaussian-process" (up to 10,000 different points, then extrapolation; the default) or "pinp".
    constants : for PINP, "certified", or "published" for those of the paper.
    loss : "logistic", "huber" or "hinge" for two classes; "squared" or "absolute" (Huber's) for numbers.
    alpha : the ridge; "auto" makes the noise in an answer a share of a unit of the score, from public quantities.
        Where answers would be noise or 0 at any ridge, the fit is refused before its charge; with an alpha it warns.
    landmarks : public points (or their number): the model is restricted to their span. Needed from 20,001 records on,
        and for a kernel of your own, which is not known to be positive semi-definite.
    queries, failure : for PINP, how many answers its error bound is for, and how often it may fail.
    state : the path of a new file that keeps what was answered, so that copies and restarts go on together; that file,
        and a pickle of the predictor, are then as secret as the records, and an older file must never be put back.
        Without it answers live in this process, and a pickle, which holds nothing secret, can repeat them and
        extrapolate, not draw new ones.
    data_norm, classes, target_range, ledger, random_state : as for tacit's other estimators.

    Attributes
    ----------
    classes_, alpha_, release_, n_features_in_ : as for `PrivateLogisticRegression`; `classes_` is None for numbers.
    """

    keeps_answers: ClassVar[bool] = True

    kernel: Kernel | None = None
    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    method: Literal["gaussian-process", "pinp"] = "gaussian-process"
    constants: Literal["certified", "published"] = "certified"
    loss: str = "logistic"
    alpha: Alpha = "auto"
    data_norm: float | None = None
    landmarks: Any = None
    queries: int = 10_000
    failure: float = 0.05
    classes: ArrayLike | None = None
    target_range: tuple[float, float] | None = None
    state: str | os.PathLike[str] | None = None

    @np.errstate(all="ignore")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the secret model and charge for all its answers; none is given yet."""
        check_told(self.classes, X)
        refuse_containers(self)
        return cast("Self", learn(self, X, y, "regression" if self.loss not in CLASSIFICATION else "classification"))

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        weighing.refuse(type(self).__name__)
        budget = self._checked_budget()
        regression = self.loss not in CLASSIFICATION
        domain, records, labels = read_records(self, needed_kernel(self.kernel), self.data_norm, X, y, regression)
        targets = read_targets(labels, self.classes, self.target_range, regression)
        noise = foresee_signal(
            partial(self._foresee, domain), size_of(records), budget, self.queries if self.method == "pinp" else 1,
            "queries", self.alpha, self.random_state,
        )  # fmt: skip
        loss, alpha = noise.loss, noise.alpha
        mapped = None if self.landmarks is None else Landmarks.at(domain, landmarks_given(self.landmarks, X, domain))
        if self.state is not None:
            check_new(self.state)
        if mapped is None:
            # What cannot be paid is refused before the long solve.
            Terms.of(self).require_room(self._law(budget, foreseen(domain, size_of(records), loss, alpha)))
        certified = certified_model(domain, records, targets.values, loss, alpha, mapped)
        law = self._law(budget, certified)
        public = (*public_facts(domain, self.loss, targets.assumed), f"alpha={alpha:.6g}", *law.public)
        if mapped is not None:
            public = (*public, f"{mapped.count} features by public landmarks")
        found: Release[SamplePath | PinpPath] = Terms.of(self, *public).release(law, certified.model)
        path = found.value
        memory = ProcessMemory() if self.state is None else FileMemory.create(self.state, path.mark)
        self._session = AnswerSession(certified.domain, law, path.secret, path.mark, certified.size, memory)
        self._domain, self._mapped, self._targets = domain, mapped, (targets.middle, targets.scale)
        self.classes_ = targets.classes
        self.alpha_ = alpha
        self.release_ = found.map(lambda _: "answers on demand")

    def _checked_budget(self) -> Budget:
        budget = needed_budget(self.epsilon, self.delta)
        if budget is None:
            raise InvalidParameter("an interactive predictor needs a finite epsilon.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidParameter(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}.")
        if self.constants == "published" and self.method != "pinp":
            raise InvalidParameter("constants='published' are those of method='pinp'.")
        if budget.is_pure:
            raise InvalidParameter(
                "answers on demand need delta > 0, got 0. Give a delta well below 1/n, or use PrivateKernelClassifier."
            )
        return budget

    def _foresee(self, domain: Domain, count: int, budget: Budget, queries: int) -> AnswerNoise:
        """Return the loss, the ridge, and what answers will be off by: a standard deviation, or PINP's bound."""
        if self.method != "pinp":
            return foresee_noise(self.loss, self.alpha, domain, count, 1 / gaussian_shift(budget))

        def at(multiple: float) -> AnswerNoise:
            return foresee_noise(self.loss, self.alpha, domain, count, multiple, _WEIGHT)

        def compared(multiple: float) -> tuple[float, float]:
            noise = at(multiple)
            return noise.error, noise.largest

        noise = at(pinp_noise(budget, queries, self.failure, compared))
        size, moved = noise.largest / domain.radius, 2 * noise.loss.lipschitz * domain.radius / (count * noise.alpha)
        published = self.constants == "published"
        law = Pinp(budget, moved, domain.square, 0.0, size, queries, self.failure, published)
        return replace(noise, error=law.error)

    def _law(self, budget: Budget, certified: Certified) -> GaussianProcess | Pinp:
        square = certified.domain.square
        if self.method == "pinp":
            return Pinp(
                budget, certified.sensitivity, square, certified.value_error, certified.size, self.queries,
                self.failure, self.constants == "published",
            )  # fmt: skip
        refusal = ""
        for most in _MOST_POINTS:
            try:
                return GaussianProcess(
                    budget, certified.sensitivity, square, certified.domain.accuracy, certified.value_error,
                    certified.reach, most,
                )  # fmt: skip
            except InvalidParameter as error:
                # Fewer points may still be certified, whatever was in the way: all of it is public.
                refusal = str(error)
        raise InvalidParameter(
            f"{refusal} Even {most} points are too many here: use a larger epsilon or alpha, "
            "or a kernel that changes less over data_norm."
        )

    @np.errstate(all="ignore")
    def answer(self, Z: Any) -> PointAnswers:
        """Return noisy values of the model at points, with their error bars; a point asked again keeps its answer."""
        check_is_fitted(self, "release_")
        points = read_points(self, self._domain, Z)
        if self._mapped is not None:
            points = self._session_points(points)
        found = self._session.ask(points)
        middle, scale = self._targets
        deviation, error = found.standard_deviation * scale, found.error * scale
        return PointAnswers(found.values * scale + middle, deviation, error, found.guaranteed)

    def _session_points(self, points: Any) -> Any:
        assert self._mapped is not None
        # Points are public: what a user's function cannot take is refused, before any noise.
        self._domain.kernel.public_diagonal(points)
        # One by one, so that a point's coordinates do not depend on what else is asked with it.
        rows = [self._mapped.features(points[place : place + 1]) for place in range(size_of(points))]
        return self._mapped.inner_domain.clipped(np.concatenate(rows).astype(np.float64))

    def expected_error(self, X: Records) -> float:
        """Return about how far off answers about these records will be, by public facts alone: no record is read.

        It is what 95 of 100 answers of a Gaussian process stay below where K(z, z) is largest, and PINP's error bound.
        """
        budget, encoder = self._checked_budget(), PublicEncoder(X.schema)
        width = len(encoder.get_feature_names_out())
        domain = Domain(needed_kernel(self.kernel), encoder.data_norm, width)
        noise = self._foresee(domain, X.n, budget, self.queries)
        law = self._law(budget, foreseen(domain, X.n, noise.loss, noise.alpha))
        target = X.schema.columns.get(str(X.schema.target))
        scale = (target.high - target.low) / 2 if isinstance(target, Number) else 1.0
        error = law.error if isinstance(law, Pinp) else USUAL * float(law.deviation(np.array([domain.square]))[0])
        return error * scale

    def predict(self, Z: Any) -> Any:
        """Return the likelier class, or the number, that the answers say; asks like `answer`."""
        values = self.answer(Z).values
        return values if self.classes_ is None else self.classes_[(values > 0).astype(np.intp)]

    def score(self, Z: Any, y: Any) -> float:
        """Return the accuracy of the classes, or R^2 of the numbers, that the answers say, exactly: the labels y are
        NOT protected, and nothing is charged for them. A private score is one of a released model, such as
        `PrivateKernelClassifier`: this one keeps every point that it is asked about.
        """
        from sklearn.metrics import accuracy_score, r2_score

        return exact_score(self, accuracy_score if self.loss in CLASSIFICATION else r2_score, Z, y, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.sparse = True, False
        if self.loss in CLASSIFICATION:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    @property
    def head_(self) -> tuple[int, str]:
        """How many answers are in the state file, and the hash of them all: write it down elsewhere, after every
        answer and before it is passed on, to notice an older file later (`tacit.models.secret.reopen`).
        """
        check_is_fitted(self, "release_")
        memory = self._session.memory
        if not isinstance(memory, FileMemory):
            raise AttributeError("only answers in a state file have a head: fit with state=path.")
        count, link = memory.head
        return count, link.hex()

    def go_on_from(self, head: tuple[int, str]) -> None:
        """Refuse from now on, with `LedgerCorrupt`, a state file in which the answers of a `head_` are not."""
        check_is_fitted(self, "release_")
        memory = self._session.memory
        if not isinstance(memory, FileMemory):
            raise AttributeError("only answers in a state file have a head: fit with state=path.")
        self._session.memory = memory.going_on_from(*head)

    @property
    def points_left_(self) -> int | None:
        """How many more different points a Gaussian process answers; None for PINP, which has no such limit."""
        check_is_fitted(self, "release_")
        answerer = self._session.answerer
        return int(answerer.room) if isinstance(answerer, ProcessAnswerer) else None

    @property
    def updates_left_(self) -> int | None:
        """How many corrections PINP has left; None for the Gaussian process, which needs none."""
        check_is_fitted(self, "release_")
        answerer = self._session.answerer
        return answerer.path.left if isinstance(answerer, PinpAnswerer) else None
