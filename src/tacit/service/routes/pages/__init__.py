"""The pages that people use: each shows, or does, what a route of /v1 does."""

from fastapi import APIRouter

from tacit.service.pages.forms import PageRoute
from tacit.service.routes.pages import epsilon, front

router = APIRouter(include_in_schema=False, route_class=PageRoute)
for part in (front, epsilon):
    router.include_router(part.router)
