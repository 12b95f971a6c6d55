"""What DuckDB's catalogue calls the types that tacit reads, and how its answers are streamed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.data.sources.table import BLOCK
from tacit.data.stored import Stored, StoredKind

_KINDS: Mapping[str, StoredKind] = {
    "BOOLEAN": "truth", "TINYINT": "whole", "SMALLINT": "whole", "INTEGER": "whole", "BIGINT": "whole",
    "UTINYINT": "whole", "USMALLINT": "whole", "UINTEGER": "whole", "UBIGINT": "whole", "FLOAT": "real",
    "DOUBLE": "real", "VARCHAR": "text", "UUID": "uuid", "DATE": "day", "TIMESTAMP": "moment", "TIMESTAMP_NS": "moment",
    "TIMESTAMP WITH TIME ZONE": "moment",
}  # fmt: skip


def stored_types(connection: Any, relation: str) -> Mapping[str, Stored]:
    """Return the stored type of every column of a relation; no record is read."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {str(row[0]): _stored(str(row[1])) for row in rows}


def _stored(name: str) -> Stored:
    if decimal := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", name):
        return Stored("decimal", name.lower(), int(decimal[1]))
    return Stored(_KINDS.get(name, "other"), name.lower())


def arrow_blocks(connection: Any, sql: str) -> Iterator[Sequence[Any]]:
    """Yield the columns of a statement's rows, a block at a time."""
    relation = connection.sql(sql)
    # The method was renamed in DuckDB 1.4.
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    for batch in reader(BLOCK):
        yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]
