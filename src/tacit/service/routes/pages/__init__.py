"""The pages that people use: each shows, or does, what a route of /v1 does."""

from fastapi import APIRouter

from tacit.service.pages.forms import PageRoute
from tacit.service.routes.pages import asking, custody, epsilon, front, history, registering, sessions, training

router = APIRouter(include_in_schema=False, route_class=PageRoute)
for part in (front, epsilon, asking, training, sessions, history, custody, registering):
    router.include_router(part.router)
