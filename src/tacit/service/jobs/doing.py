"""Doing a job: by its kind, under its ticket, in its owner's name; kept, then closed, then done."""

import shutil
from typing import TYPE_CHECKING, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.service.datasets import RegisteredTable
from tacit.service.jobs import fits, scores
from tacit.service.jobs.table import ENDED, JOB, Job, JobProduct
from tacit.service.sessions.opening import forget_others, open_session
from tacit.service.sessions.table import inserted
from tacit.service.tokens import Caller

if TYPE_CHECKING:
    from tacit.service.service import Service


def acting_for(owner: str) -> Caller:
    """Return the owner of a job as a caller: the token that they asked with may have ended meanwhile."""
    return Caller(owner, "analyst", "", "", None)


@final
class Doing:
    """What the threads of a worker do with a job in hand.

    A result is kept in the state, then the ticket is closed with the witness, so that nothing is drawn under it again
    even if the state is restored from before; then the job is done, and the result may be given.
    """

    def __init__(self, service: "Service") -> None:
        self._service, self._jobs, self._sessions = service, service.jobs, service.settings.sessions
        self._forget_ended()

    def __call__(self, job: Job) -> bool:
        """Do a job; False if it was no longer in this hand when it was to be kept."""
        done = self._done(job)
        if not done:
            self._forget_ended()
        return done

    def _done(self, job: Job) -> bool:
        dataset = self._service.datasets.get(job.dataset)
        owner = acting_for(job.owner)
        ledger = dataset.ledger(owner, job.ticket)
        if job.result is None and not self._kept(job, dataset, owner, ledger):
            return False
        dataset.close(job.ticket)
        return self._jobs.finish(job)

    def _kept(self, job: Job, dataset: RegisteredTable, owner: Caller, ledger: Ledger) -> bool:
        self._service.datasets.settle(job.dataset, self._jobs.ended(job.dataset))
        if job.kind == "fit":
            return self._jobs.keep(job, fits.fit(dataset, job, ledger))
        if job.kind == "report":
            return self._jobs.keep(job, scores.judge(dataset, job, owner, ledger, self._service))
        facts, folder = open_session(dataset, job, ledger, self._sessions)
        kept = self._jobs.keep(job, JobProduct(facts), inserted(job.id, job.owner, job.dataset, folder, facts))
        if kept:
            forget_others(self._sessions, job)
        else:
            shutil.rmtree(self._sessions / folder, ignore_errors=True)
        return kept

    def _forget_ended(self) -> None:
        """Remove the secrets of sessions whose job was ended without them: nobody is given an answer from them.

        Those of jobs that the state does not know are left: it may not be the state that they belong to.
        """
        query = sa.select(JOB.c.id).where(JOB.c.kind == "session", JOB.c.state.in_(ENDED))
        folders = list(self._sessions.glob("*-*"))
        ended = {row.id for row in self._service.state.rows(query)} if folders else set()
        for folder in folders:
            if folder.name.partition("-")[0] in ended:
                shutil.rmtree(folder, ignore_errors=True)
