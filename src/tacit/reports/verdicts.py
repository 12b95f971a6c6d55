"""What the auditor found about a method, as a card tells it: by whom, when, with which code, and how sure.

A verdict is about a method, not about one model: `tacit audit` plays it on neighbours of its own. It is about one
variant of it: a perturbation or a method, a loss, for records or for persons, with so many classes; a card has no
verdict but one about the very variant of its model. Those that come along (verdicts.json) are remade by `make verdicts`
for a release; what is said is whether the code is still the same.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Self, final

from tacit.accounting.unit import Kind
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, Logistic
from tacit.erm.perturbations.defaults import default_kind
from tacit.errors import InvalidParameter
from tacit.reports.registry import is_date
from tacit.version import code_hash

VERDICTS = ("holds", "refuted", "cannot tell")
PLACE = "verdicts.json"
SCORES = "evaluation.report"
"""What an audit of private scores is called."""
# Learners that ask an oracle and nothing else are as private as its answers.
_ASKING = ("Conjunction", "DecisionList", "SQ")
# Kernel models that perturb a linear one.
_LINEAR_ONES = ("landmarks", "fourier")
_LONGEST = 2000
_OPTIONS = re.compile(r"( --(perturbation|n-lambda) [\w.+-]+)*")
_MOST_FACTS = 10


@final
@dataclass(frozen=True)
class MethodVerdict:
    """One audit, as `tacit audit NAME --json` printed it."""

    name: str
    variant: Mapping[str, str]
    options: str
    verdict: str
    epsilon: float
    delta: float
    plays: int
    confidence: float
    conclusion: str
    version: str
    code: str
    date: str

    def __post_init__(self) -> None:
        """Refuse what no audit prints."""
        texts = (self.name, self.conclusion, self.version, self.code, self.date)
        known = all(isinstance(text, str) and len(text) <= _LONGEST for text in texts) and self.verdict in VERDICTS
        known = known and all(_is_number(number) for number in (self.epsilon, self.delta, self.plays, self.confidence))
        known = known and _is_variant(self.variant) and isinstance(self.options, str)
        known = known and bool(re.fullmatch(r"[\w.-]+", self.name) and _OPTIONS.fullmatch(self.options))
        if not known or not is_date(self.date):
            raise InvalidParameter(
                "this is no verdict of the auditor. Wanted is what `tacit audit NAME --epsilon E --json` prints."
            )

    @classmethod
    def of_json(cls, plain: object) -> Self:
        """Read what the command printed."""
        claim = plain.get("claim") if isinstance(plain, Mapping) else None
        found = {**plain, **claim} if isinstance(plain, Mapping) and isinstance(claim, Mapping) else {}
        return cls(**{name: found.get(name) for name in cls.__dataclass_fields__})  # type: ignore[arg-type]

    @property
    def command(self) -> str:
        """The command that plays it again."""
        delta = f" --delta {self.delta:g}" if self.delta else ""
        return f"tacit audit {self.name} --epsilon {self.epsilon:g}{delta}{self.options} --plays {self.plays}"

    @property
    def same_code(self) -> bool:
        """Whether the code that was attacked is the code that runs."""
        return self.code == code_hash()

    def plain(self) -> dict[str, Any]:
        """Return what a card keeps."""
        told = {"variant": dict(self.variant), "command": self.command, "same_code": self.same_code}
        return {**asdict(self), **told, "words": self.words}

    @property
    def words(self) -> str:
        """The verdict in words that promise no more than it does."""
        code = "this code" if self.same_code else f"tacit {self.version}, whose code has changed since"
        return (
            f"{self.verdict}: `{self.command}` on {self.date}, with {code}. An attack refutes a true claim with a "
            f"chance of at most {1 - self.confidence:.2g}, and proves none: it looks at the method on records of its "
            f"own, never at these. {self.conclusion}"
        )


def variant_of(model: Any, unit: Kind, *, pure: bool, classes: int) -> dict[str, str]:
    """Return which of the things that a model's class can do it is, or will be: by its parameters and public facts.

    `classes` is how many there are, none for a model of a number.
    """
    given, told = model.get_params(deep=False), {"unit": str(unit)}
    if _asks(type(model).__name__):
        return told
    loss = given.get("loss")
    if "perturbation" in given and given.get("method") in (None, *_LINEAR_ONES):
        told["perturbation"] = _perturbation(model, given, pure, classes > 2)
    if "method" in given:
        told["method"] = str(given["method"])
    if loss is not None:
        told["loss"] = loss if isinstance(loss, str) else type(loss).__name__
    return {**told, **_of_classes(classes)}


def _of_classes(count: int) -> dict[str, str]:
    return {"classes": "several" if count > 2 else "two"} if count else {}


def variant_of_scores(unit: Kind, classes: int) -> dict[str, str]:
    """Return which variant of private scores there is: of two classes, of several, or of a number."""
    return {"unit": str(unit), **_of_classes(classes)}


def _perturbation(model: Any, given: Mapping[str, Any], pure: bool, several: bool) -> str:
    """Return the perturbation that was chosen, or that is taken where none was."""
    if given["perturbation"] != "auto":
        return str(given["perturbation"])
    loss = given.get("loss")
    if type(model).__name__ == "PrivateLinearRegression" or ("method" in given and loss != "hinge"):
        return "objective"
    if not isinstance(loss, Loss):
        loss = Softmax(3) if several else Hinge() if loss == "hinge" else Logistic()
    return default_kind(pure, loss)


def check_about(verdict: MethodVerdict, kind: str, variant: Mapping[str, str]) -> None:
    """Refuse a verdict that is about another method, or another variant of it."""
    if verdict.name.partition("-")[0] != kind or dict(verdict.variant) != dict(variant):
        raise InvalidParameter(
            f"the verdict is about {verdict.name} ({_in_words(verdict.variant)}), and the card is about a {kind} "
            f"({_in_words(variant)}): audit that."
        )


def _in_words(variant: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in variant.items())


def verdict_for(kind: str, variant: Mapping[str, str], *, pure: bool) -> MethodVerdict | None:
    """Return the verdict that comes along for this variant of a method, if there is one."""
    name = "StatisticalOracle" if _asks(kind) else kind
    about = (each for each in shipped() if each.name.partition("-")[0] == name and dict(each.variant) == dict(variant))
    return next((each for each in about if (each.delta == 0) == pure), None)


def without_verdict(variant: Mapping[str, str]) -> dict[str, Any]:
    """Return what a card keeps where nobody has attacked this variant of a method."""
    words = f"none for this variant ({_in_words(variant)}): tacit audit --help names what can be attacked"
    return {"verdict": "none", "variant": dict(variant), "words": words}


def _asks(kind: str) -> bool:
    return kind.startswith(_ASKING)


@cache
def shipped() -> tuple[MethodVerdict, ...]:
    """Return the verdicts that come along."""
    return tuple(map(MethodVerdict.of_json, json.loads(files("tacit.reports").joinpath(PLACE).read_text("utf-8"))))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_variant(value: object) -> bool:
    """Whether these are a few facts in one word each."""
    if not isinstance(value, Mapping) or len(value) > _MOST_FACTS:
        return False
    words = [word for pair in value.items() for word in pair]
    return all(isinstance(word, str) and re.fullmatch(r"[\w.-]{1,60}", word) is not None for word in words)
