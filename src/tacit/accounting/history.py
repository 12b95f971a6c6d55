"""The history of an account: entries in a hash chain, and what they add up to.

Each entry's hash covers its content and the hash before it; the first link covers the account's own terms.
So a changed, removed, inserted or reordered entry breaks the chain, and a history cut off at the end
disagrees with the account's count or with what an earlier reader saw.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from tacit.accounting.events import Event, event_from_json
from tacit.accounting.links import Link, PartPath, read_link
from tacit.accounting.tickets import Place, Places
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt

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
    """One line of the history: a spend, or what costs nothing: the declaration of a partition, or a note.

    The amount is in the account's own units: (epsilon, delta) for "basic", (divergence, delta) for "renyi". Who paid,
    up to which share of the budget, and which charge of which ticket this is, is None where nobody said so. `ids` is
    the column of persons' ids that the entry fixed for all that follow.
    """

    number: int
    time: str
    label: str
    path: PartPath
    amount: Budget
    event: Event | None
    partition: "Partition | None"
    hash: str
    payer: str | None = None
    share: Fraction | None = None
    ticket: Place | None = None
    ids: str | None = None

    @classmethod
    def read(cls, content_text: str, link: str) -> "Entry":
        """Build an entry from the stored text of a link that a history was extended by."""
        content = json.loads(content_text)
        standing = content.get("standing") or {}
        share, ticket = standing.get("share"), standing.get("ticket")
        return cls(
            number=content["number"],
            time=content["time"],
            label=content["label"],
            path=tuple((name, part) for name, part in content["path"]),
            amount=Budget.amount(Fraction(content["epsilon"]), Fraction(content["delta"])),
            event=None if content["event"] is None else event_from_json(content["event"]),
            partition=Partition(tuple(content["parts"]), content["fixed_by"]) if content["parts"] else None,
            hash=link,
            payer=standing.get("payer"),
            share=None if share is None else Fraction(share),
            ticket=None if ticket is None else (ticket, standing["place"]),
            ids=content.get("ids"),
        )


@final
@dataclass(frozen=True)
class History:
    """What a reader has verified so far: how many entries, the last hash, and what they add up to.

    `sums` says what each path costs: its own entries, and for each of its partitions the largest part, which
    `largest` keeps. Both only ever grow, so an entry changes them along its own path and nowhere else. `paid` adds up
    what each payer was charged, in whatever part; `places` finds the charges of tickets. `ids` is the column of
    persons' ids that the first charge for persons fixed, on an account that was created without one.
    """

    count: int
    head: str
    sums: Mapping[PartPath, Budget] = field(default_factory=dict)
    largest: Mapping[tuple[PartPath, str], Budget] = field(default_factory=dict)
    partitions: Mapping[tuple[PartPath, str], Partition] = field(default_factory=dict)
    paid: Mapping[str, Budget] = field(default_factory=dict)
    places: Places = field(default_factory=Places)
    ids: str | None = None

    def extended(self, links: Iterable[tuple[str, str]]) -> "History":
        """Verify the links (content, hash) that follow and return the longer history."""
        count, head, ids = self.count, self.head, self.ids
        partitions = dict(self.partitions)
        known: set[PartPath] = {()}
        said: defaultdict[Link, int] = defaultdict(int)
        places: dict[Place, tuple[int, str]] = {}
        for content_text, link_hash in links:
            count += 1
            link = read_link(content_text, link_hash, head, count)
            if link is None:
                raise LedgerCorrupt(_damage(count, "does not match its hash"))
            head = link_hash
            path, _, _, declared, _, place, fixed = link
            if path not in known:
                if not _is_declared(partitions, path):
                    raise LedgerCorrupt(_damage(count, "belongs to a part that no partition has"))
                known.add(path)
            if declared is not None:
                name, parts, fixed_by = declared
                if (path, name) in partitions:
                    raise LedgerCorrupt(_damage(count, "declares a partition for the second time"))
                partitions[path, name] = Partition(parts, fixed_by)
            if place is not None:
                if place in places or self.places.find(place) is not None:
                    raise LedgerCorrupt(_damage(count, "charges a ticket's place for the second time"))
                places[place] = count, link_hash
                link = (*link[:5], None, fixed)
            if fixed is not None:
                if ids is not None:
                    raise LedgerCorrupt(_damage(count, "fixes the ids of persons for the second time"))
                ids = fixed
            said[link] += 1
        sums, largest, paid = dict(self.sums), dict(self.largest), dict(self.paid)
        for path, amount in _amounts(said, lambda link: link[0]):
            _add(sums, largest, path, amount)
        for payer, amount in _amounts({link: times for link, times in said.items() if link[4]}, lambda link: link[4]):
            paid[payer] = paid.get(payer, _NOTHING) + amount
        return History(count, head, sums, largest, partitions, paid, self.places.with_more(places), ids)

    def paid_by(self, payer: str | None) -> Budget:
        """Return what all charges to a payer add up to, whatever parts they were for."""
        return _NOTHING if payer is None else self.paid.get(payer, _NOTHING)

    def total(self, path: PartPath = ()) -> Budget:
        """Return the sum at a path: its own entries, and for each partition the largest of its parts."""
        return self.sums.get(path, _NOTHING)

    def has(self, path: PartPath, name: str, wanted: Partition) -> bool:
        """Whether there is a partition of this name at a path; refuse one that is not as it is wanted."""
        known = self.partitions.get((path, name))
        if known is not None and known != wanted:
            raise InvalidParameter(
                f"partition {name!r} exists, fixed by {known.fixed_by}, with parts {', '.join(known.parts)}."
            )
        return known is not None

    def free(self, path: PartPath) -> Budget:
        """Return what may be spent at a path for nothing: as much as other parts beside it, or above, have spent."""
        found = _NOTHING
        for depth, (name, _) in enumerate(path):
            found += self.largest.get((path[:depth], name), _NOTHING) - self.total(path[: depth + 1])
        return found

    def with_amount(self, path: PartPath, amount: Budget) -> "History":
        """Return what the history would add up to with one more amount at the path."""
        if not _is_declared(self.partitions, path):
            name, part = path[-1]
            raise LedgerCorrupt(f"the ledger has no partition {name!r} with a part {part!r}: it was replaced.")
        sums, largest = dict(self.sums), dict(self.largest)
        _add(sums, largest, path, amount)
        return replace(self, sums=sums, largest=largest)


def totals(entries: Iterable[Entry]) -> Iterator[Budget]:
    """Return what an account's entries add up to after each of them, from the first on."""
    sums: dict[PartPath, Budget] = {}
    largest: dict[tuple[PartPath, str], Budget] = {}
    for entry in entries:
        _add(sums, largest, entry.path, entry.amount)
        yield sums.get((), _NOTHING)


def _amounts(said: Mapping[Link, int], of: Callable[[Link], Any]) -> Iterator[tuple[Any, Budget]]:
    """Add up what links say, each so many times, by what they are `of`; like denominators as whole numbers: fast."""
    epsilons: defaultdict[Any, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    deltas: defaultdict[Any, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for link, times in said.items():
        whose = of(link)
        for sums, amount in ((epsilons, link[1]), (deltas, link[2])):
            numerator, _, denominator = amount.partition("/")
            sums[whose][int(denominator or 1)] += times * int(numerator)
    for whose, numerators in epsilons.items():
        yield whose, Budget.amount(_sum(numerators), _sum(deltas[whose]))


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
