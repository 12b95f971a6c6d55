"""Reports say that records were held out only where that is known."""

import numpy as np
import pytest

from tacit import PrivateLinearRegression, Records, Schema
from tacit.data.columns import Key, Number
from tacit.evaluation import report
from tacit.model_selection import PrivateSearch
from tacit.models.file import load, save

SCHEMA = Schema({"x": Number(0, 1), "y": Number(0, 1), "who": Key(), "house": Key()}, target="y")


def table(count=400):
    """Return a table with two keys."""
    places = np.arange(count)
    x = places % 7 / 7
    return {"x": x, "y": x / 2, "who": places // 2, "house": places // 3}


def fitted(records):
    """Return a rehearsal on records."""
    return PrivateLinearRegression(1.0, random_state=1).fit(records)


def title(model, records):
    """Return what a rehearsed report says of the records."""
    return report(model, records, epsilon=1.0, random_state=1).title


def test_the_other_part_of_the_split_is_held_out():
    """Also after the model was in a file, and by a key; the model's card says what it learned from."""
    train, test = Records(table(), SCHEMA, key="who").split(by="key")
    model = fitted(train)
    assert f"{test.n:,} records held out" in title(model, test)
    assert "held out" in title(fitted(test), train)


def test_a_model_file_knows_what_it_was_fitted_to(tmp_path):
    """Its card says how many records, which part and by which key; what is told of a part stays the same."""
    train, test = Records(table(), SCHEMA).split()
    save(fitted(train), tmp_path / "m.tacit")
    model = load(tmp_path / "m.tacit")
    assert model.card_.tacit["learned from"]["n"] == train.n
    assert model.card_.tacit["learned from"]["part"] == "train"
    assert "held out" in title(model, test)
    with pytest.warns(UserWarning, match="that the model was fitted to"):
        assert "held out" not in title(model, train)


def test_records_that_a_model_was_fitted_to_are_called_so():
    """The same part, all after a part, a part after all, and a split by another key: each with a warning."""
    by_who = Records(table(), SCHEMA, key="who")
    train, _ = by_who.split(by="key")
    model, whole = fitted(train), fitted(by_who)
    _, by_place = by_who.split()
    for judged, records in ((model, train), (model, by_who), (whole, train), (whole, by_who), (model, by_place)):
        with pytest.warns(UserWarning, match="that the model was fitted to"):
            said = title(judged, records)
        assert "records that the model was fitted to" in said
        assert "held out" not in said


def test_what_is_not_known_is_called_judged():
    """Another table may be a copy of this one, and arrays have no parts; a new fit on arrays forgets the old one."""
    train = Records(table(), SCHEMA).split()[0]
    other = Records(table(), SCHEMA).split()[1]
    model = fitted(train)
    assert "records judged" in title(model, other)
    rows, targets = np.array([[0.1], [0.2], [0.7]] * 20), np.array([0.1, 0.2, 0.3] * 20)
    model.set_params(data_norm=1.0, target_range=(0, 1)).fit(rows, targets)
    assert "60 records judged" in report(model, rows, targets, epsilon=1.0, random_state=1).title


def test_the_best_of_a_search_knows_what_it_was_fitted_to():
    """A search fits many models to one part; the winner, and the search itself, are held to that part."""
    train, test = Records(table(), SCHEMA).split()
    search = PrivateSearch(PrivateLinearRegression(), [{"alpha": 0.5}], epsilon=1.0, runs=2, random_state=1).fit(train)
    assert "held out" in title(search.best_estimator_, test)
    assert "held out" in title(search, test)


def test_persons_are_called_persons():
    """What is counted are persons where they are the unit."""
    train, test = Records(table(), SCHEMA, unit="who").split(by="key")
    assert f"{test.n:,} persons held out" in title(fitted(train), test)
