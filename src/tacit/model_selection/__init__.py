"""Private tuning: search and cross-validation that know their price before they run.

The defaults of tacit's estimators cost nothing and come first: even an oracle that picks the best ridge for free gains
little (docs/tuning.md).
"""

from tacit.model_selection.cross_validation import CrossValidation, cross_validation_price, private_cross_validate
from tacit.model_selection.needed import Needed, epsilon_for, sensible_epsilon
from tacit.model_selection.search import PrivateSearch

__all__ = [
    "CrossValidation",
    "Needed",
    "PrivateSearch",
    "cross_validation_price",
    "epsilon_for",
    "private_cross_validate",
    "sensible_epsilon",
]
