"""What a pipeline learned from private rows before a private estimator got them is neither private nor charged.

The mean and spread of a scaler, the components of a PCA, the levels that an encoder has seen are exact answers. They
move with each record, and all rows that the private estimator gets move with them: its proof counts one. Which steps
there are is public, and so is whether there is a warning.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from tacit.data.encoder import PublicEncoder
from tacit.errors import PrivacyWarning
from tacit.estimators.callers import callers
from tacit.estimators.seeds import OwnSeed


def warn_of_steps(estimator: object) -> None:
    """Warn if a pipeline that is being fitted has fitted steps to the rows that this estimator is about to learn from.

    Steps that learn nothing (a `PublicEncoder`, a function, a normaliser), are frozen, or are private themselves are
    no matter.
    """
    learned = [type(each).__name__ for steps in _earlier(estimator) for each in _learners(steps)]
    if learned:
        warnings.warn(
            f"{', '.join(dict.fromkeys(learned))} learned from the rows before {type(estimator).__name__} did: not "
            "private, not charged, and all rows move with it when one record is replaced, so that no guarantee holds. "
            "Put PublicEncoder(schema) in front instead, or fit Records; steps that learn nothing are no matter. If "
            "these rows are public, say so: with tacit.public_data(): ...",
            PrivacyWarning,
            stacklevel=2,
        )


def _earlier(estimator: object) -> Iterator[list[Any]]:
    """Yield all steps but the last of the pipelines that are being fitted, where that is what this estimator is in."""
    for frame in callers():
        own = frame.f_locals.get("self") if frame.f_code.co_name.startswith("fit") else None
        if isinstance(own, Pipeline):
            steps = [step for _, step in own.steps[:-1]]
            if not any(type(step) is type(estimator) for step in steps):
                yield steps


def _learners(steps: list[Any]) -> Iterator[Any]:
    """Yield what learns from rows among steps, and within those that are made of others."""
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _learners([each for _, each in step.steps])
        elif isinstance(step, FeatureUnion):
            yield from _learners([each for _, each in step.transformer_list])
        elif isinstance(step, ColumnTransformer):
            yield from _learners([*(each for _, each, _ in step.transformers), step.remainder])
        elif not _learns_nothing(step):
            yield step


def _learns_nothing(step: Any) -> bool:
    """Whether a step looks at no row, or is an estimator of tacit's, which says for itself what it is."""
    if step is None or isinstance(step, str | PublicEncoder | FrozenEstimator | OwnSeed):
        return True
    return not get_tags(step).requires_fit
