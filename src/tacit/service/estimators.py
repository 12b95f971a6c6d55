"""An estimator as plain JSON: what an analyst may ask a service to fit, by the parameter fields of model files.

    {"estimator": "PrivateLogisticRegression", "parameters": {"epsilon": 0.5, "class_weight": {"no": 0.2, "yes": 1}}}
    {"estimator": "PrivateKernelClassifier",
     "parameters": {"epsilon": 1, "kernel": {"kind": "rbf", "value": {"gamma": 0.5}}, "landmarks": 50}}

The list of estimators and what each parameter may be are closed, and so are their sizes: no code, no path, no address,
no ledger and no seed can be said in it. A parameter that is left out has the estimator's default.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.parameters import needed_budget
from tacit.estimators.saving.fields import Field, Plain, Saved
from tacit.estimators.saving.packing import ReadingInline, WritingInline
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.kept import SAVED
from tacit.models.container import short
from tacit.models.file import parameter_fields
from tacit.models.kinds import class_named, kind_of

_TAGS = ({"float"}, {"fraction"}, {"tuple"}, {"pairs"})
_ELSEWHERE = frozenset({"ledger", "random_state", "state", "schema"})
"""Parameters that are the service's: who pays, where noise comes from, where answers are kept, what columns mean."""

MOST_NUMBERS = 100_000
"""How many numbers landmarks and first centres may be made of."""

_LONGEST_LIST, _LONGEST_TEXT, _DEEPEST, _MOST_PARTS = 1000, 1000, 24, 200_000
_LARGEST = {
    "landmarks": 2000,
    "rounds": 1000,
    "n_clusters": 100,
    "n_components": 1000,
    "bins": 100,
    "levels": 1000,
    "max_depth": 8,
    "max_rules": 50,
    "interactions": 20,
    "classes": 100,
    "class_weight": 100,
    "init": 100,
}
"""The largest whole number, or the longest list, that a parameter may be: it says how much work is done."""
_MOST_KERNELS = 10

Plainly = dict[str, Any]


def estimator_of(plain: object) -> Any:
    """Return the estimator that plain JSON asks for, unfitted and without a ledger; refuse anything else clearly."""
    if not isinstance(plain, Mapping) or plain.keys() - {"parameters"} != {"estimator"}:
        raise InvalidParameter('an estimator is {"estimator": its name, "parameters": {...}}, and nothing else.')
    try:
        known = class_named(plain["estimator"])
    except ModelFileError as error:
        raise InvalidParameter(str(error)) from None
    return _built(known, cast(Saved, known.saved), plain.get("parameters", {}))


def predictor_of(parameters: object) -> InteractiveKernelPredictor:
    """Return the predictor that a session is asked for with; where its answers are kept is the service's to say."""
    return cast(InteractiveKernelPredictor, _built(InteractiveKernelPredictor, SAVED, parameters))


def plain_of(estimator: Any) -> Plainly:
    """Return an estimator as plain JSON, without the parameters that have their defaults, and without its ledger.

    A seed would make a rehearsal, which a service makes none of, and is refused like a path of a state file.
    """
    given = estimator.get_params(deep=False)
    for name in ("random_state", "state", "schema"):
        if given.get(name) is not None:
            raise InvalidParameter(f"{name} cannot be sent to a service, which has its own. Leave it out.")
    predicts = type(estimator) is InteractiveKernelPredictor
    if not predicts:
        try:
            kind_of(estimator)
        except ModelFileError as error:
            raise InvalidParameter(f"a service does not fit this: {error}") from None
    saved = SAVED if predicts else cast(Saved, type(estimator).saved)
    usual, written = type(estimator)().get_params(deep=False), {}
    for name, field in _fields(type(estimator), saved).items():
        if given[name] is not usual[name]:
            try:
                written[name] = field.write(given[name], WritingInline())
            except ModelFileError as error:
                raise InvalidParameter(f"{name} cannot be sent to a service: {error}") from None
    return {"estimator": type(estimator).__name__, "parameters": written}


def _fields(known: type[Any], saved: Saved) -> dict[str, Field]:
    return {name: field for name, field in parameter_fields(known, saved).items() if name not in _ELSEWHERE}


def _built(known: type[Any], saved: Saved, parameters: object) -> Any:
    """Build an estimator from parameters whose size is bounded first; it must have a finite budget."""
    if not isinstance(parameters, Mapping):
        raise InvalidParameter("parameters must be an object of names and values.")
    fields = _fields(known, saved)
    _check_names(parameters, fields, known.__name__)
    _count(parameters)
    reading, found = ReadingInline(MOST_NUMBERS), {}
    for name, plain in parameters.items():
        _check_size(name, plain)
        field = fields[name]
        try:
            found[name] = field.read(_tagged(plain) if type(field) is Plain else plain, reading)
        except (ModelFileError, InvalidParameter) as error:
            raise InvalidParameter(f"{name} {short(error)}.") from None
    estimator = known(**found)
    if needed_budget(estimator.epsilon, estimator.delta) is None:
        raise InvalidParameter("epsilon must be a finite number: a service releases nothing that is not private.")
    return estimator


def _check_names(parameters: Mapping[Any, Any], fields: Mapping[str, Field], name: str) -> None:
    refused = sorted(set(parameters) & _ELSEWHERE)
    if refused:
        raise InvalidParameter(f"{refused[0]} is the service's own. Leave it out.")
    if not parameters.keys() <= fields.keys():
        raise InvalidParameter(f"a {name} has no such parameter; it has {', '.join(fields)}.")


def _count(plain: object, depth: int = 0, count: int = 0) -> int:
    """Count the values of a document; refuse one that is deeper, longer or larger than any estimator's."""
    count += 1
    if depth > _DEEPEST or count > _MOST_PARTS:
        raise InvalidParameter("the parameters are nested too deeply, or have too many values.")
    if isinstance(plain, str) and len(plain) > _LONGEST_TEXT:
        raise InvalidParameter(f"a text among the parameters is longer than {_LONGEST_TEXT} letters.")
    if isinstance(plain, float) and not abs(plain) < 1e300:
        raise InvalidParameter("the parameters must be finite numbers below 1e300.")
    parts = plain.values() if isinstance(plain, Mapping) else plain if isinstance(plain, list) else ()
    for part in parts:
        count = _count(part, depth + 1, count)
    return count


def _check_size(name: str, plain: Any) -> None:
    """Refuse a parameter that would ask for more work than a service does for one analyst."""
    if name == "landmarks" and (plain is None or isinstance(plain, Mapping)):
        points = None if plain is None else plain.get("points")
        if isinstance(points, list) and len(points) > _LARGEST[name]:
            raise InvalidParameter(f"{name} must be at most {_LARGEST[name]} points in a service.")
        return
    if name == "landmarks" and type(plain) is not int:
        raise InvalidParameter('landmarks must be a number of points to spread, or {"points": [[...], ...]}.')
    plain = next(iter(plain.values())) if isinstance(plain, Mapping) and plain.keys() in _TAGS else plain
    sized = isinstance(plain, list | Mapping)
    size, largest = len(plain) if sized else plain, _LARGEST.get(name, _LONGEST_LIST if sized else math.inf)
    if isinstance(size, int | float) and size > largest:
        raise InvalidParameter(f"{name} must be at most {largest:g} in a service, or as many values.")
    if name == "kernel" and _kernels(plain) > _MOST_KERNELS:
        raise InvalidParameter(f"a kernel must have at most {_MOST_KERNELS} parts.")


def _kernels(plain: object) -> int:
    """Count the formulas of a kernel."""
    inner = plain.get("value") if isinstance(plain, Mapping) else None
    return sum(map(_kernels, inner)) if isinstance(inner, list) else 1


def _tagged(plain: Any) -> Any:
    """Return objects as the pairs that model files have in their place, which keep the types of keys."""
    if isinstance(plain, Mapping) and plain.keys() not in _TAGS:
        return {"pairs": [[key, _tagged(value)] for key, value in plain.items()]}
    return plain
