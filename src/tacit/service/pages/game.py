"""Bob's game on a page: guess one bit of a record from counts with noise. Nothing of it is kept on the server.

The bit of a round is sealed in the form: a mark that only this service can make says which bit it was, so that a player
can neither read nor change it, and a mark counts for its own round, game and epsilon alone.
"""

from dataclasses import dataclass
from typing import final

from tacit import statistics
from tacit.accounting.meaning import best_guess
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms.exponential import Exponential
from tacit.noise import unique_name
from tacit.releases import release
from tacit.service.pages.signing import Signing

_SMALLEST, _LARGEST = 0.01, 20.0


@final
@dataclass(frozen=True)
class Round:
    """One round as a page shows it; `ticket` is what the form carries."""

    round: int
    right: int
    count: str
    best: str
    ticket: str
    told: str


def checked_epsilon(epsilon: float | None) -> float:
    """Return an epsilon that the game can be played with."""
    if epsilon is None or not _SMALLEST <= epsilon <= _LARGEST:
        raise InvalidParameter(f"epsilon must lie between {_SMALLEST} and {_LARGEST:g}.")
    return epsilon


def first(signing: Signing, epsilon: float) -> Round:
    """Deal the first round of a game."""
    return _dealt(signing, epsilon, 1, 0, "")


def after(signing: Signing, epsilon: float, ticket: str, guess: str) -> Round:
    """Judge a guess and deal the next round; a form that was changed begins anew."""
    try:
        number, right, name, mark = ticket.split(".")
        played, won = int(number), int(right)
    except ValueError:
        return first(signing, epsilon)
    bits = [bit for bit in (0, 1) if signing.sealed(_words(epsilon, played, won, name, bit)) == mark]
    if len(bits) != 1 or not 0 <= won < played < 10_000:
        return first(signing, epsilon)
    is_right = (guess == "yes") == bool(bits[0])
    told = f"{'Right' if is_right else 'Wrong'}: the tenth said {'yes' if bits[0] else 'no'}."
    return _dealt(signing, epsilon, played + 1, won + is_right, told)


def _dealt(signing: Signing, epsilon: float, number: int, right: int, told: str) -> Round:
    bit = int(release(Exponential.for_budget(Budget(1e-9), candidates=2), [0.0, 0.0], label="a coin").value)
    count = statistics.count([bool(bit)] + [False] * 9, epsilon=epsilon).value
    name = unique_name()
    ticket = f"{number}.{right}.{name}.{signing.sealed(_words(epsilon, number, right, name, bit))}"
    return Round(number, right, f"{count:.2f}", f"{100 * best_guess(Budget(epsilon)):.0f} %", ticket, told)


def _words(epsilon: float, number: int, right: int, name: str, bit: int) -> str:
    return f"game {epsilon!r} {number} {right} {name} {bit}"
