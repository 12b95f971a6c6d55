"""Cluster centres in the units of the columns."""

import numpy as np
import pytest

from tacit import Records
from tacit.data import Category, Flag, Moment, Number, Ordinal, PublicEncoder, Schema
from tacit.errors import InvalidParameter
from tacit.queries import SQKMeans
from tacit.queries.learners.units import in_units

SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "income": Number(0, 1e6, log=True),
        "seen": Moment("2010-01-01", "2020-01-01"),
        "ward": Category(["A", "B", "C"], other="C"),
        "pain": Ordinal(["none", "some", "much"]),
        "ill": Flag(),
    }
)
ROWS = {
    "age": [20.0, 80.0],
    "income": [100.0, 90_000.0],
    "seen": np.array(["2012-03-04", "2019-05-06"], dtype="datetime64[us]"),
    "ward": ["A", "C"],
    "pain": ["none", "much"],
    "ill": [False, True],
}


def test_an_encoded_record_is_read_back_as_it_was():
    """Whatever kind a column is of, the point of a record says what the record says."""
    encoder = PublicEncoder(SCHEMA)
    first, second = in_units(encoder, np.asarray(encoder.fit_transform(ROWS)))
    assert first["age"] == pytest.approx(20)
    assert second["income"] == pytest.approx(90_000)
    assert (first["seen"], second["seen"]) == ("2012-03-04", "2019-05-06")
    assert first["ward"] == pytest.approx({"A": 1, "B": 0, "C": 0})
    assert second["ward"] == pytest.approx({"A": 0, "B": 0, "C": 1})
    assert (first["pain"], second["pain"]) == ("none", "much")
    assert (first["ill"], second["ill"]) == pytest.approx((0, 1))


def test_centres_of_records_are_in_their_units():
    """Two groups of ages are found as ages; every centre lies within the declared bounds, however noisy."""
    age = np.r_[np.full(400, 20.0), np.full(400, 80.0)]
    records = Records({"age": age, "ill": age > 50}, Schema({"age": Number(0, 100), "ill": Flag()}))
    model = SQKMeans(n_clusters=2, epsilon=np.inf).fit(records)
    assert sorted(centre["age"] for centre in model.centres()) == pytest.approx([20, 80], abs=2)
    noisy = SQKMeans(n_clusters=2, epsilon=0.001, random_state=0).fit(records).centres()
    assert all(0 <= centre["age"] <= 100 and 0 <= centre["ill"] <= 1 for centre in noisy)


def test_arrays_have_no_other_units():
    """Rows without a schema are their own units."""
    model = SQKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 1), random_state=0).fit(np.eye(4))
    with pytest.raises(InvalidParameter, match="cluster_centers_"):
        model.centres()
