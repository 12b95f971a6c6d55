"""What could be too large to keep is refused before it is charged, and what is let through can be kept."""

from bisect import bisect

import pytest

from support.service import running
from tacit.data.columns import Number
from tacit.data.levels import Category
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter, ModelFileError
from tacit.models import container
from tacit.models.file import bytes_of
from tacit.queries import ConjunctionClassifier, DecisionListClassifier, SQDecisionTree, SQNaiveBayes
from tacit.service.jobs.sizes import check_work

EXACT = float("inf")
LEARNERS = {
    "cuts": SQNaiveBayes(EXACT, bins=40),
    "nodes": SQDecisionTree(EXACT, max_depth=5),
    "rules": DecisionListClassifier(EXACT, max_rules=15),
    "literals": ConjunctionClassifier(EXACT, monotone=False),
}


def made_up(columns: int, name: str = "x") -> Records:
    """Return records with so many numbers, and two classes."""
    numbers = {f"{name}{place}": Number(0, 1) for place in range(columns)}
    return Schema({**numbers, "y": Category(["no", "yes"], positive="yes")}, "y").twin(300, 0, signal=3.0)


def test_a_wide_learner_is_refused_by_its_schema() -> None:
    """Thousands of columns, each cut into a hundred parts, are more than a document holds; fewer parts are not."""
    records = made_up(2400)
    check_work(SQNaiveBayes(1.0), records)
    with pytest.raises(ModelFileError, match="no model file could hold what SQNaiveBayes may learn"):
        check_work(SQNaiveBayes(1.0, bins=100), records)


def test_long_names_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conjunction has the names of its columns in its literals, besides those of the schema."""
    records = made_up(300, "a name of many words that stands for what was measured, ")
    check_work(ConjunctionClassifier(1.0), records)
    monkeypatch.setattr(container, "LONGEST_DOCUMENT", 80_000)
    with pytest.raises(ModelFileError, match="ConjunctionClassifier"):
        check_work(ConjunctionClassifier(1.0), records)


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_is_let_through_can_be_kept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the widest table that is not refused, with a document of some thousand values, the model is saved."""
    monkeypatch.setattr(container, "MOST_VALUES", 4000)
    learner = LEARNERS[kind]

    def passes(columns: int) -> bool:
        try:
            check_work(learner, made_up(columns))
        except ModelFileError:
            return False
        return True

    widest = bisect(range(1, 400), False, key=lambda columns: not passes(columns))
    assert 1 < widest < 399
    assert b"".join(bytes_of(learner.fit(made_up(widest))))


def test_a_size_that_is_none_is_refused_in_words() -> None:
    """As the fit would refuse it."""
    with pytest.raises(InvalidParameter, match="max_depth"):
        check_work(SQDecisionTree(1.0, max_depth=-1), made_up(3))


def test_nothing_is_charged_for_what_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a price nor a job: the request is refused at once."""
    with running(tmp_path) as served:
        fit = {"estimator": "SQNaiveBayes", "parameters": {"epsilon": 0.1, "bins": 100}, "part": "all"}
        assert served.post("/v1/datasets/clinic/price", {"what": "fit", **fit}).status_code == 200
        monkeypatch.setattr(container, "MOST_VALUES", 300)
        for route, body in (("fits", fit), ("price", {"what": "fit", **fit})):
            refused = served.post(f"/v1/datasets/clinic/{route}", body)
            assert refused.status_code == 400
            assert refused.json()["error"]["kind"] == "ModelFileError"
        assert not served.service.datasets.get("clinic").account.spent
