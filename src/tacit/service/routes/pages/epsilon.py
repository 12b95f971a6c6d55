"""What an epsilon promises: words, a picture, and Bob's game. For everybody."""

from fastapi import APIRouter, Request, Response

from tacit.accounting.meaning import explain
from tacit.budget import Budget
from tacit.reports.drawing import guess_picture
from tacit.service.pages import game
from tacit.service.pages.forms import Fields, PageRoute, number_of, text_of
from tacit.service.pages.rendering import page, signing_of

router = APIRouter(route_class=PageRoute)


@router.get("/epsilon")
def told(request: Request, epsilon: str = "1") -> Response:
    """Show what an epsilon means, and begin a game."""
    chosen = game.checked_epsilon(number_of({"epsilon": epsilon}, "epsilon", 1.0))
    return _shown(request, chosen, game.first(signing_of(request), chosen))


@router.post("/epsilon")
def played(request: Request, fields: Fields) -> Response:
    """Say whether a guess was right, and show the next round."""
    chosen = game.checked_epsilon(number_of(fields, "epsilon", 1.0))
    ticket, guess = text_of(fields, "game"), text_of(fields, "guess")
    return _shown(request, chosen, game.after(signing_of(request), chosen, ticket, guess))


def _shown(request: Request, epsilon: float, dealt: game.Round) -> Response:
    budget = Budget(epsilon)
    picture, words = guess_picture(budget), explain(budget)
    return page(
        request, "epsilon", "What epsilon means", epsilon=f"{epsilon:g}", words=words, picture=picture, game=dealt
    )
