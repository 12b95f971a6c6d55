"""An account as a file of its own, for whoever wants to verify it elsewhere: `tacit ledger verify` reads it."""

import os

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.store import ACCOUNT, ENTRY, Store


def copy_account(ledger: Ledger, path: str | os.PathLike[str]) -> Ledger:
    """Copy an account's terms and entries into a new SQLite file, and open it there, verified from its first entry.

    Answers that were paid for stay behind. A copy is for reading: what was spent there would not be spent here.
    """
    target = Store.at(path)
    with ledger.store.reading() as connection:
        account = connection.execute(sa.select(ACCOUNT).where(ACCOUNT.c.name == ledger.name)).mappings().one()
        entries = connection.execute(sa.select(ENTRY).where(ENTRY.c.account == ledger.name)).mappings().all()
    target.prepare()
    with target.writing() as connection:
        connection.execute(sa.insert(ACCOUNT).values(**account))
        if entries:
            connection.execute(sa.insert(ENTRY), [dict(each) for each in entries])
    return Ledger.open(path, name=ledger.name)
