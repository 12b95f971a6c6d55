"""How rows are weighed and whose they are: `sample_weight`, `groups` and `class_weight`, as callers of `fit` say it.

Every weight is a public number, or a function of one person's own rows, brought into [0, 1] by declared numbers alone.
What would look at all rows to weigh one of them (dividing by the largest weight that occurs, or by how many rows a
class has) is refused: no bound on the noise survives it (docs/persons.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.unit import RECORD
from tacit.checks import finite_number, positive_number
from tacit.data.cells import column_of
from tacit.data.labels import places
from tacit.data.persons import OwnedRows, Persons
from tacit.data.shares import Shares
from tacit.data.values import numbers
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import by_part


@final
@dataclass(frozen=True, eq=False)
class Weighing:
    """A weight in [0, 1] for each row, and the person whose it is; None where all rows count alike, or by themselves.

    Guarantee: a row's weight depends on that row alone, and no value of a weight or an id is refused.
    Assumes: weights are public or functions of their own row; ids belong to the persons.
    Reference: tacit/data/persons.md; tacit/erm/perturbations/perturbation.md, "Weights and persons".
    """

    weights: Floats | None = None
    persons: Persons | OwnedRows | None = None

    @classmethod
    def of(cls, sample_weight: object, largest_weight: object, groups: object) -> Self:
        """Read what was given to `fit`: weights over the declared largest one, clipped; ids as keys."""
        weights = None if sample_weight is None else _weights(sample_weight, largest_weight)
        return cls(weights, Persons.given(groups))

    def refuse(self, what: str) -> None:
        """Refuse weights and persons where nothing is proved for them."""
        if self.weights is not None or self.persons is not None:
            raise InvalidParameter(f"{what} takes neither sample_weight nor persons (groups, Records with a unit).")

    def shares(self, rows: int, factors: Any = None) -> Shares | None:
        """Return how much each of so many rows counts, each also times a public factor in [0, 1] if given."""
        given = [each for each in (self.weights, factors) if each is not None]
        owned = [] if self.persons is None else [self.persons.weights]
        if any(len(each) != rows for each in (*given, *owned)):
            raise InvalidParameter("sample_weight and groups must have one entry for each row of X.")
        if not given and not owned:
            return None
        # Rounded to nearest, the product with a number of at most 1 is no larger than the share it starts from.
        weights = by_part(lambda *parts: np.prod(parts, axis=0), *owned, *given)
        units = rows if self.persons is None else self.persons.n
        return Shares.of(weights, units, RECORD if self.persons is None else self.persons.whom)


def class_factors(class_weight: object, classes: NDArray[Any]) -> Floats | None:
    """Return the weight of each class over the largest of them; classes that are not named weigh 1.

    `class_weight` maps classes to public numbers; None weighs all alike.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        raise InvalidParameter(
            f"class_weight={class_weight!r} is not possible: weights that follow from how many rows a class has change "
            "for all rows when one person is replaced, and no noise covers that. Give public numbers, such as "
            'class_weight={"no": 0.1, "yes": 1} from what is known of the population, or release noisy counts first '
            "(tacit.statistics.histogram) and compute the numbers from those."
        )
    if not isinstance(class_weight, Mapping):
        raise InvalidParameter(f"class_weight must map classes to numbers, got {type(class_weight).__name__}.")
    named = list(class_weight)
    found = places(named, classes)
    if len(set(found.tolist())) < len(named) or np.any(found < 0):
        raise InvalidParameter("class_weight names a class that is not among the classes, or one of them twice.")
    factors = np.ones(len(classes))
    factors[found] = [finite_number("a class weight", class_weight[name]) for name in named]
    if np.any(factors < 0) or not 1e-100 < factors.max() < 1e100:
        raise InvalidParameter("class weights must be numbers from 0 on, one of them above 0.")
    return np.asarray(factors / factors.max())


def by_class(factors: Floats | None, indices: Any) -> Any:
    """Return the factor of each row's class, given the indices of classes; None without factors."""
    return None if factors is None else by_part(lambda part: factors[part], indices)


def _weights(sample_weight: object, largest_weight: object) -> Floats:
    """Return the weights over the largest that was declared, clipped to [0, 1]; what is no number weighs nothing."""
    if largest_weight is None:
        raise InvalidParameter(
            "largest_weight is missing: weights are divided by the largest that any row can have, which must not be "
            "read off the data. Declare it, e.g. largest_weight=1.0; larger ones count as that much."
        )
    largest = positive_number("largest_weight", largest_weight)
    listed = hasattr(sample_weight, "__len__") or hasattr(sample_weight, "__array__")
    if getattr(sample_weight, "ndim", 1) != 1 or isinstance(sample_weight, str | bytes) or not listed:
        raise InvalidParameter("Sample weights must be 1D array: one column with a number for each row.")
    found = numbers(column_of(sample_weight))
    return np.clip(np.where(np.isnan(found), 0.0, found / largest), 0.0, 1.0)
