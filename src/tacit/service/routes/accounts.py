"""Accounts: what was charged, whether the history is whole, and a bundle of it to verify elsewhere."""

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from tacit.accounting.bundle import copy_account
from tacit.accounting.ledger import Ledger
from tacit.errors import LedgerCorrupt
from tacit.reports.card import card_of_ledger
from tacit.reports.facts import charge
from tacit.service.access import Inspector, TheService
from tacit.service.datasets import amount

router = APIRouter(prefix="/v1/datasets/{name}", tags=["accounts"])

_MANY = 1000
_HOW = """An account, to be verified by anybody, without the service:

    tacit ledger verify sqlite:///ledger.db --witness witness.json

exits with 0 if every entry is as it was written, and the head that the service's witness was told is one of them. Lay
that head beside the one that the witness itself tells you. card.yaml says what was promised, dataset.json what was
declared public and who signed for it.
"""


@router.get("/ledger")
def ledger(
    name: str,
    service: TheService,
    caller: Inspector,
    after: Annotated[int, Query(ge=0, description="Entries after this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MANY)] = _MANY,
) -> dict[str, Any]:
    """Tell what was charged, by whom and for what, from the first entry on."""
    account = service.datasets.of(caller, name).account
    entries = [charge(entry) for entry in account.entries()[after : after + limit]]
    return {"account": account.name, "budget": amount(account.budget), "head": account.head, "entries": entries}


@router.get("/verify")
def verify(name: str, service: TheService, caller: Inspector) -> dict[str, Any]:
    """Verify the whole history again, from its first entry, and against the witness."""
    dataset = service.datasets.of(caller, name)
    account, last = dataset.account, service.datasets.witness.last(dataset.account.name)
    heads = None if last is None else {"number": last[0], "head": last[1]}
    try:
        # A witness that forgot what it was told would agree with anything.
        head = "" if last is None else last[1]
        again = Ledger.open(account.store.url.render_as_string(False), name=account.name, head=head)
        return {"holds": True, "count": len(again.entries()), "head": again.head, "witness": heads}
    except LedgerCorrupt:
        return {"holds": False, "count": None, "head": None, "witness": heads}


@router.get("/bundle", response_class=Response, responses={200: {"content": {"application/zip": {}}}})
def bundle(name: str, service: TheService, caller: Inspector) -> Response:
    """Return the account in a file that `tacit ledger verify` reads anywhere, with its card and what was signed."""
    dataset = service.datasets.of(caller, name)
    last = service.datasets.witness.last(dataset.account.name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        copy = copy_account(dataset.account, path)
        head = {"name": copy.name, "count": len(copy.entries()), "head": copy.head}
        if last is not None:
            head |= {"count": last[0], "head": last[1]}
        files = {
            "README.txt": _HOW.encode(),
            "ledger.db": path.read_bytes(),
            "witness.json": json.dumps(head).encode("ascii"),
            "card.yaml": card_of_ledger(copy).to_yaml().encode(),
            "dataset.json": json.dumps(dataset.document, indent=2).encode("ascii"),
        }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in files.items():
            archive.writestr(f"{name}/{each}", content)
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)
