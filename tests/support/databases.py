"""Look at and tamper with a ledger's tables behind its back."""

import json
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacit.accounting.links import digest


def rows(address: str, statement: str, **values: object) -> list[Any]:
    """Run a statement in the ledger's database, commit, and return its rows if it has any."""
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
    with engine.begin() as connection:
        result = connection.execute(sa.text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []


def everything(address: str) -> list[Any]:
    """Return all that the database holds, and the bytes of its file if it is one."""
    content: list[Any] = [
        rows(address, "SELECT version FROM tacit_ledger"),
        rows(address, "SELECT name, terms, count, head FROM tacit_account ORDER BY name"),
        rows(address, "SELECT account, number, content, hash FROM tacit_entry ORDER BY account, number"),
    ]
    if address.startswith("sqlite"):
        file = Path(address.removeprefix("sqlite:///"))
        content += [file.read_bytes(), sorted(other.name for other in file.parent.iterdir())]
    return content


def rewrite(address: str, number: int, /, **changes: object) -> None:
    """Change an entry's content and leave its hash."""
    ((text,),) = rows(address, "SELECT content FROM tacit_entry WHERE number = :number", number=number)
    content = json.loads(text)
    assert set(changes) <= set(content)
    changed = json.dumps({**content, **changes}, sort_keys=True)
    assert changed != text
    rows(address, "UPDATE tacit_entry SET content = :content WHERE number = :number", content=changed, number=number)


def roll_back(address: str) -> None:
    """Remove the last entry and put the account's count and head back, as if it had never been."""
    ((count, terms),) = rows(address, "SELECT count, terms FROM tacit_account")
    rows(address, "DELETE FROM tacit_entry WHERE number = :number", number=count)
    before = rows(address, "SELECT hash FROM tacit_entry WHERE number = :number", number=count - 1)
    head = before[0][0] if before else digest("", json.loads(terms))
    rows(address, "UPDATE tacit_account SET count = :count, head = :head", count=count - 1, head=head)


def rechain(address: str) -> None:
    """Recompute every hash and the account's count and head: the forgery that only a memory can notice."""
    ((name, terms),) = rows(address, "SELECT name, terms FROM tacit_account")
    entries = rows(address, "SELECT number, content FROM tacit_entry ORDER BY number")
    head = digest("", json.loads(terms))
    rows(address, "DELETE FROM tacit_entry")
    for number, (_, text) in enumerate(entries, 1):
        content = {**json.loads(text), "number": number}
        head = digest(head, content)
        rows(
            address,
            "INSERT INTO tacit_entry (account, number, content, hash) VALUES (:account, :number, :content, :hash)",
            account=name,
            number=number,
            content=json.dumps(content, sort_keys=True),
            hash=head,
        )
    rows(address, "UPDATE tacit_account SET count = :count, head = :head", count=len(entries), head=head)
