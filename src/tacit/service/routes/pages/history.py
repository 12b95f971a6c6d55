"""What was asked of a data set, on a page: one's own requests, or everybody's for who oversees accounts."""

from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.service.access import TheService
from tacit.service.pages.forms import PageRoute, SignedIn
from tacit.service.routes.pages.asking import dataset_page

router = APIRouter(route_class=PageRoute)

_MOST = 200
_CHARGED = {True: "it was charged", False: "", None: "not known"}


@router.get("/datasets/{name}/history")
def shown(name: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show the last requests."""
    dataset = service.datasets.of(caller, name)
    asked = [_line(each) for each in service.requests(caller, name, _MOST)]
    return dataset_page(request, "history", dataset, caller, requests=asked)


def _line(request: dict[str, Any]) -> dict[str, Any]:
    cost = request["cost"]
    return {
        "time": request["created"], "who": request["owner"], "what": request["route"], "state": request["state"],
        "cost": _CHARGED[request["charged"]] if cost is None else cost["words"], "job": request["job"],
    }  # fmt: skip
