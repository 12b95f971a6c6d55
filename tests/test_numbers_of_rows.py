"""How many rows a person has is private: nothing that is said, printed, priced or warned of depends on it."""

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression, Records, evaluation, statistics
from tacit.data import Category, Key, Number, Schema
from tacit.errors import InvalidParameter
from tacit.model_selection import PrivateSearch, private_cross_validate
from tacit.queries import SQDecisionTree, SQNaiveBayes
from tacit.releases import Release
from tacit.reports.card import card_of_model

COLUMNS = {
    "a": Number(0, 1), "ward": Category(["x", "y"]), "who": Key(), "ill": Category(["no", "yes"], positive="yes"),
    "days": Number(0, 1),
}  # fmt: skip
PERSONS = 200


def table(rows: int) -> dict[str, Any]:
    """Make 200 persons, the first of whom has so many rows, all alike."""
    coins = np.random.default_rng(0)
    others = {"a": coins.random(PERSONS - 1), "ward": coins.choice(["x", "y"], PERSONS - 1)}
    others |= {"ill": coins.choice(["no", "yes"], PERSONS - 1), "days": coins.random(PERSONS - 1)}
    first = {"a": 0.5, "ward": "x", "ill": "no", "days": 0.5}
    cells = {name: np.concatenate([np.full(rows, first[name]), each]) for name, each in others.items()}
    return {**cells, "who": np.concatenate([np.zeros(rows, int), np.arange(1, PERSONS)])}


def records(rows: int, target: str = "ill", memory: int = 2**29) -> Records:
    """Open such a table about persons."""
    return Records(table(rows), Schema(COLUMNS, target=target), unit="who", name="visits", memory=memory)


def told(model: Any) -> list[Any]:
    """Return all that a fitted model says, but for what was drawn: of that, the shapes."""
    drawn = {"coef_", "intercept_", "encoder_"}
    if getattr(model, "perturbation", "") == "statistics":
        # Of released statistics the noise in a coefficient is estimated from those.
        drawn |= {"coef_noise_", "intercept_noise_"}
    facts: list[Any] = [model.release_.guarantee, str(model.release_.event), model.release_.unit]
    for name, value in sorted(vars(model).items()):
        if name in drawn:
            facts.append((name, np.shape(value)))
        elif isinstance(value, np.ndarray | float | int | str):
            facts.append((name, np.asarray(value).tolist()))
    return facts


def fitted(make: Callable[[], Any], **how: Any) -> Callable[[int], Any]:
    """Return a course: the price of a fit, and what the model says."""

    def course(rows: int) -> Any:
        found = records(rows, **how)
        model = make()
        return str(model.price(found)), repr(found), found._repr_html_(), told(model.fit(found))

    return course


def by_groups(rows: int) -> Any:
    """Fit arrays with ids beside them."""
    cells = table(rows)
    model = PrivateLogisticRegression(1.0, 1e-3, data_norm=2.0, classes=["no", "yes"])
    return told(model.fit(cells["a"][:, None], cells["ill"], groups=cells["who"]))


def scores(rows: int) -> Any:
    """Ask for scores of a fixed model."""
    model = PrivateLogisticRegression(1.0, random_state=1).fit(records(3))
    found = evaluation.report(model, records(rows), epsilon=1.0)
    single = evaluation.accuracy(model, records(rows), epsilon=1.0)
    matrix = evaluation.confusion_matrix(model, records(rows), epsilon=1.0)
    assert isinstance(found, evaluation.TwoClassReport)
    return (
        found.release.guarantee, found.table.size, found.table.noise.tolist(), single.release.guarantee,
        single.noise_error, single.sampling_error, matrix.release.guarantee, matrix.noise_error,
    )  # fmt: skip


class Silent:
    """A model that says nothing, whatever it is asked."""

    classes_ = np.array(["no", "yes"])

    def predict(self, rows: Any) -> Any:
        """Return no answer, of seven numbers each."""
        return np.zeros((0, 7))

    predict_proba = predict


def refusals(rows: int) -> Any:
    """Judge a model that gives no answers."""
    found = []
    for score in (evaluation.report, evaluation.accuracy, evaluation.log_loss, evaluation.confusion_matrix):
        with pytest.raises(InvalidParameter) as caught:
            score(Silent(), records(rows), epsilon=1.0)
        found.append(str(caught.value))
    return found


def figures(rows: int) -> Any:
    """Ask for statistics."""
    cells, how = table(rows), {"epsilon": 1.0, "groups": table(rows)["who"]}
    asked: list[Release[Any]] = [
        statistics.count(cells["a"] > 0.5, **how), statistics.mean(cells["a"], low=0, high=1, **how),
        statistics.histogram(cells["ward"], levels=["x", "y"], **how),
        statistics.quantile(cells["a"], 0.5, low=0, high=1, **how),
    ]  # fmt: skip
    # How far off a ratio is follows from its noisy count.
    return [(each.guarantee, each is asked[1] or each.noise_error, str(each.event)) for each in asked]


def kept(rows: int) -> Any:
    """Return the card of a model and the size of its file."""
    model = PrivateLogisticRegression(1.0).fit(records(rows))
    tacit.save(model, "kept.tacit")
    return card_of_model(model).to_yaml(), Path("kept.tacit").stat().st_size


def chosen(rows: int) -> Any:
    """Search, and cross-validate."""
    found = PrivateSearch(PrivateLogisticRegression(), {"alpha": [0.1]}, epsilon=1.0, runs=1.5).fit(records(rows))
    scored = private_cross_validate(PrivateLogisticRegression(1.0), records(rows), epsilon=1.0, folds=2)
    return found.release_.guarantee, found.score_noise_, scored.release.guarantee, scored.noise_error


COURSES: dict[str, Callable[[int], Any]] = {
    "objective": fitted(lambda: PrivateLogisticRegression(1.0)),
    "delta": fitted(lambda: PrivateLogisticRegression(1.0, 1e-3)),
    "gradients": fitted(lambda: PrivateLogisticRegression(1.0, 1e-3, perturbation="gradient", alpha=1e-3)),
    "output": fitted(lambda: PrivateLogisticRegression(1.0, perturbation="output")),
    "on disk from some number of rows on": fitted(lambda: PrivateLogisticRegression(1.0), memory=30_000),
    "support vectors": fitted(lambda: PrivateLinearSVC(1.0)),
    "regression": fitted(lambda: PrivateLinearRegression(1.0), target="days"),
    "statistics": fitted(lambda: PrivateLinearRegression(1.0, perturbation="statistics"), target="days"),
    "naive Bayes": lambda rows: SQNaiveBayes(1.0).fit(records(rows)).release_.guarantee,
    "tree": lambda rows: SQDecisionTree(1.0).fit(records(rows)).release_.guarantee,
    "groups": by_groups, "scores": scores, "refusals": refusals, "figures": figures, "kept": kept, "chosen": chosen,
}  # fmt: skip


@pytest.mark.parametrize("course", COURSES)
def test_nothing_tells_how_many_rows_a_person_has(course: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row or 2000 for one of 200 persons: the same words, prices, noise, sizes, warnings and prints."""
    monkeypatch.chdir(tmp_path)
    heard = []
    for rows in (1, 2000):
        printed = io.StringIO()
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            found = COURSES[course](rows)
        heard.append((str(found), [str(each.message) for each in warned], printed.getvalue()))
    assert heard[0] == heard[1]


def test_a_number_of_rows_that_is_told_is_seen() -> None:
    """The twin: fitted as records, the same tables are told apart by their words."""
    plain = [
        str(told(PrivateLogisticRegression(1.0).fit(Records(table(rows), Schema(COLUMNS, target="ill")))))
        for rows in (1, 2000)
    ]
    assert plain[0] != plain[1]
