"""What is behind the store of records, for tests alone."""

from typing import Any

from tacit.data.records import Records
from tacit.data.store.store import View
from tacit.secret import open_secret


def view_of(records: Records) -> View:
    """Return the view of the cleaned cells."""
    return open_secret(records.secret)


def cells_of(records: Records, *names: str) -> dict[str, Any]:
    """Return the cleaned cells of some columns, or of all that can be asked about."""
    return {name: view_of(records).column(name) for name in names or tuple(records.columns)}
