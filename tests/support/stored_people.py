"""The table of all fits, put into a database of PostgreSQL."""

from typing import Any

import pandas as pd
import psycopg

_TYPES = {"x": "float8", "v": "float8", "score": "float8", "who": "int", "c": "text", "answer": "text", "kind": "text"}


def in_postgresql(server: Any, database: str, table: pd.DataFrame) -> tuple[str, str]:
    """Store the table, and return where it is."""
    address = server.address(database)
    columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE people ({columns})".encode())
        with cursor.copy("COPY people FROM STDIN") as copy:
            for row in table[list(_TYPES)].itertuples(index=False):
                copy.write_row(row)
    return address, "people"
