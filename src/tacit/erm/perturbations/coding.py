"""How far numbers may bend, from public quantities alone.

What counts is noise over signal (`tacit.erm.perturbations.defaults`). Hats (`tacit.data.curves`) make no row longer; so
under Gaussian noise, which is the same in every coordinate however many there are, they cost nothing but what the ridge
lets through, and it is enough to lower them as the noise grows. Noise of a pure budget grows with the number of
coordinates, or with that of coordinates that differ from 0 at once: there a curve has as many knots as may be had for
half as much noise again, within fixed amounts.

The amounts were found on made-up tables and checked on others (docs/decisions/0015-defaults-by-three-scores.md).
"""

from tacit.budget import Budget
from tacit.data.curves import Curves
from tacit.data.encoder import PublicEncoder
from tacit.data.schema import Schema
from tacit.erm.perturbations.defaults import noise_over_signal

_DEPTHS = (17, 9, 5, 3)
_LEAST_ADDED, _MOST_ADDED = 0.0015, 0.003
_GAUSSIAN = 0.006
_LOWEST = 0.1


def default_curves(budget: Budget | None, schema: Schema, count: int, scores: int, wide: bool) -> Curves | None:
    """Return the curves that this much noise allows; None for straight lines.

    `scores` is how many free scores a record has, `wide` whether noise grows with the number of columns in spite of a
    delta, as that of sufficient statistics does. No budget stands for no noise.
    """
    if budget is None:
        return Curves(_DEPTHS[0])
    straight = _noise(budget, schema, None, count, scores)
    if not budget.is_pure and not wide:
        share = min(1.0, _GAUSSIAN / straight)
        return Curves(_DEPTHS[0], share) if share >= _LOWEST else None
    allowed = straight + min(_MOST_ADDED, max(_LEAST_ADDED, straight / 2))
    for knots in _DEPTHS:
        curves = Curves(knots)
        if _noise(budget, schema, curves, count, scores) <= allowed:
            return curves
    return None


def _noise(budget: Budget, schema: Schema, curves: Curves | None, count: int, scores: int) -> float:
    """Noise over signal of records coded with these curves."""
    encoder = PublicEncoder(schema, curves=False if curves is None else curves.plain)
    return noise_over_signal(budget, encoder.width * scores, count, encoder.filled if scores == 1 else None)
