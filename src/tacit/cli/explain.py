"""`tacit explain`: what an epsilon means, in words, as a picture, and as a game."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit import statistics
from tacit.accounting import meaning
from tacit.budget import Budget
from tacit.cli.answering import Answering, AsJson, Quiet, answering, example
from tacit.cli.pictures import write_picture
from tacit.errors import InvalidParameter
from tacit.mechanisms.exponential import Exponential
from tacit.releases import release
from tacit.reports.facts import exact_amount

EXAMPLE = example("tacit explain 0.5 --output epsilon.svg")
_ROUNDS = 10


def explain(
    epsilon: Annotated[float, typer.Argument(help="The epsilon.")],
    delta: Annotated[float, typer.Option(help="The delta.")] = 0.0,
    output: Annotated[Path | None, typer.Option(help="Draw it into this file, too (.png, .svg or .pdf).")] = None,
    play: Annotated[bool, typer.Option("--play", help="Be Bob: guess a secret bit from private answers.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say what an epsilon promises: how well anybody can guess one bit of a record, and how far a belief can move."""
    with answering(as_json, quiet) as out:
        budget = Budget(epsilon, delta)
        if play and (as_json or not (sys.stdin.isatty() and sys.stdout.isatty())):
            raise InvalidParameter("--play needs a terminal to play in, and no --json.")
        plain = {
            "budget": exact_amount(budget),
            "words": meaning.explain(budget),
            "best_guess": meaning.best_guess(budget),
            "belief_from_a_tenth": list(meaning.posterior_range(0.1, budget)) if budget.is_pure else None,
        }
        if output is not None:
            write_picture(output, meaning.picture(budget))
            plain["picture"] = str(output)
        out.result(plain, meaning.explain(budget) + ("" if output is None else f"\npicture: {output}"))
        if play:
            _game(budget, out)


def _game(budget: Budget, out: Answering) -> None:
    """Let a person guess secret bits from counts with noise; the coins are the library's own."""
    if not budget.is_pure or not budget:
        raise InvalidParameter("the game is played with Laplace noise: give an epsilon above 0 and no --delta.")
    out.note("Ten people were asked yes or no. Nine said no; Bob knows them. Guess the tenth from noisy counts.")
    right = 0
    for number in range(1, _ROUNDS + 1):
        bit = int(release(Exponential.for_budget(Budget(1e-9), candidates=2), [0.0, 0.0], label="a coin").value)
        count = statistics.count([bool(bit)] + [False] * 9, epsilon=budget.epsilon).value
        said = typer.prompt(f"{number}. how many said yes: {count:.2f}. Did the tenth? (y/n)", err=True)
        right += (said.strip().lower()[:1] == "y") == bool(bit)
    best = 100 * meaning.best_guess(budget)
    out.result({}, f"{right} of {_ROUNDS} right; nobody is right more often than {best:.0f} times in 100 on average.")
