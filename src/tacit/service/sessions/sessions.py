"""Answers to points, from predictors that every worker of one machine reopens and shares by their files."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, final

import numpy as np

from tacit.accounting.lock import locked
from tacit.accounting.witness import Witness
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt, ModelFileError
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.models.secret import reopen
from tacit.reports.scores import finite
from tacit.service.refusals import Refusal
from tacit.service.sessions.opening import SECRET, STATE
from tacit.service.sessions.points import table_of
from tacit.service.sessions.table import KeptSession

_MOST_OPEN = 16
_PATIENCE = 60.0


@final
class Sessions:
    """The predictors that this worker has open; any other worker of the machine may have the same ones open.

    Guarantee: all answers of a session, by whichever workers and after whatever restarts, are those of one predictor
    that its fit paid for; a point has one answer for ever. An answer is drawn from a state file that has all answers
    which the witness knows, and is given once it is there and the witness knows it; meanwhile nobody else draws.
    Assumes: the session's files are on a disk of this machine; the witness is not restored with them.
    Reference: tacit/kernels/interactive/predictor.md, "Memory" and "Kept".
    """

    def __init__(self, folder: Path, witness: Witness) -> None:
        self._folder, self._witness = folder, witness
        self._open: OrderedDict[str, InteractiveKernelPredictor] = OrderedDict()
        self._turn = threading.Lock()

    def answer(self, session: KeptSession, points: object) -> dict[str, Any]:
        """Return values at points with their error bars, as plain values."""
        predictor = self._predictor(session)
        encoder: Any = predictor.encoder_
        table = table_of(points, encoder.schema)
        with self._in_turn(session, predictor):
            found = predictor.answer(table)
            left, updates = predictor.points_left_, predictor.updates_left_
        plain: dict[str, Any] = {
            **{name: list(map(finite, getattr(found, name))) for name in ("values", "standard_deviation", "error")},
            "guaranteed": [bool(each) for each in found.guaranteed],
            "points_left": left,
            "updates_left": updates,
        }
        if predictor.classes_ is not None:
            said = predictor.classes_[(found.values > 0).astype(np.intp)]
            plain["classes"] = [str(each) for each in said.tolist()]
        return plain

    def left(self, session: KeptSession) -> dict[str, Any]:
        """Return how many more points can be answered with noise of their own."""
        predictor = self._predictor(session)
        try:
            return {"points_left": predictor.points_left_, "updates_left": predictor.updates_left_}
        except (LedgerBusy, LedgerCorrupt):
            raise _closed() from None

    def _predictor(self, session: KeptSession) -> InteractiveKernelPredictor:
        with self._turn:
            known = self._open.get(session.id)
        # Two threads that reopen it at once share its files' locks, as all copies do.
        found = known or self._reopened(session)
        with self._turn:
            found = self._open.pop(session.id, found)
            self._open[session.id] = found
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
            return found

    def _reopened(self, session: KeptSession) -> InteractiveKernelPredictor:
        folder = self._folder / session.folder
        try:
            return reopen(folder / SECRET, state=folder / STATE, head=self._witness.last(_account(session.id)))
        except (LedgerBusy, LedgerCorrupt, ModelFileError, InvalidParameter):
            raise _closed() from None

    @contextmanager
    def _in_turn(self, session: KeptSession, predictor: InteractiveKernelPredictor) -> Iterator[None]:
        """Let no other worker answer; ask the witness how far the session was, and tell it how far it is then."""
        account = _account(session.id)
        try:
            with locked(str(self._folder / session.folder / SECRET), _PATIENCE):
                told = self._witness.last(account)
                if told is not None:
                    predictor.go_on_from(told)
                yield
                if told is None or told[0] < predictor.head_[0]:
                    self._witness.append(account, *predictor.head_)
        except (LedgerBusy, LedgerCorrupt, OSError):
            raise _closed() from None


def _account(session: str) -> str:
    """Return the name under which the witness knows a session: no account of a data set has it."""
    return f"session/{session}"


def _closed() -> Refusal:
    words = "the session's files cannot be used: they are busy, elsewhere, damaged or older than what was answered."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "SessionUnavailable", words, charged=False, wait=5)
