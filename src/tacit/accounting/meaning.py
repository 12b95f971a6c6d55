"""What an epsilon means for the person behind a record, in the terms of the two lectures.

*The game.* Alice holds n records. Bob knows all but one; that one holds a bit, even odds. Alice releases a
private answer; Bob guesses the bit. `best_guess` is the largest chance of being right that any Bob has.

*The belief.* Somebody with any prior belief sees the answer. `posterior_range` is how far it can move the
belief about one record; `posterior_shift` compares the belief with the one that the same answer would have
left had the record been replaced by something arbitrary.
"""

import math
from typing import TYPE_CHECKING

from tacit.accounting.unit import NEIGHBOURS, Kind
from tacit.budget import Budget
from tacit.checks import checked_share
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _odds(budget: Budget) -> float:
    return math.exp(min(budget.epsilon, 700.0))


def best_guess(budget: Budget) -> float:
    """Return the largest chance with which anybody who knows all other records guesses one bit of a record.

    Guarantee: (e^epsilon + delta) / (1 + e^epsilon), attained by randomized response.
    Assumes: replace-one neighbours; the bit is a fair coin.
    Reference: meaning.md; the introductory lecture's e^epsilon / 2 is a looser bound on the same chance.
    """
    odds = _odds(budget)
    return (odds + budget.delta) / (1 + odds)


def posterior_range(prior: float, budget: Budget) -> tuple[float, float]:
    """Return the lowest and highest belief in a statement about one record after a pure private answer.

    Guarantee: the odds move by a factor between e^-epsilon and e^epsilon.
    Assumes: the budget is pure, the belief is about the one record given all others, its alternatives are
    replace-one neighbours.
    Reference: Bayes' rule; meaning.md.
    """
    chance = checked_share("prior", prior)
    if not budget.is_pure:
        raise InvalidParameter(
            f"beliefs are bounded answer by answer only for delta = 0, got {budget}. With a delta, the bound fails "
            "with a small chance: see best_guess."
        )
    odds = _odds(budget)
    return chance / (chance + (1 - chance) * odds), chance * odds / (1 - chance + chance * odds)


def posterior_shift(epsilon: float) -> float:
    """Return how far two posterior beliefs can differ: with the record in use, and with it replaced.

    Guarantee: tanh(epsilon / 2), for every answer, prior and record.
    Assumes: an epsilon-private answer; the lecture's statistical difference, the largest difference of the
    beliefs in one database.
    Reference: meaning.md; the lecture's Theorem 3 has the looser e^(2 epsilon) - 1.
    """
    return math.tanh(Budget(epsilon).epsilon / 2)


def explain(budget: Budget, unit: Kind = "record") -> str:
    """Say in a few sentences what a budget promises to a record, or to a person with all their records."""
    guess = 100 * best_guess(budget)
    text = (
        f"With {budget} ({NEIGHBOURS[unit]}), somebody who knows every {unit} but one, and of that one all but a "
        f"yes-or-no answer, guesses the answer right at most {guess:.1f} times in 100; a coin is right 50 times."
    )
    if budget.is_pure:
        low, high = posterior_range(0.1, budget)
        text += f" A belief of 10 % about one {unit} can move to between {100 * low:.1f} % and {100 * high:.1f} %."
    else:
        text += f" With a chance of at most {budget.delta:g} the promise may fail altogether."
    return text


def picture(budget: Budget) -> "Figure":
    """Draw Bob's best guess and the largest move of a belief against epsilon, this budget marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    guess, belief = figure.subplots(1, 2)
    epsilons = [0.02 * step for step in range(1, 301)]
    guess.plot(epsilons, [best_guess(Budget(e)) for e in epsilons], label="exact")
    guess.plot(epsilons, [min(1.0, math.exp(e) / 2) for e in epsilons], "--", label="the lecture's e^eps / 2")
    guess.set(xlabel="epsilon", ylabel="chance of guessing a bit", ylim=(0.5, 1.01), title="Bob's best guess")
    priors = [step / 200 for step in range(201)]
    pure = Budget(min(budget.epsilon, 50.0))
    ranges = [posterior_range(prior, pure) for prior in priors]
    belief.fill_between(priors, [low for low, _ in ranges], [high for _, high in ranges], alpha=0.3)
    belief.plot(priors, priors, color="gray", linewidth=1)
    title = f"belief after an answer, epsilon={budget.epsilon:g}"
    belief.set(xlabel="belief before", ylabel="belief after", title=title, xlim=(0, 1), ylim=(0, 1))
    if budget.epsilon <= epsilons[-1]:
        guess.plot([budget.epsilon], [best_guess(budget)], "o", label=str(budget))
    guess.legend()
    figure.suptitle("What epsilon means (replace-one neighbours)")
    return figure
