"""Seeds that nobody gave: an ensemble of scikit-learn's seeds what it fits, and a seeded fit is a rehearsal.

`BaggingClassifier`, `AdaBoostClassifier` and others copy their estimator and give each copy a seed of their own. Such a
copy would be neither private nor charged. So a seed is taken from its owner only: from whoever makes an estimator or
sets its parameters, be it through a pipeline or the grid of a search, and not from within scikit-learn.
"""

from collections.abc import Mapping
from typing import Any

from tacit.errors import InvalidParameter
from tacit.estimators.callers import callers

_OWNERS = ("sklearn.model_selection.", "sklearn.utils.")
"""Parts of scikit-learn that set what somebody else told them: grids of candidates, and its own checks."""


class OwnSeed:
    """Estimators that take a seed from their owner only."""

    random_state: object

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as scikit-learn's estimators do; refuse a seed that an ensemble of its makes up."""
        _refuse_made_up(self, params)
        return super().set_params(**params)  # type: ignore[misc]


def _refuse_made_up(estimator: OwnSeed, params: Mapping[str, Any]) -> None:
    if params.get("random_state") is None or estimator.random_state is not None:
        return
    asking = ""
    for frame in callers():
        # A pipeline hands on what it was told to set.
        if frame.f_code.co_name not in ("set_params", "_set_params"):
            asking = str(frame.f_globals.get("__name__", ""))
            break
    if asking.startswith("sklearn.") and not asking.startswith(_OWNERS):
        raise InvalidParameter(
            f"{asking} gives {type(estimator).__name__} a seed, which would make its fit a rehearsal: neither private "
            "nor charged. Nothing was fitted or charged. Fit the estimator by itself, once; to rehearse the whole on "
            "public rows, give it a seed of your own."
        )
