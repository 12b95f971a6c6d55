"""Plans, reports and what is public of a predictor, as plain JSON and back: here and with a client they are the same.

What is told of a release is what was released: everything that a report says is computed from its table.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np

from tacit.errors import InvalidParameter, ModelFileError, ServiceError
from tacit.estimators.learned_from import FITTED, HELD_OUT, PARTLY, UNKNOWN
from tacit.estimators.saving.declared import LABELS, RELEASE
from tacit.estimators.saving.fields import (
    TRUTH,
    Either,
    Field,
    Listed,
    Numbers,
    Optional,
    Scalar,
    Struct,
    whole,
    word_of,
)
from tacit.estimators.saving.packing import ReadingInline, WritingInline
from tacit.evaluation import ClassesReport, Report
from tacit.evaluation.knots import Knots
from tacit.evaluation.regression import RegressionReport
from tacit.evaluation.sketch import Sketched
from tacit.evaluation.table import ScoreTable
from tacit.evaluation.two import TwoClassReport
from tacit.numerics.arrays import Floats, Truths
from tacit.queries.learners.saved import PLANS
from tacit.queries.oracle.plan import Plan

_MOST_NUMBERS = 2**23
_SIZE = whole(0, 2**62)
_BY_TYPE: dict[Any, Field] = {
    Floats: Numbers(""),
    Truths: Numbers("", kind="bool"),
    tuple[float, ...]: Listed(Scalar()),
    tuple[Floats, ...]: Listed(Numbers("")),
    Floats | None: Optional(Numbers("", "")),
    float: Scalar(),
    bool: TRUTH,
}


def _declared(kind: type[Any]) -> Struct:
    """Return the field of a record whose parts are declared by their types."""
    return Struct(kind, {name: _BY_TYPE[each] for name, each in get_type_hints(kind).items()})


_BY_TYPE[tuple[Knots, ...]] = Listed(_declared(Knots))
_SKETCHED = _declared(Sketched)
_COMMON = {
    "release": Struct(RELEASE.build, {**RELEASE.fields, "value": _SKETCHED}),
    "confidence": Scalar(0.0, 1.0),
    "size": _SIZE,
    "judged": word_of((HELD_OUT, UNKNOWN, FITTED, PARTLY)),
}
_CLASSES = {"classes": LABELS, "has_probabilities": TRUTH, "threshold": Scalar()}


def _two(release: Any, size: int, classes: Any, **rest: Any) -> TwoClassReport:
    table = ScoreTable.of(release.value, [1, 0], 0, size)
    return TwoClassReport(release, table, (classes[0], classes[1]), **rest)


def _numbers(release: Any, size: int, **rest: Any) -> RegressionReport:
    errors, targets = (ScoreTable.of(release.value, [place], place, size) for place in range(2))
    return RegressionReport(release, errors, targets, **rest)


_REPORT = Either(
    {
        "two": Struct(_two, {**_COMMON, **_CLASSES}),
        "several": Struct(ClassesReport, {**_COMMON, **_CLASSES}),
        "numbers": Struct(_numbers, {**_COMMON, "target_range": Listed(Scalar())}),
    },
    lambda told: str(told.kind),
)
_PREDICTOR = Struct(
    SimpleNamespace,
    {
        "release_": Struct(RELEASE.build, RELEASE.fields),
        "classes_": Optional(LABELS),
        "alpha_": Scalar(0.0),
        "n_features_in_": _SIZE,
    },
)


def plain_plan(plan: Plan) -> Any:
    """Return a plan as plain values."""
    return PLANS.inner.write(plan, WritingInline())


def plan_of(plain: Any) -> Plan:
    """Return the plan that was written."""
    found: Plan = _read(PLANS.inner, plain)
    return found


def plain_report(told: Report) -> Any:
    """Return the table that a report was released as, with what is public about it."""
    known: dict[str, Any] = {"release": told.release, "confidence": told.confidence, "judged": told.judged}
    if isinstance(told, RegressionReport):
        known |= {"kind": "numbers", "size": told.errors.size, "target_range": told.target_range}
    elif isinstance(told, TwoClassReport):
        known |= {"kind": "two", "size": told.table.size}
    elif isinstance(told, ClassesReport):
        known |= {"kind": "several", "size": told.size}
    else:
        raise InvalidParameter(f"wanted a report of tacit.evaluation, got {type(told).__name__}.")
    if known["kind"] != "numbers":
        known |= {name: getattr(told, name) for name in _CLASSES}
        known["classes"] = np.asarray(known["classes"])
    return _REPORT.write(SimpleNamespace(**known), WritingInline())


def report_of(plain: Any) -> Report:
    """Return the report on a table that was released."""
    found: Report = _read(_REPORT, plain)
    return found


def plain_predictor(predictor: Any) -> Any:
    """Return what is public of a fitted predictor."""
    return _PREDICTOR.write(predictor, WritingInline())


def predictor_facts(plain: Any) -> Mapping[str, Any]:
    """Return the public attributes of a predictor by their names."""
    found = vars(_read(_PREDICTOR, plain))
    return {**found, "release_": found["release_"].map(lambda _: "answers on demand")}


def _read(field: Field, plain: Any) -> Any:
    try:
        return field.read(plain, ReadingInline(_MOST_NUMBERS))
    except (ModelFileError, KeyError, IndexError):
        raise ServiceError("the service answered in another form than this tacit's. Does it run another?") from None
