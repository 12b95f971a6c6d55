"""Reports: figures beside scikit-learn's, error bars that cover, curves that are curves, one charge for all."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.statistical import count_fits, sample_size

from support.opened import cells_of, view_of
from tacit import Budget, Ledger, PrivateLinearRegression, PrivateLogisticRegression, Records, Schema, evaluation
from tacit.data import Category, Key, Number

GENERATOR = np.random.default_rng(7)
SIZE = 8000
X = GENERATOR.normal(size=(SIZE, 3))
ODDS = X @ np.array([1.5, -1.0, 0.5]) - 1.4
Y = (GENERATOR.random(SIZE) < 1 / (1 + np.exp(-ODDS))).astype(int)
TARGETS = X @ np.array([0.3, 0.2, -0.1]) + 0.3 * GENERATOR.normal(size=SIZE)
MODEL = LogisticRegression().fit(X[:500], Y[:500])
CHANCES = MODEL.predict_proba(X)[:, 1]
EXACT = {
    "auc": metrics.roc_auc_score(Y, CHANCES),
    "average_precision": metrics.average_precision_score(Y, CHANCES),
    "log_loss": metrics.log_loss(Y, CHANCES),
    "brier_score": metrics.brier_score_loss(Y, CHANCES),
    "accuracy": metrics.accuracy_score(Y, CHANCES > 0.5),
    "balanced_accuracy": metrics.balanced_accuracy_score(Y, CHANCES > 0.5),
    "precision": metrics.precision_score(Y, CHANCES > 0.5),
    "recall": metrics.recall_score(Y, CHANCES > 0.5),
    "f1": metrics.f1_score(Y, CHANCES > 0.5),
}


def _report(epsilon: float, seed: int, **options: Any) -> Any:
    return evaluation.report(MODEL, X, Y, epsilon=epsilon, random_state=seed, **options)


def test_a_large_epsilon_gives_scikit_learns_figures() -> None:
    """With next to no noise, all figures are scikit-learn's, up to what bins blur."""
    figures = _report(200.0, 1).figures()
    for name, exact in EXACT.items():
        assert figures[name].value == pytest.approx(exact, abs=0.004), name


def test_auc_at_half_an_epsilon_is_within_a_two_hundredth() -> None:
    """On 8,000 rows the mean distance from the exact AUC is below 0.005, and no figure is biased by it."""
    off = np.array([_report(0.5, seed).auc.value - EXACT["auc"] for seed in range(30)])
    assert np.mean(np.abs(off)) < 0.005
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(len(off)) + 0.001


def test_error_bars_cover_what_they_promise() -> None:
    """Ranges of noise cover the exact figure in about 95 % of releases (exact binomial bounds, 91 to 98.5 %)."""
    releases = sample_size(60)
    inside = dict.fromkeys(EXACT, 0)
    for seed in range(releases):
        for name, figure in _report(1.0, seed).figures().items():
            if name in EXACT:
                inside[name] += figure.noise[0] <= EXACT[name] <= figure.noise[1]
    total = sum(inside.values())
    assert 0.91 * releases * len(EXACT) <= total <= 0.985 * releases * len(EXACT), inside
    for name, count in inside.items():
        assert count_fits(count, releases, 0.95), name


@pytest.mark.parametrize("kind", ["few scores", "half of them one", "tails"])
def test_error_bars_cover_where_many_share_a_score_and_where_tails_are_heavy(kind: str) -> None:
    """Ranges of noise cover the exact AUC, log-loss and calibration error over the groups all the same."""
    generator = np.random.default_rng(5)
    odds = {
        "few scores": np.linspace(-3, 2, 9)[generator.integers(0, 9, SIZE)],
        "half of them one": np.where(generator.random(SIZE) < 0.5, -1.7, 1.5 * generator.normal(size=SIZE) - 1),
        "tails": generator.standard_t(2, SIZE) - 1,
    }[kind]
    chances = 1 / (1 + np.exp(-odds))
    labels = (generator.random(SIZE) < chances).astype(int)
    model, inside = _Says(chances), dict.fromkeys(("auc", "log_loss", "calibration_error"), 0)
    for seed in range(30):
        report = evaluation.report(model, X, labels, epsilon=1.0, random_state=seed)
        shares = report.calibration.shares(chances)
        assert np.allclose(shares.sum(axis=1), 1)
        excess = shares.T @ (chances - labels)
        exact = {
            "auc": metrics.roc_auc_score(labels, chances),
            "log_loss": metrics.log_loss(labels, chances),
            "calibration_error": np.sqrt(np.sum(excess**2 / np.maximum(shares.sum(axis=0), 1e-9)) / SIZE),
        }
        for name, value in exact.items():
            low, high = getattr(report, name).noise
            inside[name] += low <= value <= high
    for name, count in inside.items():
        assert count_fits(count, 30, 0.95), (name, count)


class _Says:
    """A model that says what it was told to."""

    classes_ = (0, 1)

    def __init__(self, chances: Any) -> None:
        self.chances = chances

    def predict_proba(self, rows: Any) -> Any:
        """Return the given probabilities."""
        return np.column_stack([1 - self.chances, self.chances])[: len(rows)]


@pytest.mark.parametrize("tail", ["student", "contaminated"])
def test_error_bars_of_a_regression_cover_heavy_tails(tail: str) -> None:
    """However far errors reach within the declared range, ranges of noise cover the exact R2, RMSE and MAE."""
    generator = np.random.default_rng(6)
    said = 0.1 * generator.normal(size=SIZE)
    error = 0.04 * generator.standard_t(2, SIZE)
    if tail == "contaminated":
        error = np.where(generator.random(SIZE) < 0.03, 0.6, 0.05) * generator.normal(size=SIZE)
    targets = np.clip(said + error, -1, 1)
    off = targets - said
    exact = {"rmse": np.sqrt(np.mean(off**2)), "mae": np.mean(np.abs(off)), "r2": metrics.r2_score(targets, said)}
    model: Any = SimpleNamespace(predict=lambda rows: said[: len(rows)])
    inside = dict.fromkeys(exact, 0)
    for seed in range(30):
        report = evaluation.report(model, X, targets, epsilon=1.0, target_range=(-1.0, 1.0), random_state=seed)
        for name, value in exact.items():
            low, high = getattr(report, name).noise
            inside[name] += low <= value <= high
    for name, count in inside.items():
        assert count_fits(count, 30, 0.95), (name, count)


def test_the_twin_with_a_quarter_of_the_error_bars_does_not_cover() -> None:
    """Ranges a quarter as wide would cover the exact AUC too seldom: the test above can fail."""
    off = [(_report(1.0, seed).auc, EXACT["auc"]) for seed in range(60)]
    covered = sum(abs(f.value - exact) <= (f.noise[1] - f.noise[0]) / 8 for f, exact in off)
    assert not count_fits(covered, 60, 0.95, 1e-3)


def test_sampling_bars_are_those_of_the_population() -> None:
    """The sampling part of the AUC's range is about Hanley and McNeil's, and both together are wider than either."""
    figure = _report(1.0, 3).auc
    area, ones = EXACT["auc"], int(Y.sum())
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (ones - 1) * (first - area**2) + (SIZE - ones - 1) * (second - area**2)
    deviation = np.sqrt(spread / (ones * (SIZE - ones)))
    assert (figure.sampling[1] - figure.sampling[0]) / 2 == pytest.approx(1.96 * deviation, rel=0.3)
    widths = [high - low for low, high in (figure.noise, figure.sampling, figure.interval)]
    assert widths[2] == pytest.approx(np.hypot(widths[0], widths[1]), rel=1e-3)


def test_one_charge_pays_for_everything(tmp_path: Path) -> None:
    """All figures, curves and pictures of a report are one entry of the ledger."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/x.db", name="x", budget=Budget(2, 1e-5))
    report = evaluation.report(MODEL, X, Y, epsilon=0.5, delta=1e-6, ledger=ledger)
    assert "replace-one" in str(report)
    assert "<table" in report._repr_html_()
    report.save(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert report.at(0.2)["recall"].value > report.recall.value
    assert len(ledger.entries()) == 1
    assert ledger.spent.epsilon <= 0.5
    assert report.release.private


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 10.0])
def test_curves_are_monotone_and_within_the_unit_square(epsilon: float) -> None:
    """However noisy, rates rise from 0 to 1, precisions are shares, and counts are not negative."""
    report = _report(epsilon, 2)
    for curve in (report.roc.x, report.roc.y, report.precision_recall.x):
        assert np.all(np.diff(curve) >= 0)
        assert curve[0] == 0
        assert curve[-1] == pytest.approx(1)
    assert np.all((report.precision_recall.y >= 0) & (report.precision_recall.y <= 1))
    assert np.all(np.diff(report.roc.thresholds) <= 0)
    assert np.all(report.confusion_matrix(0.3) >= 0)
    for figure in report.figures().values():
        assert figure.interval[0] <= figure.value <= figure.interval[1]
        assert figure.interval[0] <= figure.noise[0] + 1e-12
        assert figure.noise[1] <= figure.interval[1] + 1e-12


def test_the_best_threshold_follows_the_costs() -> None:
    """Dear misses lower it, dear alarms raise it; for a calibrated model it is near the ratio of costs."""
    report = _report(50.0, 1)
    assert report.best_threshold(false_positive=1, false_negative=4) == pytest.approx(0.2, abs=0.08)
    assert report.best_threshold(false_positive=4, false_negative=1) == pytest.approx(0.8, abs=0.08)


def test_calibration_is_found_and_a_model_that_exaggerates_is_noticed() -> None:
    """The calibration error of a calibrated model is nearly 0; of one with doubled log-odds its range excludes 0."""

    class Doubled:
        classes_ = (0, 1)

        def predict_proba(self, rows: Any) -> Any:
            """Return probabilities that are too sure."""
            odds = 2 * MODEL.decision_function(rows)
            return np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])

    assert _report(2.0, 1).calibration_error.value < 0.03
    sure = evaluation.report(Doubled(), X, Y, epsilon=2.0, random_state=1)
    assert sure.calibration_error.noise[0] > 0.03
    assert len(sure.calibration.observed) == len(sure.calibration.predicted)


@pytest.mark.parametrize(
    "model",
    [make_pipeline(StandardScaler(), LogisticRegression()), SGDClassifier(random_state=0),
     RandomForestClassifier(20, max_depth=4, random_state=0), DummyClassifier(),
     PrivateLogisticRegression(5.0, data_norm=4.0, random_state=0)],
)  # fmt: skip
def test_any_classifier_with_scores_is_judged(model: Any) -> None:
    """Pipelines, forests, constants and models without probabilities have an AUC within its own range of the exact."""
    model.fit(X[:2000], Y[:2000])
    report = evaluation.report(model, X, Y, epsilon=5.0, random_state=0, confidence=0.999)
    score = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.decision_function(X)
    exact = metrics.roc_auc_score(Y, score)
    assert report.auc.noise[0] - 0.003 <= exact <= report.auc.noise[1] + 0.003
    assert report.accuracy.value == pytest.approx(np.mean(model.predict(X) == Y), abs=0.01)


def test_several_classes_are_judged_jointly() -> None:
    """Each class against the rest, and all together, for one charge; the figures are scikit-learn's."""
    labels = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.7])
    model = LogisticRegression().fit(X, labels)
    chances = model.predict_proba(X)
    report = evaluation.report(model, X, labels, epsilon=50.0, random_state=0)
    own = metrics.roc_auc_score(labels, chances, multi_class="ovr", average="macro")
    assert report.auc.value == pytest.approx(own, abs=0.01)
    assert report.accuracy.value == pytest.approx(model.score(X, labels), abs=0.01)
    assert report.log_loss.value == pytest.approx(metrics.log_loss(labels, chances), abs=0.03)
    wrong = np.sum((chances - np.eye(3)[labels]) ** 2, axis=1).mean()
    assert report.brier_score.value == pytest.approx(wrong, abs=0.02)
    assert report.of(1).auc.value == pytest.approx(metrics.roc_auc_score(labels == 1, chances[:, 1]), abs=0.01)
    assert set(report.figures()) >= {"balanced_accuracy", "average_precision"}


def test_a_thousand_classes_work() -> None:
    """A report over 1,000 classes answers; what noise leaves of it, its ranges say."""

    class Many:
        classes_ = np.arange(1000)

        def predict_proba(self, rows: Any) -> Any:
            """Return the same for everybody."""
            return np.full((len(rows), 1000), 1e-3)

        def predict(self, rows: Any) -> Any:
            """Return the first class."""
            return np.zeros(len(rows), dtype=int)

    report = evaluation.report(Many(), X[:500], np.arange(500) % 1000, epsilon=1.0, random_state=0)
    low, high = report.accuracy.interval
    assert low <= 1 / 500 <= high
    assert 0 <= report.of(7).auc.value <= 1


def test_a_regression_is_judged() -> None:
    """R2, RMSE, MAE and the quantiles of errors are those of numpy, up to bins and noise."""
    model = LinearRegression().fit(X, TARGETS)
    off = TARGETS - model.predict(X)
    exact = {
        "r2": metrics.r2_score(TARGETS, model.predict(X)), "rmse": np.sqrt(np.mean(off**2)),
        "mae": np.mean(np.abs(off)), "median_absolute_error": np.median(np.abs(off)), "mean_error": np.mean(off),
    }  # fmt: skip
    named: dict[str, Any] = {"target_range": (-3.0, 3.0), "random_state": 0}
    report = evaluation.report(model, X, TARGETS, epsilon=5.0, **named)
    for name, figure in report.figures().items():
        assert figure.value == pytest.approx(exact[name], abs=0.015), name
        assert figure.noise[0] - 0.003 <= exact[name] <= figure.noise[1] + 0.003, name
    assert report.error_quantile(0.9).value == pytest.approx(np.quantile(off, 0.9), abs=0.02)
    assert report.coverage(-0.3, 0.3).value == pytest.approx(np.mean(np.abs(off) < 0.3), abs=0.01)
    assert report.interval_calibration((0.8,))[0.8].value == pytest.approx(0.8, abs=0.02)
    noisy = [evaluation.report(model, X, TARGETS, epsilon=1.0, **named | {"random_state": seed}) for seed in range(30)]
    covered = sum(each.r2.noise[0] <= exact["r2"] <= each.r2.noise[1] for each in noisy)
    assert count_fits(covered, 30, 0.95)


SCHEMA = Schema(
    {
        "a": Number(-3, 3),
        "b": Number(-3, 3),
        "c": Number(-3, 3),
        "who": Key(),
        "y": Category(["no", "yes"], positive="yes"),
    },
    target="y",
)


def test_persons_count_once_however_many_rows_they_have() -> None:
    """With a unit, a person's rows share a weight of 1: one who fills half of the table is one of the persons."""
    table = {"a": X[:1000, 0], "b": X[:1000, 1], "c": X[:1000, 2], "y": np.where(Y[:1000] == 1, "yes", "no")}
    table["who"] = np.where(np.arange(1000) < 500, "busy", np.arange(1000).astype(str))
    model = PrivateLogisticRegression(float("inf"))
    plain = Schema({name: column for name, column in SCHEMA.columns.items() if name != "who"}, target="y")
    model.fit(Records({name: table[name] for name in plain.columns}, plain))
    records = Records(table, SCHEMA, unit="who")
    assert records.n == 501
    report = evaluation.report(_Known(model), records, epsilon=1000.0, random_state=0)
    assert sum(each.sum() for each in report.release.value.counts) == pytest.approx(501, abs=0.5)
    assert "person" in evaluation.report(_Known(model), records, epsilon=1.0).release.guarantee
    weights = view_of(records).weights()
    assert weights is not None
    right = (_Known(model).predict(records) == table["y"]) * weights
    assert report.accuracy.value == pytest.approx(right.sum() / 501, abs=0.01)
    single = evaluation.accuracy(_Known(model), records, epsilon=1000.0, random_state=0)
    assert single.value == pytest.approx(right.sum() / 501, abs=1e-3)
    counts = evaluation.confusion_matrix(_Known(model), records, epsilon=1000.0, random_state=0)
    assert counts.value.sum() == pytest.approx(501, abs=0.5)
    assert counts.noise_error < 0.1
    assert "true" in str(counts)


class _Known:
    """A model of records that reads the columns it knows."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def _rows(self, records: Any) -> Any:
        return cells_of(records, "a", "b", "c")

    def predict(self, records: Any) -> Any:
        """Return classes."""
        return self.model.predict(self._rows(records))

    def predict_proba(self, records: Any) -> Any:
        """Return probabilities."""
        return self.model.predict_proba(self._rows(records))


def test_records_bring_targets_ranges_and_accounts(tmp_path: Path) -> None:
    """A part of a split pays from its own account, and a Number declares the range of targets."""
    schema = Schema({"a": Number(-3, 3), "y": Number(-3, 3)}, target="y")
    records = Records({"a": X[:, 0], "y": TARGETS}, schema)
    train, test = records.split()
    ledger = Ledger.create(f"sqlite:///{tmp_path}/x.db", name="x", budget=Budget(1))
    model = PrivateLinearRegression(1.0, ledger=ledger).fit(train)
    report = evaluation.report(model, test, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(1)
    assert report.target_range == (-3.0, 3.0)
    report.save(tmp_path / "regression.png")
    assert (tmp_path / "regression.png").exists()
