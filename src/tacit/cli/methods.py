"""The models that commands train: by a name, for the target of a schema."""

from typing import Annotated, Any, Literal

import typer

from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.cli import sources
from tacit.cli.places import same_records
from tacit.data.columns import Number
from tacit.data.records import Records
from tacit.data.store.packed_file import is_packed
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.regression import PrivateLinearRegression
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Polynomial, PrivateKernelClassifier, PrivateKernelRegressor
from tacit.kernels.maps.public import landmark_rows, usual_count, usual_gamma

Method = Literal["auto", "logistic", "svc", "linear", "kernel"]
Shape = Literal["quadratic", "cubic", "rbf"]
MethodName = Annotated[Method, typer.Option(help="The model; auto: logistic for classes, linear for a number.")]
LandmarksGiven = Annotated[
    str | None,
    typer.Option(
        help="Of --method kernel: a PUBLIC table with the same columns, or how many records to make up by the schema."
    ),
]
ClassWeights = Annotated[
    list[str] | None,
    typer.Option("--class-weight", help='Count a class more: "<30=5"; one option a class. For --method logistic, svc.'),
]
CurvesGiven = Annotated[
    str, typer.Option("--curves", help="How numbers bend: auto, none, or a number of knots. Not for --method kernel.")
]
_KINDS = {"logistic": PrivateLogisticRegression, "svc": PrivateLinearSVC, "linear": PrivateLinearRegression}


def model_for(
    method: Method,
    records: Records,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    landmarks: str | None = None,
    kernel: Shape | None = None,
    source: str = "",
    **given: Any,
) -> Any:
    """Return an estimator for the target of records; `source` is where they are, and no place for landmarks."""
    schema = records.schema
    if schema.target is None:
        raise InvalidParameter('the schema names no column to predict. Write target = "..." above its columns.')
    is_number = isinstance(schema.columns[schema.target], Number)
    if method == "kernel":
        points = _landmarks(landmarks, records, epsilon, delta, source)
        degree = 3 if kernel == "cubic" else 2
        shaped = RBF(usual_gamma(points)) + 1.0 if kernel == "rbf" else Polynomial(degree, constant=1.0)
        kind = PrivateKernelRegressor if is_number else PrivateKernelClassifier
        return kind(shaped, epsilon, delta, landmarks=points, **given)
    if landmarks is not None or kernel is not None:
        raise InvalidParameter("--landmarks and --kernel are for --method kernel.")
    chosen = ("linear" if is_number else "logistic") if method == "auto" else method
    if (chosen == "linear") != is_number:
        raise InvalidParameter(f"--method {chosen} does not fit the target {schema.target!r}. Use --method auto.")
    return _KINDS[chosen](epsilon, delta, **given)


def shape(model: Any, class_weights: list[str] | None, curves: str) -> Any:
    """Tell an estimator how classes count and how numbers bend; refuse one that takes no such thing."""
    given: dict[str, Any] = {}
    if class_weights:
        given["class_weight"] = weights = dict(_weight(text) for text in class_weights)
        if len(weights) < len(class_weights):
            raise InvalidParameter("--class-weight is given twice for the same class. Give it once.")
    if curves != "auto":
        if curves != "none" and not (curves.isascii() and curves.isdigit()):
            raise InvalidParameter(f"--curves must be auto, none or a number of knots such as 9, got {curves!r}.")
        given["curves"] = False if curves == "none" else int(curves)
    for name in given:
        if name not in model.get_params():
            raise InvalidParameter(f"--{name.replace('_', '-')} is not for {type(model).__name__}. Leave it out.")
    return model.set_params(**given)


def _weight(text: str) -> tuple[str, float]:
    """Read "<30=5"."""
    name, _, number = text.rpartition("=")
    try:
        return name, finite_number("--class-weight", float(number))
    except ValueError:
        raise InvalidParameter(f'--class-weight is written "<30=5", got {text!r}.') from None


def _landmarks(text: str | None, records: Records, epsilon: float | None, delta: float, source: str) -> Any:
    """Return public points: made up, as many as asked for or usual; or those of a public table."""
    schema = records.schema
    if text is None:
        return landmark_rows(schema, usual_count(records.n, Budget(1.0 if epsilon is None else epsilon, delta)))
    if public_table(text) is None:
        return landmark_rows(schema, int(text[:9]))
    if text == source or same_records(text, source):
        raise InvalidParameter("--landmarks must name public records, got some of those to learn from.")
    declared = None if is_packed(text) else sources.to_predict(schema, schema.features)
    return landmark_rows(schema, Records(sources.source_of(text), declared))


def public_table(landmarks: str | None) -> str | None:
    """Return the table that landmarks were asked to be taken from, if it is one."""
    return None if landmarks is None or (landmarks.isascii() and landmarks.isdigit()) else landmarks
