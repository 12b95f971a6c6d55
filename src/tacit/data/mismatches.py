"""How well a schema fits its records, told privately: what only the records know."""

import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.mechanisms.deferred import Deferred
from tacit.mechanisms.gaussian import additive
from tacit.numerics.arrays import Floats
from tacit.releases import Release, release
from tacit.secret import open_secret

_MUCH = 0.05
"""From which share on a mismatch is worth a warning."""


@final
@dataclass(frozen=True)
class Mismatch:
    """The noisy shares of a column's cells that were missing (or no number, no date), and beyond its declaration.

    Where persons are the unit a share is the mean over persons of the share of their rows.
    """

    column: str
    missing: float
    undeclared: float
    expected: bool = False
    """Whether the column declares a level for everything else, so that undeclared values are no surprise."""


@final
@dataclass(frozen=True)
class Mismatches:
    """Every declared column's mismatches, how far noise may have moved a share, and what was promised."""

    columns: tuple[Mismatch, ...]
    noise_error: float
    confidence: float
    release: Release[Floats]

    def __getitem__(self, name: str) -> Mismatch:
        """Return what was found in one column."""
        for found in self.columns:
            if found.column == name:
                return found
        raise InvalidParameter(f"there is no declared column {name!r}.")

    @property
    def words(self) -> tuple[str, ...]:
        """What a person should know: one sentence for each share that noise alone does not explain and that is much."""
        said = []
        for found in self.columns:
            undeclared = 0.0 if found.expected else found.undeclared
            for share, what in (
                (found.missing, "are missing or cannot be read as declared"),
                (undeclared, "lie beyond the declared bounds, or at no declared level"),
            ):
                if share > _MUCH + self.noise_error:
                    said.append(f"About {min(share, 1.0):.0%} of the values of {found.column!r} {what}.")
        return tuple(said)

    def __str__(self) -> str:
        head = f"{'column':<24} {'missing':>9} {'undeclared':>11}"
        rows = [f"{each.column[:24]:<24} {each.missing:>9.1%} {each.undeclared:>11.1%}" for each in self.columns]
        foot = f"noise within {self.noise_error:.2%} at {self.confidence:.0%}; {self.release.guarantee}"
        return "\n".join([head, *rows, foot])


def mismatches(
    records: Records,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    random_state: object = None,
) -> Mismatches:
    """Release the share of values in each column that were missing, or beyond its bounds or levels; one charge for all.

    Guarantee: (epsilon, delta)-private, for whole persons where they are the unit.
    Assumes: replace-one neighbours; n, the number of records or persons, and the schema are public.
    Reference: two histograms' worth a column: a replacement moves at most two counts of each by one, so the L1
    sensitivity is twice the number of columns and the L2 sensitivity the root of that. A person counts the shares of
    their rows (persons.md, "Sums over persons"): a point of the hull of 0 and the two unit vectors, as a record is.
    """
    names = tuple(records.columns)
    budget = Budget(epsilon, delta)
    shape = (len(names), 2)
    noise = additive(budget, 2.0 * len(names), math.sqrt(2.0 * len(names)), shape)

    found = release(
        Deferred(noise, ("the schema", "the columns' names")),
        lambda: open_secret(records.secret).mismatches(names),
        label=f"mismatches of {len(names)} columns",
        ledger=records.account(ledger),
        random_state=records.coins(random_state),
        unit=records.whom,
    )
    shares = np.maximum(found.value, 0.0) / records.n
    error = noise.error(1.0 - (1.0 - confidence) / (2 * len(names))) / records.n
    told = Mismatches(
        tuple(
            Mismatch(name, float(one), float(two), getattr(records.columns[name], "other", None) is not None)
            for name, (one, two) in zip(names, shares, strict=True)
        ),
        error,
        confidence,
        found.map(lambda _: shares),
    )
    for sentence in told.words:
        # Said of the noisy shares, after they were paid for.
        warnings.warn(f"{sentence} Compare the schema with the codebook.", UserWarning, stacklevel=3)
    return told
