"""The history of an account: entries in a hash chain, and what they add up to.

Each entry's hash covers its content and the hash before it; the first link covers the account's own terms.
So a changed, removed, inserted or reordered entry breaks the chain, and a history cut off at the end
disagrees with the account's count or with what an earlier reader saw.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from tacit.accounting.events import Event, event_from_json
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt, TacitError

__all__ = ["Entry", "History", "Partition", "Path", "digest"]

Path = tuple[tuple[str, str], ...]
"""Where an entry belongs: ((partition, part), ...) from the outside in; () is the account itself."""


def digest(previous: str, content: Mapping[str, Any]) -> str:
    """Return the hash of a link: of its content and the hash before it."""
    text = json.dumps([previous, content], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@final
@dataclass(frozen=True)
class Partition:
    """Names of disjoint parts of the records, and what fixes the part that a record belongs to."""

    parts: tuple[str, ...]
    fixed_by: str


@final
@dataclass(frozen=True)
class Entry:
    """One line of the history: a spend, or the declaration of a partition (which costs nothing).

    The amount is in the account's own units: (epsilon, delta) for "basic", (divergence, delta) for "renyi".
    """

    number: int
    time: str
    label: str
    path: Path
    amount: Budget
    event: Event | None
    partition: "Partition | None"
    hash: str

    @classmethod
    def from_content(cls, content: Mapping[str, Any], link: str) -> "Entry":
        """Build an entry from its stored content."""
        amount = Budget._amount(Fraction(content["epsilon"]), Fraction(content["delta"]))
        return cls(
            number=content["number"],
            time=content["time"],
            label=content["label"],
            path=tuple((name, part) for name, part in content["path"]),
            amount=amount,
            event=None if content["event"] is None else event_from_json(content["event"]),
            partition=Partition(tuple(content["parts"]), content["fixed_by"]) if content["parts"] else None,
            hash=link,
        )


@final
@dataclass(frozen=True)
class History:
    """What a reader has verified so far: how many entries, the last hash, and the sums by path."""

    count: int
    head: str
    amounts: Mapping[Path, Budget] = field(default_factory=dict)
    partitions: Mapping[tuple[Path, str], Partition] = field(default_factory=dict)

    def extended(self, links: Iterable[tuple[str, str]]) -> "tuple[History, list[Entry]]":
        """Verify the links (content, hash) that follow and return the longer history with its new entries."""
        count, head = self.count, self.head
        amounts, partitions = dict(self.amounts), dict(self.partitions)
        entries = []
        for content_text, link in links:
            entry = _verified(content_text, link, head, count + 1)
            count, head = count + 1, link
            if entry.partition:
                partitions[entry.path, entry.label] = entry.partition
            amounts[entry.path] = amounts.get(entry.path, Budget(0)) + entry.amount
            entries.append(entry)
        return History(count, head, amounts, partitions), entries

    def total(self, path: Path = ()) -> Budget:
        """Return the sum at a path: its own entries, and for each partition the largest of its parts."""
        total = self.amounts.get(path, Budget(0))
        for (where, name), partition in self.partitions.items():
            if where == path:
                total += Budget.largest([self.total((*path, (name, part))) for part in partition.parts])
        return total

    def with_amount(self, path: Path, amount: Budget) -> "History":
        """Return what the history would add up to with one more amount at the path."""
        for depth, (name, part) in enumerate(path):
            partition = self.partitions.get((path[:depth], name))
            if partition is None or part not in partition.parts:
                raise LedgerCorrupt(f"the ledger has no partition {name!r} with a part {part!r}: it was replaced.")
        amounts = {**self.amounts, path: self.amounts.get(path, Budget(0)) + amount}
        return History(self.count, self.head, amounts, self.partitions)


def _verified(content_text: str, link: str, head: str, number: int) -> Entry:
    try:
        content = json.loads(content_text)
        if digest(head, content) == link and content["number"] == number:
            return Entry.from_content(content, link)
    except (ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError, TacitError):
        pass
    raise LedgerCorrupt(
        f"entry {number} of the ledger does not match its hash: the history was damaged or changed. "
        "Nothing was charged. Restore the ledger from a backup; what was spent since the backup must be "
        "charged to it again."
    )
