from functools import cache

import numpy as np
import pytest

from tacit.data import Number, PublicEncoder, Schema, adult_schema, load_adult
from tacit.data.levels import Levelled
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter


@cache
def _adult(split: str, missing: str) -> dict[str, AnyArray]:
    return load_adult(split, missing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("split", "missing", "records"),
    [
        ("train", "keep", 32_561),
        ("test", "keep", 16_281),
        ("all", "keep", 48_842),
        ("train", "drop", 30_162),
        ("test", "drop", 15_060),
        ("all", "drop", 45_222),
    ],
)
def test_adult_is_complete(split: str, missing: str, records: int) -> None:
    """Every part has as many records as its publishers say, with and without those that miss a value."""
    table = _adult(split, missing)
    assert {len(column) for column in table.values()} == {records}
    assert any("?" in column for column in table.values() if column.dtype.kind == "U") == (missing == "keep")
    assert set(table["income"]) == {"<=50K", ">50K"}


def test_adult_fits_its_codebook() -> None:
    """Every value lies within its declared bounds or levels, but for those marked as missing."""
    table = _adult("all", "drop")
    for name, column in adult_schema().columns.items():
        if isinstance(column, Number):
            assert column.low <= table[name].min() <= table[name].max() <= column.high
        elif isinstance(column, Levelled):
            assert set(table[name]) <= {spelling for spelled in column.spellings for spelling in spelled}


def test_adult_has_88_columns_when_encoded() -> None:
    """Five numbers, one flag, 81 levels and the constant: education comes once, the survey's weight not at all."""
    names = PublicEncoder(adult_schema()).get_feature_names_out()
    assert len(names) == 88
    assert not [name for name in names if name.startswith(("education=", "fnlwgt"))]


def test_missing_values_of_adult_are_at_the_origin() -> None:
    """A "?" is no declared level: its columns are all zero."""
    table = _adult("all", "keep")
    encoder = PublicEncoder(adult_schema())
    columns = [name.startswith("occupation=") for name in encoder.get_feature_names_out()]
    known = np.asarray(encoder.transform(table))[:, columns].any(axis=1)
    np.testing.assert_array_equal(known, table["occupation"] != "?")


def test_adults_schema_survives_toml() -> None:
    """The bundled schema is read back exactly after it was written."""
    assert Schema.from_toml(adult_schema().to_toml()) == adult_schema()
    assert adult_schema().classes == ("<=50K", ">50K")


@pytest.mark.parametrize("arguments", [("validation",), ("train", "impute")])
def test_unknown_parts_are_refused(arguments: tuple[str, ...]) -> None:
    """Only the published parts and the two ways with missing values exist."""
    with pytest.raises(InvalidParameter):
        load_adult(*arguments)  # type: ignore[arg-type]
