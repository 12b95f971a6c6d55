"""What a database's errors mean for a ledger."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt, LedgerError, LedgerForeign, LedgerMissing


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn a database's errors into ledger errors."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidParameter(f"{where} needs a driver: pip install 'tacit[postgres]'.") from error
    except NoSuchModuleError as error:
        raise InvalidParameter(f"there is no driver for {where}.") from error
    except UnicodeDecodeError as error:
        raise LedgerCorrupt(f"the ledger at {where} is damaged. Restore it from a backup.") from error
    except (DBAPIError, sqlite3.Error) as error:
        # What the driver's own cursor raises comes as it is.
        own = error.orig if isinstance(error, DBAPIError) else error
        kind, says = _REASONS.get(_code(own), (LedgerError, "cannot be used"))
        raise kind(f"the ledger at {where} {says}: {own}") from error


def _code(error: object) -> object:
    """Return what the driver says went wrong: SQLite's primary error code, or PostgreSQL's SQLSTATE."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 1) & 0xFF
    return getattr(error, "sqlstate", None)


_BUSY = (LedgerBusy, "was locked by others for too long, nothing was charged")
_DAMAGED = (LedgerCorrupt, "is damaged or not a ledger inside; restore it from a backup")
_UNREACHABLE = (LedgerMissing, "cannot be reached")
_REASONS: dict[object, tuple[type[LedgerError], str]] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    "55P03": _BUSY,  # lock not available
    "40001": _BUSY,  # serialization failure
    "40P01": _BUSY,  # deadlock
    sqlite3.SQLITE_NOTADB: (LedgerForeign, "is not a database, nothing was changed"),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    "42P01": _DAMAGED,  # undefined table
    "42703": _DAMAGED,  # undefined column
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    None: _UNREACHABLE,  # PostgreSQL refused the connection
    "3D000": _UNREACHABLE,  # no such database
}
