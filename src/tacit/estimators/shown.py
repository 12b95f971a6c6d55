"""How a notebook shows an estimator: its parameters, what it promises once it is fitted, what its ledger has left."""

from typing import Any

from tacit.errors import TacitError
from tacit.notebook import card


class Shown:
    """Estimators that show their guarantee in a notebook, in place of scikit-learn's diagram."""

    def _repr_html_(self) -> str:
        release, ledger = getattr(self, "release_", None), getattr(self, "ledger", None)
        facts = {"parameters": repr(self), "guarantee": "not fitted" if release is None else release.guarantee}
        if ledger is not None:
            try:
                facts["ledger"] = f"{ledger.name}: {ledger.remaining} left of {ledger.budget}"
            except TacitError:
                facts["ledger"] = f"{ledger.name}: cannot be read now"
        return card(type(self).__name__, facts)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
