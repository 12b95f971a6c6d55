"""What the auditor found about a method, as a card tells it: by whom, when, with which code, and how sure.

A verdict is about the method, not about one model: `tacit audit` plays it on neighbours of its own. Those that come
along (verdicts.json) are remade by `make verdicts` for a release; what is said is whether the code is still the same.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Self, final

from tacit.errors import InvalidParameter
from tacit.version import code_hash

VERDICTS = ("holds", "refuted", "cannot tell")
PLACE = "verdicts.json"
SCORES = "evaluation.report"
"""What an audit of private scores is called."""
# Learners that ask an oracle and nothing else are as private as its answers.
_ASKING = ("Conjunction", "DecisionList", "SQ")
_LONGEST = 2000


@final
@dataclass(frozen=True)
class MethodVerdict:
    """One audit, as `tacit audit NAME --json` printed it."""

    name: str
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
        if not known or re.fullmatch(r"[\w.-]+", self.name) is None or not _is_date(self.date):
            raise InvalidParameter(
                "this is no verdict of the auditor. Wanted is what `tacit audit NAME --epsilon E --json` prints."
            )

    @classmethod
    def of_json(cls, plain: object) -> Self:
        """Read what the command printed."""
        claim = plain.get("claim") if isinstance(plain, Mapping) else None
        found: Mapping[str, Any] = (
            {**plain, **claim} if isinstance(plain, Mapping) and isinstance(claim, Mapping) else {}
        )
        return cls(**{name: found.get(name) for name in cls.__dataclass_fields__})  # type: ignore[arg-type]

    @property
    def command(self) -> str:
        """The command that plays it again."""
        delta = f" --delta {self.delta:g}" if self.delta else ""
        return f"tacit audit {self.name} --epsilon {self.epsilon:g}{delta} --plays {self.plays}"

    @property
    def same_code(self) -> bool:
        """Whether the code that was attacked is the code that runs."""
        return self.code == code_hash()

    def plain(self) -> dict[str, Any]:
        """Return what a card keeps."""
        return {**asdict(self), "command": self.command, "same_code": self.same_code, "words": self.words}

    @property
    def words(self) -> str:
        """The verdict in words that promise no more than it does."""
        code = "this code" if self.same_code else f"tacit {self.version}, whose code has changed since"
        return (
            f"{self.verdict}: `{self.command}` on {self.date}, with {code}. An attack refutes a true claim with a "
            f"chance of at most {1 - self.confidence:.2g}, and proves none: it looks at the method on records of its "
            f"own, never at these. {self.conclusion}"
        )


def check_about(verdict: MethodVerdict, kind: str) -> None:
    """Refuse a verdict that is about another method."""
    if verdict.name.partition("-")[0] != kind:
        raise InvalidParameter(f"the verdict is about {verdict.name}, and the model is a {kind}: audit that.")


def verdict_for(kind: str, *, pure: bool, persons: bool = False) -> MethodVerdict | None:
    """Return the verdict that comes along for a method of this name, if there is one."""
    name = "StatisticalOracle" if kind.startswith(_ASKING) else kind
    wanted = (f"{name}-persons", name) if persons else (name,)
    found = [each for asked in wanted for each in shipped() if each.name == asked and (each.delta == 0) == pure]
    return found[0] if found else None


@cache
def shipped() -> tuple[MethodVerdict, ...]:
    """Return the verdicts that come along."""
    return tuple(map(MethodVerdict.of_json, json.loads(files("tacit.reports").joinpath(PLACE).read_text("utf-8"))))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
