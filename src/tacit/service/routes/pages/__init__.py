"""The pages that people use: each shows, or does, what a route of /v1 does."""

from fastapi import APIRouter

from tacit.service.pages.forms import PageRoute
from tacit.service.routes.pages import asking, epsilon, front, sessions, training

router = APIRouter(include_in_schema=False, route_class=PageRoute)
for part in (front, epsilon, asking, training, sessions):
    router.include_router(part.router)
