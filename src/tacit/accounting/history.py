"""The history of an account: entries in a hash chain, and what they add up to.

Each entry's hash covers its content and the hash before it; the first link covers the account's own terms.
So a changed, removed, inserted or reordered entry breaks the chain, and a history cut off at the end
disagrees with the account's count or with what an earlier reader saw.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

from tacit.accounting.events import Event, event_from_json
from tacit.accounting.links import Link, PartPath, read_link
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt

_NOTHING = Budget(0)


@final
@dataclass(frozen=True)
class Partition:
    """Names of disjoint parts of the records, and what fixes the part that a record belongs to."""

    parts: tuple[str, ...]
    fixed_by: str

    @cached_property
    def names(self) -> frozenset[str]:
        """The parts, to look one up."""
        return frozenset(self.parts)


@final
@dataclass(frozen=True)
class Entry:
    """One line of the history: a spend, or the declaration of a partition (which costs nothing).

    The amount is in the account's own units: (epsilon, delta) for "basic", (divergence, delta) for "renyi".
    """

    number: int
    time: str
    label: str
    path: PartPath
    amount: Budget
    event: Event | None
    partition: "Partition | None"
    hash: str

    @classmethod
    def read(cls, content_text: str, link: str) -> "Entry":
        """Build an entry from the stored text of a link that a history was extended by."""
        content = json.loads(content_text)
        return cls(
            number=content["number"],
            time=content["time"],
            label=content["label"],
            path=tuple((name, part) for name, part in content["path"]),
            amount=Budget.amount(Fraction(content["epsilon"]), Fraction(content["delta"])),
            event=None if content["event"] is None else event_from_json(content["event"]),
            partition=Partition(tuple(content["parts"]), content["fixed_by"]) if content["parts"] else None,
            hash=link,
        )


@final
@dataclass(frozen=True)
class History:
    """What a reader has verified so far: how many entries, the last hash, and what they add up to.

    `sums` says what each path costs: its own entries, and for each of its partitions the largest part, which
    `largest` keeps. Both only ever grow, so an entry changes them along its own path and nowhere else.
    """

    count: int
    head: str
    sums: Mapping[PartPath, Budget] = field(default_factory=dict)
    largest: Mapping[tuple[PartPath, str], Budget] = field(default_factory=dict)
    partitions: Mapping[tuple[PartPath, str], Partition] = field(default_factory=dict)

    def extended(self, links: Iterable[tuple[str, str]]) -> "History":
        """Verify the links (content, hash) that follow and return the longer history."""
        count, head = self.count, self.head
        partitions = dict(self.partitions)
        known: set[PartPath] = {()}
        said: defaultdict[Link, int] = defaultdict(int)
        for content_text, link_hash in links:
            count += 1
            link = read_link(content_text, link_hash, head, count)
            if link is None:
                raise LedgerCorrupt(_damage(count, "does not match its hash"))
            head = link_hash
            path, _, _, declared = link
            if path not in known:
                if not _is_declared(partitions, path):
                    raise LedgerCorrupt(_damage(count, "belongs to a part that no partition has"))
                known.add(path)
            if declared is not None:
                name, parts, fixed_by = declared
                if (path, name) in partitions:
                    raise LedgerCorrupt(_damage(count, "declares a partition for the second time"))
                partitions[path, name] = Partition(parts, fixed_by)
            said[link] += 1
        sums, largest = dict(self.sums), dict(self.largest)
        for path, amount in _amounts(said):
            _add(sums, largest, path, amount)
        return History(count, head, sums, largest, partitions)

    def total(self, path: PartPath = ()) -> Budget:
        """Return the sum at a path: its own entries, and for each partition the largest of its parts."""
        return self.sums.get(path, _NOTHING)

    def largest_part(self, path: PartPath, name: str) -> Budget:
        """Return the largest sum of the parts of a partition at a path."""
        return self.largest.get((path, name), _NOTHING)

    def with_amount(self, path: PartPath, amount: Budget) -> "History":
        """Return what the history would add up to with one more amount at the path."""
        if not _is_declared(self.partitions, path):
            name, part = path[-1]
            raise LedgerCorrupt(f"the ledger has no partition {name!r} with a part {part!r}: it was replaced.")
        sums, largest = dict(self.sums), dict(self.largest)
        _add(sums, largest, path, amount)
        return History(self.count, self.head, sums, largest, self.partitions)


def _amounts(said: Mapping[Link, int]) -> Iterator[tuple[PartPath, Budget]]:
    """Add up by path what links say, each so many times; like denominators as whole numbers, which is fast."""
    epsilons: defaultdict[PartPath, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    deltas: defaultdict[PartPath, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for (path, epsilon, delta, _), times in said.items():
        for sums, amount in ((epsilons, epsilon), (deltas, delta)):
            numerator, _, denominator = amount.partition("/")
            sums[path][int(denominator or 1)] += times * int(numerator)
    for path, numerators in epsilons.items():
        yield path, Budget.amount(_sum(numerators), _sum(deltas[path]))


def _sum(numerators: Mapping[int, int]) -> Fraction:
    return sum((Fraction(numerator, denominator) for denominator, numerator in numerators.items()), Fraction(0))


def _add(
    sums: dict[PartPath, Budget], largest: dict[tuple[PartPath, str], Budget], path: PartPath, amount: Budget
) -> None:
    """Add an amount at a path, and what it raises the largest parts by at all paths above."""
    while amount:
        sums[path] = sums.get(path, _NOTHING) + amount
        if not path:
            return
        above, (name, _) = path[:-1], path[-1]
        before = largest.get((above, name), _NOTHING)
        largest[above, name] = Budget.largest([before, sums[path]])
        path, amount = above, largest[above, name] - before


def _is_declared(partitions: Mapping[tuple[PartPath, str], Partition], path: PartPath) -> bool:
    """Whether each step of a path is a part of a partition of the path before it."""
    found = ((partitions.get((path[:depth], name)), part) for depth, (name, part) in enumerate(path))
    return all(partition is not None and part in partition.names for partition, part in found)


def _damage(number: int, what: str) -> str:
    return (
        f"entry {number} of the ledger {what}: the history was damaged or changed. "
        "Nothing was charged. Restore the ledger from a backup; what was spent since the backup must be "
        "charged to it again."
    )
