"""Sessions: points are sent, and answered with error bars; a point that is asked again has the same answer."""

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from tacit.service.access import Anyone, TheService
from tacit.service.asking import Body

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])


class PointsBody(Body):
    """Points to answer: objects by the columns' names, or lists in the order of the schema."""

    points: list[Any] = Field(min_length=1, max_length=1000, examples=[[{"age": 61, "smoker": True}]])


@router.get("")
def listed(service: TheService, caller: Anyone) -> dict[str, Any]:
    """List one's last sessions, the newest first, with what is public of each."""
    return {"sessions": [session.public() for session in service.session_table.listed(caller)]}


@router.get("/{session}")
def one(session: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Tell what is public of a session, and how many more points it answers."""
    found = service.session_table.of(caller, session)
    return {**found.public(), **service.sessions.left(found)}


@router.post("/{session}/answers")
def answers(session: str, body: PointsBody, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Answer points. Nothing more is charged; every answer is kept, and is the same for ever."""
    return service.sessions.answer(service.session_table.of(caller, session), body.points)
