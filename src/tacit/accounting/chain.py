"""An account's history as a handle knows it: read piece by piece, verified, remembered, made longer by one writer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast, final

import sqlalchemy as sa

from tacit.accounting.history import Entry, History
from tacit.accounting.links import PartPath, digest
from tacit.accounting.store import INSERT_ENTRY, SELECT_ACCOUNT, SELECT_ENTRIES, UPDATE_ACCOUNT, Store
from tacit.accounting.tickets import Place
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt

# Entries that are read in one transaction: some ten milliseconds' worth.
_PIECE = 10_000

Row = tuple[str, str]


@final
class Chain:
    """The entries of one account; handles that came from one another share what they have seen of it.

    What was seen once must be there for ever: a history that lost it is refused.
    """

    def __init__(self, store: Store, name: str, seen: History) -> None:
        self.store, self.name, self.seen = store, name, seen

    def current(self) -> History:
        """Return the whole history as it is now."""
        # What another thread sees after this snapshot began must not be looked for in it.
        history = self.seen
        for longer, _ in self.pieces(history):
            history = longer
        self.remember(history)
        return history

    def pieces(self, seen: History) -> Iterator[tuple[History, Sequence[Row]]]:
        """Verify what follows a history seen earlier, piece by piece: nobody is kept waiting meanwhile."""
        whole = False
        while not whole:
            with self.store.reading() as connection:
                found = self.found(connection, seen)
            seen, links, whole = self._verified(seen, *found)
            yield seen, links

    def verify(self, head: str | None) -> None:
        """Verify and remember the whole history; with `head`, refuse one that has no entry with this hash."""
        known = head is None or head == self.seen.head
        for longer, links in self.pieces(self.seen):
            known = known or any(head == link for _, link in links)
            self.remember(longer)
        if not known:
            raise LedgerCorrupt(
                f"account {self.name!r} at {self.store} has no entry with the hash given: its history was shortened or "
                "replaced."
            )

    @contextmanager
    def writing(self) -> Iterator[tuple[sa.Connection, History]]:
        """Open a transaction with the only right to charge, and give the verified history it begins with.

        Who has much to catch up on lets others in after each piece.
        """
        seen = self.seen
        while True:
            with self.store.writing(self.name) as connection:
                seen, _, whole = self._verified(seen, *self.found(connection, seen))
                if whole:
                    yield connection, seen
                    return

    def append(self, connection: sa.Connection, history: History, content: Mapping[str, Any]) -> tuple[History, Entry]:
        """Write an entry behind a history, and return the longer one."""
        numbered = {"number": history.count + 1, **content}
        text, link = json.dumps(numbered, sort_keys=True), digest(history.head, numbered)
        longer, entry = history.extended([(text, link)]), Entry.read(text, link)
        values = {"account": self.name, "number": longer.count, "content": text, "hash": link}
        connection.execute(INSERT_ENTRY, values)
        connection.execute(UPDATE_ACCOUNT, values)
        return longer, entry

    def entry_at(self, connection: sa.Connection, history: History, place: Place | None) -> Entry | None:
        """Return the entry that a history has at a ticket's place, if there is one, by the hash that it knows of it."""
        known = None if place is None else history.places.find(place)
        if known is None:
            return None
        number, link = known
        values = {"account": self.name, "number": number, "limit": 1}
        content, found = connection.execute(SELECT_ENTRIES, values).one()
        if found != link:
            raise self._lost()
        return Entry.read(content, link)

    def remember(self, history: History) -> None:
        """Move the memory forward; threads that share it may come in any order."""
        if history.count > self.seen.count:
            self.seen = history

    def row(self, connection: sa.Connection) -> Any:
        """Read the account's own row."""
        row = connection.execute(SELECT_ACCOUNT, {"account": self.name}).first()
        if row is None:
            raise LedgerCorrupt(f"account {self.name!r} has vanished from {self.store}. Restore it from a backup.")
        return row

    def found(self, connection: sa.Connection, seen: History) -> tuple[Any, Sequence[Row]]:
        """Read the account, the last entry seen, if any, and a piece of what follows it: all of one state."""
        values = {"account": self.name, "number": seen.count, "limit": _PIECE + (seen.count > 0)}
        # The driver's own tuples: to make rows of them takes a tenth of the time of opening a long history.
        links = cast("Any", connection.execute(SELECT_ENTRIES, values)).cursor.fetchall()
        return self.row(connection), links

    def _verified(self, seen: History, row: Any, links: Sequence[Row]) -> tuple[History, Sequence[Row], bool]:
        """Verify a piece that was added to a history seen earlier, and that nothing of it has gone.

        Return the longer history, what is new in it, and whether this is the end, where the account's own count and
        head must agree.
        """
        known, new = (links[:1], links[1:]) if seen.count else ((), links)
        is_there = [link for _, link in known] == [seen.head] * (seen.count > 0)
        history, whole = seen.extended(new) if is_there else seen, len(new) < _PIECE
        if not is_there or (whole and (row.count, row.head) != (history.count, history.head)):
            raise self._lost()
        return history, new, whole

    def _lost(self) -> LedgerCorrupt:
        return LedgerCorrupt(
            f"the history of account {self.name!r} at {self.store} was shortened or replaced. "
            "Nothing was charged. Restore it from a backup; what was spent since must be charged again."
        )


def written(
    label: str,
    path: PartPath,
    amount: Budget,
    *,
    event: str | None = None,
    parts: Sequence[str] = (),
    fixed_by: str | None = None,
    said: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write what an entry says, at the present moment."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="microseconds"),
        "label": label,
        "path": [list(step) for step in path],
        "epsilon": str(amount.exact_epsilon),
        "delta": str(amount.exact_delta),
        "event": event,
        "parts": list(parts),
        "fixed_by": fixed_by,
        **(said or {}),
    }
