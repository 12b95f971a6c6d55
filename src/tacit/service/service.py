"""A service: its settings, what it remembers, its tokens and its data sets."""

from typing import Any, final

import sqlalchemy as sa

from tacit.errors import TacitError
from tacit.files import private_folder
from tacit.service.datasets import Datasets
from tacit.service.jobs.doing import Doing
from tacit.service.jobs.runner import Runner
from tacit.service.jobs.table import ENDED, JOB, JOB_TICKET, Jobs
from tacit.service.limits import Meter
from tacit.service.metrics import Metrics
from tacit.service.requests import EntryOf, asked_before
from tacit.service.sessions.sessions import Sessions
from tacit.service.sessions.table import SessionTable
from tacit.service.settings import Settings
from tacit.service.sources import remove_old
from tacit.service.state import REQUEST, State
from tacit.service.tokens import Caller, Tokens


@final
class Service:
    """What every route finds at `request.app.state.service`."""

    def __init__(self, settings: Settings) -> None:
        private_folder(settings.folder)
        remove_old(settings)
        self.settings = settings
        self.state = State(settings.state, settings.limits.seconds, settings.threads)
        self.datasets = Datasets(self.state, settings)
        self.tokens = Tokens(self.state, self.datasets.note)
        self.datasets.check()
        self.jobs = Jobs(self.state, settings.limits, self.datasets.end_ticket)
        self.session_table = SessionTable(self.state)
        self.sessions = Sessions(settings.sessions, self.datasets.witness)
        limit = settings.limits.job_seconds
        self.runner = Runner(self.jobs, Doing(self), settings.job_threads, settings.lease, limit)
        self.meter = Meter(settings.limits)
        self.metrics = Metrics()

    def requests(self, caller: Caller, dataset: str | None, limit: int) -> list[dict[str, Any]]:
        """Return what was asked, the last first: a caller's own requests, and everybody's for who oversees accounts."""
        begun = REQUEST.outerjoin(JOB, JOB.c.ticket == JOB_TICKET + REQUEST.c.ticket)
        became = (JOB.c.state.label("became"), JOB.c.result.label("result"), JOB.c.ticket.label("job_ticket"))
        query = sa.select(REQUEST, *became).select_from(begun).order_by(REQUEST.c.created.desc()).limit(limit)
        if caller.scope == "analyst":
            query = query.where(REQUEST.c.owner == caller.name)
        if caller.datasets is not None:
            query = query.where(REQUEST.c.dataset.in_(caller.datasets))
        if dataset is not None:
            query = query.where(REQUEST.c.dataset == dataset)
        entry_of = self.entry_finder()
        return [asked_before(row, entry_of) for row in self.state.rows(query)]

    def entry_finder(self) -> EntryOf:
        """Return what finds the entry that was charged under a ticket, for one page or list of them.

        An account that cannot be reached is not waited for again with each line. Where none was charged for a job that
        ended without being done, its end is in the account by then: none ever will be.
        """
        away: set[str] = set()

        def entry_of(name: str, ticket: str, state: str) -> int | None:
            if name in away:
                return None
            try:
                account = self.datasets.get(name).account
                found = account.entry_of(ticket)
                if found is None and state in ENDED:
                    self.datasets.settle(name, [ticket])
                    found = account.entry_of(ticket)
                return found or 0
            except TacitError:
                away.add(name)
                return None

        return entry_of

    def close(self) -> None:
        """Let go of what is held."""
        self.runner.stop()
        self.state.close()
