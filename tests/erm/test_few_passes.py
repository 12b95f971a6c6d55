"""How often a fit goes through rows that are not in memory."""

from typing import Any

import numpy as np
import pytest

from tacit import PrivateLogisticRegression, Records, Schema
from tacit.data import Flag, Number
from tacit.erm.losses.standard import HuberHinge, Logistic
from tacit.erm.rows.rows import Rows
from tacit.erm.solver import newton
from tacit.erm.solver.hessian import mean_hessian, weigher_at
from tacit.erm.solver.objective import Objective
from tacit.numerics.exact import Point

ROWS, COLUMNS = 150_000, 20
MOST = 6


def _records(kind: str) -> Records:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(ROWS, COLUMNS))
    if kind == "ill":
        rows = rows * np.geomspace(1, 1e-3, COLUMNS) + rows[:, :1]
    answers = rows @ rng.normal(size=COLUMNS) + rng.logistic(size=ROWS) > 0
    table = {f"x{place}": column for place, column in enumerate(rows.T)} | {"y": answers}
    columns = {f"x{place}": Number(-4, 4) for place in range(COLUMNS)}
    return Records(table, Schema({**columns, "y": Flag()}, target="y"), memory=2**20)


def _passes(monkeypatch: pytest.MonkeyPatch, records: Records) -> tuple[int, Any]:
    """Fit, and return how often all rows were gone through after they were encoded, and the model."""
    seen: list[int] = []
    for name in ("evaluate", "model"):
        honest = getattr(newton.Smooth, name)

        def counted(self: Any, *arguments: Any, honest: Any = honest, **named: Any) -> Any:
            seen.append(self.objective.rows.length)
            return honest(self, *arguments, **named)

        monkeypatch.setattr(newton.Smooth, name, counted)
    model = PrivateLogisticRegression(1.0, curves=False, random_state=1).fit(records)
    monkeypatch.undo()
    return seen.count(ROWS), model


@pytest.mark.parametrize("kind", ["well", "ill"])
def test_a_streamed_fit_goes_through_its_rows_at_most_six_times(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The pass that encodes them included; without the Hessian that comes along with a gradient it is more often."""
    records = _records(kind)
    few, model = _passes(monkeypatch, records)
    monkeypatch.setattr(newton, "_NARROW", 0)
    more, other = _passes(monkeypatch, records)
    assert few + 1 <= MOST
    assert more + 1 > MOST
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=0, atol=1e-6 * np.abs(other.coef_).max())


@pytest.mark.parametrize("loss", [Logistic(0.0), Logistic(2.0), HuberHinge(0.5)])
@pytest.mark.parametrize("accurate", [False, True])
def test_a_gradient_with_its_hessian_is_the_gradient_and_the_hessian(loss: Any, accurate: bool) -> None:
    """To the last digits, with shares of rows too."""
    rng = np.random.default_rng(4)
    rows = Rows.clipped(rng.normal(size=(700, 5)), 1.0)
    targets = np.where(rng.random(700) < 0.5, -1.0, 1.0)
    objective, point = Objective(rows, targets, loss, 1e-3), Point(rng.normal(size=5))
    with objective.threads() as workers:
        gradient, hessian = objective.gradient_and_hessian(workers, point, accurate=accurate)
        np.testing.assert_allclose(gradient, objective.gradients(workers, point), rtol=1e-12, atol=1e-15)
        whole = mean_hessian(objective, workers, weigher_at(point))
    np.testing.assert_allclose(hessian, whole, rtol=1e-12, atol=1e-15)
