"""Tokens: shown once, kept as a digest, with a scope, an end and an owner.

A token reads tacit_<8 letters>_<43 letters>: a public name, and 256 secret bits. What is kept of the secret is its
SHA-256, which needs no salt nor stretching: nobody can guess 256 random bits.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import sqlalchemy as sa

from tacit.checks import finite_number
from tacit.errors import InvalidParameter
from tacit.noise import unique_token
from tacit.service.clock import in_days, now
from tacit.service.refusals import missing
from tacit.service.state import TOKEN, State

Scope = Literal["custodian", "analyst", "auditor"]
SCOPES = get_args(Scope)
_FORM = re.compile(r"tacit_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@-]{0,62}[A-Za-z0-9._@-])?")
OWNER_WORDS = "a letter or a digit, and up to 63 more of them, of . _ @ - and of blanks that it does not end with"
_LONGEST_DAYS, _LONGEST_NOTE = 3660, 1000
Note = Callable[[Sequence[str] | None, str], None]
"""Writes a line into the accounts of some data sets, None for all."""
# As text: every request executes it.
_SELECT = sa.text("SELECT id, name, scope, hash, datasets, expires, revoked FROM tacit_service_token WHERE id = :id")


@final
@dataclass(frozen=True)
class Caller:
    """Who asks: the token's owner, what they may do, and with which data sets (None for all)."""

    name: str
    scope: Scope
    token: str
    expires: str
    datasets: tuple[str, ...] | None

    def sees(self, dataset: str) -> bool:
        """Whether the token is for a data set."""
        return self.datasets is None or dataset in self.datasets

    def covers(self, datasets: Sequence[str] | None) -> bool:
        """Whether the token is for all of these data sets, None being all that there are or will be."""
        return self.datasets is None or (datasets is not None and set(datasets) <= set(self.datasets))


@final
class Tokens:
    """The tokens that a service has given out; who made and who ended which is in the chains of the accounts."""

    def __init__(self, state: State, note: Note) -> None:
        self._state, self._note = state, note

    def make(
        self, name: str, scope: str, days: float = 90, datasets: Sequence[str] | None = None, *, by: str = "the service"
    ) -> tuple[str, str]:
        """Make a token; return its id, and its text, which is told this once.

        The accounts that it is for note it before there is such a token.
        """
        if not isinstance(name, str) or not OWNER.fullmatch(name):
            raise InvalidParameter(f"the name of a token's owner must be {OWNER_WORDS}.")
        if scope not in SCOPES:
            raise InvalidParameter(f"scope must be one of {', '.join(SCOPES)}.")
        if not 0 < finite_number("days", days) <= _LONGEST_DAYS:
            raise InvalidParameter(f"days must lie between 0 and {_LONGEST_DAYS}.")
        for_which = None if datasets is None else sorted({str(each) for each in datasets})
        public, secret = unique_token()
        row = {
            "id": public, "name": name, "scope": scope, "hash": _digest(secret), "datasets": json.dumps(for_which),
            "created": now(), "expires": in_days(days),
        }  # fmt: skip
        which = "all data sets" if for_which is None else ", ".join(for_which)
        words = f"token {public} made by {by!r} for {name!r}: {scope}, until {row['expires']}, with {which}"
        self._note(for_which, words[:_LONGEST_NOTE])
        with self._state.writing() as connection:
            connection.execute(sa.insert(TOKEN).values(row))
        return public, f"tacit_{public}_{secret}"

    def caller(self, text: str) -> Caller | None:
        """Return whose token this is, or None if it is nobody's, has ended or was revoked."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        row = self._state.row(_SELECT, {"id": found[1]})
        # An unknown name is compared, too: that there is one of that name is not told by the time it takes.
        same = hmac.compare_digest(_digest(found[2]), "" if row is None else row.hash)
        if row is None or not same or row.revoked is not None or not now() < row.expires:
            return None
        datasets = json.loads(row.datasets)
        return Caller(row.name, row.scope, row.id, row.expires, None if datasets is None else tuple(datasets))

    def give(
        self, caller: Caller, name: str, scope: str, days: float = 90, datasets: Sequence[str] | None = None
    ) -> tuple[str, str]:
        """Make a token in a caller's name: for no other data sets than theirs, which it is for if none are named."""
        wanted = caller.datasets if datasets is None else datasets
        if not caller.covers(wanted):
            raise missing("data set")
        return self.make(name, scope, days, wanted, by=caller.name)

    def take(self, caller: Caller, public: str) -> None:
        """End a token in a caller's name: one for other data sets than theirs is refused as if it were not there."""
        if not any(each["id"] == public for each in self.known_to(caller)):
            raise missing("token")
        self.revoke(public, by=caller.name)

    def revoke(self, public: str, *, by: str = "the service") -> None:
        """End a token at once; the accounts that it was for note it then, and again whenever it is revoked again.

        Where a note could not be written, revoking the token once more writes it.
        """
        ended = next((each for each in self.all() if each["id"] == public), None)
        if ended is None:
            raise missing("token")
        ending = sa.update(TOKEN).where(TOKEN.c.id == public, TOKEN.c.revoked.is_(None)).values(revoked=now())
        with self._state.writing() as connection:
            connection.execute(ending)
        self._note(ended["datasets"], f"token {public} of {ended['name']!r} revoked by {by!r}")

    def all(self) -> list[dict[str, Any]]:
        """Return all tokens, without their secrets."""
        columns = [column for column in TOKEN.c if column.name != "hash"]
        rows = self._state.rows(sa.select(*columns).order_by(TOKEN.c.created))
        return [{**row._mapping, "datasets": json.loads(row.datasets)} for row in rows]

    def known_to(self, caller: Caller) -> list[dict[str, Any]]:
        """Return the tokens for no other data sets than a caller's own is for."""
        return [each for each in self.all() if caller.covers(each["datasets"])]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
