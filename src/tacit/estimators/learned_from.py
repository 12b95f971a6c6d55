"""Which records a model was fitted to, and whether records that it is judged on are others: by public facts alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, final

from tacit.data.parts import Slice
from tacit.data.records import Records
from tacit.data.values import KEYS
from tacit.errors import InvalidParameter

HELD_OUT, UNKNOWN, FITTED = "held out", "judged", "that the model was fitted to"
PARTLY = f"judged, among them records {FITTED}"
"""What is said of records that a model is judged on; only other parts of the same split are known to be held out."""

_NAME = "_learned_from"
_CARD = "learned from"


@final
@dataclass(frozen=True)
class LearnedFrom:
    """So many records, or persons, of a table: all of it, or the interval [low, high) of a split by a key or by place.

    `table` tells tables apart as a ledger's splits do, and `part` is what the part was called.
    """

    n: int
    table: str
    part: str
    key: str
    unit: str
    low: int
    high: int

    @classmethod
    def of(cls, records: Records, n: int | None = None) -> Self:
        """Return what is known of records; `n` where they have been counted already."""
        share, count = records.facts.share, records.n if n is None else n
        name, cut = ("", Slice(0, KEYS)) if share is None else (share.name, share.interval)
        key = "" if cut.by == "index" else str(records.key)
        return cls(count, records.table_name, name, key, records.unit or "", cut.low, cut.high)

    @classmethod
    def of_plain(cls, plain: object) -> Self:
        """Read what `plain` returned; refuse any other object."""
        wanted = {field.name: field.type for field in fields(cls)}
        if not isinstance(plain, Mapping) or {name: type(value) for name, value in plain.items()} != wanted:
            raise InvalidParameter("which records a model learned from is told by an object of numbers and texts.")
        return cls(**plain)

    @property
    def plain(self) -> dict[str, Any]:
        """What a card keeps."""
        return asdict(self)

    @property
    def whole(self) -> bool:
        """Whether these are all records of the table."""
        return self.high - self.low == KEYS

    def says_of(self, judged: "LearnedFrom") -> str:
        """Return what other records are to a model that learned from these."""
        if self.table != judged.table:
            return UNKNOWN
        alike = self.key == judged.key or self.whole or judged.whole
        if alike and (self.high <= judged.low or judged.high <= self.low):
            return HELD_OUT
        return FITTED if alike and self.low <= judged.low and judged.high <= self.high else PARTLY

    def __str__(self) -> str:
        whose = f"{self.n:,} {'persons' if self.unit else 'records'}"
        fixed = "their place" if not self.key else self.key
        return f"{whose}, all of the table" if self.whole else f"{whose}, the part {self.part!r} by {fixed}"


def remember(model: Any, origin: LearnedFrom | None) -> None:
    """Let a fitted model know which records it learned from."""
    setattr(model, _NAME, origin)


def learned_from(model: Any) -> LearnedFrom | None:
    """Return which records a model learned from; None where that is not known, as for arrays."""
    found: LearnedFrom | None = getattr(model, _NAME, None)
    card = getattr(model, "card_", None)
    if found is None and card is not None and _CARD in card.tacit:
        return LearnedFrom.of_plain(card.tacit[_CARD])
    return found


def standing(model: Any, X: Any) -> str:
    """Return what records are to a model that is judged on them: held out only where that is known."""
    origin = learned_from(getattr(model, "best_estimator_", model))
    return UNKNOWN if origin is None or not isinstance(X, Records) else origin.says_of(LearnedFrom.of(X))
