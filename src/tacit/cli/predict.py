"""`tacit predict`: what a model file says about the records of a table."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from tacit.checks import checked_share, finite_number
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.places import Inputs
from tacit.cli.sources import Source, opened, to_predict
from tacit.data.levels import Levelled, needed_positive
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter, ModelFileError
from tacit.files import write_whole
from tacit.models.file import load

EXAMPLE = example("tacit predict m.tacit patients.csv --output predicted.csv")
Threshold = Annotated[
    float | None,
    typer.Option(help="The probability (or score) above which the positive class is said; one half (or 0) by default."),
]
ModelFile = Annotated[Path, typer.Argument(help="A model file.")]


def predict(
    model: ModelFile,
    source: Source,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="A probability for every class, too.")] = False,
    threshold: Threshold = None,
    output: Annotated[Path | None, typer.Option(help="Write the predictions to a CSV file.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict: one line for each record, in the table's order, as CSV. The target may be missing from the table.

    Predictions cost nothing: they are made of the released model and of records that whoever asks has already.
    """
    with answering(as_json, quiet) as out:
        found = loaded(model)
        encoder = getattr(found, "encoder_", None)
        if encoder is None:
            raise InvalidParameter("this model learned from arrays: load it in Python, tacit.load, to predict.")
        records = opened(source, to_predict(encoder.schema, encoder.schema.features), out)
        if output is not None:
            Inputs((source,), files=(model,)).spare([output])
        with out.progress(f"predicting {records.n:,} records"), np.errstate(all="ignore"):
            columns = _columns(found, records, probabilities, threshold, encoder.schema)
        text = as_csv(columns)
        if output is not None:
            write_whole(output, [text.encode("utf-8", "replace")])
            out.result({"n": records.n, "output": str(output)}, f"{len(columns['prediction']):,} predictions: {output}")
        else:
            out.document({"n": records.n, **columns}, text)


def loaded(path: Path) -> Any:
    """Read a model file; name it if there is none."""
    try:
        return load(path)
    except ModelFileError as failure:
        tables = (".csv", ".tsv", ".parquet", ".gz", ".txt")
        first = " The model comes first, and the table second." if path.suffix.lower() in tables else ""
        raise ModelFileError(f"{str(path)!r}: {failure}{first}") from None


def _columns(
    model: Any, records: Records, probabilities: bool, threshold: float | None, schema: Schema
) -> dict[str, list[Any]]:
    said = model.predict(records) if threshold is None else _above(model, records, threshold, schema)
    columns: dict[str, list[Any]] = {"prediction": said.tolist()}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise InvalidParameter(f"a {type(model).__name__} has no probabilities. Leave --probabilities out.")
        chances = model.predict_proba(records)
        columns |= {f"probability of {name}": chances[:, place].tolist() for place, name in enumerate(model.classes_)}
    return columns


def _above(model: Any, held: Records, threshold: float, schema: Schema) -> Any:
    """Predict the positive class above a threshold."""
    if len(getattr(model, "classes_", ())) != 2:
        raise InvalidParameter("--threshold is for a model of two classes. Leave it out.")
    # In a file that an earlier tacit wrote the positive class may be the first.
    is_positive = model.classes_ == needed_positive(cast("Levelled", schema.target_column), schema.target)
    likely = hasattr(model, "predict_proba")
    cut = checked_share("--threshold", threshold) if likely else finite_number("--threshold", threshold)
    if likely:
        scores = model.predict_proba(held)[:, is_positive].ravel()
    else:
        scores = model.decision_function(held) * (1 if is_positive[1] else -1)
    return np.where(scores > cut, model.classes_[is_positive], model.classes_[~is_positive])


def as_csv(columns: Mapping[str, list[Any]]) -> str:
    """Write columns as CSV, their names first."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return written.getvalue()
