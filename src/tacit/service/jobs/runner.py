"""Threads of a worker that run jobs: take one in hand, keep its beat, do it, keep what it made."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import final

from tacit.errors import LedgerCorrupt, LedgerError, LedgerForeign, LedgerVersion, TacitError
from tacit.numerics.progress import progress
from tacit.service.clock import now
from tacit.service.jobs.table import MOST_ATTEMPTS, Job, Jobs
from tacit.service.refusals import Refusal, body_of, shape, status_of

Work = Callable[[Job], bool]
"""Does a job and keeps what it made; False if the job was no longer in this hand by then."""

_LASTS = LedgerForeign | LedgerVersion | LedgerCorrupt
"""What is wrong with a ledger until somebody mends it."""
_POLL = 1.0
_BEATS_A_LEASE = 5


def _passes(error: BaseException) -> bool:
    """Whether it may be otherwise in a moment: a full disk, a lock, a place that cannot be reached."""
    if isinstance(error, Refusal | LedgerError):
        return status_of(error) == HTTPStatus.SERVICE_UNAVAILABLE and not isinstance(error, _LASTS)
    return isinstance(error, OSError)


@final
class NotWanted(BaseException):
    """A job was cancelled, was taken over, or its worker stops: what it would have made is for nobody."""


@final
@dataclass(eq=False)
class _InHand:
    """A job that one thread of this worker does, and how far it is by public numbers."""

    job: Job
    done: int = 0
    total: int = 0
    unwanted: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    late: bool = False

    def report(self, done: int, total: int) -> None:
        """Note how far a fit is; end one that nobody wants any more."""
        self.done, self.total = done, total
        if self.unwanted.is_set():
            raise NotWanted


@final
class Runner:
    """Runs the jobs of a service in a few threads of this process, and takes over those of workers that died.

    Guarantee: a job that is begun again, after its worker died or was too slow to say that it lives, spends under the
    same ticket, and is charged once; what is kept and given is what one attempt made from one draw.
    Assumes: a worker dies, or falls silent for a lease, for reasons that have nothing to do with records and noise.
    Reference: tacit/accounting/ledger.md, tickets; docs/decisions/0027-the-service.md.

    A job that is at work for longer than `limit` seconds fails, whatever it is doing, and another thread goes on with
    the others; its own ends with the next step that it tells, or when it is done for nobody. While as many threads as
    there are for jobs are still at such work, nothing more is begun.
    """

    def __init__(self, jobs: Jobs, work: Work, threads: int, lease: float, limit: float = math.inf) -> None:
        self._jobs, self._work, self._count, self._lease, self._limit = jobs, work, threads, lease, limit
        self._threads: list[threading.Thread] = []
        self._waking, self._stopping = threading.Event(), threading.Event()
        self._hands: set[_InHand] = set()
        self._seen: dict[str, tuple[int, float]] = {}
        self._put_off: dict[str, str] = {}
        """When this worker could not go on with which job: it is behind those that wait then, and no others."""
        self._starting = threading.Lock()

    def wake(self) -> None:
        """Look for jobs now; begin to, if no thread runs yet."""
        with self._starting:
            if not self._threads and not self._stopping.is_set():
                for role in (self._keep_beating, *[self._run] * self._count):
                    self._start(role)
        self._waking.set()

    def stop(self, seconds: float = 5.0) -> None:
        """Begin nothing more, and let jobs in hand wait for another worker."""
        self._stopping.set()
        self._waking.set()
        for hand in list(self._hands):
            hand.unwanted.set()
        until = time.monotonic() + seconds
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._waking.clear()
            job = self._next()
            if job is None:
                self._waking.wait(min(_POLL, self._lease / _BEATS_A_LEASE))
            elif self._do(job).late:
                # Another thread took this one's place.
                return

    def _next(self) -> Job | None:
        """Return a job taken in hand: one that waits, or one whose beat has stood still for a lease."""
        try:
            return self._jobs.claim(self._put_off) or self._left_alone()
        except TacitError:
            return None

    def _left_alone(self) -> Job | None:
        present, moment = self._jobs.beats(), time.monotonic()
        self._seen = {
            job: self._seen[job] if self._seen.get(job, (None,))[0] == beat else (beat, moment)
            for job, beat in present.items()
        }
        for job, (beat, since) in list(self._seen.items()):
            if moment - since > self._lease:
                taken = self._jobs.take(job, beat)
                if taken is not None:
                    return taken
        return None

    def _do(self, job: Job) -> _InHand:
        hand = _InHand(job)
        self._hands.add(hand)
        try:
            self._attempt(hand)
        except BaseException as error:
            if hand.unwanted.is_set():
                # Whatever it raised, a refused charge or NotWanted: how it ended was written by who ended it.
                if self._stopping.is_set():
                    self._quietly(lambda: self._jobs.hand_back(job))
            elif _passes(error):
                # What was charged is found under the job's ticket when it is begun again.
                self._stopping.wait(self._lease)
                self._put_off[job.id] = now()
                self._quietly(lambda: self._jobs.hand_back(job))
            else:
                # Of what nobody expected neither kind nor words are told: they could speak of records.
                failure = body_of(error)["error"]
                self._quietly(lambda: self._jobs.fail(job, failure))
        finally:
            with self._starting:
                self._hands.discard(hand)
        return hand

    def _attempt(self, hand: _InHand) -> None:
        if hand.job.attempts > MOST_ATTEMPTS and hand.job.result is None:
            words = f"it was begun {MOST_ATTEMPTS} times and came to no end. What it was charged stays charged."
            self._jobs.fail(hand.job, shape("Interrupted", words)["error"])
            return
        with progress(hand.report):
            self._work(hand.job)

    def _quietly(self, write: Callable[[], object]) -> None:
        """Write how a job ended; if that fails, its beat stands still, and somebody begins it again."""
        try:
            write()
        except TacitError:
            return

    def _keep_beating(self) -> None:
        while not self._stopping.wait(self._lease / _BEATS_A_LEASE):
            for hand in list(self._hands):
                try:
                    if time.monotonic() - hand.began > self._limit:
                        self._give_up(hand)
                    elif not self._jobs.beating(hand.job, hand.done, hand.total):
                        hand.unwanted.set()
                except TacitError:
                    continue

    def _give_up(self, hand: _InHand) -> None:
        """Let a job fail that is at work for too long, and put another thread in the place of its own."""
        if hand.late:
            return
        words = f"it was at work for over {self._limit:g} s and was ended. What it was charged stays charged."
        self._jobs.fail(hand.job, shape("TookTooLong", words)["error"])
        hand.unwanted.set()
        with self._starting:
            late = sum(each.late for each in self._hands)
            if hand in self._hands and not hand.late and late < self._count:
                hand.late = True
                self._start(self._run)

    def _start(self, role: Callable[[], None]) -> None:
        thread = threading.Thread(target=role, daemon=True, name="tacit jobs")
        self._threads.append(thread)
        thread.start()
