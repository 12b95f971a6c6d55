"""A ledger's statement: its budget, what is spent and left, and its last entries, as text and in a notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from tacit.accounting.history import Entry
from tacit.notebook import card, plain

_COLUMNS = ("#", "time (UTC)", "part", "what", "charged")


@final
@dataclass(frozen=True, repr=False)
class Statement:
    """What an account was asked at one moment; printed as text, shown as a table in a notebook."""

    title: str
    facts: Mapping[str, object]
    entries: Sequence[Entry]

    @classmethod
    def of(cls, ledger: Any, last: int) -> "Statement":
        """Read a ledger's statement."""
        facts = {
            "budget": ledger.budget,
            "spent": ledger.spent,
            "left": ledger.remaining,
            "promises for": ledger.whom.neighbours,
            "account": ledger.accountant,
            "kept at": ledger.address,
        }
        part = "".join(f", {name}={part}" for name, part in ledger.path)
        return cls(f"Ledger {ledger.name}{part}", facts, ledger.entries()[-last:] if last > 0 else [])

    def __repr__(self) -> str:
        return plain(self.title, self.facts, _COLUMNS, self._rows())

    def _repr_html_(self) -> str:
        return card(self.title, self.facts, _COLUMNS, self._rows())

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                entry.number,
                entry.time[:19].replace("T", " "),
                " / ".join(f"{name}={part}" for name, part in entry.path),
                entry.label,
                entry.amount if entry.partition is None else f"parts: {', '.join(entry.partition.parts)}",
            )
            for entry in self.entries
        ]
