"""Records as what estimators learn from: rows of norm at most 1, and targets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from scipy.sparse import issparse

from tacit.data.bounded import BoundedRows
from tacit.data.columns import Column, Number
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Levelled
from tacit.data.persons import OwnedRows
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.store.lazy_rows import StreamedLabels, StreamedRows
from tacit.data.store.lots import ROWS_OF_OWNER
from tacit.errors import InvalidParameter
from tacit.estimators.exact_scores import warn_if_judged
from tacit.estimators.fitted import fitted_together
from tacit.estimators.lazily_encoded import lazily_encoded
from tacit.estimators.learned_from import LearnedFrom, remember
from tacit.estimators.odd_terms import warn_of_terms
from tacit.estimators.weighing import Weighing
from tacit.numerics.arrays import Floats
from tacit.numerics.passing import all_goes_at_the_end
from tacit.numerics.products import products_alone
from tacit.secret import open_secret

Task = Literal["classification", "regression", "none"]
_BYTES = 8

_ALONE: ContextVar[bool] = ContextVar("rows stand alone", default=False)


@final
@dataclass(frozen=True)
class Encoded:
    """Rows, the target of each, the column that declares its classes, if it has any, the encoder, and whose the rows
    are if persons are.
    """

    rows: BoundedRows | StreamedRows
    targets: Any
    declared: Levelled | None
    encoder: PublicEncoder
    persons: OwnedRows | None = None
    weights: Any = None


def encoded(
    records: Records,
    task: Task,
    curves: bool | int | tuple[int, float] = False,
    interactions: Sequence[tuple[str, str]] | None = None,
    *,
    streams: int | None = None,
) -> Encoded:
    """Encode records by their schema, numbers as curves and pairs of columns by their products where asked.

    Guarantee: each row and target depends on that record and the schema alone, and rows have a norm of at most 1.
    Assumes: nothing but what `Records` assume.
    Reference: `PublicEncoder`.

    A record whose class is none of the declared ones becomes a row of zeros at the first class: it teaches nothing.
    With `streams`, how many features an estimator makes of each row, if any, rows that take more than the records'
    memory are made of stored cells whenever they are read, and those of a Spark table stay on its executors.
    """
    schema, view = records.schema, open_secret(records.secret)
    column = schema.target_column if task == "none" else target_of(schema, task)
    encoder = encoder_for(schema, task, curves, interactions)
    streamed = streams is not None and column is not None
    if streamed and view.store.cluster is None:
        streamed = view.rows * max(encoder.width, streams or 0) * _BYTES > records.memory
    learned = column if streamed or task != "none" else None
    rows, targets, shares, weights = lazily_encoded(records, encoder, learned, on_cluster=streamed)
    declared, owned = learned if isinstance(learned, Levelled) else None, None
    terms = encoder.data_norm, encoder.constant, encoder.filled
    if streamed:
        owned = None if shares is None else OwnedRows(shares, view.n, records.whom)
        labels = targets if declared is None else StreamedLabels(targets, declared.classes)
        return Encoded(StreamedRows(rows, *terms), labels, declared, encoder, owned, weights)
    if shares is not None:
        owned = OwnedRows(shares[:], view.n, records.whom, view.column(ROWS_OF_OWNER))
    bounded = BoundedRows(rows[:], data_norm=terms[0], has_constant=terms[1], filled=terms[2])
    labels = np.zeros(len(bounded)) if targets is None else targets[:]
    if declared is not None:
        labels = np.array(declared.classes)[labels.astype(np.intp)]
    return Encoded(bounded, labels, declared, encoder, owned, None if weights is None else weights[:])


def encoder_for(
    schema: Schema,
    task: Task,
    curves: bool | int | tuple[int, float] = False,
    interactions: Sequence[tuple[str, str]] | None = None,
) -> PublicEncoder:
    """Return how records are coded for a task: rows of their own length for classes, one scale for all for numbers."""
    norm: Literal["scale", "bound"] = "bound" if task == "regression" else "scale"
    return PublicEncoder(schema, norm=norm, curves=curves, interactions=interactions)


def task_of(schema: Schema) -> Task:
    """Return what a schema's target asks for."""
    column = schema.target_column
    return "none" if column is None else "regression" if isinstance(column, Number) else "classification"


def learn(estimator: Any, X: Any, y: Any, task: Task, sample_weight: object = None, groups: object = None) -> Any:
    """Let an estimator's `_learn` see rows and targets as they are, or those of `Records`, encoded; return it fitted.

    `_learn` is also told how rows are weighed and whose they are: `Records` say so by their unit, rows by `groups`.

    For records, classes are the schema's, the range of the target is that which the estimator was told, or else the
    schema's, and a part of a split pays from its own account. `encoder_` keeps how records were encoded, for those to
    predict.
    """
    weighing = Weighing.of(sample_weight, getattr(estimator, "largest_weight", None), groups)
    warn_of_terms(estimator, X, weighing.persons)
    with all_goes_at_the_end():
        return fitted_together(estimator, lambda fresh: _learn(fresh, X, y, task, weighing))


def _learn(estimator: Any, X: Any, y: Any, task: Task, weighing: Weighing) -> None:
    if not isinstance(X, Records):
        refuse_coding(estimator)
        estimator._learn(X, y, weighing)
        return
    with before_the_charge(estimator):
        found = _encoded(estimator, X, y, task, weighing)
    told = {
        "ledger": X.account(estimator.ledger),
        "random_state": X.coins(estimator.random_state),
        "classes": found.declared,
        "target_range": X.schema.target_range,
        "largest_weight": X.schema.largest_weight,
    }
    own = {name: getattr(estimator, name) for name in told if hasattr(estimator, name)}
    for name, value in own.items():
        if value is None or name in ("ledger", "classes"):
            setattr(estimator, name, told[name])
    weights = weighing.weights if found.weights is None else found.weights
    with rows_alone() if stand_alone(X) else nullcontext():
        estimator._learn(found.rows, found.targets, replace(weighing, weights=weights, persons=found.persons))
    for name, value in own.items():
        setattr(estimator, name, value)
    estimator.encoder_ = found.encoder
    remember(estimator, LearnedFrom.of(X, None if found.persons is None else found.persons.n))


def _encoded(estimator: Any, X: Records, y: Any, task: Task, weighing: Weighing) -> Encoded:
    """Encode records as an estimator wants them."""
    refuse_targets(y)
    if weighing.persons is not None:
        raise InvalidParameter('Records bring their own persons: Records(..., unit="the column of ids"), not groups.')
    beside = weighing.weights is not None or getattr(estimator, "largest_weight", None) is not None
    if X.schema.weight is not None and beside:
        raise InvalidParameter(
            f"the schema declares how much records weigh, {X.schema.weight!r}: leave sample_weight and largest_weight "
            "out."
        )
    if weighing.weights is not None and (X.unit is not None or not X.facts.ordered):
        raise InvalidParameter(
            "sample_weight cannot stand beside these records: where persons are protected, and in a table of a "
            'database, the places of rows are private. Declare the column of weights: Schema(..., weight="column").'
        )
    coding = estimator._coding(X) if hasattr(estimator, "_coding") else (False, None)
    return encoded(X, task, *coding, streams=getattr(estimator, "_streams", None))


@contextmanager
def before_the_charge(estimator: Any) -> Iterator[None]:
    """Let whoever sees that something failed here, or was interrupted, know that it was not paid for."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"{type(estimator).__name__}: nothing was released, and nothing was charged.")
        raise


def target_of(schema: Schema, task: Literal["classification", "regression"]) -> Column:
    """Return what is declared about the target; refuse one that a model of this kind cannot learn."""
    column = schema.target_column
    if column is None:
        raise InvalidParameter(
            "the schema declares no target. Name the column to predict: Schema(columns, target=...)."
        )
    if not isinstance(column, Levelled if task == "classification" else Number):
        wanted = "levels (Category, Ordinal or Flag)" if task == "classification" else "bounds (Number)"
        raise InvalidParameter(
            f"a {task} needs a target with declared {wanted}, got {schema.target!r}, a {type(column).__name__}."
        )
    return column


def rows_of(estimator: object, X: Any) -> Any:
    """Return what to predict from: encoded, if the estimator learned from records and X is not encoded yet."""
    warn_if_judged(estimator)
    encoder: PublicEncoder | None = getattr(estimator, "encoder_", None)
    if encoder is None:
        if isinstance(X, Records):
            raise InvalidParameter("this model did not learn from Records: give it rows as it was fitted on.")
        return X
    return X if isinstance(X, BoundedRows) else encoder.transform(X)


def stand_alone(X: object = None) -> bool:
    """Whether what is computed of a row must not depend on where it stands, to the last bit.

    Among persons' rows a place tells how many others have, and in a table without an order one record that is replaced
    may move all others.
    """
    return _ALONE.get() or (isinstance(X, Records) and (X.unit is not None or not X.facts.ordered))


@contextmanager
def rows_alone() -> Iterator[None]:
    """Say that the rows inside, in this thread, have places that are not public."""
    before = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(before)


def scored(rows: Any, coefficients: Floats, alone: bool) -> Floats:
    """Return rows times coefficients, one model a row of these, each row of it by itself where that is needed."""
    # A sparse row is added up by itself in any case.
    return products_alone(rows, coefficients) if alone and not issparse(rows) else np.asarray(rows @ coefficients.T)


def in_lots(estimator: Any, X: Any, score: Callable[[Any], Any]) -> Floats:
    """Return scores of rows: those of `Records` are encoded and scored some at a time, so that any number has room."""
    encoder: PublicEncoder | None = getattr(estimator, "encoder_", None)
    if encoder is None or not isinstance(X, Records):
        return np.asarray(score(rows_of(estimator, X)))
    warn_if_judged(estimator)
    return np.concatenate([score(rows) for rows in encoder.stream(X)])


def refuse_targets(y: object) -> None:
    """Refuse targets beside records, whose schema names theirs."""
    if y is not None:
        raise InvalidParameter("Records bring their own target, the one that the schema names: fit(records).")


def refuse_coding(estimator: object) -> None:
    """Refuse curves and interactions of rows that no schema describes."""
    pairs: Any = getattr(estimator, "interactions", None)
    none = pairs is None or (isinstance(pairs, Sequence) and not pairs)
    if getattr(estimator, "curves", False) not in ("auto", False) or not none:
        raise InvalidParameter(
            "curves and interactions need Records, whose schema says what columns mean and between which bounds. Fit "
            "Records(table, schema), or put PublicEncoder(schema, curves=..., interactions=...) in front."
        )
