"""A record of the OpenDP/NIST registry of deployments: its fields, and which of them only a person can fill in.

The names and the allowed values are those of the registry's own schema (opendp/deployments-registry-data,
`schemas/deployments-schema.yaml` at commit 02f6334), under which a record may have no further property.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, final

from tacit.errors import InvalidParameter

OPEN = "OPEN, for a person to fill in: "
"""How a field begins that nobody has filled in yet."""
_LONGEST = 10**5
_LONGEST_ANSWER = 10**4


@final
@dataclass(frozen=True)
class RecordField:
    """One field: where it is, whether a record needs it, its allowed values, and what a person is asked for it.

    Of `ours` tacit fills in what it knows; a person completes what it leaves open.
    """

    path: str
    needed: bool = True
    allowed: tuple[str, ...] = ()
    kind: type = str
    asked_as: str = ""
    question: str = ""
    ours: bool = False

    def check(self, value: object) -> None:
        """Refuse a value that the registry's schema would."""
        numeric = self.kind is float and isinstance(value, int | float) and not isinstance(value, bool)
        if not (numeric or type(value) is self.kind):
            raise InvalidParameter(f"a card's {self.path} must be a {self.kind.__name__}, got {type(value).__name__}.")
        if isinstance(value, str) and (len(value) > _LONGEST or (self.allowed and value not in self.allowed)):
            raise InvalidParameter(f"a card's {self.path} must be {' or '.join(self.allowed) or 'shorter'}.")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidParameter(f"a card's {self.path} must be a text that UTF-8 can spell.")
        if self.path.endswith("_date") and not is_date(str(value)):
            raise InvalidParameter("a card's publication_date must be written as YYYY-MM-DD.")


_DEPLOYMENT = "deployment"
_FLAVOR, _LOSS = f"{_DEPLOYMENT}.dp_flavor", f"{_DEPLOYMENT}.privacy_loss"
_MODEL, _MORE = f"{_DEPLOYMENT}.model", f"{_DEPLOYMENT}.additional_dp_information"
_DONE = f"{_DEPLOYMENT}.implementation"

FIELDS = (
    RecordField("approved", kind=bool),
    RecordField("registry_author", asked_as="author", question="who wrote this record"),
    RecordField(f"{_DEPLOYMENT}.short_name", asked_as="short_name", question="what the data product is called"),
    RecordField(f"{_DEPLOYMENT}.data_curator", asked_as="curator", question="who publishes it"),
    RecordField(f"{_DEPLOYMENT}.intended_use", asked_as="intended_use", question="what it is for"),
    RecordField(f"{_DEPLOYMENT}.data_product_type"),
    RecordField(
        f"{_DEPLOYMENT}.data_product_description", asked_as="description", question="what it tells, about whom"
    ),
    RecordField(f"{_DEPLOYMENT}.publication_date"),
    RecordField(f"{_DEPLOYMENT}.additional_information_url", needed=False, asked_as="url"),
    RecordField(f"{_FLAVOR}.name", allowed=("Pure DP", "Approximate DP", "Zero Concentrated DP", "other")),
    RecordField(f"{_FLAVOR}.data_domain", asked_as="domain", question="which tables this is about", ours=True),
    RecordField(f"{_FLAVOR}.unprotected_quantities"),
    RecordField(f"{_LOSS}.privacy_unit"),
    RecordField(f"{_LOSS}.privacy_unit_description", needed=False),
    RecordField(f"{_LOSS}.privacy_parameters.epsilon", needed=False, kind=float),
    RecordField(f"{_LOSS}.privacy_parameters.rho", needed=False, kind=float),
    RecordField(f"{_LOSS}.privacy_parameters.delta", needed=False, kind=float),
    RecordField(f"{_LOSS}.privacy_parameters_description", needed=False),
    RecordField(f"{_MODEL}.model_type", allowed=("Local", "Central", "Shuffle", "Federated")),
    RecordField(f"{_MODEL}.actors", needed=False, asked_as="actors"),
    RecordField(f"{_MODEL}.model_type_description", needed=False),
    RecordField(f"{_MODEL}.release_type", allowed=("One-shot", "Continual")),
    RecordField(f"{_MODEL}.release_type_description", needed=False),
    RecordField(f"{_MODEL}.interactivity", allowed=("Interactive", "Non-interactive")),
    RecordField(f"{_MODEL}.interactivity_description", needed=False),
    RecordField(f"{_MORE}.post_processing"),
    RecordField(f"{_MORE}.composition"),
    RecordField(
        f"{_DONE}.pre_processing_eda_hyperparameter_tuning",
        asked_as="explored",
        question="what else was looked at before: exploration, earlier models, how epsilon and bounds were chosen",
        ours=True,
    ),
    RecordField(f"{_DONE}.mechanisms"),
    RecordField(
        f"{_DONE}.justification",
        asked_as="justification",
        question="why this epsilon, these bounds and this method, and who decided",
    ),
)
ASKED = {field.asked_as: field for field in FIELDS if field.asked_as}
"""What a person can answer, by the name of the question."""


def check_answers(answers: Mapping[str, Any]) -> dict[str, str]:
    """Return what a person answered, if each is a text and answers a question."""
    for name, answer in answers.items():
        if name not in ASKED or not isinstance(answer, str) or not 0 < len(answer.strip()) <= _LONGEST_ANSWER:
            raise InvalidParameter(
                f"a card's answers are texts of at most {_LONGEST_ANSWER:,} letters for some of {', '.join(ASKED)}, "
                f"got {name!r}."
            )
    return dict(answers)


def shortened(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return known values whose texts leave room for an answer: however much was declared, there is a record of it."""
    most = _LONGEST - _LONGEST_ANSWER
    return {
        path: f"{value[: most - 1]}…" if isinstance(value, str) and len(value) > most else value
        for path, value in known.items()
    }


def record_of(known: Mapping[str, Any], answers: Mapping[str, str]) -> dict[str, Any]:
    """Return a record of known values by their paths; what a person was asked for and did not answer stays open."""
    answers, values = check_answers(answers), dict(known)
    for name, field in ASKED.items():
        if name in answers:
            begun, gap, _ = values.get(field.path, OPEN).partition(OPEN)
            if not gap and field.ours:
                raise InvalidParameter(f"tacit has filled in {field.path} by itself. Leave out {name!r}.")
            values[field.path] = f"{begun}{answers[name]}" if gap else answers[name]
        elif field.needed:
            values.setdefault(field.path, f"{OPEN}{field.question}.")
    return checked_record(_nested(values))


def checked_record(record: object) -> dict[str, Any]:
    """Return a record with its fields in the registry's order, if it is one."""
    found, known = dict(flat(record)), {field.path: field for field in FIELDS}
    strange = sorted(found.keys() - known.keys())
    missing = [path for path, field in known.items() if field.needed and path not in found]
    if strange or missing:
        raise InvalidParameter(
            f"a card's record must have the registry's fields and no other; it lacks {missing!r}, and "
            f"{len(strange)} of its fields are not the registry's."
        )
    for path, value in found.items():
        known[path].check(value)
    return _nested({path: found[path] for path in known if path in found})


def open_fields(record: Mapping[str, Any]) -> list[str]:
    """Return where a person still has to fill something in."""
    return [path for path, value in flat(record) if isinstance(value, str) and OPEN in value]


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for path, value in values.items():
        *above, name = path.split(".")
        place = record
        for step in above:
            place = place.setdefault(step, {})
        place[name] = value
    # The one object that a record needs even if nothing is in it.
    record.get("deployment", {}).get("privacy_loss", {}).setdefault("privacy_parameters", {})
    return record


def flat(record: object, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of a record with its path."""
    if not isinstance(record, Mapping):
        raise InvalidParameter("a card's record must be an object with the registry's fields.")
    for name, value in record.items():
        path = f"{above}{name}"
        if path in _OBJECTS:
            yield from flat(value, f"{path}.")
        else:
            yield path, value


def is_date(text: str) -> bool:
    """Whether a text is a day, written as YYYY-MM-DD."""
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


_OBJECTS = {field.path.rsplit(".", 1)[0] for field in FIELDS if "." in field.path} | {_DEPLOYMENT}
