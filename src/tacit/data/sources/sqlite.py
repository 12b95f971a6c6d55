"""Tables of an SQLite database: its cells have types of their own, each, so they are read into memory one by one."""

from typing import Any

import numpy as np

from tacit.data.frames import Cells
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter


def read_sqlite(address: str, table: str) -> Cells:
    """Read all columns of a table; whatever type was declared for a column, a cell may be of any."""
    import sqlalchemy as sa

    rows: list[Any] | None = None
    names: list[str] = []
    failure = ""
    try:
        path = sa.make_url(address).database
        engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=sa.NullPool)
        with engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            # A text that is not UTF-8 is no text; decoding it must not fail.
            raw.text_factory = lambda cell: cell.decode("utf-8", "replace")
            found = raw.execute('SELECT * FROM "' + table.replace('"', '""') + '"')
            names = [str(column[0]) for column in found.description]
            rows = found.fetchall()
    except Exception as error:
        failure = type(error).__name__
    if rows is None:
        raise InvalidParameter(f"the table {table!r} cannot be read ({failure}). Check the address and the name.")
    if len(set(names)) != len(names):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")
    return {
        name: (np.fromiter((row[place] for row in rows), dtype=object, count=len(rows)), Stored("cells"))
        for place, name in enumerate(names)
    }
