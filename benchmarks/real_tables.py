"""Real tables with declared columns and a target, for benchmarks of whole fits.

Adult comes with tacit; the others are read from the folder that TACIT_DATA names (`datasets.FOLDER`). Bounds and levels
are declared after the codebooks that come with the tables, in round numbers.
"""

import io
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from tacit.data import Category, Column, Flag, Ignored, Key, Number, Ordinal, Schema, adult_schema, load_adult

Cells = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class RealTable:
    """How to read a table, what is declared about it, how many of its records a benchmark draws, and who owns them."""

    name: str
    title: str
    schema: Schema
    read: Callable[[], Cells]
    most: int = 10**9
    unit: str | None = None

    @property
    def regression(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.schema.columns[str(self.schema.target)], Number)


def _numbered(first: int, last: int) -> list[str]:
    return [str(code) for code in range(first, last + 1)]


_DRUGS = datasets._words(
    "metformin repaglinide nateglinide chlorpropamide glimepiride acetohexamide glipizide glyburide tolbutamide "
    "pioglitazone rosiglitazone acarbose miglitol troglitazone tolazamide insulin glyburide-metformin "
    "glipizide-metformin glimepiride-pioglitazone metformin-rosiglitazone metformin-pioglitazone"
)

_DIABETES: dict[str, Column] = {
    "patient_nbr": Key(),
    "race": Category(["Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other"]),
    "gender": Category(["Female", "Male"]),
    "age": Ordinal([f"[{low}-{low + 10})" for low in range(0, 100, 10)]),
    "admission_type_id": Category(_numbered(1, 8)),
    "discharge_disposition_id": Category(_numbered(1, 30)),
    "admission_source_id": Category(_numbered(1, 26)),
    "time_in_hospital": Number(1, 14),
    "medical_specialty": Category(
        [
            *("InternalMedicine", "Emergency/Trauma", "Family/GeneralPractice", "Cardiology", "Surgery-General"),
            *("Nephrology", "Orthopedics", "Radiologist", "Pulmonology", "Psychiatry", "Urology", "Gastroenterology"),
            *("ObstetricsandGynecology", "Oncology", "Neurology", "Pediatrics", "?", "other"),
        ],
        other="other",
    ),
    "num_lab_procedures": Number(0, 150),
    "num_procedures": Number(0, 10),
    "num_medications": Number(0, 100),
    "number_outpatient": Number(0, 100, log=True),
    "number_emergency": Number(0, 100, log=True),
    "number_inpatient": Number(0, 100, log=True),
    # Three-digit codes of ICD-9; codes that begin with a letter count as missing.
    "diag_1": Number(0, 1000),
    "diag_2": Number(0, 1000),
    "diag_3": Number(0, 1000),
    "number_diagnoses": Number(1, 16),
    "max_glu_serum": Category(["None", "Norm", ">200", ">300"]),
    "A1Cresult": Category(["None", "Norm", ">7", ">8"]),
    **{drug: Category(["No", "Down", "Steady", "Up"], other="No") for drug in _DRUGS},
    "change": Flag("No", "Ch"),
    "diabetesMed": Flag("No", "Yes"),
    "readmitted": Category(["later or never", "<30"], other="later or never", positive="<30"),
}

_HEART: dict[str, Column] = {
    "age": Number(0, 120),
    "sex": Flag("0.0", "1.0"),
    "chest_pain": Category(["1.0", "2.0", "3.0", "4.0"]),
    "pressure": Number(50, 250),
    "cholesterol": Number(0, 700),
    "sugar": Flag("0.0", "1.0"),
    "ecg": Category(["0.0", "1.0", "2.0"]),
    "rate": Number(40, 220),
    "angina": Flag("0.0", "1.0"),
    "oldpeak": Number(-5, 10),
    "slope": Category(["1.0", "2.0", "3.0"]),
    "vessels": Number(0, 3),
    "thal": Category(["3.0", "6.0", "7.0"]),
    "disease": Category(["no", "yes"], positive="yes"),
}

_HOUSES: dict[str, Column] = {
    "longitude": Number(-125, -114),
    "latitude": Number(32, 42),
    "housingMedianAge": Number(0, 60),
    "totalRooms": Number(0, 40_000, log=True),
    "totalBedrooms": Number(0, 10_000, log=True),
    "population": Number(0, 40_000, log=True),
    "households": Number(0, 10_000, log=True),
    "medianIncome": Number(0, 15),
    "medianHouseValue": Number(0, 500_001),
}


@cache
def _adult() -> Cells:
    return load_adult("all", "drop")


@cache
def _diabetes() -> Cells:
    import pandas

    with zipfile.ZipFile(datasets._found("diabetes130/dataset_diabetes.zip")) as folder:
        text = folder.read("dataset_diabetes/diabetic_data.csv").decode("ascii")
    # Three names are longer than the codes they hold, and "None" is a level here.
    frame = pandas.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    numbers = [name for name, column in _DIABETES.items() if isinstance(column, Number)]
    cells = {name: frame[name].to_numpy(dtype=object) for name in _DIABETES}
    return cells | {name: pandas.to_numeric(frame[name], errors="coerce").to_numpy(float) for name in numbers}


@cache
def _covtype() -> Cells:
    cells, labels = datasets._covtype_table()
    return {**cells, "cover": np.where(labels == 2, "lodgepole", "other")}


@cache
def _kdd() -> Cells:
    cells, labels = datasets._kdd_table()
    return {**cells, "kind": labels}


@cache
def _heart() -> Cells:
    parts = [
        np.array([line.split(",") for line in datasets._found(f"heart/processed.{site}.data").read_text().split()])
        for site in ("cleveland", "hungarian", "switzerland", "va")
    ]
    cells = dict(zip(_HEART, np.concatenate(parts).T, strict=True))
    disease = np.where(np.char.strip(cells.pop("disease")).astype(float) > 0, "yes", "no")
    return {name: _numbers_or_levels(_HEART[name], column) for name, column in cells.items()} | {"disease": disease}


def _numbers_or_levels(column: Column, cells: NDArray[Any]) -> NDArray[Any]:
    """Read texts as numbers, or write codes as one decimal; what is no number is missing."""
    import pandas

    numbers = pandas.to_numeric(pandas.Series(cells), errors="coerce").to_numpy(float)
    if isinstance(column, Number):
        return numbers
    return np.array(["" if np.isnan(number) else f"{number:.1f}" for number in numbers], dtype=object)


@cache
def _houses() -> Cells:
    import pandas

    frame = pandas.read_csv(datasets._found("california_housing/cal_housing.csv.xz"))
    return {name: frame[name].to_numpy(float) for name in _HOUSES}


@cache
def _dear_houses() -> Cells:
    """The same districts, asked whether a house costs more than 200,000 dollars."""
    return {**_houses(), "dear": np.where(_houses()["medianHouseValue"] > 200_000, "yes", "no")}


@cache
def _a9a() -> Cells:
    from sklearn.datasets import load_svmlight_file

    parts = [
        load_svmlight_file(
            io.BytesIO(lzma.decompress(datasets._found(f"libsvm/{name}.xz").read_bytes())), n_features=123
        )
        for name in ("a9a", "a9a.t")
    ]
    rows = np.vstack([part[0].toarray() for part in parts]).astype(np.int64)
    labels = np.concatenate([part[1] for part in parts])
    return {f"f{place}": rows[:, place] for place in range(123)} | {"income": np.where(labels > 0, "high", "low")}


def _with_target(schema: Schema, name: str, levels: list[str]) -> Schema:
    # Positive is what was when results were written: the last by name.
    return Schema({**schema.columns, name: Category(levels, positive=max(levels))}, target=name)


_DEAR = {**_HOUSES, "medianHouseValue": Ignored(), "dear": Category(["no", "yes"], positive="yes")}

TABLES = (
    RealTable("adult", "Adult", adult_schema(), _adult),
    RealTable("diabetes", "Diabetes 130, stays", Schema(_DIABETES, target="readmitted"), _diabetes),
    RealTable(
        "patients", "Diabetes 130, patients", Schema(_DIABETES, target="readmitted"), _diabetes, unit="patient_nbr"
    ),
    RealTable(
        "covtype",
        "CoverType, lodgepole pine",
        _with_target(datasets.COVTYPE_SCHEMA, "cover", ["other", "lodgepole"]),
        _covtype,
        most=100_000,
    ),
    RealTable("kdd", "KDD99", _with_target(datasets.KDD_SCHEMA, "kind", ["attack", "normal"]), _kdd, most=70_000),
    RealTable("heart", "Heart disease, four hospitals", Schema(_HEART, target="disease"), _heart),
    RealTable("houses", "California housing, above 200,000", Schema(_DEAR, target="dear"), _dear_houses),
    RealTable(
        "a9a",
        "a9a",
        Schema(
            {f"f{j}": Flag("0", "1") for j in range(123)} | {"income": Category(["low", "high"], positive="low")},
            target="income",
        ),
        _a9a,
    ),
    RealTable("prices", "California housing, price", Schema(_HOUSES, target="medianHouseValue"), _houses),
)
BY_NAME = {table.name: table for table in TABLES}
